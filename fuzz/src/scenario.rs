//! A scenario's text is refused with a sentence, or it is right: written out, it loads into an equal scenario, its
//! buffers add up, its flows are as documented, and every part of a run can be built. No run is started.
//!
//! Lines that begin with `#set ` are overrides, as for `--set`.

use std::io;
use std::path::Path;

use analysis::{expectation, inspect};
use emulation::engine::{Engine, ThreadUse};
use emulation::host_settings::HostSettings;
use emulation::switch_settings::{self, RouteTables};
use emulation::{paths, queue_pairs, run};
use host_agent::Host;
use scenario::{Scenario, ScenarioError};
use switch_user::tables::SwitchTables;
use topology::{HostId, SwitchId};

use crate::named_files::text_of;
use crate::seeds::Seeds;

/// Longer texts are not tried: nothing in a scenario needs them.
const MAX_TEXT_LENGTH: usize = 16 << 10;
/// Larger fabrics are only loaded: the other checks would take seconds for each input.
const MAX_HOSTS: u32 = 64;
const MAX_SWITCHES: u32 = 32;
/// Descriptors of all switches for which tables are made: 64 bytes each, and as many are only reserved.
const MAX_SLOTS: u64 = 1 << 20;
/// Flows that are looked at.
const FLOWS: usize = 200;
/// Flows whose paths are computed.
const PATHS: usize = 20;
/// Max flows of a scenario that is inspected, because an inspection may read all of them.
const MAX_INSPECTED_FLOWS: u64 = 10_000;
/// A switch chip of `xoff inspect`, whose headroom is computed from the scenario's rates and lengths.
const CHIP: &str = "spectrum-3";

const OVERRIDE: &str = "#set ";

/// The scenarios that ship.
pub const SHIPPED: [(&str, &str); 19] = [
    ("adaptive-headroom.toml", include_str!("../../scenarios/adaptive-headroom.toml")),
    ("deadlock.toml", include_str!("../../scenarios/deadlock.toml")),
    ("deadlock-ring.toml", include_str!("../../scenarios/deadlock-ring.toml")),
    ("dsh-incast.toml", include_str!("../../scenarios/dsh-incast.toml")),
    ("incast.toml", include_str!("../../scenarios/incast.toml")),
    ("single-flow.toml", include_str!("../../scenarios/single-flow.toml")),
    ("star-incast.toml", include_str!("../../scenarios/star-incast.toml")),
    ("storm.toml", include_str!("../../scenarios/storm.toml")),
    ("two-flows-dcqcn.toml", include_str!("../../scenarios/two-flows-dcqcn.toml")),
    ("victim.toml", include_str!("../../scenarios/victim.toml")),
    ("dsh/asymmetric.toml", include_str!("../../scenarios/dsh/asymmetric.toml")),
    ("dsh/burst.toml", include_str!("../../scenarios/dsh/burst.toml")),
    ("dsh/collateral.toml", include_str!("../../scenarios/dsh/collateral.toml")),
    ("dsh/deadlock.toml", include_str!("../../scenarios/dsh/deadlock.toml")),
    ("dsh/groups.toml", include_str!("../../scenarios/dsh/groups.toml")),
    ("dsh/isolation.toml", include_str!("../../scenarios/dsh/isolation.toml")),
    ("dsh/large.toml", include_str!("../../scenarios/dsh/large.toml")),
    ("dsh/motivation.toml", include_str!("../../scenarios/dsh/motivation.toml")),
    ("websearch.toml", include_str!("../../tests/src/bin/bench/websearch.toml")),
];

/// Seeds with more keys, because shipped scenarios have few of the schema's keys.
const MORE: [&str; 3] = [
    include_str!("../seeds/workloads.toml"),
    include_str!("../seeds/switches.toml"),
    include_str!("../seeds/custom.toml"),
];

/// The shipped scenarios, and a few with other keys.
pub fn seeds() -> Seeds {
    let texts = SHIPPED.iter().map(|(_, text)| *text).chain(MORE);
    let overridden = "#set switch.buffer=4MB\n#set flows.0.priority=2\n".to_owned() + SHIPPED[3].1;
    Seeds::from_texts(texts.map(str::to_owned).chain([overridden]))
        .with_schema(&scenario::json_schema())
}

/// Checks a text.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if text.len() > MAX_TEXT_LENGTH {
        return;
    }
    let overrides = text.lines().filter_map(|line| line.strip_prefix(OVERRIDE));
    let overrides: Vec<String> = overrides.map(str::to_owned).collect();
    match load(text, &overrides) {
        Ok(scenario) => holds(&scenario, &|text| load(text, &[])),
        Err(error) => refusal_is_a_sentence(&error),
    }
}

