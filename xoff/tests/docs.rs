//! Documents that are generated say what the code says.

use std::path::Path;
use std::{env, fs};

use xoff::results;
use xoff::sweep::tables;

/// `XOFF_WRITE_DOCS=1 cargo test -p xoff --test docs` writes them anew.
#[test]
fn the_columns_of_results_are_documented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results.md");
    let current = results::columns_markdown() + &tables::columns_markdown();
    if env::var_os("XOFF_WRITE_DOCS").is_some() {
        fs::write(&path, &current).expect("docs/ can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    let difference = written.lines().zip(current.lines()).find(|(old, new)| old != new);
    assert!(
        written == current,
        "docs/results.md is stale, first at {difference:?}: see this test's comment"
    );
}
