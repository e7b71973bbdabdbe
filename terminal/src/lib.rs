//! Parts that all commands share: the preparation of a process, its output, and its end.
//!
//! [`Complaint`] is an error or a warning in parts, which `output` and [`json_errors`] show as text or as JSON. [`Exit`] is the
//! end of a command, [`prepare`] the beginning of a run. A signal sets a flag ([`interrupt`]). A [`guardian`] removes what a
//! process leaves behind that is killed, and the [`HEAP`] ends a process that gets no memory.

#![forbid(unsafe_code)]

pub mod abandoned;
mod causes;
mod complaint;
mod exit;
pub mod guardian;
pub mod json_errors;
#[cfg(feature = "kernel")]
pub mod leave;
mod open_files;
mod output;
mod output_file;
mod preparation;
pub mod tables;

pub use causes::with_causes;
pub use complaint::Complaint;
pub use exit::Exit;
pub use linux::{heap::Heap, interrupt};
pub use output::{answer, complain, print, print_document, refuse, say, warn};
pub use output_file::require_place;
pub use preparation::prepare;

/// The binary's heap. If a process gets no memory, its guardian removes the run's leftovers.
pub const HEAP: linux::heap::Heap = linux::heap::Heap {
    message: "error: out of memory; raise the limit (`ulimit -v unlimited`, or the container's) or run a smaller scenario\n",
    exit_code: Exit::BadInput.code(),
};
