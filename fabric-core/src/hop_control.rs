//! Hop control: messages of a switch to the neighbour that sends to one of its ports.
//!
//! Schemes return [`Order`]s. [`HopControl::Classes`] travels in a PFC frame, the other kinds in frames of xoff's own
//! protocol (`wire/hop_control.rs`, docs/hop-control.md). In a record all kinds are [`Words`].
//!
//! # Adding a kind
//!
//! 1. A variant of [`HopControl`]. The compiler reports the missing words
//!    ([`HopControl::to_words`]), bytes and text (`emit` and `Display` in `wire/hop_control.rs`)
//!    and the missing reaction of a NIC (`Host::handle_hop_control` in `host-agent/src/host.rs`).
//! 2. The compiler does not report the inverse functions: [`HopControl::from_words`], and
//!    `read_body` in `wire/hop_control.rs`. Without them the kind is refused. Each of the two files
//!    numbers the kinds separately, because PFC has a number in words only.
//! 3. The waiting frames that a new frame replaces: [`HopControl::supersedes`] returns false by default.
//! 4. Tests: `any_control` below and `hop_control` in `tests/src/switch/case.rs` draw every kind.
//!    The latter, and the tests of `wire/hop_control.rs`, also draw unknown kinds: give these other
//!    numbers. The dissector's tests are in `tests/tests/memory/dissection.rs`.
//! 5. `docs/hop-control.md` and the diagram in `wire/hop_control.rs`, `dissectors/xoff.lua`, `cargo xtask build-ebpf`.
//! 6. Reception at a switch: [`Announces::receive`](crate::scheme::Announces::receive) of the schemes
//!    that use the kind, and [`Announces::paused`](crate::scheme::Announces::paused) if the kind stops
//!    queues. Other schemes drop its frames as `unexpected-hop-control`.

use crate::cell::{Cell32, Sharing};
use crate::map_abi::PRIORITIES;
use crate::priority::{self, Priority};
use crate::queue::QueueId;

/// Max number of flows in one frame.
pub const MAX_FLOWS: usize = 4;

/// One message about the packets that the neighbour may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopControl {
    /// PFC: pauses and resumes classes (IEEE 802.1Qbb).
    Classes(ClassPauses),
    /// Pauses or resumes one queue of the neighbour's port (BFC, Section 3.4).
    Queue {
        /// The queue, by its number at the neighbour.
        queue: QueueId,
        /// True if the queue must stop.
        paused: bool,
    },
    /// Pauses or resumes each data queue of the neighbour's port (BFC, Section 3.4).
    Queues {
        /// Bit n: data queue n must stop, and of the second word, data queue 64 + n.
        paused: [u64; 2],
    },
    /// Pauses or resumes flows of one priority (OFC, Section III).
    Flows {
        /// Their priority.
        priority: Priority,
        /// True if the flows must stop.
        paused: bool,
        /// The flows.
        flows: FlowList,
    },
    /// Sets the rate of one priority (GFC).
    Rate {
        /// The priority.
        priority: Priority,
        /// Max rate at which the neighbour may send the priority; [`LINE_RATE`] sets no limit.
        kilobits_per_second: u32,
    },
}

/// Rate in a [`HopControl::Rate`] that sets no limit: the neighbour may send at line rate.
pub const LINE_RATE: u32 = u32::MAX;

/// Content of a PFC frame: the classes that it pauses and resumes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassPauses {
    /// Class-enable vector: bit n names class n.
    pub named: u8,
    /// Quanta of each class; 0 resumes it. Undefined for classes that `named` does not name.
    pub quanta: [u16; PRIORITIES],
}

impl ClassPauses {
    /// Returns a message that pauses `classes` for `quanta`.
    #[inline(always)]
    pub const fn xoff(classes: u8, quanta: u16) -> Self {
        let mut pauses = Self { named: classes, quanta: [0; PRIORITIES] };
        let mut class = 0;
        while class < PRIORITIES {
            if classes >> class & 1 != 0 {
                pauses.quanta[class] = quanta;
            }
            class += 1;
        }
        pauses
    }

