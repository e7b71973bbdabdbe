//! Offloads of an interface.

use std::io;
use std::os::fd::AsRawFd;

use linux::interface::{Offload, set_offload};

/// Offloads to disable, and their names. Checksums come first: without them the kernel also disables scatter-gather and
/// all segmentation.
const OFFLOADS: [(Offload, &str); 5] = [
    (Offload::TransmitChecksums, "transmit checksum offload"),
    (Offload::ScatterGather, "scatter-gather"),
    (Offload::TcpSegmentation, "TCP segmentation offload"),
    (Offload::GenericSegmentation, "generic segmentation offload"),
    (Offload::GenericReceive, "generic receive offload"),
];

/// Disables offloads that put unfinished checksums or frames larger than the MTU on the wire.
///
/// `socket` is any socket of the interface's namespace. An error names the offload.
pub(crate) fn switch_off(
    socket: &impl AsRawFd,
    interface: &str,
) -> Result<(), (&'static str, io::Error)> {
    for (offload, name) in OFFLOADS {
        set_offload(socket, interface, offload, false).map_err(|error| (name, error))?;
    }
    Ok(())
}
