//! Papers that ship: folders of `scenarios/` that `build.rs` embeds.

use std::sync::LazyLock;

use super::{Paper, data};

/// The folder of a paper.
#[derive(Debug)]
pub struct Folder {
    /// Name of the paper in the command.
    pub name: &'static str,
    /// Paths in the folder, with `/`, and texts.
    pub files: &'static [(&'static str, &'static str)],
}

/// Folders by the papers' places.
pub static FOLDERS: &[Folder] = include!(concat!(env!("OUT_DIR"), "/folders.rs"));

static PAPERS: LazyLock<Vec<Paper>> = LazyLock::new(|| {
    let read = |folder| data::paper(folder).unwrap_or_else(|error| panic!("scenarios/{error}"));
    FOLDERS.iter().map(read).collect()
});

/// Returns every paper. A test of the crate reads them, so that the papers of a release are right.
pub fn papers() -> &'static [Paper] {
    &PAPERS
}

/// Returns the names of the papers.
pub fn names() -> Vec<&'static str> {
    FOLDERS.iter().map(|folder| folder.name).collect()
}

impl Folder {
    /// Returns the text of a file, by its path.
    pub fn text(&self, path: &str) -> Option<&'static str> {
        self.files.iter().find(|(name, _)| *name == path).map(|(_, text)| *text)
    }
}
