//! Captures under independent eyes: tshark and scapy.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use fabric_core::wire::ipv4::{FIRST_RTT, INCAST_LABEL};
use fabric_core::wire::link_delay::Kind;
use fabric_core::wire::{
    EthernetAddress, HopTelemetry, RemainingSize, RocePacket, Syndrome, TelemetryFields,
};
use units::Nanos;

use super::Run;
use super::capture::{CapturedFrame, Content};

/// Python with scapy; `cargo xtask test` sets it.
const PYTHON_VARIABLE: &str = "XOFF_PYTHON";

/// One congested switch that marks, pauses and resumes, and a fault that calls for a NAK. Messages end in a
/// packet with padding.
pub const EVERY_KIND: &str = r#"
name = "every-kind"
[topology]
kind = "star"
hosts = 4
host_link = { rate = "100Gbps", delay = "1us" }
[switch]
buffer = "1MB"
lossless = [3, 4]
threshold = { kind = "static", xoff = "5kB", xon = "3kB" }
ecn = { kmin = "5kB", kmax = "50kB", pmax = 0.5 }
[[faults]]
kind = "loss"
wire = "s0->h0"
match = "data"
nth = [7]
[[captures]]
[[flows]]
kind = "incast"
senders = ["h1", "h2", "h3"]
receiver = "h0"
bytes = "200001B"
[[flows]]
kind = "one"
src = "h2"
dst = "h1"
bytes = "1B"
priority = 4
"#;

const FIELDS: [&str; 13] = [
    "frame.time_epoch",
    "frame.interface_name",
    "frame.protocols",
    "_ws.malformed",
    "_ws.expert.severity",
    "ip.checksum.status",
    "infiniband.bth.opcode",
    "infiniband.bth.destqp",
    "infiniband.bth.psn",
    "infiniband.bth.padcnt",
    "infiniband.aeth.syndrome",
    "macc.opcode",
    "macc.cbfc.enbv",
];

/// Asserts that tshark reads each frame of a capture as our own reader does, and finds no fault with any.
pub fn assert_tshark_agrees(run: &Run) {
    let classes = (0..8).map(|class| format!("macc.cbfc.pause_time.c{class}"));
    let fields = FIELDS.into_iter().map(str::to_owned).chain(classes);
    let text = tshark(&run.capture_path(), &["-o", "ip.check_checksum:TRUE"], fields);
    let frames = run.frames();
    assert_eq!(text.lines().count(), frames.len(), "tshark reads every frame");
    for (number, (line, frame)) in (1..).zip(text.lines().zip(&frames)) {
        assert_eq!(normalised(line), expected(run, frame), "frame {number}: {line}");
    }
}

/// Asserts that tshark follows the TCP connections of a capture: right checksums, nothing malformed, and no analysis
/// flag, which would report a gap, a retransmission or a full window.
pub fn assert_tshark_follows_tcp(run: &Run) {
    let fields =
        ["tcp.checksum.status", "_ws.malformed", "tcp.analysis.flags", "ip.checksum.status"];
    let options = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"];
    let text = tshark(&run.capture_path(), &options, fields.into_iter().map(str::to_owned));
    let segments = run.frames().iter().filter_map(CapturedFrame::tcp).count();
    assert!(segments > 500, "{segments} segments");
    let good = text.lines().filter(|line| line.split('\t').eq(["1", "", "", "1"])).count();
    assert_eq!((good, text.lines().count()), (segments, run.frames().len()));
}

