//! Fabrics left by processes that have ended. A build without the kernel datapath makes none.

#[cfg(feature = "kernel")]
pub use netns::Process;
#[cfg(feature = "kernel")]
use netns::{FabricStatus, Owner};

/// Removes abandoned fabrics without output. A fabric that cannot be removed is harmless, and `xoff destroy` reports
/// why.
#[cfg(feature = "kernel")]
pub fn remove_what_can_be() {
    let _ = netns::destroy_abandoned();
}

/// Removes the fabrics of processes that have ended, without output. Returns true if a fabric of the process `owner` may
/// be left. A lock without an owner is held by a process that dies before it has written its number: perhaps by `owner`.
#[cfg(feature = "kernel")]
pub fn leaves_fabric_of(owner: Process) -> bool {
    let may_be_left = |report: netns::Report| {
        let nameless = report.living.iter().any(|it| it.owner == Owner::Living(None));
        nameless || left_of(owner, &report).is_some()
    };
    netns::destroy_abandoned().is_ok_and(may_be_left)
}

/// Returns the fabric that the process `owner` has left and that counts as living because its lock is held.
#[cfg(feature = "kernel")]
pub fn left_of(owner: Process, report: &netns::Report) -> Option<&FabricStatus> {
    let is_of_owner =
        |it: &&FabricStatus| matches!(it.owner, Owner::Living(Some(other)) if other.is(owner));
    report.living.iter().find(is_of_owner)
}

/// Does nothing: a run in memory leaves no namespace.
#[cfg(not(feature = "kernel"))]
pub fn remove_what_can_be() {}

/// Stands for a process in a build that makes no fabrics.
#[cfg(not(feature = "kernel"))]
#[derive(Clone, Copy, Debug)]
pub struct Process;

#[cfg(not(feature = "kernel"))]
impl Process {
    /// Stands for the process with this number.
    pub const fn new(_: u32) -> Self {
        Self
    }
}

/// Returns false: a run in memory leaves no fabric.
#[cfg(not(feature = "kernel"))]
pub fn leaves_fabric_of(_: Process) -> bool {
    false
}
