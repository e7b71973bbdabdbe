//! Attachments that end when dropped, for callers that attach and detach under traffic or query the kernel's
//! attachments.

use std::fmt;
use std::io;

use aya::programs::links::{FdLink, LinkError, LinkOrder, LinkType};
use aya::programs::tc::TcAttachOptions;
use aya::programs::{ProgramError as Source, SchedClassifier, TcAttachType};

use super::{
    ProgramError, SwitchProgram, arrival_name, attach_error, classifier, interface_name, xdp,
};
use crate::hook::XdpHook;

/// Way to attach an arrival program by a BPF link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByLink {
    /// At XDP.
    Xdp(XdpHook),
    /// At TC ingress, by TCX (Linux 6.6).
    Tcx,
}

/// A program attached by a BPF link while this value lives.
pub struct Attachment {
    link: FdLink,
    program: &'static str,
}

/// Type of a link according to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// An XDP link.
    Xdp,
    /// A TCX link.
    Tcx,
    /// Another type, by its number in `enum bpf_link_type`.
    Other(i32),
}

impl fmt::Display for LinkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Xdp => f.write_str("an XDP link"),
            Self::Tcx => f.write_str("a TCX link"),
            Self::Other(number) => write!(f, "a link of type {number}"),
        }
    }
}

impl Attachment {
    /// Returns the type of the link according to the kernel.
    pub fn kind(&self) -> Result<LinkKind, ProgramError> {
        let asked = self.link.info().and_then(|info| info.link_type());
        match asked {
            Ok(LinkType::Xdp) => Ok(LinkKind::Xdp),
            Ok(LinkType::Tcx) => Ok(LinkKind::Tcx),
            Ok(other) => Ok(LinkKind::Other(other as i32)),
            Err(source) => {
                Err(attach_error(self.program, "its link", io::Error::other(source).into()))
            }
        }
    }
}

impl SwitchProgram {
    /// Attaches the arrival program to an interface, from inside its namespace, until the
    /// attachment is dropped. The program's hook must be of the matching kind.
    pub fn attach_by_link(
        &mut self,
        interface_index: u32,
        by: ByLink,
    ) -> Result<Attachment, ProgramError> {
        let name = arrival_name(self.hook);
        let target = || format!("interface {interface_index}");
        let failed = |source: Source| attach_error(name, &target(), source);
        let link = match by {
            ByLink::Xdp(hook) => {
                let program = xdp(&mut self.ebpf, name)?;
                let id = program.attach_to_if_index(interface_index, hook.mode());
                let link = id.and_then(|id| program.take_link(id)).map_err(failed)?;
                FdLink::try_from(link).map_err(|error| failed(link_error_source(error)))?
            }
            ByLink::Tcx => {
                let interface = interface_name(name, interface_index)?;
                let program = classifier(&mut self.ebpf, name)?;
                let order = TcAttachOptions::TcxOrder(LinkOrder::default());
                let id = program.attach_with_options(&interface, TcAttachType::Ingress, order);
                let link = id.and_then(|id| program.take_link(id)).map_err(failed)?;
                FdLink::try_from(link).map_err(|error| failed(link_error_source(error)))?
            }
        };
        Ok(Attachment { link, program: name })
    }
}

/// Returns numbers and names of the programs that TCX runs at an interface of the thread's namespace, at ingress or
/// egress.
pub fn at_tcx(interface: &str, egress: bool) -> io::Result<Vec<(u32, String)>> {
    let direction = if egress { TcAttachType::Egress } else { TcAttachType::Ingress };
    let (_, programs) =
        SchedClassifier::query_tcx(interface, direction).map_err(io::Error::other)?;
    let named = |info: &aya::programs::ProgramInfo| {
        (info.id(), info.name_as_str().unwrap_or_default().to_owned())
    };
    Ok(programs.iter().map(named).collect())
}

fn link_error_source(error: LinkError) -> Source {
    io::Error::other(error).into()
}