/// Asserts that the dissector that ships reads each link delay frame of a capture as our own reader does,
/// and finds no fault with any. How many there are.
pub fn assert_dissector_agrees(run: &Run) -> usize {
    let script = dissector();
    let of_link_delay = ["kind", "sequence", "t1", "t2", "t3", "response_time"]
        .map(|name| format!("xoff.link_delay.{name}"));
    let fields =
        ["frame.protocols", "eth.src", "_ws.malformed", "_ws.expert.severity", "xoff.protocol"]
            .map(str::to_owned);
    let fields = fields.into_iter().chain(of_link_delay);
    let text = tshark(&run.capture_path(), &["-X", &script, "-Y", "xoff"], fields);
    let frames: Vec<_> = run.frames().iter().filter_map(CapturedFrame::link_delay).collect();
    assert_eq!(text.lines().count(), frames.len(), "the dissector takes every link delay frame");
    for (line, frame) in text.lines().zip(&frames) {
        let (source, sequence) = (EthernetAddress(frame.source), frame.sequence);
        let (Nanos(t1), Nanos(t2), Nanos(t3)) =
            (frame.request_sent, frame.request_received, frame.response_sent);
        let expected = match frame.kind {
            Kind::Request => format!("1\t{sequence}\t{t1}\t\t\t"),
            Kind::Response => {
                let time = frame.response_time_ns;
                format!("2\t{sequence}\t{t1}\t{t2}\t{t3}\t{time}")
            }
        };
        let expected = format!("eth:ethertype:xoff\t{source}\t\t\t1\t{expected}");
        assert_eq!(line, expected, "{frame}");
    }
    frames.len()
}

/// Asserts that the dissector that ships reads each selective NAK of a capture as our own reader does. How many there
/// are.
pub fn assert_selective_naks_agree(run: &Run) -> usize {
    let names = ["_ws.malformed", "xoff_selective_nak.expected", "xoff_selective_nak.arrived"];
    let options = ["-X", &dissector(), "-Y", "xoff_selective_nak"];
    let text = tshark(&run.capture_path(), &options, names.map(str::to_owned).into_iter());
    let line = |packet: RocePacket| {
        let arrived = packet.aeth?.arrived()?;
        Some(format!("\t{}\t{arrived}", packet.psn))
    };
    let frames = run.frames();
    let expected: Vec<_> = frames.iter().filter_map(CapturedFrame::roce).filter_map(line).collect();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    expected.len()
}

/// Asserts that the shipped dissector and our own reader agree on the flow hints of a capture's packets, and that the
/// dissector reports no error. Returns the number of packets with hints.
pub fn assert_flow_hints_agree(run: &Run) -> usize {
    let names = [
        "_ws.malformed",
        "_ws.lua.error",
        "xoff_flow.remaining",
        "xoff_flow.incast",
        "xoff_flow.first_rtt",
    ];
    let options = ["-X", &dissector(), "-Y", "xoff_flow"];
    let text = tshark(&run.capture_path(), &options, names.map(str::to_owned).into_iter());
    let line = |frame: &CapturedFrame| {
        let (dscp, remaining) = match (frame.roce(), frame.tcp()) {
            (Some(packet), _) => (packet.dscp, packet.remaining),
            (None, segment) => (segment?.dscp, RemainingSize::UNKNOWN),
        };
        let [labelled, first] = [INCAST_LABEL, FIRST_RTT].map(|bit| u8::from(dscp & bit != 0));
        let bytes = match remaining {
            RemainingSize::UNKNOWN if labelled + first == 0 => return None,
            RemainingSize::UNKNOWN => String::new(),
            known => known.bytes().to_string(),
        };
        Some(format!("\t\t{bytes}\t{labelled}\t{first}"))
    };
    let expected: Vec<_> = run.frames().iter().filter_map(line).collect();
    assert_eq!(
        text.lines()
            .map(|line| line.replace("True", "1").replace("False", "0"))
            .collect::<Vec<_>>(),
        expected
    );
    expected.len()
}

