//! Fabrics that processes which have ended left. A build without the kernel datapath makes none.

#[cfg(feature = "kernel")]
use netns::{FabricStatus, Owner};

/// Removes them without a word: what cannot be removed is in nobody's way, and the command says why.
#[cfg(feature = "kernel")]
pub fn remove_what_can_be() {
    let _ = netns::destroy_abandoned();
}

/// Removes the fabrics that processes which have ended have left, without a word. Returns whether one of the process `owner`
/// is left.
#[cfg(feature = "kernel")]
pub fn leaves_fabric_of(owner: u32) -> bool {
    netns::destroy_abandoned().is_ok_and(|report| left_of(owner, &report).is_some())
}

/// The fabric that the process `owner` has left, and that counts as living because its lock is held.
#[cfg(feature = "kernel")]
pub fn left_of(owner: u32, report: &netns::Report) -> Option<&FabricStatus> {
    report.living.iter().find(|it| it.owner == Owner::Living(Some(owner)))
}

/// Nothing: a run in memory leaves no namespace.
#[cfg(not(feature = "kernel"))]
pub fn remove_what_can_be() {}

/// No.
#[cfg(not(feature = "kernel"))]
pub fn leaves_fabric_of(_: u32) -> bool {
    false
}
