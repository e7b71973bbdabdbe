//! PFC storms in a live fabric: requests of users, and events of watchdogs.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, Sender};

use fabric_core::priority;
use switch_user::switch::{Storm, StormHistory};
use topology::HostId;
use units::Picos;

use super::super::Engine;
use super::super::host_node::Command;
use super::super::journal::Entry;
use super::super::switch_node::SwitchNode;
use crate::datapath::Wires;
use crate::datapath::kernel::KernelWires;
use crate::live::view::{StormCounts, StormEvent, StormSpan, StormView};

/// Number of events that `xoff inspect` can show.
const MAX_RECENT: usize = 32;

/// Recent events of storms, and the channel to their subscriber.
#[derive(Debug)]
pub struct StormEvents {
    recent: VecDeque<StormEvent>,
    subscriber: Sender<StormEvent>,
}

impl<W: Wires> Engine<'_, W> {
    /// Subscribes to events that watchdogs detect from now on.
    pub fn subscribe_to_storms(&mut self) -> Receiver<StormEvent> {
        let (subscriber, events) = mpsc::channel();
        self.live.storm_events = Some(StormEvents { recent: VecDeque::new(), subscriber });
        events
    }

    /// Records the start or end of a storm and sends it to the subscriber.
    pub(super) fn notify_storm(&mut self, entry: &Entry, storm: &Storm) {
        let Some(events) = &mut self.live.storm_events else { return };
        let fabric = self.scenario.fabric();
        let Storm { port, priority, restored, waiting, .. } = *storm;
        let action = self.scenario.switch.watchdog.map_or("", |watchdog| watchdog.action.name());
        let event = StormEvent {
            time_ns: entry.at.to_nanos().0,
            switch: fabric.node(entry.node).name.clone(),
            port,
            peer: fabric.node(fabric.peer(entry.node, port).node).name.clone(),
            priority: priority.number(),
            action: action.to_owned(),
            is_over: restored.is_some(),
            waiting_packets: waiting.packets,
            counts: StormCounts::new([
                storm.egress_dropped,
                storm.ingress_dropped,
                storm.forwarded,
            ]),
        };
        if events.recent.len() == MAX_RECENT {
            events.recent.pop_front();
        }
        events.recent.push_back(event.clone());
        // The subscriber may have gone.
        let _ = events.subscriber.send(event);
    }
}

impl Engine<'_, KernelWires> {
    /// Recent events, the latest last.
    pub(in super::super) fn recent_storm_events(&self) -> Vec<StormEvent> {
        self.live.storm_events.iter().flat_map(|events| &events.recent).cloned().collect()
    }

    /// Storms that a switch has seen, by port and priority.
    pub(in super::super) fn view_of_storms(&self, node: &SwitchNode) -> Vec<StormView> {
        let fabric = self.scenario.fabric();
        let switch = fabric.switch_node(node.id);
        let view = |(port, priority, history, is_present): (_, priority::Priority, _, _)| {
            let StormHistory { detected, restored, .. } = history;
            StormView {
                port,
                peer: fabric.node(fabric.peer(switch, port).node).name.clone(),
                priority: priority.number(),
                is_present,
                detected,
                restored,
                counts: StormCounts::new([
                    history.egress_dropped,
                    history.ingress_dropped,
                    history.forwarded,
                ]),
            }
        };
        node.switch.storm_histories().map(view).collect()
    }

    /// A host begins to pause its switch without end. Returns how long it then pauses each of these classes.
    pub(super) fn begin_storm(
        &mut self,
        at: Picos,
        host: HostId,
        classes: u8,
        span: Option<Picos>,
    ) -> Vec<StormSpan> {
        let end = span.map_or(Picos::MAX, |span| Picos(at.0.saturating_add(span.0)));
        self.command(host, at, Command::BeginStorm { classes, end });
        let ends = self.host_node(host).storm_ends(at);
        let left = |end: Picos| (end < Picos::MAX).then(|| end.0 - at.0);
        let span = |class: priority::Priority| StormSpan {
            priority: class.number(),
            left_ps: left(ends[class.index()]),
        };
        priority::in_mask(classes).map(span).collect()
    }

    /// Ends storms of a host. Returns the classes whose storms have ended.
    pub(super) fn end_storm(&mut self, at: Picos, host: HostId, classes: u8) -> u8 {
        let ends = self.host_node(host).storm_ends(at);
        let is_stormy = |class: &priority::Priority| ends[class.index()] > Picos::ZERO;
        let stormy = priority::in_mask(classes).filter(is_stormy);
        let ended = stormy.fold(0, |classes, class| classes | class.bit());
        self.command(host, at, Command::EndStorm(classes));
        ended
    }
}
