//! Results of small fabrics, row by row: a byte of a host's link takes a nanosecond, and a packet of 1000 bytes
//! 1082 of them, so that most numbers can be followed by hand.

mod hosts;
mod interrupted;
mod pauses;

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use results::Summary;
use scenario::Scenario;
use tempfile::TempDir;

use super::flow;
use crate::engine::Watch;
use crate::run::{Threads, run};

/// Results of a run.
struct Left {
    folder: TempDir,
    summary: Summary,
}

impl Left {
    /// Runs a scenario in memory; `settings` are in the form of `--set`.
    fn by(text: &str, settings: &[&str]) -> Self {
        Self::by_watched(text, settings, &AtomicBool::new(false))
    }

    /// Runs a scenario in memory; the run checks `interrupted` from time to time.
    fn by_watched(text: &str, settings: &[&str], interrupted: &AtomicBool) -> Self {
        let settings: Vec<String> =
            ["datapath.kind=memory"].iter().chain(settings).map(|it| (*it).to_owned()).collect();
        let scenario = Scenario::parse(text, Path::new("rows.toml"), &settings);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let folder = tempfile::tempdir().expect("a folder");
        let mut watch = Watch { interrupted, progress: &mut |_| {} };
        let outcome = run(&scenario, Some(folder.path()), Threads::ONE, &mut watch);
        let summary = outcome.unwrap_or_else(|error| panic!("{error}")).report.summary;
        Self { folder, summary }
    }

    /// The rows of tables.
    fn tables(&self, names: &[&str]) -> String {
        self.texts(names, |text| text.split_once('\n').expect("a header").1)
    }

    /// Files without a header.
    fn files(&self, names: &[&str]) -> String {
        self.texts(names, |text| text)
    }

    fn texts(&self, names: &[&str], part: impl Fn(&str) -> &str) -> String {
        let text = |name: &&str| {
            let text = fs::read_to_string(self.folder.path().join(name)).expect("it is written");
            [name, "\n", part(&text)].concat()
        };
        names.iter().map(text).collect()
    }

    /// Counters of the engine.
    fn counted(&self) -> String {
        let Summary { ended, unfinished, books, limits_reached, drops, .. } = &self.summary;
        let Summary { flows_completed, flows_total, packet_hops, emulated_ns, .. } = self.summary;
        let Summary { pause_frames, pause_refresh_frames, resume_frames, .. } = self.summary;
        let Summary { ecn_marked, cnps, retransmitted_packets, .. } = self.summary;
        let (buffer, headroom) = (&self.summary.buffer_max_bytes, &self.summary.headroom_max_bytes);
        let Summary { scenario, seed, .. } = &self.summary;
        format!(
            "{scenario}, seed {seed}: {flows_completed} of {flows_total} flows, {packet_hops} hops, {ended:?} at {emulated_ns}
{pause_frames} PAUSE, {pause_refresh_frames} of them refresh, {resume_frames} RESUME
{ecn_marked} marked, {cnps} CNPs, {retransmitted_packets} sent again
dropped {:?}, at most held {buffer:?}, in headroom {headroom:?}
unfinished {unfinished:?}, books {books:?}, limits {limits_reached:#?}",
            drops.by_reason
        )
    }
}

/// `h1` and `h2` at 8 Gbit/s and `h0` at 2 Gbit/s on `s0`, all links of 1 us, with little buffer.
fn funnel(rest: &str) -> String {
    let link = |host, rate| {
        format!("{{ a = \"{host}\", b = \"s0\", rate = \"{rate}\", delay = \"1us\" }}")
    };
    let links = [link("h0", "2Gbps"), link("h1", "8Gbps"), link("h2", "8Gbps")].join(", ");
    format!(
        "name = \"funnel\"\nseed = 5\nduration = \"20ms\"\n[topology]\nkind = \"custom\"
switches = [\"s0\"]\nhosts = [\"h0\", \"h1\", \"h2\"]\nlinks = [{links}]
[switch]\nbuffer = \"1MB\"\nlossless = [3]\nprivate_per_queue = \"0B\"
threshold = {{ kind = \"static\", xoff = \"5kB\", xon = \"3kB\" }}
[host]\ntransport = {{ kind = \"roce-rc\", congestion_control = \"none\" }}
[results]\nqueue_period = \"20us\"\n{rest}"
    )
}

/// h1 sends 12 kB to h0, and h2 8 kB.
fn both() -> String {
    flow("h1", "h0", 12_000) + &flow("h2", "h0", 8_000)
}
