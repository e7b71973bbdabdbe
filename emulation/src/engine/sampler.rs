//! Samples of buffers and queues: one row for each counter that has changed since the last sample.

use fabric_core::cell::Cell64;
use fabric_core::lossy::{self, BufferManagement};
use fabric_core::map_abi::PRIORITIES;
use fabric_core::priority::{self, Priority};
use fabric_core::queue::places;
use fabric_core::scheme::{FlowUse, Ingress, Scheme, Selected, Watched};
use results::{QueueKind, TableRows};
use scenario::Results;
use switch_user::switch::Switch;
use topology::NodeId;
use units::{Bytes, Picos};

use super::journal::{Journal, LossySample, Note, SampledCounter};
use crate::datapath::FrameId;

/// Counters of one (port, priority): ingress, ingress headroom, ingress shared headroom, egress.
const PER_PORT_PRIORITY: usize = 4;
/// Counters of one switch: headroom, shared, private, lossy, buffer.
const PER_SWITCH: usize = 5;
/// Positions of two of them.
const HEADROOM: usize = 0;
const BUFFER: usize = 4;

/// Position of the first counter of a priority, at a switch with `ports` ports.
fn priority_index(ports: u16, priority: usize) -> usize {
    PER_SWITCH + usize::from(ports) * (1 + priority * PER_PORT_PRIORITY)
}

/// The values of a switch's last sample.
#[derive(Debug)]
pub struct Sampler {
    /// Counters of the switch, then of each port, then of each port of the lowest priority and so on: most
    /// priorities carry no traffic, and counters of used priorities are adjacent.
    last: Box<[u64]>,
    /// Number of counters that had changed at the last sample.
    changed: usize,
    /// Last sample of the queues of spread priorities, if any.
    last_of_queues: Box<[u64]>,
    /// Last distribution of flows over the queues, by port; empty unless the scheme gives flows queues.
    last_of_flows: Box<[FlowUse]>,
    /// Last threshold by port and priority; empty unless thresholds are sampled.
    last_thresholds: Box<[u64]>,
    /// Last sample of each lossy egress queue, by port and queue; empty unless thresholds are sampled.
    last_lossy: Box<[LossySample]>,
    /// Last row counts of flow tables, by port; empty unless they are sampled.
    last_of_tables: Box<[TableRows]>,
    ports: u16,
    spread: u8,
    /// Instant of the last sample.
    sampled: Picos,
    /// Max bytes buffered, and max bytes in headroom, up to the last sample.
    most: [u64; 2],
}

impl Sampler {
    /// All counters zero. `spread` are the priorities whose queues have their own table; `results` lists the
    /// additional samples.
    pub fn new(switch: &Switch<FrameId>, ports: u16, spread: u8, results: &Results) -> Self {
        let thresholds = results.thresholds;
        let has_tables = results.flow_tables && Selected::pauses_flows(switch.policy());
        let queues = match spread {
            0 => 0,
            _ => usize::from(ports) * places(&switch.tables().settings().queues),
        };
        let lossy = if thresholds {
            usize::from(ports) * places(&switch.tables().settings().queues)
        } else {
            0
        };
        Self {
            last_lossy: vec![LossySample::default(); lossy].into(),
            last: vec![0; priority_index(ports, PRIORITIES)].into(),
            changed: 0,
            last_of_queues: vec![0; queues].into(),
            last_of_flows: (0..ports).filter_map(|port| switch.flow_use(port)).collect(),
            last_thresholds: vec![0; if thresholds { usize::from(ports) * PRIORITIES } else { 0 }]
                .into(),
            last_of_tables: vec![[0; 3]; if has_tables { usize::from(ports) } else { 0 }].into(),
            ports,
            spread,
            sampled: Picos::ZERO,
            most: [0; 2],
        }
    }

    /// Max bytes buffered, and max bytes in headroom, up to now.
    pub fn most(&self, switch: &Switch<FrameId>) -> [u64; 2] {
        let state = switch.tables().state();
        let now = [&state.buffer_max_bytes, &state.headroom_max_bytes].map(Cell64::load);
        std::array::from_fn(|place| self.most[place].max(now[place]))
    }

