//! State of the interfaces of a test's namespaces, and its changes since the set-up.

use netns::{LinkState, Namespace};
use switch_user::program::at_tcx;

use super::verdict::{Failure, Verdict};

/// Returns a pass if nothing has changed since the set-up, otherwise a failure.
pub fn as_before(changes: &[String], namespaces: &[String]) -> Verdict {
    if changes.is_empty() {
        return Verdict::Pass;
    }
    Verdict::fail("interfaces as they were set up", changes.join("; "), namespaces.join(" "))
}

/// An interface of one of the namespaces.
#[derive(Clone, Debug)]
struct Interface {
    namespace: usize,
    index: u32,
    state: LinkState,
    /// TCX programs of the interface, at ingress and egress.
    tcx: [Vec<(u32, String)>; 2],
}

/// Interfaces at some point in time.
#[derive(Clone, Debug)]
pub struct Surroundings(Vec<Interface>);

impl Surroundings {
    /// Reads the interfaces with these indices, each with the index of its namespace.
    pub fn look(namespaces: &[Namespace], interfaces: &[(usize, u32)]) -> Result<Self, Verdict> {
        let look = |&(namespace, index): &(usize, u32)| {
            let place = &namespaces[namespace];
            let state = place.link_state(index)?;
            let tcx = place.enter(|| {
                // Linux before 6.6 has no TCX.
                [false, true].map(|egress| at_tcx(&state.name, egress).unwrap_or_default())
            })?;
            Ok(Interface { namespace, index, state, tcx })
        };
        let all: Result<Vec<_>, netns::Error> = interfaces.iter().map(look).collect();
        all.map(Self).map_err(|error| {
            Verdict::fail(
                "interfaces of the test's namespaces",
                terminal::with_causes(&error),
                "rtnetlink",
            )
        })
    }

    /// Returns the changes, a sentence each, and the frames that interfaces have dropped since: a program may have
    /// caused the drops.
    pub fn changes_and_drops(&self, namespaces: &[Namespace]) -> Vec<String> {
        let mut sentences = self.changes(namespaces);
        for before in &self.0 {
            let namespace = &namespaces[before.namespace];
            let Ok(now) = namespace.link_state(before.index) else { continue };
            let (before_drops, drops) = (before.state.counters, now.counters);
            for (way, count) in [
                ("out", drops.send_dropped.saturating_sub(before_drops.send_dropped)),
                ("in", drops.receive_dropped.saturating_sub(before_drops.receive_dropped)),
            ] {
                if count > 0 {
                    let place = format!("{}/{}", namespace.name(), before.state.name);
                    sentences
                        .push(format!("{place}: {count} frames on their way {way} were dropped"));
                }
            }
        }
        sentences
    }

    /// Returns the changes, a sentence each.
    pub fn changes(&self, namespaces: &[Namespace]) -> Vec<String> {
        let places: Vec<_> = self.0.iter().map(|it| (it.namespace, it.index)).collect();
        let now = match Self::look(namespaces, &places) {
            Ok(now) => now,
            Err(Verdict::Fail(failure)) => return vec![failure.got],
            Err(_) => return Vec::new(),
        };
        let mut changes = Vec::new();
        for (before, now) in self.0.iter().zip(&now.0) {
            let place = format!("{}/{}", namespaces[before.namespace].name(), before.state.name);
            for change in before.state.changes(&now.state) {
                changes.push(format!("{place}: {change}"));
            }
            for (way, (before, now)) in
                ["ingress", "egress"].into_iter().zip(before.tcx.iter().zip(&now.tcx))
            {
                for (number, name) in now.iter().filter(|it| !before.contains(it)) {
                    changes.push(format!(
                        "{place}: TCX {way} runs program {name:?} (number {number}), which the test did not attach"
                    ));
                }
                for (number, name) in before.iter().filter(|it| !now.contains(it)) {
                    changes.push(format!(
                        "{place}: TCX {way} no longer runs program {name:?} (number {number})"
                    ));
                }
            }
        }
        changes
    }
}

/// Adds the changes to the place of a failure.
pub fn explained(verdict: Verdict, changes: &[String]) -> Verdict {
    match verdict {
        Verdict::Fail(failure) if !changes.is_empty() => {
            let place = format!("{}; since the set-up: {}", failure.place, changes.join("; "));
            Verdict::Fail(Failure { place, ..failure })
        }
        verdict => verdict,
    }
}
