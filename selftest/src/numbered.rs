//! Numbered frames, whose every byte is derived from a seed, and checks of received frames.

use std::collections::BTreeMap;

use fabric_core::map_abi::FIRST_HOST_ADDRESS;
use fabric_core::wire::{Ecn, LinkAddresses, Opcode, Psn, RemainingSize, RethFields, RocePacket};
use workload::random::mix;

use super::verdict::Verdict;

/// Max payload: the longest frame that a switch accepts, less all headers.
const MAX_PAYLOAD: u64 = 3072;
/// Priority of all frames, which is lossless at the rig's switch.
pub const PRIORITY: u8 = 3;
/// Queue pairs 0 and 1 are reserved.
const FIRST_QUEUE_PAIR: u64 = 2;

/// A sequence of frames from one host to another.
#[derive(Clone, Copy, Debug)]
pub struct Numbered {
    /// Seed of the frames' bytes and lengths.
    pub seed: u64,
    /// Number of the receiving host.
    pub to: u32,
    /// Max payload of the frames.
    pub longest: u64,
}

impl Numbered {
    /// Makes a sequence of frames of all lengths to host `to`.
    pub fn new(seed: u64, to: u32) -> Self {
        Self { seed, to, longest: MAX_PAYLOAD }
    }

    /// Returns frame `number` as on the wire with these addresses, after `hops` switches.
    pub fn frame(&self, number: u32, addresses: &LinkAddresses, hops: u8) -> Vec<u8> {
        // Every eighth frame has the max length, and every eighth the min.
        let drawn = mix(self.seed, u64::from(number));
        let payload = match number % 8 {
            0 => self.longest,
            1 => 0,
            _ => drawn % (self.longest + 1),
        };
        let payload = u16::try_from(payload).expect("payloads are at most 3072 bytes");
        let queue_pair = FIRST_QUEUE_PAIR + mix(self.seed, u64::MAX) % (1 << 23);
        let packet = RocePacket {
            source: FIRST_HOST_ADDRESS,
            destination: FIRST_HOST_ADDRESS + self.to,
            source_port: 49_152,
            dscp: PRIORITY << 3,
            ecn: Ecn::Capable0,
            ttl: 64 - hops,
            opcode: Opcode::WriteOnly,
            ack_request: false,
            congestion_echo: false,
            destination_qp: u32::try_from(queue_pair).expect("queue pairs have 24 bits"),
            psn: Psn::new(number),
            reth: Some(RethFields {
                virtual_address: 0,
                remote_key: 1,
                dma_length: payload.into(),
            }),
            aeth: None,
            payload_length: payload,
            telemetry: None,
            remaining: RemainingSize::UNKNOWN,
        };
        let mut bytes = vec![0; packet.frame_length()];
        packet.emit(addresses, &mut bytes).expect("its fields are in range");
        bytes
    }
}

