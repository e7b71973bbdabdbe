//! PFC storms: actions of a switch when its watchdog detects one, and its counts.
//!
//! The effect on arrivals and PFC frames is in `fabric_core::watchdog`. Waiting packets are dropped by
//! `Scheme::discard`, so that every scheme gives back its counts. A new fact about a storm goes into `Storm` here,
//! `WatchdogRow` in `results/src/tables/incidents.rs`, and `StormView` and `StormEvent` in `emulation/src/live/view.rs`.

use std::collections::BTreeMap;

use fabric_core::drop_reason::DropReason;
use fabric_core::hop_control::{ClassPauses, Order};
use fabric_core::map_abi::{self, class_row};
use fabric_core::pause_state::duration_ns;
use fabric_core::policy::StormAction;
use fabric_core::priority::{self, Priority};
use fabric_core::scheme::Scheme;
use fabric_core::tables::Tables;
use fabric_core::watchdog::{self as effect, Traffic};
use units::Picos;

use super::timers::Timer;
use super::{Departed, Discarded, DroppedPacket, Event, Observer, Switch, port_number};
use crate::tables::SwitchTables;
use crate::traffic_manager::Selection;
use crate::watchdog::{Change, Watchdog, WatchdogConfig};

/// A storm: a (port, priority) that the neighbour pauses without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storm {
    /// The port.
    pub port: u16,
    /// The priority.
    pub priority: Priority,
    /// Time of detection.
    pub detected: Picos,
    /// End of the storm; `None` while it lasts.
    pub restored: Option<Picos>,
    /// Packets that waited at detection.
    pub waiting: Traffic,
    /// Packets that were to leave by the port and were dropped because of the storm.
    pub egress_dropped: Traffic,
    /// Packets of the priority that arrived at the port and were dropped because of the storm.
    pub ingress_dropped: Traffic,
    /// Packets that were sent in spite of the storm.
    pub forwarded: Traffic,
}

/// All storms of a (port, priority) so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StormHistory {
    /// Number of storms detected.
    pub detected: u64,
    /// Number of storms that have ended.
    pub restored: u64,
    /// Packets that were to leave by the port and were dropped.
    pub egress_dropped: Traffic,
    /// Packets of the priority that arrived at the port and were dropped.
    pub ingress_dropped: Traffic,
    /// Packets that were sent in spite of pauses.
    pub forwarded: Traffic,
}

/// State of a (port, priority) that has had a storm.
#[derive(Debug, Default)]
struct Kept {
    detected: u64,
    restored: u64,
    forwarded: Traffic,
    /// The current storm. Its traffic fields hold the totals at its beginning.
    present: Option<Storm>,
}

/// The watchdog and the storms that it has detected.
#[derive(Debug)]
pub(super) struct Storms {
    watchdog: Watchdog,
    kept: BTreeMap<(u16, Priority), Kept>,
    /// Number of storms that have not ended.
    present: usize,
    /// Time up to which received pauses are known, if not the present.
    heard: Option<Picos>,
}

impl Storms {
    pub(super) fn new(config: WatchdogConfig, ports: usize) -> Self {
        let watchdog = Watchdog::new(config, ports);
        Self { watchdog, kept: BTreeMap::new(), present: 0, heard: None }
    }

    pub(super) fn set_backlog(&mut self, heard: Option<Picos>) {
        self.heard = heard;
    }
}

/// Packets dropped since the start: bound for (port, priority), and received there.
fn dropped(tables: &SwitchTables, port: u16, priority: Priority) -> [Traffic; 2] {
    let row = tables.storm(class_row(port.into(), priority));
    let map_abi::Storm { egress_packets, egress_bytes, ingress_packets, ingress_bytes, .. } =
        row.expect("a port of the switch has a row for each priority");
    let both = [[egress_packets, egress_bytes], [ingress_packets, ingress_bytes]];
    both.map(|[packets, bytes]| Traffic { packets: packets.load(), bytes: bytes.load() })
}

