//! `summary.json`: a run in a page of numbers.
//!
//! Each numeric field, with its line of `SUMMARY_KEYS`, is a metric of sweeps. `emulation/src/engine/books.rs` or
//! `record.rs` fills it. `Metrics::sample` of sweeps must exclude it if it means nothing while flows are missing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use super::active_flows::ActiveFlows;
use super::column::Key;
use super::deadlock::DeadlockTotals;
use super::drop::DropTotals;
use super::fault::FaultTotals;
use super::fidelity::FidelitySummary;
use super::flow_pause::FlowPauseTotals;
use super::flow_queue::FlowQueueTotals;
use super::flow_statistics::{FctSummary, LabelSummary, SlowdownSummary};
use super::flow_table::FlowTables;
use super::link_bytes::LinkBytes;
use super::occupancy::OccupancySummary;
use super::pause_intervals::PausedByLevel;
use super::port_queues::PortQueues;
use super::port_state::PortStateTotals;
use super::queue_pause::QueuePauseTotals;
use super::size_class::SizeClassSummary;
use super::watchdog::WatchdogTotals;
use super::window::WindowSummary;

/// Results of a run in numbers. Uninterrupted runs of a scenario agree in all fields except `fidelity` and
/// [`Summary::MACHINE_KEYS`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The scenario's name.
    pub scenario: String,
    /// The scenario's seed.
    pub seed: u64,
    /// Flows of the scenario; for an interrupted run, the flows that had started.
    pub flows_total: u64,
    /// Flows whose last packet was acknowledged.
    pub flows_completed: u64,
    /// Completion times; `None` if no flow completed.
    pub fct_ns: Option<FctSummary>,
    /// Slowdowns; `None` if no flow completed.
    pub slowdown: Option<SlowdownSummary>,
    /// Completion times and slowdowns by class of size, if the scenario has classes.
    #[serde(default)]
    pub sizes: BTreeMap<String, SizeClassSummary>,
    /// Completion times and slowdowns by the flows' label.
    pub labels: BTreeMap<String, LabelSummary>,
    /// PAUSE frames decided on, refreshes included.
    pub pause_frames: u64,
    /// PAUSE frames of these that only renewed the quanta.
    pub pause_refresh_frames: u64,
    /// RESUME frames decided on.
    pub resume_frames: u64,
    /// Time in which pauses were in effect at the senders that they stop, summed over (node, port, priority).
    pub paused_ns: u64,
    /// Time from each decision to pause to the decision to resume, summed over (node, port, priority).
    pub pause_ordered_ns: u64,
    /// `pause_ordered_ns` by the scope of the occupancy that decided.
    #[serde(default)]
    pub pause_ordered_by_level: PausedByLevel,
    /// Pauses of single queues, if switches do that.
    #[serde(default)]
    pub queue_pauses: Option<QueuePauseTotals>,
    /// Shared queues of flows, if switches assign queues to flows.
    #[serde(default)]
    pub flow_queues: Option<FlowQueueTotals>,
    /// Numbers of flows with packets at ports, if switches assign queues to flows and any flow had packets.
    #[serde(default)]
    pub active_flows: Option<ActiveFlows>,
    /// Times and durations of ports as victims, if ports have states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_states: Option<PortStateTotals>,
    /// Bytes that switches held, over all switches and instants of the run, if the scenario requests them.
    #[serde(default)]
    pub buffer_bytes: Option<OccupancySummary>,
    /// Bytes that each switch held, in the window if there is one, if the scenario requests them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub switch_buffer_bytes: BTreeMap<String, OccupancySummary>,
    /// Bytes on the links of each switch, in the window if there is one, if the scenario requests them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub link_bytes: BTreeMap<String, LinkBytes>,
    /// Mean queue lengths of switch ports, if the scenario requests them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_queues: Option<PortQueues>,
    /// Results of a part of the run, if the scenario requests them.
    #[serde(default)]
    pub window: Option<WindowSummary>,
    /// Cycles of paused queues that waited for each other.
    pub deadlock: DeadlockTotals,
    /// PFC storms, if switches have a watchdog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<WatchdogTotals>,
    /// Packets that switches marked with Congestion Experienced, each counted once.
    pub ecn_marked: u64,
    /// Flows that lost their entry of a switch's flow table before they were silent, if `switch.lossy` has flow tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_flows: Option<u64>,
    /// Ingress queues whose neighbours had the lowest rate at the end, if switches send rates to neighbours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_ports: Option<u64>,
    /// Pauses of flows, if switches do that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_pauses: Option<FlowPauseTotals>,
    /// Rows of OFC's tables, if the scenario requests them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_tables: Option<FlowTables>,
    /// Congestion notification packets sent.
    pub cnps: u64,
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// Frames that went no further.
    pub drops: DropTotals,
    /// Effects of faults, if the scenario has some.
    #[serde(default)]
    pub faults: Option<FaultTotals>,
    /// Max bytes that each switch held.
    pub buffer_max_bytes: BTreeMap<String, u64>,
    /// Max bytes that each switch held in headroom.
    pub headroom_max_bytes: BTreeMap<String, u64>,
    /// Frames times links crossed.
    pub packet_hops: u64,
    /// Emulated time at the end.
    pub emulated_ns: u64,
    /// Reason of the run's end.
    pub ended: RunEnd,
    /// Work unfinished when the duration or an interrupt ended the run; `None` if all was finished.
    pub unfinished: Option<String>,
    /// True if no frame was lost, for whatever reason.
    pub lossless: bool,
    /// Defects that the final check found; empty if every counter is right.
    pub books: Vec<String>,
    /// Limits at which switches dropped lossless packets, with the remedy. Empty without such drops.
    pub limits_reached: Vec<String>,
    /// Files with a max size that end before the run does, with the remedy. Empty if no file was cut.
    #[serde(default)]
    pub truncated: Vec<String>,
    /// Punctuality of a live fabric. `None` for a run, which has all the time that it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fidelity: Option<FidelitySummary>,
    /// Threads that ran the fabric.
    #[serde(default)]
    pub threads: u32,
    /// Wall time.
    #[serde(serialize_with = "milliseconds")]
    pub wall_seconds: f64,
    /// Processor time, user and system.
    #[serde(serialize_with = "milliseconds")]
    pub cpu_seconds: f64,
}