/// Checks received frames. Returns sentences with their verdicts. `sent` has the frames as they should arrive, and
/// `place` is their path.
pub fn judge(sent: &[Vec<u8>], arrived: &[Vec<u8>], place: &str) -> [(&'static str, Verdict); 3] {
    let numbers: BTreeMap<&[u8], usize> =
        sent.iter().enumerate().map(|(number, frame)| (frame.as_slice(), number)).collect();
    let known: Vec<Option<usize>> =
        arrived.iter().map(|frame| numbers.get(frame.as_slice()).copied()).collect();
    let mut times = vec![0_u32; sent.len()];
    known.iter().flatten().for_each(|&number| times[number] += 1);
    let mut missing: Vec<usize> = (0..sent.len()).filter(|&number| times[number] == 0).collect();
    let strangers = arrived.iter().zip(&known).filter(|(_, number)| number.is_none());
    let mut bytes = Verdict::Pass;
    for (stranger, _) in strangers {
        // A damaged frame is matched with the most similar missing frame.
        let similar = missing.iter().enumerate().map(|(at, &number)| {
            let different = stranger.iter().zip(&sent[number]).filter(|(a, b)| a != b).count();
            (different + stranger.len().abs_diff(sent[number].len()), at)
        });
        let Some((different, at)) = similar.min() else {
            bytes = Verdict::fail("no other frame", "a frame that nobody sent", place);
            break;
        };
        let number = missing.remove(at);
        if bytes == Verdict::Pass {
            bytes = damage(number, &sent[number], stranger, different, place);
        }
    }
    let lost = missing.first().map(|first| {
        let got =
            format!("{} of {} missing, the first is frame {first}", missing.len(), sent.len());
        Verdict::fail(format!("each of {} frames", sent.len()), got, place)
    });
    let doubled = times.iter().position(|&times| times > 1).map(|number| {
        let got = format!("frame {number} {} times", times[number]);
        Verdict::fail("each frame once", got, place)
    });
    let order: Vec<usize> = known.into_iter().flatten().collect();
    let order = order.windows(2).find(|pair| pair[0] > pair[1]).map(|pair| {
        let got = format!("frame {} after frame {}", pair[1], pair[0]);
        Verdict::fail("frames in the order in which they were sent", got, place)
    });
    [
        ("each frame arrives once", lost.or(doubled).unwrap_or(Verdict::Pass)),
        ("frames keep their order", order.unwrap_or(Verdict::Pass)),
        ("no byte is changed", bytes),
    ]
}

fn damage(number: usize, sent: &[u8], arrived: &[u8], different: usize, place: &str) -> Verdict {
    if sent.len() != arrived.len() {
        let expected = format!("frame {number} with {} bytes", sent.len());
        return Verdict::fail(expected, format!("{} bytes of it", arrived.len()), place);
    }
    let at = sent.iter().zip(arrived).position(|(a, b)| a != b).expect("it is damaged");
    let expected = format!("byte {at} of frame {number} to be {:#04x}", sent[at]);
    let got = format!("{:#04x} ({different} bytes of it are changed)", arrived[at]);
    Verdict::fail(expected, got, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESSES: LinkAddresses =
        LinkAddresses { source: [2, 1, 0, 0, 0, 0], destination: [2, 2, 0, 0, 0, 0] };

    fn frames(count: u32) -> Vec<Vec<u8>> {
        let numbered = Numbered::new(7, 1);
        (0..count).map(|number| numbered.frame(number, &ADDRESSES, 0)).collect()
    }

    /// Returns the failures by the first letter of their sentence, each with the found value.
    fn found(sent: &[Vec<u8>], arrived: &[Vec<u8>]) -> Vec<String> {
        let verdicts = judge(sent, arrived, "a wire");
        let failures = verdicts.into_iter().filter_map(|(name, verdict)| match verdict {
            Verdict::Fail(failure) => Some(format!("{name}: {}", failure.got)),
            _ => None,
        });
        failures.collect()
    }

    #[test]
    fn frames_differ_and_follow_from_the_seed() {
        let all = frames(64);
        assert_eq!(all, frames(64));
        assert!((1..64).all(|number| !all[..number].contains(&all[number])));
        assert_ne!(all[3], Numbered::new(8, 1).frame(3, &ADDRESSES, 0));
        assert!(found(&all, &all).is_empty());
    }

    #[test]
    fn each_fault_has_its_sentence() {
        let sent = frames(16);
        let mut arrived = sent.clone();
        arrived[5][60] ^= 1;
        let all = found(&sent, &arrived);
        let expected =
            format!("no byte is changed: {:#04x} (1 bytes of it are changed)", arrived[5][60]);
        assert_eq!(all, [expected]);
        let mut arrived = sent.clone();
        arrived.swap(5, 6);
        assert_eq!(found(&sent, &arrived), ["frames keep their order: frame 5 after frame 6"]);
        arrived.sort_by_key(|frame| sent.iter().position(|it| it == frame));
        let last = arrived.pop().expect("there are 16");
        let missing = "each frame arrives once: 1 of 16 missing, the first is frame 15";
        assert_eq!(found(&sent, &arrived), [missing]);
        arrived.extend([last.clone(), last]);
        assert_eq!(found(&sent, &arrived), ["each frame arrives once: frame 15 2 times"]);
        arrived.pop();
        arrived.push(vec![0; 60]);
        assert_eq!(found(&sent, &arrived), ["no byte is changed: a frame that nobody sent"]);
        let mut arrived = sent.clone();
        arrived[2].truncate(70);
        assert_eq!(found(&sent, &arrived), ["no byte is changed: 70 bytes of it"]);
        assert_eq!(found(&sent, &[]).len(), 1);
    }
}
