//! Tells another process where results are being written, because a process that is killed cannot remove them.

use std::path::Path;
use std::sync::OnceLock;

/// Keeps note of a process's unfinished results, to remove them by [`ResultsFolder::clear_abandoned`] if it dies.
///
/// [`ResultsFolder::clear_abandoned`]: super::ResultsFolder::clear_abandoned
#[derive(Debug)]
pub struct Keeper {
    /// Results begin to be written to a folder; so many of the innermost folders of its path are made for them.
    pub begin: fn(folder: &Path, made: usize),
    /// The folder holds nothing half-written any more.
    pub end: fn(folder: &Path),
}

/// This process's keeper.
static KEEPER: OnceLock<Keeper> = OnceLock::new();

/// Makes `keeper` this process's, for all results from now on. Without a keeper, nothing is reported.
///
/// # Panics
/// If the process has one.
pub fn appoint(keeper: Keeper) {
    KEEPER.set(keeper).expect("a process has one keeper");
}

pub(crate) fn begin(folder: &Path, made: usize) {
    if let Some(keeper) = KEEPER.get() {
        (keeper.begin)(folder, made);
    }
}

pub(crate) fn end(folder: &Path) {
    if let Some(keeper) = KEEPER.get() {
        (keeper.end)(folder);
    }
}