    /// Notes the max occupancy since the last sample, if it exceeds both samples. Resets the switch's maxima, like
    /// watermarks that are cleared on read.
    fn note_peak(
        &mut self,
        switch: &Switch<FrameId>,
        now: Picos,
        node: NodeId,
        journal: &mut Journal,
    ) {
        let state = switch.tables().state();
        let levels = [state.buffered_bytes(), state.headroom_bytes.load()];
        let before = [self.last[BUFFER], self.last[HEADROOM]];
        let cells = [&state.buffer_max_bytes, &state.headroom_max_bytes];
        let peaks = cells.map(Cell64::load);
        for place in 0..cells.len() {
            self.most[place] = self.most[place].max(peaks[place]);
            cells[place].store(levels[place]);
        }
        let since = std::mem::replace(&mut self.sampled, now);
        if (0..peaks.len()).any(|place| peaks[place] > before[place].max(levels[place])) {
            let [total, headroom] = peaks.map(Bytes);
            journal.note(now, node, Note::SampledPeak { since, total, headroom });
        }
    }

    /// Takes a sample. `classes` are all priorities of which packets may have been buffered.
    pub fn sample(
        &mut self,
        switch: &Switch<FrameId>,
        now: Picos,
        node: NodeId,
        classes: u8,
        journal: &mut Journal,
    ) {
        self.note_peak(switch, now, node, journal);
        let tables = switch.tables();
        let last = &mut self.last;
        let mut changed = Vec::with_capacity(self.changed);
        let mut counter = |place: usize, kind, port, priority, bytes: u64| {
            if std::mem::replace(&mut last[place], bytes) != bytes {
                changed.push(SampledCounter { kind, port, priority, bytes });
            }
        };
        let state = tables.state();
        let (private, shared) = (state.private_bytes.load(), state.shared_bytes.load());
        let headroom = state.headroom_bytes.load();
        counter(HEADROOM, QueueKind::Headroom, None, None, headroom);
        counter(1, QueueKind::Shared, None, None, shared);
        counter(2, QueueKind::Private, None, None, private);
        counter(3, QueueKind::Lossy, None, None, state.lossy_bytes.load());
        counter(BUFFER, QueueKind::Buffer, None, None, state.buffered_bytes());
        for port in 0..self.ports {
            let number = usize::from(port);
            let of_port = switch.port_use(port).headroom_bytes;
            counter(PER_SWITCH + number, QueueKind::Insurance, Some(port), None, of_port);
            let first = Ingress::new(tables, switch.policy(), port.into(), Priority::new(0))
                .expect("the port is the switch's");
            for class in priority::in_mask(classes) {
                let at = first.sibling(class).expect("the port is the switch's");
                let in_headroom = at.queue.headroom_bytes.load();
                let ingress =
                    at.queue.private_bytes.load() + at.queue.shared_bytes.load() + in_headroom;
                let margin = Selected::margin(&at);
                let queues = at.config.queues_of(class);
                let egress =
                    queues.iter().map(|queue| tables.egress_bytes(port.into(), queue)).sum();
                let place = priority_index(self.ports, class.index()) + number * PER_PORT_PRIORITY;
                let (port, priority) = (Some(port), Some(class.number()));
                counter(place, QueueKind::Ingress, port, priority, ingress);
                counter(place + 1, QueueKind::IngressHeadroom, port, priority, in_headroom);
                counter(place + 2, QueueKind::IngressSharedHeadroom, port, priority, margin);
                counter(place + 3, QueueKind::Egress, port, priority, egress);
            }
        }
        if !self.last_thresholds.is_empty() {
            changed.extend(self.thresholds(switch, now, classes));
        }
        self.changed = changed.len();
        if !changed.is_empty() {
            journal.note(now, node, Note::Sampled(changed));
        }
        for (port, known) in (0..).zip(&mut self.last_of_flows) {
            let flows = switch.flow_use(port).unwrap_or_default();
            if std::mem::replace(known, flows) != flows {
                journal.note(now, node, Note::SampledFlows { port, flows });
            }
        }
        if !self.last_of_tables.is_empty() {
            for (port, (known, rows)) in
                (0..).zip(self.last_of_tables.iter_mut().zip(table_rows(switch, self.ports)))
            {
                if std::mem::replace(known, rows) != rows {
                    journal.note(now, node, Note::SampledTables { port, rows });
                }
            }
        }
        if self.spread & classes != 0 {
            self.sample_queues(switch, now, node, classes, journal);
        }
        if !self.last_lossy.is_empty() {
            self.sample_lossy(switch, now, node, classes, journal);
        }
    }