    /// Returns a message that resumes `classes`.
    #[inline(always)]
    pub const fn xon(classes: u8) -> Self {
        Self::xoff(classes, 0)
    }

    /// Also pauses `classes` for `quanta`.
    #[must_use]
    pub fn and_xoff(mut self, classes: u8, quanta: u16) -> Self {
        self.named |= classes;
        for class in priority::in_mask(classes) {
            self.quanta[class.index()] = quanta;
        }
        self
    }

    /// Returns the classes that the message pauses.
    pub fn paused(&self) -> u8 {
        let stops = |class: &Priority| self.quanta[class.index()] != 0;
        priority::in_mask(self.named).filter(stops).fold(0, |mask, class| mask | class.bit())
    }

    /// Returns the classes that the message resumes.
    pub fn resumed(&self) -> u8 {
        self.named & !self.paused()
    }
}

/// Hashes of up to [`MAX_FLOWS`] flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowList {
    count: u8,
    hashes: [u32; MAX_FLOWS],
}

impl FlowList {
    /// Creates a list of flow hashes. `None` if there are more than [`MAX_FLOWS`].
    pub fn new(flows: &[u32]) -> Option<Self> {
        let mut hashes = [0; MAX_FLOWS];
        hashes.get_mut(..flows.len())?.copy_from_slice(flows);
        Some(Self { count: flows.len() as u8, hashes })
    }

    /// Creates a list of the first `count` hashes. `None` if `count` is above [`MAX_FLOWS`].
    #[inline(always)]
    pub fn from_first(count: u8, mut hashes: [u32; MAX_FLOWS]) -> Option<Self> {
        let mut unused = usize::from(count);
        if unused > MAX_FLOWS {
            return None;
        }
        while unused < MAX_FLOWS {
            hashes[unused] = 0;
            unused += 1;
        }
        Some(Self { count, hashes })
    }

    /// Creates a list of `count` hashes, at most [`MAX_FLOWS`]. The other words of `hashes` must be 0.
    #[inline(always)]
    pub(crate) const fn from_padded(count: u8, hashes: [u32; MAX_FLOWS]) -> Self {
        Self { count, hashes }
    }

    /// Number of flows.
    pub const fn count(&self) -> u8 {
        self.count
    }

    /// Hashes of the flows, followed by zeros.
    pub const fn words(&self) -> &[u32; MAX_FLOWS] {
        &self.hashes
    }

    /// Hashes of the flows.
    pub fn hashes(&self) -> &[u32] {
        &self.hashes[..usize::from(self.count)]
    }
}

impl HopControl {
    /// Returns the message of a PFC frame.
    #[inline(always)]
    pub const fn pfc(class_enable: u8, quanta: [u16; PRIORITIES]) -> Self {
        Self::Classes(ClassPauses { named: class_enable, quanta })
    }

