//! `wire_log.bin`: every frame that was put on a wire, and why it waited before.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use units::Picos;

use super::column::Key;
use super::error::ResultsError;
use super::staged_file::StagedFile;

/// The log's name in the results folder.
pub const WIRE_LOG_FILE: &str = "wire_log.bin";
/// First bytes of the file. The last byte is the version of the records.
pub const WIRE_LOG_MAGIC: [u8; 8] = *b"xoffwl\x00\x01";
/// Bytes of a record.
pub const WIRE_LOG_RECORD: usize = 64;
/// A flow, or a priority, that a frame has not.
pub const NO_FLOW: u32 = u32::MAX;
/// See [`NO_FLOW`].
pub const NO_PRIORITY: u8 = u8::MAX;

/// Section of `docs/reference` about the file.
pub(super) const WIRE_LOG_ABOUT: &str = "Log of all frames sent on wires, and of all flows. Only with `results.explain`; `xoff explain` \
reads it. After a header of eight bytes (`xoffwl`, 0, version 1) come little-endian records of 64 bytes, ordered by (`started`, `wire`), \
except that a flow's record comes at the flow's end or at the end of the run. Instants are picoseconds since the run's start; a missing instant \
has all bits set. In NumPy: `numpy.fromfile(file, dtype=[('started', '<u8'), ('ready', '<u8'), ('ended', '<u8'), ('arrives', '<u8'), ('wire', \
'<u4'), ('length', '<u4'), ('kind', 'u1'), ('priority', 'u1'), ('queue', 'u1'), ('zero', 'u1'), ('flow', '<u4'), ('words', '<u8', 2)], \
offset=8)`.";

/// Fields of a record.
pub(super) const WIRE_LOG_FIELDS: &[Key] = &[
    Key {
        name: "started",
        about: "Start of the transmission. Flow: instant at which the sender received the request. Dropped packet: instant of the drop.",
    },
    Key {
        name: "ready",
        about: "Instant from which only the port, pauses and other frames delayed the frame. Switch: arrival of the frame. Data at its host: \
                pacing, window and retransmission allow the transmission. ACK at the host that creates it: missing. PFC frame: \
                end of the pauses that the frame starts, unless they are renewed.",
    },
    Key { name: "ended", about: "Instant at which the port was free again." },
    Key {
        name: "arrives",
        about: "Arrival of the last bit; missing if a fault removes the frame. Flow: arrival of the last ACK.",
    },
    Key {
        name: "wire",
        about: "Row of the wire in `links.csv`, from 0. Packet dropped on arrival: wire on which it arrived.",
    },
    Key { name: "length", about: "Length of the frame in bytes, without FCS." },
    Key {
        name: "kind",
        about: "0 data, 1 ACK, 2 NAK, 3 CNP, 4 hop control (with PFC), 5 another frame, 6 a flow, 7 a packet that a switch dropped.",
    },
    Key {
        name: "priority",
        about: "Priority of the packet; 255 for control frames without a priority.",
    },
    Key { name: "queue", about: "Number of the egress queue at its port." },
    Key {
        name: "flow",
        about: "Number of the flow, as in `flows.csv`; all bits set for frames without a flow. Hop control: low half of the message's first word \
                (`HopControl::to_words`).",
    },
    Key {
        name: "words",
        about: "First word: PSN or TCP sequence number; for a TCP ACK, the acknowledged number. Hop control: the message's other two words.",
    },
];

/// Kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LoggedKind {
    /// RDMA WRITE, or a TCP segment of the end that sends data.
    Data = 0,
    /// ACK, of RoCEv2 or TCP.
    Ack = 1,
    /// NAK.
    Nak = 2,
    /// Congestion notification packet.
    Cnp = 3,
    /// Hop control frame, PFC or another.
    HopControl = 4,
    /// Anything else.
    Other = 5,
    /// A flow instead of a frame: `started` is its start at the sender, `arrives` the arrival of its last ACK.
    Flow = 6,
    /// A packet that a switch dropped: `started` is the instant of the drop. The wire is the one by which it came or,
    /// if it had waited, the one by which it was to leave.
    Dropped = 7,
}

impl LoggedKind {
    const ALL: [Self; 8] = [
        Self::Data,
        Self::Ack,
        Self::Nak,
        Self::Cnp,
        Self::HopControl,
        Self::Other,
        Self::Flow,
        Self::Dropped,
    ];
}

/// A frame that was put on a wire. All instants are picoseconds since the run's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireLogRecord {
    /// Start of its transmission.
    pub started: Picos,
    /// Instant from which on only the port, pauses and other frames held it: its arrival at a switch; for data at a
    /// host, the instant from which its sender would let it go. [`Picos::MAX`] if unknown (ACKs at the host that makes
    /// them). For a PFC frame: end of the pauses that it begins, or its own arrival if it begins none.
    pub ready: Picos,
    /// Instant from which on the port was free again.
    pub ended: Picos,
    /// Arrival of its last bit; [`Picos::MAX`] if a fault took it.
    pub arrives: Picos,
    /// The wire, by its place in `links.csv`.
    pub wire: u32,
    /// Accounted length, bytes, without FCS.
    pub length: u32,
    /// Kind of the record.
    pub kind: LoggedKind,
    /// Priority, or [`NO_PRIORITY`].
    pub priority: u8,
    /// The egress queue that it left, by its number at the port; 0 at a host whose queues have no names.
    pub queue: u8,
    /// Flow, or [`NO_FLOW`]. For hop control the low half of the message's first word.
    pub flow: u32,
    /// A packet's PSN or sequence number; of hop control the message's other words.
    pub words: [u64; 2],
}

