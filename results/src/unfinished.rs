//! Who has to know where results are growing: a process that is killed cannot remove them itself.

use std::path::Path;
use std::sync::OnceLock;

/// Whoever removes a process's unfinished results if it dies, by [`ResultsFolder::clear_abandoned`].
///
/// [`ResultsFolder::clear_abandoned`]: super::ResultsFolder::clear_abandoned
#[derive(Debug)]
pub struct Keeper {
    /// Results begin to grow in a folder; the innermost so many folders of its path are made for them.
    pub begin: fn(folder: &Path, made: usize),
    /// The folder holds nothing half-written any more.
    pub end: fn(folder: &Path),
}

/// This process's keeper.
static KEEPER: OnceLock<Keeper> = OnceLock::new();

/// Makes `keeper` this process's, for all results from now on; without one nobody is told.
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
