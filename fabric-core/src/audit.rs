//! The egress auditor: counts the frames that leave a port, and the frames that a pause should have stopped.

use units::Nanos;

use crate::frame::{Frame, Parsed};
use crate::map_abi::{EgressClass, class_row};
use crate::priority::Priority;
use crate::tables::Tables;

/// Audits a frame that leaves `port` and whose transmission began at `started`. Returns `None` if
/// the port does not exist.
#[inline(always)]
pub fn audit<F: Frame, T: Tables>(frame: &F, tables: &T, port: u32, started: Nanos) -> Option<()> {
    let config = tables.config()?;
    if port >= config.ports {
        return None;
    }
    let class = |priority| tables.egress_class(class_row(port, priority));
    match frame.parse() {
        Ok(Parsed::Ipv4(fields)) => {
            let EgressClass { pause, audit } = class(fields.priority())?;
            audit.frames.add::<T>(1);
            audit.bytes.add::<T>(u64::from(frame.length()));
            if pause.forbade(started) {
                audit.violations.add::<T>(1);
            }
        }
        Ok(Parsed::Pfc(_) | Parsed::HopControl(_) | Parsed::LinkDelay) => {
            class(Priority::from_bits(0))?.audit.mac_control_frames.add::<T>(1);
        }
        Err(_) => {}
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::ByteFrame;
    use crate::hop_control::HopControl;
    use crate::map_abi::SwitchConfig;
    use crate::queue::QueueId;
    use crate::tables::owned::{OwnedTables, packet};
    use crate::wire::roce::Ecn;
    use crate::wire::{HopControlFrame, LinkDelayFrame, PfcFrame, hop_control, link_delay, pfc};

    /// Paused in [1000, 3000), then in [4000, 6000); all frames are audited after that.
    #[test]
    fn a_frame_breaks_the_latest_pause_or_the_one_before() {
        let tables = OwnedTables::new(SwitchConfig::default(), 0);
        let class = tables.egress_class_of(1, 3);
        class.pause.receive(Nanos(1000), 2000, 0);
        class.pause.receive(Nanos(4000), 2000, 0);
        let mut bytes = packet(0, 1, 3, Ecn::Capable0);
        let frame = ByteFrame(bytes.as_mut_slice());
        let rows =
            [(999, 0), (1000, 1), (2999, 1), (3000, 0), (3999, 0), (4000, 1), (5999, 1), (6000, 0)];
        for (frames, (started, broken)) in (1..).zip(rows) {
            let before = class.audit.violations.load();
            assert_eq!(audit(&frame, &tables, 1, Nanos(started)), Some(()));
            assert_eq!(class.audit.violations.load() - before, broken, "at {started} ns");
            assert_eq!(
                (class.audit.frames.load(), class.audit.bytes.load()),
                (frames, frames * 1058)
            );
        }
        assert_eq!(audit(&frame, &tables, 2, Nanos(0)), None);
    }

    #[test]
    fn control_frames_and_garbage_break_no_pause() {
        let tables = OwnedTables::new(SwitchConfig::default(), 0);
        for class in 0..8 {
            tables.egress_class_of(1, class).pause.receive(Nanos(0), 5000, 0);
        }
        let mut pause = [0; pfc::LEN];
        PfcFrame::xon([2, 1, 0, 0, 0, 1], 1 << 3).emit(&mut pause);
        let mut request = [0; link_delay::LEN];
        LinkDelayFrame::request([2, 1, 0, 0, 0, 1], 1).emit(&mut request);
        let mut of_queue = [0; hop_control::LEN];
        let control = HopControl::Queue { queue: QueueId::data(9), paused: true };
        HopControlFrame { source: [2, 1, 0, 0, 0, 1], control }.emit(&mut of_queue);
        let mut cut = packet(0, 1, 3, Ecn::Capable0);
        cut.truncate(500);
        let garbage = [&mut cut[..], &mut [0; 60][..]];
        let control = [&mut pause[..], &mut request[..], &mut of_queue[..]];
        for bytes in control.into_iter().chain(garbage) {
            assert_eq!(audit(&ByteFrame(bytes), &tables, 1, Nanos(1000)), Some(()));
        }
        for class in 0..8 {
            let audit = &tables.egress_class_of(1, class).audit;
            assert_eq!((audit.frames.load(), audit.violations.load()), (0, 0));
            assert_eq!(audit.mac_control_frames.load(), if class == 0 { 3 } else { 0 });
        }
    }
}
