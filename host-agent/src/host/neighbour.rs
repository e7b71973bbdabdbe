//! Frames between a host and the neighbour at its port: hop control and link delay.

use fabric_core::hop_control::{ClassPauses, HopControl};
use fabric_core::map_abi::PRIORITIES;
use fabric_core::priority;
use fabric_core::queue::{QueueId, QueueSet};
use fabric_core::wire::LinkDelayFrame;
use fabric_core::wire::link_delay::{self, Kind};
use units::Picos;

use super::{Host, HostConfig, HostEvent};
use crate::pause::PauseOutcome;

/// Length of a link delay frame.
const CONTROL_FRAME: u32 = 60;
const _: () = assert!(link_delay::LEN == CONTROL_FRAME as usize);

impl Host {
    /// Handles a hop control frame whose last bit arrived at `now`. A NIC obeys PFC, pauses of its queues, rates of its
    /// priorities and, if configured, pauses of flows; it counts other hop control frames and ignores them.
    pub fn handle_hop_control(&mut self, now: Picos, control: &HopControl) {
        let (pause, counters) = (self.nic.pauses_mut(), &mut self.counters);
        let (named, paused) = match *control {
            HopControl::Classes(pauses) => {
                match pause.receive(now, &pauses) {
                    PauseOutcome::Paused => counters.pauses_received += 1,
                    PauseOutcome::Resumed => counters.resumes_received += 1,
                    PauseOutcome::Nothing => counters.pauses_without_class += 1,
                }
                return self.report_pauses(now, &pauses);
            }
            HopControl::Queue { queue, paused } => {
                let queue = QueueSet::from_queue(queue);
                (queue, if paused { queue } else { QueueSet::EMPTY })
            }
            HopControl::Queues { paused } => {
                let [low, high] = paused.map(u128::from);
                (
                    QueueSet::from_flow_queues(u128::MAX),
                    QueueSet::from_flow_queues(low | high << 64),
                )
            }
            HopControl::Rate { priority, kilobits_per_second } if self.config.obeys_rates => {
                match pause.receive_rate(priority, kilobits_per_second) {
                    PauseOutcome::Paused | PauseOutcome::Resumed => counters.rates_received += 1,
                    PauseOutcome::Nothing => counters.unexpected_hop_control += 1,
                }
                return;
            }
            HopControl::Flows { priority, paused, flows } if self.config.obeys_flow_pauses => {
                return self.handle_flow_pause(now, priority, paused, flows.hashes());
            }
            HopControl::Rate { .. } | HopControl::Flows { .. } => {
                counters.unexpected_hop_control += 1;
                return;
            }
        };
        match pause.receive_queues(now, named, paused) {
            PauseOutcome::Paused => counters.queue_pauses_received += 1,
            PauseOutcome::Resumed => counters.queue_resumes_received += 1,
            PauseOutcome::Nothing => counters.unexpected_hop_control += 1,
        }
    }

    /// Queues an event for each class of a received PFC frame.
    fn report_pauses(&mut self, now: Picos, pauses: &ClassPauses) {
        for priority in priority::in_mask(pauses.named) {
            let quanta = pauses.quanta[priority.index()];
            let lasts = self.config.pause_time();
            let until = (now + lasts(self.config.link_rate, quanta)).to_nanos();
            self.events.push_back(HostEvent::PauseReceived { priority, at: now, until, quanta });
        }
    }

    /// The transmit queues that the neighbour has paused one by one.
    pub fn paused_queues(&self) -> QueueSet {
        self.nic.pauses().paused_queues()
    }

    /// The flows that have a transmit queue and something left to send (TCP: to be acknowledged), in the order of their
    /// numbers.
    pub fn flows_of(&self, queue: QueueId) -> Vec<u32> {
        let sending = self.senders.iter();
        let sending = sending.filter(|sending| {
            sending.queue == queue && sending.end.remaining() > 0 && !sending.end.is_complete()
        });
        let mut flows: Vec<u32> = sending.map(|sending| sending.end.request().flow).collect();
        flows.sort_unstable();
        flows
    }

    /// Handles a link delay frame whose last bit arrived at `now`. A request is answered when the port is free. A host
    /// sends no requests, so it ignores responses.
    pub fn handle_link_delay(&mut self, now: Picos, frame: &LinkDelayFrame) {
        if frame.kind != Kind::Request {
            return;
        }
        self.counters.link_delay_requests += 1;
        let response_time = self.config.pause_response.to_nanos_ceil();
        let answer = frame.answer(self.config.mac, now.to_nanos(), response_time);
        self.nic.queue_link_delay_response(answer);
    }

    /// Pauses `classes` at the neighbour from `now` until `end`, however little the host holds: a PFC storm. With
    /// [`Picos::MAX`] the storm lasts until [`end_storm`](Self::end_storm).
    pub fn begin_storm(&mut self, now: Picos, classes: u8, end: Picos) {
        let pauses = self.storms.begin(now, classes, end);
        self.nic.queue_class_pauses(pauses);
    }

    /// Ends the storms of `classes`.
    pub fn end_storm(&mut self, classes: u8) {
        let resumes = self.storms.end(classes);
        self.nic.queue_class_pauses(resumes);
    }

    /// The NIC's MAC address.
    pub const fn mac_address(&self) -> [u8; 6] {
        self.config.mac
    }

    /// By class: when it no longer pauses it; zero where it does not, [`Picos::MAX`] if that has to be ended.
    pub const fn storm_ends(&self) -> [Picos; PRIORITIES] {
        self.storms.ends()
    }

    /// The classes that it pauses without end, a bit each.
    pub fn storm_classes(&self) -> u8 {
        self.storms.classes()
    }

    /// The PFC frame that starts onto the free port, ahead of all else, if there is one.
    #[inline]
    pub fn poll_class_pauses(&mut self) -> Option<ClassPauses> {
        let pauses = self.nic.pop_class_pauses()?;
        self.counters.pfc_frames_sent += 1;
        Some(pauses)
    }

    /// The link delay frame that starts onto the free port at `now`, ahead of any packet, if there is one:
    /// stamped with the instant at which its last bit leaves.
    #[inline]
    pub fn poll_link_delay(&mut self, now: Picos) -> Option<LinkDelayFrame> {
        let mut frame = self.nic.pop_link_delay_response()?;
        let HostConfig { frame_time, frame_lengths, link_rate, .. } = self.config;
        let length = frame_lengths.hop_control(CONTROL_FRAME);
        frame.stamp((now + frame_time.serialise(link_rate, length.into())).to_nanos());
        Some(frame)
    }
}