impl Kept {
    /// Returns the current storm with its counts so far.
    fn present(&self, tables: &SwitchTables) -> Option<Storm> {
        let begun = self.present?;
        let [egress, ingress] = dropped(tables, begun.port, begun.priority);
        Some(Storm {
            egress_dropped: egress.since(begun.egress_dropped),
            ingress_dropped: ingress.since(begun.ingress_dropped),
            forwarded: self.forwarded.since(begun.forwarded),
            ..begun
        })
    }
}

impl<F: Copy + Default, S: Scheme> Switch<F, S> {
    /// Iterates over the storms that have not ended, in the order of ports and priorities.
    pub fn storms(&self) -> impl Iterator<Item = Storm> + '_ {
        let kept = self.storms.iter().flat_map(|storms| storms.kept.values());
        kept.filter_map(|kept| kept.present(&self.tables))
    }

    /// Iterates over the ports and priorities that have had storms, in this order; the flag is true during a storm.
    pub fn storm_histories(
        &self,
    ) -> impl Iterator<Item = (u16, Priority, StormHistory, bool)> + '_ {
        let kept = self.storms.iter().flat_map(|storms| &storms.kept);
        kept.map(|(&(port, priority), kept)| {
            let [egress_dropped, ingress_dropped] = dropped(&self.tables, port, priority);
            let Kept { detected, restored, forwarded, present } = *kept;
            let history =
                StormHistory { detected, restored, egress_dropped, ingress_dropped, forwarded };
            (port, priority, history, present.is_some())
        })
    }

    /// Notifies the watchdog at `now` of a PFC frame that a port received at `at`. The length of
    /// pauses and the gaps between them depend on the neighbour, not on the delay of this process.
    #[cold]
    pub(super) fn hear_of_pauses(
        &mut self,
        now: Picos,
        at: Picos,
        port: u16,
        pauses: &ClassPauses,
    ) {
        let Some(storms) = &mut self.storms else { return };
        let lossless = self.tables.settings().lossless_classes;
        let row = self.tables.port(port.into()).expect("it came in at a port of the switch");
        // Rounded to nanoseconds, as in the tables.
        let nanos = at.to_nanos().0;
        for class in priority::in_mask(pauses.named & lossless) {
            let end = nanos + duration_ns(row, pauses.quanta[class.index()]);
            let [binds, until] =
                [nanos + row.response_ns.load(), end].map(|at| Picos::from_nanos(units::Nanos(at)));
            storms.watchdog.hear(at, port, class, binds, until);
        }
        if let Some(look) = storms.watchdog.look_again(now) {
            self.timers.set(look, Timer::WatchdogLook);
        }
    }

    /// Runs the watchdog. Each change that it finds becomes a timer at `now` for its port and priority.
    pub(super) fn look_for_storms(&mut self, now: Picos) {
        let Some(storms) = &mut self.storms else { return };
        let (queues, settings) = (&self.queues, self.tables.settings());
        let holds = |port: u16, priority| {
            let own = settings.queues_of(priority).queues();
            !queues.non_empty(port.into()).and(own).is_empty()
        };
        let seen = storms.heard.map_or(now, |heard| heard.min(now));
        for (port, priority, change) in storms.watchdog.look(seen, holds) {
            self.timers.set(now, Timer::Storm { port, priority, change });
        }
        if let Some(at) = storms.watchdog.look_again(now) {
            self.timers.set(at, Timer::WatchdogLook);
        }
    }

    /// Handles the beginning or end of a storm.
    pub(super) fn storm_changes<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        priority: Priority,
        change: Change,
        observer: &mut O,
    ) {
        match change {
            Change::Detected => self.begin_storm(now, port, priority, observer),
            Change::Restored => self.end_storm(now, port, priority, observer),
        }
    }

    fn begin_storm<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        priority: Priority,
        observer: &mut O,
    ) {
        let Some(storms) = &mut self.storms else { return };
        let action = storms.watchdog.action();
        let mut waiting = Traffic::default();
        for queue in self.tables.settings().queues_of(priority).iter() {
            waiting.packets += u64::from(self.queues.queue_packets(port.into(), queue));
            waiting.bytes += self.queues.queue_bytes(port.into(), queue);
        }
        let [egress_dropped, ingress_dropped] = dropped(&self.tables, port, priority);
        let kept = storms.kept.entry((port, priority)).or_default();
        kept.detected += 1;
        let forwarded = kept.forwarded;
        let (detected, restored) = (now, None);
        kept.present = Some(Storm {
            port,
            priority,
            detected,
            restored,
            waiting,
            egress_dropped,
            ingress_dropped,
            forwarded,
        });
        storms.present += 1;
        effect::begin(&self.tables, self.config.policy, port.into(), priority, now.to_nanos())
            .expect("a port of the switch has a row for each priority");
        match action {
            StormAction::None => {}
            StormAction::Drop => self.discard_waiting(now, port, priority, observer),
            StormAction::Forward => {
                let (until, quanta) = (now.to_nanos(), None);
                let ignored = Event::PauseReceived { port, priority, until, quanta };
                observer.event(now, &self.tables, ignored);
            }
        }
        let begun = self.storm(port, priority).expect("it has just begun");
        observer.event(now, &self.tables, Event::StormDetected(begun.into()));
    }

    fn end_storm<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        priority: Priority,
        observer: &mut O,
    ) {
        let Some(storm) = self.storm(port, priority) else { return };
        effect::end(&self.tables, port.into(), priority)
            .expect("a port of the switch has a row for each priority");
        if let Some(storms) = &mut self.storms
            && let Some(kept) = storms.kept.get_mut(&(port, priority))
        {
            storms.present -= 1;
            kept.restored += 1;
            kept.present = None;
        }
        let restored = Storm { restored: Some(now), ..storm };
        observer.event(now, &self.tables, Event::StormRestored(restored.into()));
    }

    fn storm(&self, port: u16, priority: Priority) -> Option<Storm> {
        self.storms.as_ref()?.kept.get(&(port, priority))?.present(&self.tables)
    }

    /// Drops all packets that wait at (port, priority), and sends the hop control frames due.
    fn discard_waiting<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        priority: Priority,
        observer: &mut O,
    ) {
        let (policy, nanos) = (self.config.policy, now.to_nanos());
        let reason = DropReason::WatchdogEgress;
        for queue in self.tables.settings().queues_of(priority).iter() {
            while let Some(Selection { slot, frame, length, .. }) =
                self.queues.take_first(port.into(), queue)
            {
                let orders = &mut self.orders;
                let mut send = |order: &Order| orders.push(*order);
                let left = S::discard(&self.tables, policy, slot, nanos, reason, &mut send)
                    .expect("the traffic manager names slots that hold a packet");
                effect::count_discarded(&self.tables, port.into(), priority, length.into());
                let ingress = port_number(left.ingress_port);
                let packet = Departed { port, queue, ingress, priority: left.priority, length };
                self.has_left(now, packet, observer);
                let priority = Some(left.priority);
                let event = Event::Dropped { port: ingress, reason, priority, length };
                observer.event(now, &self.tables, event);
                let dropped = Some(DroppedPacket { ingress, egress: port, reason });
                self.discarded.push_back(Discarded { frame, dropped });
            }
        }
    }

    /// Counts a packet that was sent at `now`, if there is a storm and a pause forbade it.
    pub(super) fn count_forwarded(
        &mut self,
        now: Picos,
        port: u16,
        priority: Priority,
        length: u32,
    ) {
        if let Some(storms) = &mut self.storms
            && storms.present > 0
            && storms.watchdog.pauses(now, port, priority)
            && let Some(kept) = storms.kept.get_mut(&(port, priority))
            && kept.present.is_some()
        {
            kept.forwarded.add(length);
        }
    }
}