/// Reason of a run's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunEnd {
    /// Every flow was done and the fabric empty.
    #[default]
    Drained,
    /// The scenario's duration was over.
    Duration,
    /// The scenario requests a stop at a deadlock, and a deadlock was found.
    Deadlock,
    /// The scenario requests a stop when the flows of its window are done.
    Window,
    /// The user interrupted it: results go up to [`Summary::emulated_ns`].
    Interrupted,
    /// The substrate broke a promise: results go up to [`Summary::emulated_ns`].
    Failed,
}

/// Every key of `summary.json`.
pub const SUMMARY_KEYS: &[Key] = &[
    Key { name: "scenario", about: "Name of the scenario." },
    Key { name: "seed", about: "Seed of the scenario." },
    Key {
        name: "flows_total",
        about: "Flows that the scenario asked for; in an interrupted run, those that had started.",
    },
    Key { name: "flows_completed", about: "Flows whose last packet was acknowledged." },
    Key {
        name: "fct_ns",
        about: "`mean` (exact, rounded to a nanosecond), `min` and `max` (exact), the quartiles `p25`, `p50` and `p75`, and `p99` \
                (nearest rank) of the completed flows; null if \
                there are none. Percentiles are exact up to 1024 completed flows, and beyond that too low by less than \
                1/1024 (0.1 %).",
    },
    Key {
        name: "slowdown",
        about: "`mean`, `p50` and `p99` of the completed flows' slowdowns, with four decimals; null \
                if there are none.",
    },
    Key {
        name: "sizes",
        about: "By class of size (`results.size_classes`; `up-to-3kB`, `3kB-to-1MB`, `above-1MB`), whether or not it \
                has flows: `flows` (as in `fct_by_size.csv`), `completed`, their `fct_ns` as above, and their `slowdown` \
                with `p95`, too. Empty without classes.",
    },
    Key {
        name: "labels",
        about: "By the flows' label: `flows` (as in `fct_by_size.csv`), `completed`, and their \
                `fct_ns` and `slowdown` as above; with `results.size_classes` also `sizes`.",
    },
    Key { name: "pause_frames", about: "Decisions to send a PAUSE frame, refreshes included." },
    Key { name: "pause_refresh_frames", about: "PAUSE frames that only renewed the quanta." },
    Key { name: "resume_frames", about: "Decisions to send a RESUME frame." },
    Key {
        name: "paused_ns",
        about: "Time in which pauses were in effect, as seen by the paused senders: the sum of \
                `paused_ns` in `pause_time.csv`.",
    },
    Key {
        name: "pause_ordered_ns",
        about: "Time from each decision to pause to the decision to resume, or to the run's end: the sum \
                of `ordered_ns` in `pause_time.csv`.",
    },
    Key {
        name: "pause_ordered_by_level",
        about: "`pause_ordered_ns` by the level of the last decision: `queue_ns` for an ingress queue, \
                `port_ns` for a port (DSH).",
    },
    Key {
        name: "queue_pauses",
        about: "Pauses of single queues (`switch.scheme` of kind `bfc`): `pauses`, `queues` that were \
                ever paused, `ordered_ns` from each decision to pause to the decision to resume, or to \
                the run's end, summed over queues, and `longest_ns`. Null with other schemes.",
    },
    Key {
        name: "flow_queues",
        about: "Flows and queues of switches with `switch.scheme` of kind `bfc`: `activations`, the \
                number of times that a flow came to have packets in a switch, and `collisions`, the \
                number of activations at which the flow's queue held other packets. Null with other \
                schemes.",
    },
    Key {
        name: "active_flows",
        about: "Flows with packets that wait to leave by a port of a switch with `switch.scheme` of kind `bfc`, counted and sampled as in \
                `flow_queues.csv` (labelled incasts not, flows with one entry of the table once), weighted by time, from `results.from` to `results.to` if they are given: `mean`, the \
                numbers `p50`, `p90` and `p99` that were not exceeded for 50, 90 and 99 % of the time, and `max`, of all \
                `ports` that ever had some and of the `busiest`, which had most in the mean: `busiest_port`, as `s0:17`. \
                `busiest_share_change` is how much a flow's fair share there (the rate by the number of \
                flows) changed in the mean from one sample to the next, as a part of the earlier share. Null without such \
                flows.",
    },
    Key {
        name: "port_states",
        about: "The key is there only if ports have states (`switch.scheme` of kind `spfc`, or `dsh` \
                with `victims`): `victims`, the number of times that a port became a victim; `ports`, \
                the number of ports that were ever victims; `victim_ns`, the sum of their time as \
                victims; `pauses_of_victims` and `pauses_of_normal`, rows `xoff` of `pauses.csv` by the \
                state in which they were decided. With `state_of = \"queue\"` ingress queues instead of \
                ports.",
    },
    Key {
        name: "buffer_bytes",
        about: "With `results.occupancy`: bytes that switches held, over all switches and weighted by time, as `buffer` in \
                `occupancy.csv`: `mean`, the levels `p50`, `p95`, `p99` and `p999` that were not exceeded for 50, 95, 99 and \
                99.9 % of the time, and `max`. Null without it.",
    },
    Key {
        name: "switch_buffer_bytes",
        about: "`buffer_bytes` of each switch, from `results.from` to `results.to` if they are given. \
                The key is there only with `results.occupancy`.",
    },
    Key {
        name: "link_bytes",
        about: "By switch: bytes on the wire (overhead of the wire included) of frames that it began to send `to_hosts` and \
                `to_switches`, from `results.from` to `results.to` if they are given, and what its links there carry at most in \
                that time, up or not (`to_hosts_capacity`, `to_switches_capacity`). The key is there only with \
                `results.link_bytes`.",
    },
    Key {
        name: "port_queues",
        about: "Mean length of the egress queues of a switch port, `mean` in bytes, over the `ports` that data of flows left by, \
                sampled as in `queues.csv` and weighted by time, from `results.from` to `results.to` if they are given: of all \
                flows, by their label (`labels`; a port may be in several) and by switch (`switches`). The key is there only \
                with `results.port_queues`.",
    },
    Key {
        name: "window",
        about: "With `results.from` or `results.to`: the run from `from_ns` up to `to_ns`, at most to its \
                end, by itself. \
                `flows`, `completed`, `fct_ns`, `slowdown`, `labels` and `sizes` (if there are classes), as above, are \
                of the flows that start then, whenever they complete; `paused_ns`, `pause_ordered_ns`, \
                `pause_ordered_by_level` and `buffer_bytes` (with `results.occupancy`), as above, are of the time that \
                lies in it. Null without these keys.",
    },
    Key {
        name: "deadlock",
        about: "Cycles of paused queues (see `deadlocks.csv`). `deadlocks` counts confirmed cycles, \
                `surviving_refresh` confirmed cycles that are also deadlocks with `resume_test = \
                \"refresh\"`. `first_onset_ns` is the earliest onset of a confirmed cycle (null without \
                any). `at_end` is true if a confirmed cycle lasted until the run's end. `dissolved` \
                counts cycles that dissolved unconfirmed, `undecided` unconfirmed cycles at the run's \
                end.",
    },
    Key {
        name: "watchdog",
        about: "PFC storms (see `watchdog.csv`): `storms` that were detected, `restored` before the run's end, `storm_ns` from \
                each detection until then, in sum, and the sums of the columns `egress_dropped_packets`, \
                `egress_dropped_bytes`, `ingress_dropped_packets`, `ingress_dropped_bytes`, `forwarded_packets` and \
                `forwarded_bytes`. Missing without `switch.watchdog`.",
    },
    Key {
        name: "ecn_marked",
        about: "Packets that switches marked Congestion Experienced; one that several marked counts \
                once.",
    },
    Key {
        name: "replaced_flows",
        about: "Number of times that a flow lost its entry of a switch's flow table (`switch.lossy.flow_table`) to another flow \
                before it was silent; its count is too low then. Missing without flow tables.",
    },
    Key {
        name: "slowest_ports",
        about: "Ingress queues, of a port and a priority each, whose neighbour had the rate of the last stage at the run's end \
                (`switch.scheme` of kind `gfc` or `gfc-ofc`). Missing without it.",
    },
    Key {
        name: "flow_pauses",
        about: "Pauses of flows (`switch.scheme` of kind `ofc`): `pause_frames` and `resume_frames` that switches decided \
                to send, and `flows` that the former named; `class_pauses`, how often a class was paused in place of a flow \
                because the flow table was full, and `unnamed_packets`, packets of flows without an entry. `unresumed` lists flows that had \
                not completed because a RESUME was lost: `flow`, the `node` and `port` that hold it back, `by` whom it was paused, \
                and `resumed_ns`, when that decided to resume it. `congested` are the flows \
                that a switch paused at a neighbour at least once, `uncongested` the others: of both `flows`, `completed`, `fct_ns`, \
                `slowdown` and `sizes` as above, and the same by label (`labels`). Missing without it.",
    },
    Key {
        name: "flow_tables",
        about: "Rows of OFC's tables, by samples at the instants of `queues.csv` and weighted by time, from `results.from` to \
                `results.to` if they are given. `ports` of switches had a row at a sample. `flow_in_port_tab`: flows with packets \
                that wait to leave by a port; `congested_flow_tab`: flows that the neighbour behind it has paused; \
                `pause_frame_tab`: flows that the switch has paused at the neighbour. Of each: `mean` over time and these ports, \
                `max` of a port, and `sum_mean`, the mean over time of the rows of all ports. A row takes 16 B here, and one \
                serves all three tables. The key is there only with `results.flow_tables`.",
    },
    Key { name: "cnps", about: "Congestion notification packets sent." },
    Key { name: "retransmitted_packets", about: "Data packets sent again." },
    Key {
        name: "drops",
        about: "Dropped and lost frames: `by_reason`, and totals by class: `policy`, `frame`, `ignored`, \
                `substrate`, `injected`, and `watchdog` with `switch.watchdog` (see `drops.csv`).",
    },
    Key {
        name: "faults",
        about: "Frames that `[[faults]]` affected (see `faults.csv`): `lost`, `corrupted`, `sent_while_down` (to a wire \
                that was down, so they were lost), `delayed` and `slowed` (by each fault, if several do it); and `reroutes`, the \
                number of times that switches got other routes. Null without faults.",
    },
    Key { name: "buffer_max_bytes", about: "Maximum of the bytes in the buffer, by switch." },
    Key { name: "headroom_max_bytes", about: "Maximum of the headroom in use, bytes, by switch." },
    Key { name: "packet_hops", about: "Sum over all frames of the links that each crossed." },
    Key { name: "emulated_ns", about: "Emulated time at the run's end." },
    Key {
        name: "ended",
        about: "Reason for the run's end: `drained` (every flow was done), `duration` (it was over), \
                `deadlock` (with `stop = \"deadlock\"`), `window` (with `stop = \"window\"`: every flow that starts in \
                the window was done), `interrupted` (by Ctrl-C or another signal: \
                all results go up to `emulated_ns`, samples up to the last one before) or `failed` (the machine \
                below the fabric lost a frame, or another program sent one; `unfinished` says which, results go \
                up to then, and books are not checked).",
    },
    Key {
        name: "unfinished",
        about: "Reason why a run that its duration ended is cut short: flows had not completed, the fabric had \
                not drained, or was deadlocked. Of an interrupted run, the instant of the interrupt. Null if the fabric drained, if only flows without an end were left, or if the \
                run stopped at a deadlock, as asked.",
    },
    Key {
        name: "lossless",
        about: "True if no frame was lost, data or control: every class of `drops` but `ignored` is 0. \
                Without lossless priorities a lossless run is luck. Frames that the scenario's faults or \
                watchdog dropped make `lossless` false, but the exit code stays 0, because the run did \
                what the scenario asks; `drops.injected` and `drops.watchdog` count these frames. \
                `limits_reached` lists packets that a switch dropped.",
    },
    Key {
        name: "books",
        about: "Errors that the final check of the books found, as texts; an empty list if the books balance.",
    },
    Key {
        name: "limits_reached",
        about: "Limits at which a switch dropped packets of lossless priorities: switch, packets, reason \
                and remedy. Empty if no switch did. Frames lost by injected faults or a watchdog, and \
                frames without a route after a link failure, do not count.",
    },
    Key {
        name: "truncated",
        about: "Bounded files that end before the run does: their number of rows, the missing part and \
                the remedy. Empty without such files. The run itself is complete.",
    },
    Key {
        name: "fidelity",
        about: "Of a live fabric only: how punctual it was, from its start to its end. Times of flows and pauses are exact \
                in any case; this says whether programs in the hosts saw the fabric as it was. `is_good` (`lost_ns` is 0, \
                at most one of 100 deadlines was met late, and at most one of 100 sleeps ended late if there were so many), \
                `dilation`, `deadlines` (each is what a node had to do in a window), `late` (met more than 250 us after the \
                first of it was due), `p50_ns`, `p99_ns` and `most_ns` (of lateness, in emulated time, give or take 1/16), `sleeps` (the same of the engine's sleeps, by how \
                late they ended), `lost_ns` (by which the emulated clock was set back, in wall time), and `nodes`: the same by node.",
    },
    Key {
        name: "threads",
        about: "Threads that ran the fabric, as `--threads` allowed and the run had work for. Results do not depend \
                on it.",
    },
    Key { name: "wall_seconds", about: "Wall time; differs from run to run." },
    Key { name: "cpu_seconds", about: "Processor time; differs from run to run." },
];

impl Summary {
    /// The summary's name in the results folder.
    pub const FILE: &'static str = "summary.json";
    /// The keys that depend on the machine. They come last, one to a line.
    pub const MACHINE_KEYS: [&'static str; 3] = ["threads", "wall_seconds", "cpu_seconds"];

    /// Returns true if the run is valid: finished, books balanced, no substrate loss, and no lossless packet dropped by
    /// a switch.
    pub fn is_sound(&self) -> bool {
        let Self { ended, unfinished, books, limits_reached, drops, .. } = self;
        !matches!(ended, RunEnd::Interrupted | RunEnd::Failed)
            && unfinished.is_none()
            && books.is_empty()
            && limits_reached.is_empty()
            && drops.substrate == 0
    }

    /// Indented JSON, ended by a line feed.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).expect("a summary has string keys only");
        json.push('\n');
        json
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn milliseconds<S: Serializer>(seconds: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((seconds * 1e3).round() / 1e3)
}

#[cfg(test)]
mod tests;