/// Asserts that the dissector that ships reads the telemetry of each packet of a capture as our own reader does, and
/// finds no fault with any. How many packets have some.
pub fn assert_dissected_telemetry(run: &Run) -> usize {
    let script = dissector();
    let of_telemetry = ["room", "hops", "echo", "exceeded", "rate", "time", "transmitted", "queue"]
        .map(|name| format!("xoff_telemetry.{name}"));
    let fields = ["_ws.malformed", "xoff_telemetry.malformed"].map(str::to_owned);
    let fields = fields.into_iter().chain(of_telemetry);
    let text = tshark(&run.capture_path(), &["-X", &script, "-Y", "xoff_telemetry"], fields);
    let frames = run.frames();
    let with_telemetry =
        frames.iter().filter_map(|frame| Some((frame.telemetry()?, frame.stamps())));
    let mut lines = text.lines();
    let mut count = 0;
    for (telemetry, stamps) in with_telemetry {
        let TelemetryFields { room, hops, echo, exceeded } = telemetry;
        let (echo, exceeded) = (u8::from(echo), u8::from(exceeded));
        let zero = HopTelemetry::default();
        let each = |field: fn(&HopTelemetry, HopTelemetry) -> u64| {
            let values: Vec<_> =
                stamps.iter().map(|stamp| field(stamp, zero).to_string()).collect();
            values.join(",")
        };
        let expected = [
            String::new(),
            String::new(),
            format!("{room}\t{hops}\t{echo}\t{exceeded}"),
            each(|stamp, _| stamp.rate().0),
            each(|stamp, zero| stamp.since(zero).elapsed.0),
            each(|stamp, zero| stamp.since(zero).transmitted.0),
            each(|stamp, _| stamp.queue().0),
        ];
        assert_eq!(lines.next(), Some(&*expected.join("\t")), "{telemetry}");
        count += 1;
    }
    assert_eq!(lines.next(), None, "the dissector takes nothing else for telemetry");
    count
}

/// Output of the shipped dissector on hop control frames: for each frame its summary line, or the error found.
pub fn dissected_hop_control(frames: &[Vec<u8>]) -> Vec<String> {
    // A classic pcap file: the header with the link type of Ethernet, then each frame behind its two lengths.
    let header = [0xa1b2_c3d4, 2 | 4 << 16, 0, 0, 0xffff, 1];
    let mut capture: Vec<u8> = header.into_iter().flat_map(u32::to_ne_bytes).collect();
    for frame in frames {
        let length = u32::try_from(frame.len()).expect("a frame is short");
        capture.extend([0, 0, length, length].into_iter().flat_map(u32::to_ne_bytes));
        capture.extend(frame);
    }
    let mut file = tempfile::NamedTempFile::new().expect("a file in the temporary folder");
    file.write_all(&capture).expect("room for a capture");
    let fields = ["_ws.expert.message", "_ws.col.Info"].map(str::to_owned);
    let text = tshark(file.path(), &["-X", &dissector(), "-Y", "xoff"], fields.into_iter());
    let line = |line: &str| match line.split_once('\t') {
        Some(("", says)) => says.to_owned(),
        Some((wrong, _)) => wrong.to_owned(),
        None => panic!("{line:?} has two fields"),
    };
    text.lines().map(line).collect()
}

/// tshark's option that loads the dissector.
fn dissector() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dissectors/xoff.lua");
    format!("lua_script:{}", script.display())
}

/// tshark's output of these fields of a capture, a line for each frame.
fn tshark(capture: &Path, options: &[&str], fields: impl Iterator<Item = String>) -> String {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(capture).args(options).args(["-T", "fields"]);
    for field in fields {
        tshark.args(["-e", &field]);
    }
    let output = tshark
        .output()
        .unwrap_or_else(|error| panic!("cannot run tshark ({error}): install the package tshark"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("tshark prints text")
}

/// The fields with all numbers but the time in decimal.
fn normalised(line: &str) -> String {
    let decimal = |field: &str| match field.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).map_or(field.into(), |n| n.to_string()),
        None => field.to_owned(),
    };
    line.split('\t').map(decimal).collect::<Vec<_>>().join("\t")
}

