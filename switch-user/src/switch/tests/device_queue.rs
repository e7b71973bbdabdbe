//! FIFOs below the egress queues.

use super::*;

const NOW: Picos = Picos(1_000_000);

impl Bench {
    /// Moves packets from the egress queues of [`OUT`] to the FIFO below, and returns them.
    fn stages(&mut self) -> Vec<u32> {
        let staged = std::iter::from_fn(|| {
            let staged = self.switch.poll_staged::<Rows, _>(NOW, OUT, &mut self.log);
            staged.map(|it| it.frame)
        });
        staged.collect()
    }

    fn departures(&mut self) -> usize {
        self.observed().iter().filter(|event| matches!(event, Event::Departed(_))).count()
    }
}

/// With room for one packet, the first packet departs at once, the second when the first is sent.
#[test]
fn a_packet_departs_once_there_is_room_below() {
    let mut bench = Bench::new();
    assert!(!bench.switch.has_device_queues() && bench.stages().is_empty());
    bench.switch.device_queues = Some(DeviceQueues::new(1, PORTS.into()).into());
    bench.packet(NOW, [IN, OUT], CLASS, LENGTH);
    assert_eq!((bench.stages(), bench.departures()), (vec![1], 1));
    bench.packet(NOW, [IN, OUT], CLASS, LENGTH);
    assert_eq!((bench.stages(), bench.departures()), (vec![], 0), "no room");
    assert_eq!(bench.switch.queues().queue_bytes(OUT.into(), QUEUE), u64::from(LENGTH));

    assert_eq!(bench.switch.poll_device_queue(IN), None);
    let staged = |frame| Some(Staged { frame, length: LENGTH });
    assert_eq!(bench.switch.poll_device_queue(OUT), staged(1));
    assert_eq!((bench.stages(), bench.departures()), (vec![2], 1));
    assert_eq!(bench.switch.queues().total_packets(), 0);
    assert!(!bench.switch.is_idle(OUT) && !bench.switch.holds_no_packet(), "one is below");
    assert_eq!(bench.switch.poll_device_queue(OUT), staged(2));
    assert!(bench.is_empty() && bench.switch.holds_no_packet());
}
