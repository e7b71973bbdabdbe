//! Tables about pauses of priorities.

use fabric_core::hop_control::{PauseEvent, PauseLevel};
use fabric_core::port_state::{PortState, StateCause};
use units::{Bytes, Nanos};

use crate::column::Column;
use crate::pause_intervals::{Ordered, PauseTotal};
use crate::row::{Row, Sometimes};
use crate::share::Share;

tables! {
    /// One row per decision to pause, to refresh a pause and to resume.
    #[derive(Clone, Copy, Debug)]
    pub struct PauseRow<'a> in "pauses.csv", counted {
        /// Instant of the decision. The frame leaves when the port is free.
        pub time: Nanos as time_ns,
        /// Switch that decided.
        pub node: &'a str,
        /// Its ingress port, out of which the PAUSE frame goes.
        pub port: u16,
        /// Paused node: the neighbour at that port.
        pub peer: &'a str,
        /// Paused priority, 0 to 7.
        pub priority: u8,
        /// `xoff` (stop), `xoff-refresh` (still stopped; the quanta are renewed) or `xon` (go on).
        pub event: PauseEvent,
        /// Bytes of the ingress queue or of the port, by `level`, in the shared pool and in headroom, including the
        /// packet that arrived. For an `xoff` at least the threshold.
        pub occupancy: Bytes as occupancy_bytes,
        /// The threshold at that instant: X_off for `xoff` and `xoff-refresh`, X_on for `xon`. For an `xoff` at most
        /// the room of the shared pool: a packet that finds the pool full goes to headroom and pauses, however large
        /// X_off is.
        pub threshold: Bytes as threshold_bytes,
        /// Free bytes of the switch's shared pool at that instant.
        pub shared_free: Bytes as shared_free_bytes,
        /// `queue`: the ingress queue decided; `port`: the whole port did (DSH), with one frame and a row for each
        /// class. A pause of a level at a port in a priority lasts from its `xoff` (or its `xoff-refresh` if no pause
        /// is open) to its `xon`. When one level takes over from the other, the pause of the earlier level ends in an
        /// `xon` without a frame. This row has the numbers of the row after it, with which the other level continues: a
        /// port's `xoff`, or the `xoff-refresh` of a queue whose class a port's RESUME leaves out. So pauses never
        /// overlap, and add up to the totals of `pause_time.csv` and `summary.json`.
        pub level: PauseLevel,
        /// The column is there only if ports have states: `switch.scheme` of kind `spfc`, or `dsh` with `victims`.
        /// State of the port, `victim` or `normal`: for an `xoff` the state before the decision, because the PAUSE of a
        /// victim makes it normal; for an `xon` the state after it. With `state_of = "queue"` the state of the ingress
        /// queue.
        state: Sometimes<PortState> = |row| Sometimes(row.state),
        /// The neighbour's port; not a column.
        pub peer_port: u16 as _,
        /// The state of the port, if ports have states: then each row has one.
        pub state: Option<PortState> as _,
    }

    /// One row per port and priority that was paused, or that its neighbour decided to pause. `paused_ns` and
    /// `longest_ns` are times at the paused sender: a pause runs from the arrival of a PAUSE frame plus the port's
    /// response time, when the port may no longer start a frame of that priority, to the arrival of the RESUME frame,
    /// the expiry of the quanta or the run's end.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PauseTimeRow in "pause_time.csv", counted {
        /// Host or switch that was paused.
        pub node: String,
        /// Port whose egress queue of this priority was paused.
        pub port: u16,
        /// Paused priority, 0 to 7.
        pub priority: u8,
        /// Node that paused it: the neighbour at that port.
        pub by: String,
        /// Pauses that began: PAUSE frames that arrived while none was running.
        pauses: u64 = |row| row.imposed.pauses,
        /// Time in which the pauses were in effect.
        paused_ns: Nanos = |row| row.imposed.paused,
        /// `paused_ns` as a share of the run (`emulated_ns` in `summary.json`), six decimals, rounded down.
        share: Share = |row| Share { part: row.imposed.paused.0.into(), whole: row.end.0.into() },
        /// Longest of the pauses.
        longest_ns: Nanos = |row| row.imposed.longest,
        /// Decisions of the neighbour to pause, refreshes not counted.
        ordered_pauses: u64 = |row| row.ordered.total.pauses,
        /// Time from each of these decisions to the decision to resume, or to the run's end: `xoff` and `xon` in
        /// `pauses.csv`.
        ordered_ns: Nanos = |row| row.ordered.total.paused,
        /// Pauses as received and in effect.
        pub imposed: PauseTotal as _,
        /// Time of `imposed` that lies in the window.
        pub imposed_in_window: Nanos as _,
        /// Pauses as the neighbour decided.
        pub ordered: Ordered as _,
        /// The run's end.
        pub end: Nanos as _,
    }

    /// Only if ports have states: `switch.scheme` of kind `spfc`, or `dsh` with `victims`. One row per change of the
    /// state of an ingress port. At first all are normal.
    #[derive(Clone, Copy, Debug)]
    pub struct PortStateRow<'a> in "port_states.csv", counted {
        /// Instant of the change.
        pub time: Nanos as time_ns,
        /// Switch.
        pub node: &'a str,
        /// Its ingress port.
        pub port: u16,
        /// With `state_of = "queue"`: the priority of the ingress queue that changes. Otherwise empty.
        pub priority: Option<u8>,
        /// State from then on: `victim` or `normal`.
        state: PortState = |row| row.cause.state(),
        /// Cause of the change. To `victim`: `fast` (the count of departures has reached the counting number) or
        /// `resume` (the count reached it while the neighbour was paused, and the neighbour now resumes). To `normal`:
        /// `slow` (a period has ended below the counting number) or `pause` (the port has paused its neighbour).
        pub cause: StateCause,
    }
}

impl PauseRow<'_> {
    /// Columns of the table, with or without the column of port states.
    pub fn columns(has_states: bool) -> &'static [Column<'static>] {
        let all = Self::COLUMNS;
        if has_states { all } else { &all[..all.len() - 1] }
    }
}