    /// True if this message makes `earlier` obsolete, so that a frame with `earlier` that still waits is not sent.
    pub fn supersedes(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (Self::Classes(this), Self::Classes(earlier)) => earlier.named & !this.named == 0,
            (Self::Queue { queue: this, .. }, Self::Queue { queue: earlier, .. }) => {
                this == earlier
            }
            (Self::Queues { .. }, Self::Queues { .. } | Self::Queue { .. }) => true,
            (Self::Rate { priority: this, .. }, Self::Rate { priority: earlier, .. }) => {
                this == earlier
            }
            _ => false,
        }
    }

    /// Encodes the message as three words, for a record.
    #[inline(always)]
    pub fn to_words(&self) -> Words {
        match *self {
            Self::Classes(ClassPauses { named, quanta: q }) => [
                KIND_CLASSES | u64::from(named) << 8,
                word16([q[0], q[1], q[2], q[3]]),
                word16([q[4], q[5], q[6], q[7]]),
            ],
            Self::Queue { queue, paused } => {
                [KIND_QUEUE | u64::from(queue.number()) << 8 | u64::from(paused) << 16, 0, 0]
            }
            Self::Queues { paused: [low, high] } => [KIND_QUEUES, low, high],
            Self::Flows { priority, paused, flows: FlowList { count, hashes: [a, b, c, d] } } => [
                KIND_FLOWS
                    | u64::from(priority.number()) << 8
                    | u64::from(paused) << 16
                    | u64::from(count) << 24,
                u64::from(a) | u64::from(b) << 32,
                u64::from(c) | u64::from(d) << 32,
            ],
            Self::Rate { priority, kilobits_per_second } => {
                [KIND_RATE | u64::from(priority.number()) << 8, u64::from(kilobits_per_second), 0]
            }
        }
    }

    /// Decodes the output of [`to_words`](Self::to_words). `None` if the words are not a valid message.
    pub fn from_words([first, low, high]: Words) -> Option<Self> {
        let [kind, subject, paused, count, ..] = first.to_le_bytes();
        let paused_or_not = match paused {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        };
        let priority =
            (usize::from(subject) < PRIORITIES).then(|| Priority::from_bits(subject.into()));
        match u64::from(kind) {
            KIND_CLASSES => {
                let mut quanta = [0; PRIORITIES];
                quanta[..4].copy_from_slice(&halves(low));
                quanta[4..].copy_from_slice(&halves(high));
                Some(Self::Classes(ClassPauses { named: subject, quanta }))
            }
            KIND_QUEUE => {
                let queue = QueueId::from_bits(subject.into());
                let exists = queue.is_flow_queue();
                paused_or_not.filter(|_| exists).map(|paused| Self::Queue { queue, paused })
            }
            KIND_QUEUES => Some(Self::Queues { paused: [low, high] }),
            KIND_FLOWS => {
                let word = |word: u64| [word as u32, (word >> 32) as u32];
                let ([a, b], [c, d]) = (word(low), word(high));
                let flows = FlowList::from_first(count, [a, b, c, d])?;
                Some(Self::Flows { priority: priority?, paused: paused_or_not?, flows })
            }
            KIND_RATE => {
                let kilobits_per_second = u32::try_from(low).ok()?;
                Some(Self::Rate { priority: priority?, kilobits_per_second })
            }
            _ => None,
        }
    }
}

/// A [`HopControl`] in a record, in plain words, so that eBPF writes every kind in the same way.
pub type Words = [u64; 3];

const KIND_CLASSES: u64 = 1;
const KIND_QUEUE: u64 = 2;
const KIND_QUEUES: u64 = 3;
const KIND_FLOWS: u64 = 4;
const KIND_RATE: u64 = 5;

#[inline(always)]
const fn word16([a, b, c, d]: [u16; 4]) -> u64 {
    a as u64 | (b as u64) << 16 | (c as u64) << 32 | (d as u64) << 48
}

const fn halves(word: u64) -> [u16; 4] {
    [word as u16, (word >> 16) as u16, (word >> 32) as u16, (word >> 48) as u16]
}

/// The occupancy that calls for a pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PauseLevel {
    /// Occupancy of one ingress queue.
    #[default]
    Queue,
    /// Occupancy of a port: all its lossless classes are paused together.
    Port,
}

/// A hop control frame to send from an ingress port, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The message.
    pub control: HopControl,
    /// Occupancy that was the reason.
    pub level: PauseLevel,
    /// True if the queue or the port turns ON. Classes that the frame still pauses are then paused
    /// by other queues, whose pauses the frame renews.
    pub resumes: bool,
    /// Number of the pause of the queue or port, for its renewal: see [`next_pause`].
    pub pause: u32,
    /// Bytes of the ingress queue, or of the port, in the shared pool and in headroom at the decision.
    pub occupancy_bytes: u64,
    /// X_off or X_on at the decision. For a PAUSE due to a full shared pool: the max bytes that the
    /// queue or port could have held, if less than X_off.
    pub threshold_bytes: u64,
    /// Free bytes of the shared pool at the decision.
    pub shared_free_bytes: u64,
}

/// Adds 1 to the count in `pauses` and returns the sum, which is the number of the new pause.
#[inline(always)]
pub fn next_pause<S: Sharing>(pauses: &Cell32) -> u32 {
    pauses.add::<S>(1)
}

