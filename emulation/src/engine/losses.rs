//! Lossless packets that switches drop: the limit that they met, and advice.

use fabric_core::drop_reason::DropReason;
use results::counted;
use scenario::Headroom;
use topology::{SwitchId, WireId};

use super::Engine;
use super::transmitter::Transmitter;
use crate::datapath::Wires;

impl<W: Wires> Engine<'_, W> {
    /// Limits that lossless packets met, by switch and reason.
    pub(super) fn limits_reached(&self) -> Vec<String> {
        let settings = &self.scenario.switch;
        let forwarded = in_spite_of_pauses(self.forwarded_packets());
        let line = |(&(switch, reason), &packets): (&(u32, DropReason), &u64)| {
            let lost = lost_pauses(self.recorder.lost_pauses.get(&switch).copied());
            let faults = lost + self.late_links(SwitchId(switch));
            let switch = &self.scenario.fabric().switch(SwitchId(switch)).name;
            let packets = counted(packets, "lossless packet");
            let advice = settings.headroom_advice(reason).unwrap_or(UNEXPECTED);
            format!("{switch} dropped {packets} ({reason}): {advice}{faults}{forwarded}")
        };
        self.recorder.lossless_drops.iter().map(line).collect()
    }

    /// Number of packets that watchdogs sent in spite of pauses.
    fn forwarded_packets(&self) -> u64 {
        let histories = self.switches().flat_map(|node| node.switch.storm_histories());
        histories.map(|(_, _, history, _)| history.forwarded.packets).sum()
    }
}

/// A hint at watchdogs as the cause, with the number of packets that they forwarded; empty for zero packets.
fn in_spite_of_pauses(packets: u64) -> String {
    match packets {
        0 => String::new(),
        packets => {
            format!("; watchdogs sent {} in spite of pauses", counted(packets, "packet"))
        }
    }
}

impl<W: Wires> Engine<'_, W> {
    /// A hint at faults as the cause, if they delay frames on wires of a switch or slow its ports; empty otherwise.
    fn late_links(&self, switch: SwitchId) -> &'static str {
        let own = &self.scenario.fabric().switch(switch).ports;
        let is_own = |wire: WireId| own.contains(&wire) || own.contains(&wire.reverse());
        let is_late = |out: &Transmitter| is_own(out.wire) && out.may_be_late();
        match self.scenario.switch.headroom {
            _ if !self.transmitters().any(is_late) => "",
            Headroom::Adaptive { .. } => {
                "; faults make frames on its links late, some of them by more than was measured"
            }
            Headroom::Sih { .. } => {
                "; faults make frames on its links late, for which no headroom is computed"
            }
        }
    }
}

/// A hint at the scenario's faults as the cause, with the number of the switch's PAUSE frames that they dropped.
fn lost_pauses(frames: Option<u64>) -> String {
    frames.map_or_else(String::new, |frames| {
        format!("; faults took {} of the switch", counted(frames, "PAUSE frame"))
    })
}

const UNEXPECTED: &str =
    "no buffer was full: the frame came from outside the run, or xoff is at fault";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_that_faults_took_are_named_and_other_frames_are_not() {
        assert_eq!(in_spite_of_pauses(0), "");
        assert_eq!(in_spite_of_pauses(1), "; watchdogs sent 1 packet in spite of pauses");
        assert_eq!(lost_pauses(None), "");
        assert_eq!(lost_pauses(Some(2)), "; faults took 2 PAUSE frames of the switch");
    }
}
