//! The switch programs in each form that a scenario can select, and the kernel verifier's verdict on them.

use std::time::Instant;

use fabric_core::lossy;
use fabric_core::policy::{MarkingScheme, Policy, SchemeKind, StormAction, ThresholdScheme};
use fabric_core::scheme::{Configure, Scheme, SchemeSettings, Selected};
use serde_json::json;
use switch_user::hook::{Hook, XdpHook};
use switch_user::prefix_table::PrefixTable;
use switch_user::program::standalone::{StandaloneProgram, Surroundings};
use switch_user::program::{HostProgram, ProgramError, SocketTakes, SwitchProgram};
use switch_user::tables::Capacity;
use units::Nanos;

use super::{PAIR_INTERFACE, Problem};
use crate::commands::json_errors::answers_in_json;
use crate::commands::{Exit, print, with_causes};

/// Attachment of a switch program. Native and generic XDP use the same program.
#[derive(Clone, Copy, Debug)]
enum Place {
    Xdp,
    Tc,
    /// `xoff-switch`.
    StandsAlone,
}

impl Place {
    const EVERY: [Self; 3] = [Self::Xdp, Self::Tc, Self::StandsAlone];

    /// BFC needs a fabric.
    const fn runs(self, scheme: SchemeKind) -> bool {
        !matches!((self, scheme), (Self::StandsAlone, SchemeKind::Bfc))
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Xdp => "xdp",
            Self::Tc => "tc",
            Self::StandsAlone => "xoff-switch",
        }
    }
}

/// Loads each program once.
pub fn load_all() -> Result<String, Problem> {
    for (place, policy) in every() {
        load(place, policy).map_err(|error| {
            let mut problem = Problem::from(error);
            problem.message = format!("{} at {}: {}", name(policy), place.name(), problem.message);
            problem
        })?;
    }
    for takes in [SocketTakes::Ours, SocketTakes::All] {
        HostProgram::load(2, PAIR_INTERFACE, takes, XdpHook::Native)?;
    }
    Ok("the programs of hosts load, and those of switches with every scheme and buffer management"
        .to_owned())
}

/// Prints a line for each switch program as it is loaded; in JSON one object.
#[expect(clippy::disallowed_methods, reason = "how long a program takes to load is printed")]
pub fn print_table() -> Exit {
    let header = format!("{:>12} {:>8}  {:<12} program", "instructions", "ms", "hook");
    let in_json = answers_in_json();
    let mut exit = if in_json { Exit::Success } else { print(&header, Exit::Success) };
    for (place, policy) in every() {
        let began = Instant::now();
        let loaded = load(place, policy);
        let took = began.elapsed().as_millis();
        let steps = match &loaded {
            Ok(Some(steps)) => steps.to_string(),
            Ok(None) => "not reported".to_owned(),
            Err(_) => "refused".to_owned(),
        };
        let (hook, name) = (place.name(), name(policy));
        if in_json {
            let error = loaded.as_ref().err().map(|error| with_causes(error));
            if error.is_some() {
                exit = Exit::BadInput;
            }
            let instructions = loaded.ok().flatten();
            let line = json!({
                "hook": hook,
                "program": name,
                "instructions": instructions,
                "milliseconds": u64::try_from(took).unwrap_or(u64::MAX),
                "error": error,
            });
            exit = print(&line.to_string(), exit);
            continue;
        }
        exit = print(&format!("{steps:>12} {took:>8}  {hook:<12} {name}"), exit);
        if let Err(error) = loaded {
            exit = print(&format!("{:>22} {}", "", with_causes(&error)), Exit::BadInput);
        }
    }
    exit
}

fn every() -> impl Iterator<Item = (Place, Policy)> {
    policies().flat_map(|policy| {
        let places = Place::EVERY.into_iter().filter(move |place| place.runs(policy.scheme()));
        places.map(move |place| (place, policy))
    })
}

/// Policies that contain each scheme, buffer management, threshold, marking and watchdog action: the verifier sees only
/// values that a switch can run with.
fn policies() -> impl Iterator<Item = Policy> {
    use MarkingScheme::{AtDequeue, AtEnqueue, Off};
    use ThresholdScheme::{Dynamic, Static, Stored};
    let plain = [(Dynamic, Off), (Static, AtEnqueue), (Stored, AtDequeue)].into_iter().cycle();
    let plain = plain.map(|(threshold, marking)| Policy::new(threshold, marking));
    let actions = [StormAction::None, StormAction::Drop, StormAction::Forward].into_iter().cycle();
    let plain = plain.zip(actions).map(|(plain, action)| plain.with_storm_action(action));
    let schemes = SchemeSettings::every().zip(plain.clone());
    let schemes = schemes.map(|(scheme, plain)| scheme.select(plain));
    // The first settings already occur with the schemes.
    let lossy = lossy::Settings::every().skip(1).zip(plain);
    schemes.chain(lossy.map(|(lossy, plain)| lossy.select(plain)))
}

/// Returns a program's constants as text.
fn name(policy: Policy) -> String {
    format!(
        "{:?} (options {:#x}), {:?} (options {:#x}), threshold {:?}, marking {:?}, storm {:?}",
        policy.scheme(),
        policy.options,
        policy.lossy(),
        policy.lossy_options,
        policy.threshold(),
        policy.marking(),
        policy.storm_action()
    )
}

/// Loads a program. Returns the number of instructions that the verifier processed, if the kernel reports it.
fn load(place: Place, policy: Policy) -> Result<Option<u32>, ProgramError> {
    Ok(match place {
        Place::Xdp => switch(policy, Hook::Xdp)?.verified_instructions(),
        Place::Tc => switch(policy, Hook::Tc)?.verified_instructions(),
        Place::StandsAlone => standalone(policy)?.program().verified_instructions(),
    })
}

/// Loads the program of a fabric's switch.
pub fn switch(policy: Policy, hook: Hook) -> Result<SwitchProgram, ProgramError> {
    let scheme = Selected::room(policy, 2);
    let capacity = Capacity { scheme, ..Capacity::new(2, 2, 64) };
    let mut loaded = SwitchProgram::load(&[capacity], policy, hook, None)?;
    Ok(loaded.remove(0).0)
}

fn standalone(policy: Policy) -> Result<StandaloneProgram, ProgramError> {
    let scheme = Selected::room(policy, 2);
    let capacity = Capacity { scheme, ..Capacity::new(2, 2, 64) };
    let surroundings = Surroundings {
        interfaces: &[PAIR_INTERFACE],
        prefixes: &PrefixTable::default(),
        ring_bytes: 1 << 17,
        began: Nanos(0),
    };
    Ok(StandaloneProgram::load(&capacity, policy, XdpHook::Native, &surroundings)?.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_scheme_is_tried() {
        let policies: Vec<Policy> = policies().collect();
        let tried = |scheme: fn(&Policy) -> u32| {
            policies.iter().map(scheme).collect::<BTreeSet<u32>>().len()
        };
        assert_eq!(tried(|policy| policy.threshold), 3);
        assert_eq!(tried(|policy| policy.marking), 3);
        // Service pools and SONiC's pools are in memory only.
        assert_eq!(tried(|policy| policy.scheme), SchemeKind::ALL.len() - 2);
        assert_eq!(tried(|policy| policy.options), 13);
        assert_eq!(tried(|policy| policy.lossy), 6);
        assert_eq!(tried(|policy| policy.lossy << 3 | policy.lossy_options), 10);
    }

    #[test]
    fn programs_have_different_names() {
        let names: BTreeSet<String> = policies().map(name).collect();
        assert_eq!(names.len(), policies().count());
    }
}