    /// Thresholds of lossless queues that have changed.
    fn thresholds(
        &mut self,
        switch: &Switch<FrameId>,
        now: Picos,
        classes: u8,
    ) -> Vec<SampledCounter> {
        let tables = switch.tables();
        let lossless = tables.settings().lossless_classes & classes;
        let mut changed = Vec::new();
        for port in 0..self.ports {
            for class in priority::in_mask(lossless) {
                Selected::tick(tables, switch.policy(), port.into(), class, now.to_nanos());
                let at = Ingress::new(tables, switch.policy(), port.into(), class)
                    .expect("the port is the switch's");
                let bytes = Selected::threshold(&at).saturating_sub(Selected::margin(&at));
                let place = usize::from(port) * PRIORITIES + class.index();
                if std::mem::replace(&mut self.last_thresholds[place], bytes) != bytes {
                    let (port, priority) = (Some(port), Some(class.number()));
                    let kind = QueueKind::Threshold;
                    changed.push(SampledCounter { kind, port, priority, bytes });
                }
            }
        }
        changed
    }

    /// Samples each queue of the priorities that have several.
    fn sample_queues(
        &mut self,
        switch: &Switch<FrameId>,
        now: Picos,
        node: NodeId,
        classes: u8,
        journal: &mut Journal,
    ) {
        let tables = switch.tables();
        let settings = tables.settings();
        let places = places(&settings.queues);
        for port in 0..self.ports {
            for class in priority::in_mask(self.spread & classes) {
                for queue in settings.queues_of(class).queues().iter() {
                    let bytes = tables.egress_bytes(port.into(), queue);
                    let known =
                        &mut self.last_of_queues[usize::from(port) * places + queue.place()];
                    if std::mem::replace(known, bytes) != bytes {
                        let (priority, queue) = (class.number(), queue.number());
                        let what = Note::SampledQueue { port, priority, queue, bytes };
                        journal.note(now, node, what);
                    }
                }
            }
        }
    }

    /// Samples each lossy egress queue that holds bytes, or did at the last sample.
    fn sample_lossy(
        &mut self,
        switch: &Switch<FrameId>,
        now: Picos,
        node: NodeId,
        classes: u8,
        journal: &mut Journal,
    ) {
        let (tables, policy) = (switch.tables(), switch.policy());
        let settings = tables.settings();
        let places = places(&settings.queues);
        for port in 0..self.ports {
            for class in priority::in_mask(!settings.lossless_classes & classes) {
                for queue in settings.queues_of(class).iter() {
                    let at = lossy::Egress::new(tables, policy, port.into(), queue, class)
                        .expect("the queue is the switch's");
                    let bytes = at.row.bytes.load();
                    let known = &mut self.last_lossy[usize::from(port) * places + queue.place()];
                    if (bytes, known.bytes) == (0, 0) {
                        continue;
                    }
                    let line = lossy::state::priority(tables, class);
                    let sample = LossySample {
                        bytes,
                        threshold: lossy::Selected::threshold(&at, false),
                        longest_wait: lossy::Selected::longest_wait(&at, false),
                        congested: line.map_or(0, |line| line.congested.load()),
                    };
                    if std::mem::replace(known, sample) != sample {
                        let (priority, queue) = (class.number(), queue.number());
                        let sample = Box::new(sample);
                        let what = Note::SampledLossy { port, priority, queue, sample };
                        journal.note(now, node, what);
                    }
                }
            }
        }
    }
}

/// Row counts of the flow tables, by port: flows with packets and paused flows count at their egress port, flows that
/// the switch has paused at their ingress port.
fn table_rows(switch: &Switch<FrameId>, ports: u16) -> Vec<TableRows> {
    let mut rows = vec![[0; 3]; usize::from(ports)];
    for port in 0..ports {
        Selected::flow_rows(switch.tables(), switch.policy(), port.into(), &mut |flow| {
            let own = &mut rows[usize::from(port)];
            own[0] += u32::from(flow.has_packets);
            own[1] += u32::from(flow.is_held);
            if let Some(ingress) = flow.paused_at {
                rows[ingress as usize][2] += 1;
            }
        });
    }
    rows
}
