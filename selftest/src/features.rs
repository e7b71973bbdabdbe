//! Checks for optional kernel features. A test that needs a missing feature is skipped; any other problem is a failure.

use std::sync::OnceLock;

use netns::{NamespaceSpec, Plan};
use nix::errno::Errno;
use switch_user::program::add_clsact;

use super::rig::netns_verdict;
use super::verdict::Verdict;

/// The loopback interface of a new namespace.
const LOOPBACK: u32 = 1;

/// Checks for AF_XDP; a kernel without it does not know the address family.
pub fn need_af_xdp() -> Result<(), Verdict> {
    linux::af_xdp::probe().map_err(|error| match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EAFNOSUPPORT) => {
            Verdict::skip(format!("no AF_XDP (CONFIG_XDP_SOCKETS): {error}"))
        }
        _ => Verdict::fail("an AF_XDP socket", error.to_string(), "socket()"),
    })
}

/// Checks for clsact, with which xoff watches egress at every hook. The result is cached.
pub fn need_clsact() -> Result<(), Verdict> {
    static FOUND: OnceLock<Result<(), Verdict>> = OnceLock::new();
    FOUND.get_or_init(ask_for_clsact).clone()
}

fn ask_for_clsact() -> Result<(), Verdict> {
    let namespace = NamespaceSpec { name: "clsact".to_owned(), forwarding: false };
    let plan = Plan { namespaces: vec![namespace], ..Plan::default() };
    let deployment = netns::deploy(&plan).map_err(|error| netns_verdict(&error))?;
    let added = deployment.namespace(0).enter(|| add_clsact(LOOPBACK));
    added.map_err(|error| netns_verdict(&error))?.map_err(|error| {
        let text = terminal::with_causes(&error);
        // ENOENT: "Specified qdisc kind is unknown".
        if text.contains("(os error 2)") || text.contains("kind is unknown") {
            return Verdict::skip(format!("no clsact (CONFIG_NET_SCH_INGRESS): {text}"));
        }
        Verdict::fail("clsact at an interface", text, "rtnetlink")
    })
}
