//! Files in the HPCC simulator's format against xoff's own, on the real kernel and as in
//! memory. Needs root.

use tests::fabric::{on_both, simulator_files};

#[test]
fn columns() {
    simulator_files::columns_agree_with_tables(on_both);
}

#[test]
fn histograms() {
    simulator_files::histograms_count_every_look(on_both);
}