impl PauseLevel {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Port => "port",
        }
    }
}

/// Decision of a switch about packets of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseEvent {
    /// An ingress queue or port turned OFF: a PAUSE is due.
    Pause,
    /// The queue or port is still OFF: its PAUSE is repeated before it expires.
    Refresh,
    /// The queue or port turned ON: a RESUME is due.
    Resume,
}

impl PauseEvent {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pause => "xoff",
            Self::Refresh => "xoff-refresh",
            Self::Resume => "xon",
        }
    }
}

/// Number of periods without repetition after which a neighbour's pause of a flow is over, if pauses are repeated.
pub const FLOW_PAUSE_PERIODS: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_control() -> impl Strategy<Value = HopControl> {
        let priority = || (0..8u8).prop_map(Priority::new);
        let queue = (0..128u8).prop_map(QueueId::data);
        let flows = proptest::collection::vec(any::<u32>(), 0..=MAX_FLOWS);
        prop_oneof![
            (any::<u8>(), any::<[u16; 8]>())
                .prop_map(|(named, quanta)| HopControl::Classes(ClassPauses { named, quanta })),
            (queue, any::<bool>()).prop_map(|(queue, paused)| HopControl::Queue { queue, paused }),
            any::<[u64; 2]>().prop_map(|paused| HopControl::Queues { paused }),
            (priority(), any::<bool>(), flows).prop_map(|(priority, paused, flows)| {
                let flows = FlowList::new(&flows).expect("at most four");
                HopControl::Flows { priority, paused, flows }
            }),
            (priority(), any::<u32>()).prop_map(|(priority, kilobits_per_second)| {
                HopControl::Rate { priority, kilobits_per_second }
            }),
        ]
    }

    proptest! {
        #[test]
        fn words_say_what_was_said(control in any_control()) {
            prop_assert_eq!(HopControl::from_words(control.to_words()), Some(control));
        }

        #[test]
        fn any_words_are_read_or_refused(words in any::<[u64; 3]>(), kind in 0..8u64) {
            let _ = HopControl::from_words([words[0] & !0xff | kind, words[1], words[2]]);
        }
    }

    #[test]
    fn a_list_holds_four_flows() {
        assert_eq!(FlowList::new(&[1, 2, 3, 4]).unwrap().hashes(), [1, 2, 3, 4]);
        assert_eq!(FlowList::new(&[]).unwrap().hashes(), [0u32; 0]);
        assert_eq!(FlowList::new(&[0; 5]), None);
    }

    #[test]
    fn a_frame_supersedes_those_that_say_nothing_beside_it() {
        let classes = |named| HopControl::Classes(ClassPauses::xoff(named, 9));
        let queue = |number| HopControl::Queue { queue: QueueId::data(number), paused: true };
        let all = HopControl::Queues { paused: [0; 2] };
        let rate = |priority| HopControl::Rate {
            priority: Priority::new(priority),
            kilobits_per_second: 1,
        };
        for (later, earlier, superseded) in [
            (classes(0b1100), classes(0b0100), true),
            (classes(0b0100), classes(0b1100), false),
            (queue(3), queue(3), true),
            (queue(3), queue(4), false),
            (all, queue(4), true),
            (all, all, true),
            (queue(4), all, false),
            (rate(3), rate(3), true),
            (rate(3), rate(4), false),
            (classes(u8::MAX), all, false),
        ] {
            assert_eq!(later.supersedes(&earlier), superseded, "{later:?} {earlier:?}");
        }
    }

    #[test]
    fn a_resume_may_renew_the_pauses_of_other_classes() {
        let mixed = ClassPauses::xon(0b0110).and_xoff(0b1000, 500);
        assert_eq!((mixed.named, mixed.paused(), mixed.resumed()), (0b1110, 0b1000, 0b0110));
        assert_eq!(mixed.quanta, [0, 0, 0, 500, 0, 0, 0, 0]);
        assert_eq!(ClassPauses::xoff(0b0110, 1).paused(), 0b0110);
    }
}
