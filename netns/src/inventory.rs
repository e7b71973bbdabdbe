//! The fabrics of this machine: which exist, which have lost their owner, and their removal.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::fabric::{self, FabricId, LockState};
use crate::privilege;
use crate::process::Process;
use crate::run_directory;

/// A fabric that exists, whole or in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FabricStatus {
    /// Its identifier.
    pub fabric: FabricId,
    /// Whose it is.
    pub owner: Owner,
    /// The full names of its namespaces, sorted.
    pub namespaces: Vec<String>,
}

/// Whose a fabric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// A process that lives; which one, unless that has not been written yet.
    Living(Option<Process>),
    /// Nobody: the owner died without removing it.
    Gone,
}

/// What [`destroy_abandoned`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The fabrics that were removed.
    pub removed: Vec<FabricStatus>,
    /// The fabrics that were left alone because their owner lives.
    pub living: Vec<FabricStatus>,
}

/// All fabrics on this machine, in the order of their identifiers.
///
/// # Errors
/// When the directories under `/run` cannot be used, for example for lack of privilege.
pub fn list() -> Result<Vec<FabricStatus>, Error> {
    let _nobody_else = run_directory::lock_fabrics()?;
    statuses()
}

/// Removes every fabric whose owner no longer lives, names without a namespace included, and leaves
/// the others alone. Processes that still run inside one keep its namespace, without its name.
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

/// Every fabric that has a lock or a namespace. The caller holds the lock on all fabrics.
///
/// Locks are read first: an owner removes its lock last, so a fabric without one that still has
/// namespaces afterwards has no owner.
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

/// Removes the namespaces of an abandoned fabric and then its lock, unless something stays that
/// must be found again.
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
