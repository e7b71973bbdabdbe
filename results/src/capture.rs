//! `capture.pcapng`: frames on the chosen wires, one interface per wire direction.
//!
//! Source: PCAP Next Generation (draft-ietf-opsawg-pcapng), sections 4.1 to 4.3. Time stamps are
//! emulated nanoseconds since the run's start, so readers show them as seconds after 1970-01-01.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgWriteError, PcapNgWriter};
use pcap_file::{DataLink, Endianness};
use units::{BitsPerSecond, Nanos};

use super::error::ResultsError;

/// The capture's name in the results folder.
pub const CAPTURE_FILE: &str = "capture.pcapng";

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct CaptureWire {
    /// The interface's name in readers: `leaf0->h0`.
    pub name: String,
    /// The link's rate.
    pub rate: BitsPerSecond,
}

/// A capture file being written.
pub struct Capture<W: Write> {
    pcapng: PcapNgWriter<BufWriter<W>>,
    snap_bytes: usize,
    path: PathBuf,
}

impl<W: Write> Capture<W> {
    const BUFFER_BYTES: usize = 1 << 18;

    /// Writes the section header and one interface per wire, numbered in the order of `wires`.
    ///
    /// `snap_bytes` is the max length kept of each frame; 0 keeps all. Errors name `path`.
    pub fn new(
        writer: W,
        path: &Path,
        application: &str,
        wires: &[CaptureWire],
        snap_bytes: u32,
    ) -> Result<Self, ResultsError> {
        let failed = |error| write_error(path, error);
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed(application))],
            ..SectionHeaderBlock::default()
        };
        let out = BufWriter::with_capacity(Self::BUFFER_BYTES, writer);
        let mut pcapng = PcapNgWriter::with_section_header(out, section).map_err(failed)?;
        for wire in wires {
            let interface = InterfaceDescriptionBlock {
                linktype: DataLink::ETHERNET,
                snaplen: snap_bytes,
                options: vec![
                    InterfaceDescriptionOption::IfName(Cow::Borrowed(&wire.name)),
                    InterfaceDescriptionOption::IfSpeed(wire.rate.0),
                    InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO),
                ],
            };
            pcapng.write_pcapng_block(interface).map_err(failed)?;
        }
        let snap_bytes = if snap_bytes == 0 { usize::MAX } else { snap_bytes as usize };
        Ok(Self { pcapng, snap_bytes, path: path.to_owned() })
    }

    /// Adds a frame (without FCS) of the wire with this number. Readers show `comment` as its comment, and expect
    /// frames in time order.
    ///
    /// # Panics
    /// If `wire` is out of range.
    /// If `wire` is not a number of a wire of the capture.
    pub fn frame(
        &mut self,
        wire: u32,
        time: Nanos,
        frame: &[u8],
        comment: Option<&str>,
    ) -> Result<(), ResultsError> {
        let wires = self.pcapng.interfaces().len();
        assert!((wire as usize) < wires, "wire {wire} of {wires} has no interface in the capture");
        let packet = EnhancedPacketBlock {
            interface_id: wire,
            timestamp: Duration::from_nanos(time.0),
            original_len: frame.len().try_into().expect("a frame is a few kB"),
            data: Cow::Borrowed(&frame[..frame.len().min(self.snap_bytes)]),
            options: comment.into_iter().map(option).collect(),
        };
        let written = self.pcapng.write_pcapng_block(packet);
        written.map(|_| ()).map_err(|error| write_error(&self.path, error))
    }

    /// Empties the buffer, for readers that follow.
    pub fn flush(&mut self) -> Result<(), ResultsError> {
        let flushed = self.pcapng.get_mut().flush();
        flushed.map_err(|source| ResultsError::Write { path: self.path.clone(), source })
    }

    /// Empties the buffer and closes the file.
    pub fn finish(self) -> Result<(), ResultsError> {
        let path = self.path;
        let flushed = self.pcapng.into_inner().flush();
        flushed.map_err(|source| ResultsError::Write { path, source })
    }
}

