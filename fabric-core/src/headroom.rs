//! Headroom that a queue needs to absorb the frames that arrive after it sends a PAUSE.

use units::{BitsPerSecond, Bytes, FrameTime, Nanos, Picos};

use crate::wire::ethernet::MINIMUM_FRAME_LENGTH;

/// Max response time of IEEE 802.1Qbb, in byte times of the port.
pub const MAX_RESPONSE_BYTES: u64 = 3840;

/// Phi as in the paper (DSH, Eq. 1): `2 (C D_prop + L_MTU) + 3840 B`, with `max_frame` as `L_MTU`.
/// Switches reserve the larger [`LinkFrames::headroom`], which loses no frame.
pub const fn required(rate: BitsPerSecond, delay: Picos, max_frame: Bytes) -> Bytes {
    Bytes(2 * (rate.bytes_in(delay).0 + max_frame.0) + MAX_RESPONSE_BYTES)
}

/// Accounted length of the shortest packet, bytes without FCS.
const MIN_PACKET: u64 = MINIMUM_FRAME_LENGTH as u64;

/// Lengths of the frames on a fabric's links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFrames {
    /// Time that a frame occupies a link.
    pub time: FrameTime,
    /// Accounted length of the longest packet, bytes without FCS.
    pub longest: Bytes,
    /// Accounted length of a frame between neighbours, such as a PAUSE, bytes without FCS.
    pub hop_control: u32,
    /// Number of lossless classes.
    pub lossless_classes: u64,
}

impl LinkFrames {
    /// Returns the headroom that loses no frame on a link: Eq. 1 and the terms that it omits.
    pub const fn headroom(&self, rate: BitsPerSecond, delay: Picos) -> Bytes {
        let HeadroomTerms { propagation, response, whole_frames } =
            self.headroom_terms(rate, delay);
        Bytes(propagation.0 + response.0 + whole_frames.0)
    }

    /// Returns the terms of [`Self::headroom`].
    pub const fn headroom_terms(&self, rate: BitsPerSecond, delay: Picos) -> HeadroomTerms {
        HeadroomTerms {
            propagation: Bytes(2 * self.fastest(rate).bytes_in(delay).0),
            response: Bytes(self.meanwhile(rate, MAX_RESPONSE_BYTES)),
            whole_frames: Bytes(self.for_whole_frames(rate)),
        }
    }

    /// Returns the headroom that loses no frame on a measured link. It has the terms of
    /// [`Self::headroom`], but the measured propagation delay of both directions and the response
    /// time that the peer declares replace `2 C D_prop` and the max response time.
    pub const fn measured_headroom(
        &self,
        rate: BitsPerSecond,
        round_trip: Nanos,
        response: Nanos,
    ) -> Bytes {
        let time = Picos::from_nanos(Nanos(round_trip.0 + response.0));
        Bytes(self.fastest(rate).bytes_in(time).0 + self.for_whole_frames(rate))
    }

    /// Bytes for whole frames, in Eq. 1 and beyond it. Eq. 1 counts the bytes that arrive during the frame ahead of the
    /// PAUSE, a packet or a frame between neighbours, and the sender's last packet. Beyond Eq. 1, the packet that
    /// triggers the PAUSE may itself find the shared pool full and go to headroom, and the PAUSE takes time on the
    /// wire. Control frames of other classes may wait ahead of the PAUSE; they count if they take longer than the
    /// packets that trigger them. Otherwise they need no bytes: Eq. 1 counts 24 bytes around each frame that the buffer
    /// does not hold, and no burst of the tests has needed more.
    const fn for_whole_frames(&self, rate: BitsPerSecond) -> u64 {
        let packet = self.time.on_the_wire(self.longest.0);
        let hop_control = self.time.on_the_wire(self.hop_control as u64);
        let ahead = if packet > hop_control { packet } else { hop_control };
        let others = self.lossless_classes.saturating_sub(1);
        let waiting = others * (self.hop_control as u64).saturating_sub(MIN_PACKET);
        2 * packet + self.meanwhile(rate, ahead) + self.meanwhile(rate, hop_control + waiting)
    }

    /// Bytes that may arrive while the opposite direction sends `bytes`.
    const fn meanwhile(&self, rate: BitsPerSecond, bytes: u64) -> u64 {
        if !self.time.whole_nanos {
            return bytes;
        }
        let time = rate.serialise(bytes).0;
        self.fastest(rate).bytes_in(Picos(if time < 1000 { 1000 } else { time })).0
    }

