//! Fabrics of this machine: list, owners and removal.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::fabric::{self, FabricId, LockState};
use crate::privilege;
use crate::process::Process;
use crate::run_directory;

/// An existing fabric, complete or partial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FabricStatus {
    /// Identifier of the fabric.
    pub fabric: FabricId,
    /// State of its owner.
    pub owner: Owner,
    /// Full names of its namespaces, sorted.
    pub namespaces: Vec<String>,
}

/// State of a fabric's owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// A process that lives; which one, unless that has not been written yet.
    Living(Option<Process>),
    /// The owner died without removing the fabric.
    Gone,
}

/// Result of [`destroy_abandoned`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Removed fabrics.
    pub removed: Vec<FabricStatus>,
    /// Fabrics that were kept because their owner lives.
    pub living: Vec<FabricStatus>,
}

/// Returns all fabrics on this machine, in the order of their identifiers.
///
/// # Errors
/// If the directories under `/run` cannot be used, for example without privilege.
pub fn list() -> Result<Vec<FabricStatus>, Error> {
    let _nobody_else = run_directory::lock_fabrics()?;
    statuses()
}

/// Removes every fabric whose owner has died, including names without a namespace, and keeps all
/// others. Processes that still run inside a removed fabric keep its namespace, but without a name.
///
/// # Errors
/// The first failure; the rest is removed nevertheless.
pub fn destroy_abandoned() -> Result<Report, Error> {
    privilege::check()?;
    let _nobody_else = run_directory::lock_fabrics()?;
    let (removed, living): (Vec<_>, Vec<_>) =
        statuses()?.into_iter().partition(|status| status.owner == Owner::Gone);
    removed.iter().map(remove).fold(Ok(()), Result::and)?;
    Ok(Report { removed, living })
}

/// Removes one abandoned fabric.
///
/// # Errors
/// [`Error::NoSuchFabric`], [`Error::FabricLives`], or the first failure to remove something.
pub fn destroy(fabric: FabricId) -> Result<(), Error> {
    privilege::check()?;
    let _nobody_else = run_directory::lock_fabrics()?;
    let status = statuses()?
        .into_iter()
        .find(|status| status.fabric == fabric)
        .ok_or(Error::NoSuchFabric { fabric })?;
    match status.owner {
        Owner::Gone => remove(&status),
        Owner::Living(process) => {
            let process =
                process.map_or_else(|| "?".to_owned(), |process| process.number.to_string());
            Err(Error::FabricLives { fabric, process })
        }
    }
}

/// Returns every fabric that has a lock or a namespace. The caller holds the lock on all fabrics.
///
/// Locks are read first. An owner removes its lock last, so that a fabric without a lock that still
/// has namespaces afterwards has no owner.
fn statuses() -> Result<Vec<FabricStatus>, Error> {
    let mut fabrics: BTreeMap<_, Vec<_>> =
        fabric::locked_fabrics()?.into_iter().map(|fabric| (fabric, Vec::new())).collect();
    for (fabric, name) in fabric::namespace_names()? {
        fabrics.entry(fabric).or_default().push(name);
    }
    let mut statuses = Vec::with_capacity(fabrics.len());
    for (fabric, mut namespaces) in fabrics {
        let owner = match fabric::lock_state(fabric)? {
            LockState::Held(process) => Owner::Living(process),
            LockState::Free => Owner::Gone,
            LockState::Absent => {
                namespaces.retain(|name| namespace_path(name).exists());
                if namespaces.is_empty() {
                    continue;
                }
                Owner::Gone
            }
        };
        statuses.push(FabricStatus { fabric, owner, namespaces });
    }
    Ok(statuses)
}

/// Removes the namespaces of an abandoned fabric and then its lock. Keeps the lock if a namespace
/// remains, so that it can be found again.
fn remove(abandoned: &FabricStatus) -> Result<(), Error> {
    abandoned
        .namespaces
        .iter()
        .map(|name| namespace_path(name))
        .map(|path| {
            run_directory::remove_namespace_file(&path)
                .map_err(|source| Error::file("remove", path, source))
        })
        .fold(Ok(()), Result::and)
        .and_then(|()| fabric::remove_lock(abandoned.fabric))
}

fn namespace_path(name: &str) -> PathBuf {
    Path::new(run_directory::NAMESPACES).join(name)
}