impl WireLogRecord {
    /// Record of a flow: its start and, if it completed, its completion.
    pub const fn for_flow(flow: u32, started: Picos, completed: Option<Picos>) -> Self {
        let arrives = match completed {
            Some(at) => at,
            None => Picos::MAX,
        };
        Self {
            started,
            ready: started,
            ended: arrives,
            arrives,
            wire: u32::MAX,
            length: 0,
            kind: LoggedKind::Flow,
            priority: NO_PRIORITY,
            queue: 0,
            flow,
            words: [0; 2],
        }
    }

    /// The record as bytes, little-endian.
    pub fn to_bytes(&self) -> [u8; WIRE_LOG_RECORD] {
        let mut bytes = [0; WIRE_LOG_RECORD];
        let longs = [self.started.0, self.ready.0, self.ended.0, self.arrives.0];
        for (place, long) in bytes.chunks_exact_mut(8).zip(longs) {
            place.copy_from_slice(&long.to_le_bytes());
        }
        bytes[32..36].copy_from_slice(&self.wire.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.length.to_le_bytes());
        bytes[40..44].copy_from_slice(&[self.kind as u8, self.priority, self.queue, 0]);
        bytes[44..48].copy_from_slice(&self.flow.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.words[0].to_le_bytes());
        bytes[56..64].copy_from_slice(&self.words[1].to_le_bytes());
        bytes
    }

    /// Inverse of [`to_bytes`](Self::to_bytes); `None` for an unknown kind.
    pub fn from_bytes(bytes: &[u8; WIRE_LOG_RECORD]) -> Option<Self> {
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|n| bytes[at + n]));
        let int = |at: usize| u32::from_le_bytes(std::array::from_fn(|n| bytes[at + n]));
        Some(Self {
            started: Picos(long(0)),
            ready: Picos(long(8)),
            ended: Picos(long(16)),
            arrives: Picos(long(24)),
            wire: int(32),
            length: int(36),
            kind: *LoggedKind::ALL.get(usize::from(bytes[40]))?,
            priority: bytes[41],
            queue: bytes[42],
            flow: int(44),
            words: [long(48), long(56)],
        })
    }
}

/// The log being written.
pub struct WireLog {
    file: BufWriter<StagedFile>,
    path: PathBuf,
    /// Bytes of the records being added; a field so that its memory is reused.
    bytes: Vec<u8>,
}

impl WireLog {
    /// Begins the file. Errors name `path`.
    pub fn new(file: StagedFile, path: &Path) -> Result<Self, ResultsError> {
        let mut file = BufWriter::with_capacity(1 << 18, file);
        let begun = file.write_all(&WIRE_LOG_MAGIC);
        begun.map_err(|source| ResultsError::Write { path: path.to_owned(), source })?;
        Ok(Self { file, path: path.to_owned(), bytes: Vec::new() })
    }

    /// Adds records.
    pub fn records<'a>(
        &mut self,
        records: impl Iterator<Item = &'a WireLogRecord>,
    ) -> Result<(), ResultsError> {
        self.bytes.clear();
        for record in records {
            self.bytes.extend_from_slice(&record.to_bytes());
        }
        let written = self.file.write_all(&self.bytes);
        written.map_err(|source| ResultsError::Write { path: self.path.clone(), source })
    }

    /// Writes the buffered records.
    pub fn finish(mut self) -> Result<(), ResultsError> {
        let flushed = self.file.flush();
        flushed.map_err(|source| ResultsError::Write { path: self.path, source })
    }
}

/// Reads a log.
///
/// # Errors
/// A sentence about the defect of the file.
pub fn read_wire_log(path: &Path) -> Result<Vec<WireLogRecord>, String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    parse(&bytes).map_err(|what| format!("{}: {what}", path.display()))
}

fn parse(bytes: &[u8]) -> Result<Vec<WireLogRecord>, String> {
    let Some(records) = bytes.strip_prefix(&WIRE_LOG_MAGIC) else {
        return Err("it is no wire log of this version of xoff".to_owned());
    };
    let (records, rest) = records.as_chunks::<WIRE_LOG_RECORD>();
    if !rest.is_empty() {
        return Err(format!("it ends within a record, {} bytes after the last", rest.len()));
    }
    let record = |(number, bytes): (usize, _)| {
        WireLogRecord::from_bytes(bytes)
            .ok_or_else(|| format!("record {number} is of a kind that does not exist"))
    };
    records.iter().enumerate().map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> WireLogRecord {
        WireLogRecord {
            started: Picos(1),
            ready: Picos(2),
            ended: Picos(3),
            arrives: Picos::MAX,
            wire: 5,
            length: 6,
            kind: LoggedKind::HopControl,
            priority: 7,
            queue: 8,
            flow: 9,
            words: [10, u64::MAX - 11],
        }
    }

    #[test]
    fn records_survive_their_bytes() {
        for kind in LoggedKind::ALL {
            let record = WireLogRecord { kind, ..record() };
            assert_eq!(WireLogRecord::from_bytes(&record.to_bytes()), Some(record));
        }
        let bytes = record().to_bytes();
        assert_eq!((bytes[0], bytes[32], bytes[40], bytes[44]), (1, 5, 4, 9));
    }

    #[test]
    fn invalid_logs_are_reported() {
        let whole = [&WIRE_LOG_MAGIC[..], &record().to_bytes()].concat();
        assert_eq!(parse(&whole).unwrap(), [record()]);
        assert!(parse(b"time_ns,flow\n").unwrap_err().contains("no wire log"));
        assert!(parse(&whole[..40]).unwrap_err().contains("32 bytes after the last"));
        let mut wrong = whole;
        wrong[48] = 200;
        assert!(parse(&wrong).unwrap_err().contains("record 0"));
    }
}