    /// Max rate at which packets arrive.
    const fn fastest(&self, rate: BitsPerSecond) -> BitsPerSecond {
        self.time.fastest(rate, MIN_PACKET)
    }
}

/// Terms of a link's headroom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadroomTerms {
    /// Bytes in flight on the cable, both directions.
    pub propagation: Bytes,
    /// Bytes that arrive during the neighbour's response time.
    pub response: Bytes,
    /// Whole frames: the frame ahead of the PAUSE, the PAUSE, the neighbour's last packet, and the
    /// packet that triggers the PAUSE.
    pub whole_frames: Bytes,
}

/// `B_h` (DSH, Eq. 3), summed over ports whose links may differ; saturates.
pub fn total(per_port: impl Iterator<Item = Bytes>, lossless_queues: u64) -> Bytes {
    let ports = per_port.fold(0u64, |sum, bytes| sum.saturating_add(bytes.0));
    Bytes(ports.saturating_mul(lossless_queues))
}

/// `B_i` (DSH, Eq. 9): once `Phi` for each port.
pub fn insurance(per_port: impl Iterator<Item = Bytes>) -> Bytes {
    total(per_port, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: BitsPerSecond = BitsPerSecond(100_000_000_000);
    const FRAMES: LinkFrames = LinkFrames {
        time: FrameTime { overhead: 24, whole_nanos: false },
        longest: Bytes(1074),
        hop_control: 60,
        lossless_classes: 7,
    };

    #[test]
    fn a_measured_link_needs_what_its_peer_takes() {
        // 2 us and 307.2 ns at 12.5 bytes per ns, three frames and the PAUSE.
        let standard = FRAMES.measured_headroom(RATE, Nanos(2000), Nanos(308));
        assert_eq!(standard, Bytes(25_000 + 3850 + 3 * 1098 + 84));
        let known = FRAMES.headroom(RATE, Picos(1_000_000));
        assert_eq!(known, Bytes(25_000 + 3840 + 3 * 1098 + 84));
        let prompt = FRAMES.measured_headroom(RATE, Nanos(2000), Nanos(0));
        assert_eq!(prompt, Bytes(25_000 + 3 * 1098 + 84));
    }

    #[test]
    fn eq_1_is_in_it() {
        let eq_1 = required(RATE, Picos(1_000_000), Bytes(1098));
        assert_eq!(FRAMES.headroom(RATE, Picos(1_000_000)), Bytes(eq_1.0 + 1098 + 84));
    }

    #[test]
    fn control_frames_that_are_longer_than_packets_wait_for_each_other() {
        let of = |length| LinkFrames { hop_control: length, ..FRAMES }.headroom(RATE, Picos(0)).0;
        assert_eq!(of(1000) - of(60), 7 * 940);
        assert_eq!(of(60) - of(43), 17);
        let short = LinkFrames { longest: Bytes(62), lossless_classes: 1, ..FRAMES };
        let of = |length| LinkFrames { hop_control: length, ..short }.headroom(RATE, Picos(0)).0;
        // The frame ahead of the PAUSE is a frame between neighbours, not a packet.
        assert_eq!(of(1000) - of(62), 2 * 938);
    }

    #[test]
    fn packets_whose_times_are_cut_arrive_faster() {
        // The shortest packet takes 6.72 ns, cut to 6. So the max rate is 7 / 6 of the line rate, 14.58 bytes per ns.
        let cut = LinkFrames { time: FrameTime { whole_nanos: true, ..FRAMES.time }, ..FRAMES };
        let bytes_in = |picos| BitsPerSecond(116_666_666_667).bytes_in(Picos(picos)).0;
        let frames = 2 * 1098 + bytes_in(87_840) + bytes_in(6720);
        assert_eq!(
            cut.measured_headroom(RATE, Nanos(1000), Nanos(200)),
            Bytes(bytes_in(1_200_000) + frames)
        );
        let propagation = 2 * bytes_in(500_000);
        assert_eq!(
            cut.headroom(RATE, Picos(500_000)),
            Bytes(propagation + bytes_in(307_200) + frames)
        );
    }

    #[test]
    fn trident2_reserves_5_33_mib() {
        // DSH, Section III-A: 32 ports of 40 Gbit/s, 8 queues, 1500 B, 1.5 us.
        let phi = required(BitsPerSecond(40_000_000_000), Picos(1_500_000), Bytes(1500));
        assert_eq!(phi, Bytes(21_840));
        assert_eq!(total(core::iter::repeat_n(phi, 32), 8), Bytes(5_591_040));
        assert_eq!(insurance(core::iter::repeat_n(phi, 32)), Bytes(698_880));
    }
}
