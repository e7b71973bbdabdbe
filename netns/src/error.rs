//! Errors of fabrics in the kernel.

use std::io;
use std::path::PathBuf;

use nix::errno::Errno;

use crate::fabric::FabricId;
use crate::plan_check::PlanError;

/// Reason why a fabric could not be created, entered, listed or removed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan is invalid; nothing was created.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The process lacks a capability; nothing was created.
    #[error(
        "network namespaces need {capability}, which this process lacks; run it as root, for \
         example with sudo"
    )]
    Privilege {
        /// The capability's name, such as `CAP_SYS_ADMIN`.
        capability: &'static str,
    },
    /// A file or directory of this crate could not be used.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// Attempted action, as a verb.
        action: &'static str,
        /// File or directory.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A system call on a namespace failed.
    #[error("namespace {namespace}: cannot {action}: {source}{}", advice(source))]
    Namespace {
        /// Full name of the namespace.
        namespace: String,
        /// Attempted action, as a verb with its object.
        action: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The kernel refused a netlink request.
    #[error("cannot {request}: {source}{}{}", said(kernel.as_deref()), advice(source))]
    Refused {
        /// Request, with its interface and namespace.
        request: String,
        /// Text from the kernel, if any.
        kernel: Option<String>,
        /// Error code from the kernel.
        source: io::Error,
    },
    /// The thread that enters namespaces could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// Every fabric identifier is in use.
    #[error("all 65536 fabric names are taken; remove what killed runs left with `xoff destroy`")]
    NoFabricIdLeft,
    /// A fabric that is to be destroyed is still in use by its owner.
    #[error("fabric {fabric} is in use by process {process}; stop that process first")]
    FabricLives {
        /// Identifier of the fabric.
        fabric: FabricId,
        /// Process number of the owner, or `?` if the owner has not written it yet.
        process: String,
    },
    /// The fabric does not exist.
    #[error("there is no fabric {fabric}; `ip netns` shows the namespaces of those that exist")]
    NoSuchFabric {
        /// Identifier of the fabric.
        fabric: FabricId,
    },
    /// A fabric's name does not have four hexadecimal digits.
    #[error("{name:?} is not a fabric's name; write four hexadecimal digits, such as 3f9a")]
    FabricName {
        /// Given name.
        name: String,
    },
}

impl Error {
    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File { action, path: path.into(), source }
    }

    pub(crate) fn namespace(namespace: &str, action: impl Into<String>, source: io::Error) -> Self {
        Self::Namespace { namespace: namespace.to_owned(), action: action.into(), source }
    }
}

fn said(kernel: Option<&str>) -> String {
    kernel.map(|words| format!(" (the kernel says: {words})")).unwrap_or_default()
}

fn advice(source: &io::Error) -> &'static str {
    match source.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EPERM | Errno::EACCES) => "; run it as root, outside of a restricted container",
        Some(Errno::EMFILE) => {
            "; raise the limit on open files, for example with `ulimit -n 65536`"
        }
        Some(Errno::ENOSPC) => {
            "; raise a limit of the kernel: user.max_net_namespaces or fs.mount-max (sysctl)"
        }
        Some(Errno::EOPNOTSUPP) => "; the kernel may lack veth (CONFIG_VETH, `modprobe veth`)",
        Some(Errno::EBUSY) => {
            "; where the kernel puts tunnels (sit0, tunl0) into each new namespace, they have taken the interface's index: \
             set the sysctl net.core.fb_tunnels_only_for_init_net to 2"
        }
        Some(Errno::EROFS) => "; mount it writable, or run outside of the container",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_where_and_what_to_do() {
        let refused = Error::Refused {
            request: "make link leaf0/p0 - host0/eth0".to_owned(),
            kernel: Some("Unknown device type".to_owned()),
            source: io::Error::from(Errno::EOPNOTSUPP),
        };
        let message = refused.to_string();
        for part in ["leaf0/p0", "Unknown device type", "modprobe veth"] {
            assert!(message.contains(part), "{message}");
        }
        let busy = advice(&io::Error::from(Errno::EBUSY));
        assert!(busy.contains("net.core.fb_tunnels_only_for_init_net"), "{busy}");
        let source = io::Error::from(Errno::EMFILE);
        let message = Error::namespace("xoff-0001-leaf0", "open it", source).to_string();
        assert!(message.contains("xoff-0001-leaf0") && message.contains("ulimit"), "{message}");
    }
}