/// A report has a title, and names the text or the override that is wrong.
pub fn refusal_is_a_sentence(error: &ScenarioError) {
    let report = error.to_string();
    let title = report.lines().next().unwrap_or_default();
    assert!(title.starts_with("error: ") && title.len() > "error: ".len(), "{report}");
    assert!(report.contains("--> "), "{report}");
}

/// Loads a text from a folder that has only the files of [`text_of`].
fn load(text: &str, overrides: &[String]) -> Result<Scenario, ScenarioError> {
    let path = Path::new("/fuzz/scenario.toml");
    let read = |asked: &Path| {
        if asked == path { Ok(text.to_owned()) } else { file(asked) }
    };
    Scenario::read(path, overrides, &read)
}

fn file(path: &Path) -> io::Result<String> {
    text_of(path).map(str::to_owned).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Checks the properties of a loaded scenario; `load` loads a text that names the same files.
pub fn holds(scenario: &Scenario, load: &dyn Fn(&str) -> Result<Scenario, ScenarioError>) {
    let fabric = scenario.fabric();
    if fabric.host_count() > MAX_HOSTS || fabric.switch_count() > MAX_SWITCHES {
        return;
    }
    let written = scenario.to_toml();
    match load(&written) {
        Ok(again) => assert!(again == *scenario, "not the same:\n{written}"),
        Err(error) => panic!("written out, it does not load:\n{error}\n{written}"),
    }
    if let Err(error) = expectation::check(scenario) {
        refusal_is_a_sentence(&error);
    }
    flows_are_as_documented(scenario);
    hosts_can_be_made(scenario);
    switches_can_be_made(scenario);
    let expected = scenario.sources().iter().map(scenario::Source::expected_flows);
    if expected.fold(0, u64::saturating_add) <= MAX_INSPECTED_FLOWS {
        let asic = CHIP.parse().expect("a chip that inspect knows");
        assert!(!inspect::report(scenario, Some(&asic)).is_empty());
    }
}

fn flows_are_as_documented(scenario: &Scenario) {
    let fabric = scenario.fabric();
    let mut before = None;
    for (number, flow) in (0..).zip(scenario.flow_stream().take(FLOWS)) {
        assert_eq!(flow.id, number);
        assert_ne!(flow.source, flow.destination);
        assert!(
            flow.bytes.0 > 0 && flow.start < scenario.duration && flow.priority < 8,
            "{flow:?}"
        );
        assert!(before <= Some(flow.start), "{flow:?} after {before:?}");
        assert!(fabric.reaches(flow.source, flow.destination));
        before = Some(flow.start);
        if flow.id < PATHS as u32 {
            let (path, back) = scenario.path_of(&flow);
            assert!(path.len() >= 2 && back.len() >= 2);
            assert!(paths::ideal(scenario, &flow).0 > 0);
            let (request, responder) = queue_pairs::queue_pair(scenario, &flow);
            assert_eq!((request.qp, request.bytes), (responder.qp, responder.bytes));
        }
    }
}

/// `Host::new` panics on a configuration that no host can have.
fn hosts_can_be_made(scenario: &Scenario) {
    let settings = HostSettings::new(scenario);
    for host in (0..scenario.fabric().host_count()).map(HostId) {
        drop(Host::new(settings.config(host), &settings.transports(host)));
    }
}

fn switches_can_be_made(scenario: &Scenario) {
    let switches = || (0..scenario.fabric().switch_count()).map(SwitchId);
    let mut slots = 0;
    for switch in switches() {
        let pools = scenario.buffer_pools(switch);
        let sum = pools.headroom.0 + pools.private.0 + pools.shared.0;
        assert_eq!(sum, scenario.switch_at(switch).buffer().0, "the pools are the buffer");
        let routes = RouteTables::new(scenario, switch);
        slots += u64::from(switch_settings::capacity(scenario, switch, &routes).slots);
    }
    if slots > MAX_SLOTS {
        return;
    }
    // One switch's tables as every datapath configures them, then the whole run, which does not start.
    for switch in switches().take(1) {
        let routes = RouteTables::new(scenario, switch);
        let capacity = switch_settings::capacity(scenario, switch, &routes);
        let mut tables = SwitchTables::owned(capacity).expect("memory for one switch");
        let order = scenario.deadlock_prevention();
        switch_settings::configure(scenario, switch, routes, order.as_ref(), &mut tables);
    }
    let datapath = run::in_memory(scenario).expect("memory for a few switches");
    drop(Engine::new(scenario, datapath, run::record(scenario, None), &[], ThreadUse::ONE));
}