/// The line that tshark should print: no malformed mark, no expert's complaint of any severity.
fn expected(run: &Run, frame: &CapturedFrame) -> String {
    let CapturedFrame { wire, arrival_ns, content, .. } = frame;
    let (seconds, nanos) = (arrival_ns / 1_000_000_000, arrival_ns % 1_000_000_000);
    let name = &run.scenario.fabric().wire(*wire).name;
    let protocols = match content {
        Content::Roce(packet) if packet.payload_length > 0 => "ip:udp:infiniband:data",
        Content::Roce(_) => "ip:udp:infiniband",
        Content::Tcp(segment) if segment.payload_length > 0 => "ip:tcp:data",
        Content::Tcp(_) => "ip:tcp",
        Content::LinkDelay(_) | Content::HopControl(_) => "data",
        Content::Pfc(_) => "macc",
    };
    let mut line = format!("{seconds}.{nanos:09}\t{name}\teth:ethertype:{protocols}\t\t\t");
    match content {
        Content::Roce(packet) => {
            let syndrome = packet.aeth.map_or(String::new(), |aeth| syndrome(aeth.syndrome));
            let pad = packet.payload_length.next_multiple_of(4) - packet.payload_length;
            let (opcode, qp) = (packet.opcode as u8, packet.destination_qp);
            let psn = packet.psn.value();
            let _ = write!(line, "1\t{opcode}\t{qp}\t{psn}\t{pad}\t{syndrome}\t\t");
            line.push_str(&"\t".repeat(8));
        }
        // tshark itself knows only the EtherType. `assert_tshark_follows_tcp` checks segments.
        Content::Tcp(_) | Content::LinkDelay(_) | Content::HopControl(_) => {
            line.push_str(&"\t".repeat(15));
        }
        Content::Pfc(pfc) => {
            let _ = write!(line, "\t\t\t\t\t\t{}\t{}", 0x0101, pfc.class_enable);
            for quanta in pfc.quanta {
                let _ = write!(line, "\t{quanta}");
            }
        }
    }
    line
}

fn syndrome(syndrome: Syndrome) -> String {
    match syndrome {
        Syndrome::NakSequenceError => 0x60.to_string(),
        Syndrome::SelectiveNak => 0x7f.to_string(),
        Syndrome::Ack => 0x1f.to_string(),
    }
}

/// Frames in a capture by BTH opcode, by our own reader.
pub fn opcodes(run: &Run) -> BTreeMap<u8, u64> {
    let mut counts = BTreeMap::new();
    for packet in run.frames().iter().filter_map(CapturedFrame::roce) {
        *counts.entry(packet.opcode as u8).or_default() += 1;
    }
    counts
}

/// Result of scapy's check of a capture's ICRCs: right ICRCs by BTH opcode, or the error.
pub fn scapy_icrcs(capture: &Path) -> Result<BTreeMap<u8, u64>, String> {
    let python = std::env::var(PYTHON_VARIABLE).unwrap_or_else(|_| "python3".into());
    require_scapy(&python);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/icrc.py");
    let output = call(Command::new(&python).arg(script).arg(capture));
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let counts: BTreeMap<String, u64> =
        serde_json::from_slice(&output.stdout).expect("the script prints JSON");
    Ok(counts.iter().map(|(opcode, n)| (opcode.parse().expect("an opcode"), *n)).collect())
}

fn require_scapy(python: &str) {
    let output = call(Command::new(python).args(["-c", "import scapy.contrib.roce"]));
    assert!(
        output.status.success(),
        "{python} has no scapy with a RoCE layer: run `cargo xtask test`, or install scapy 2.6 or later \
         and let {PYTHON_VARIABLE} name a Python that has it\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn call(command: &mut Command) -> Output {
    let program = command.get_program().to_owned();
    command.output().unwrap_or_else(|error| {
        panic!("cannot run {} ({error}): {PYTHON_VARIABLE} names it", program.display())
    })
}
