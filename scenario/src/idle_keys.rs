//! Keys of a file that change nothing, because keys of a simulator take their place.

use super::dialect::is_set;
use super::document::Document;
use super::{Ecn, Numbers, PauseLasts, PauseRefresh, Scenario, ScenarioError};

/// Keys of `host` that belong to xoff's own hosts alone.
const OWN_HOSTS: [&str; 6] = [
    "transport",
    "retransmission_timeout",
    "scheduler",
    "cnp_priority",
    "queue_pauses",
    "flow_pauses",
];

/// Warnings with their places. All are equal, so that equality of scenarios ignores how their files are written.
#[derive(Clone, Debug, Default)]
pub struct IdleKeys(pub Vec<ScenarioError>);

impl PartialEq for IdleKeys {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for IdleKeys {}

impl IdleKeys {
    /// Finds such keys in the file of a scenario.
    pub fn new(scenario: &Scenario, document: &Document<'_>) -> Self {
        let ecn = scenario.switch.ecn.as_ref();
        let draws = scenario.numbers != Numbers::Seed;
        let lasts = scenario.switch.pause_lasts != PauseLasts::Quanta;
        let others = |ecn: &Ecn| ecn.priorities() != scenario.switch.lossless;
        let refreshes = scenario.switch.pause_refresh != PauseRefresh::default();
        let cuts = scenario.frames.cuts_in_vain() && scenario.dialect.is_none();
        let of_simulators = [
            (draws && ecn.is_some_and(others), "switch.ecn.priorities", "beside `numbers`"),
            (lasts && refreshes, "switch.pause_refresh", "beside `switch.pause_lasts`"),
            (cuts, "frames.shortest", "without `frames.data_headers`"),
        ];
        let of_simulators = of_simulators.into_iter().filter(|(is_idle, ..)| *is_idle);
        let of_simulators = of_simulators.map(|(_, key, beside)| (key.to_owned(), beside, None));
        let is_simulated = scenario.host.ns3.is_some();
        let of_flows = (0..scenario.sources().len()).map(|it| format!("flows.{it}.transport"));
        let of_hosts = OWN_HOSTS.iter().map(|key| format!("host.{key}")).chain(of_flows);
        let help = "hosts of the simulator have keys of their own: `xoff schema host.ns3`";
        let of_hosts =
            of_hosts.filter(|_| is_simulated).map(|key| (key, "beside `host.ns3`", Some(help)));
        let idle = of_simulators.chain(of_hosts).filter(|(key, ..)| is_set(document, key));
        let warnings = idle.map(|(key, beside, help)| {
            let title = format!("`{key}` changes nothing {beside}");
            document.error(&key, &title, help.unwrap_or("leave it out"))
        });
        Self(warnings.collect())
    }
}

/// Removes keys of `host` from a resolved scenario that change nothing beside `host.ns3`.
pub fn leave_out(host: &mut toml::Table) {
    for key in OWN_HOSTS {
        host.remove(key);
    }
}
