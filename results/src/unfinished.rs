//! Reports unfinished results folders to another process, because a process that is killed cannot remove them.

use std::path::Path;
use std::sync::OnceLock;

/// Callbacks that record a process's unfinished results, to remove them by [`ResultsFolder::clear_abandoned`] if it
/// dies.
///
/// [`ResultsFolder::clear_abandoned`]: super::ResultsFolder::clear_abandoned
#[derive(Debug)]
pub struct Keeper {
    /// Called when results begin to be written to a folder. The innermost `made` folders of its path are made for them.
    pub begin: fn(folder: &Path, made: usize),
    /// The folder holds nothing half-written any more.
    pub end: fn(folder: &Path),
}

/// This process's keeper.
static KEEPER: OnceLock<Keeper> = OnceLock::new();

/// Sets this process's `keeper`, for all results from now on. Without a keeper, nothing is reported.
///
/// # Panics
/// If the process already has a keeper.
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