fn option(comment: &str) -> EnhancedPacketOption<'_> {
    EnhancedPacketOption::Common(CommonOption::Comment(Cow::Borrowed(comment)))
}

fn write_error(path: &Path, error: PcapNgWriteError) -> ResultsError {
    let source = match error {
        PcapNgWriteError::Io(source) => source,
        other => io::Error::other(other),
    };
    ResultsError::Write { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcap_file::pcapng::{Block, PcapNgReader};
    use std::fs::File;

    const RATE: BitsPerSecond = BitsPerSecond(100_000_000_000);

    fn wires() -> Vec<CaptureWire> {
        ["leaf0->h0", "h0->leaf0"].map(|name| CaptureWire { name: name.into(), rate: RATE }).into()
    }

    fn capture(snap_bytes: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        let path = Path::new(CAPTURE_FILE);
        let mut capture = Capture::new(&mut bytes, path, "xoff 0", &wires(), snap_bytes).unwrap();
        capture.frame(0, Nanos(1_234_567_891), &[7; 61], None).unwrap();
        capture.frame(1, Nanos(1_234_567_892), &[8; 1048], Some("dropped: ttl-expired")).unwrap();
        capture.finish().unwrap();
        bytes
    }

    #[test]
    fn a_reader_finds_names_speeds_and_nanoseconds() {
        let bytes = capture(128);
        let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
        let mut packets = Vec::new();
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(packet) = block.unwrap().0 {
                packets.push(packet.into_owned());
            }
        }
        for (interface, wire) in reader.interfaces().iter().zip(wires()) {
            let name = InterfaceDescriptionOption::IfName(wire.name.into());
            assert!(interface.options.contains(&name));
            assert!(interface.options.contains(&InterfaceDescriptionOption::IfSpeed(RATE.0)));
            assert_eq!(interface.linktype, DataLink::ETHERNET);
        }
        assert_eq!(packets[0].timestamp, Duration::from_nanos(1_234_567_891));
        assert_eq!((packets[0].data.len(), packets[0].original_len), (61, 61));
        assert_eq!((packets[1].data.len(), packets[1].original_len), (128, 1048));
        assert_eq!((packets[0].interface_id, packets[1].interface_id), (0, 1));
        assert_eq!(packets[0].options, []);
        assert_eq!(packets[1].options, [option("dropped: ttl-expired")]);
    }

    #[test]
    fn two_runs_write_the_same_bytes() {
        assert_eq!(capture(0), capture(0));
    }

    #[test]
    fn a_full_disk_is_reported() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let path = Path::new("out/capture.pcapng");
        let mut capture = Capture::new(full, path, "xoff 0", &wires(), 0).unwrap();
        let error =
            (0..1000).find_map(|n| capture.frame(0, Nanos(n), &[0; 1500], None).err()).unwrap();
        assert!(error.to_string().starts_with("cannot write out/capture.pcapng: No space left"));
    }

    #[test]
    #[should_panic(expected = "wire 2 of 2 has no interface")]
    fn an_unknown_wire_is_a_broken_invariant() {
        let path = Path::new(CAPTURE_FILE);
        let mut capture = Capture::new(io::sink(), path, "xoff 0", &wires(), 0).unwrap();
        capture.frame(2, Nanos(0), &[0; 60], None).unwrap();
    }

    #[test]
    fn a_full_disk_is_reported_at_the_end_of_a_short_capture() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut capture =
            Capture::new(full, Path::new("out/capture.pcapng"), "xoff 0", &wires(), 0).unwrap();
        capture.frame(0, Nanos(1), &[0; 60], None).unwrap();
        let error = capture.finish().unwrap_err().to_string();
        assert!(error.starts_with("cannot write out/capture.pcapng: No space left"), "{error}");
    }
}
