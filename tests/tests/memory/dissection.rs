//! Captures under tshark's eyes, in memory.

use fabric_core::hop_control::{FlowList, HopControl};
use fabric_core::priority::Priority;
use fabric_core::queue::QueueId;
use tests::fabric::dissection::{
    EVERY_KIND, assert_flow_hints_agree, assert_selective_naks_agree, assert_tshark_agrees,
    dissected_hop_control,
};
use tests::fabric::in_memory;
use tests::switch::frame::hop_control_bytes;

/// Payloads of the first flow, too: packets to queue pair 1 would be taken for management datagrams.
#[test]
fn tshark_takes_every_frame_for_what_it_is() {
    let run = in_memory(EVERY_KIND, &[]);
    run.assert_sound();
    assert_tshark_agrees(&run);
}

/// Padding behind one to three bytes of payload would make some EtherType of them.
#[test]
fn tshark_takes_short_payloads_for_payloads() {
    for payload in 1..=4 {
        let payload = format!("host.payload={payload}B");
        let run = in_memory(EVERY_KIND, &[&payload, "flows.0.bytes=1000B"]);
        run.assert_sound();
        assert_tshark_agrees(&run);
    }
}

#[test]
fn tshark_and_the_dissector_take_selective_naks_for_what_they_are() {
    let transport = r#"host.transport={ kind = "roce-rc", reliability = "selective-repeat" }"#;
    let run = in_memory(EVERY_KIND, &[transport]);
    run.assert_sound();
    assert_tshark_agrees(&run);
    assert_ne!(assert_selective_naks_agree(&run), 0);
}

#[test]
fn tshark_and_the_dissector_take_what_packets_say_of_their_flow_for_what_it_is() {
    let backpressure =
        "switch.scheme={ kind = \"bfc\", priorities = [3, 4], queues = 4, incast_labels = true }";
    let sizes = ["switch.scheduler.kind=srf", "flows.1.bytes=100MB", "duration=40ms"];
    let run = in_memory(EVERY_KIND, &[&[backpressure][..], &sizes].concat());
    assert_tshark_agrees(&run);
    assert!(assert_flow_hints_agree(&run) > 10_000);
}

/// For RoCEv2 and TCP, with ACKs and without.
#[test]
fn tshark_and_the_dissector_find_the_marks_of_first_round_trips() {
    for (transport, priority) in [
        ("kind = \"roce-rc\", first_rtt_marks = \"30kB\"", 3),
        ("kind = \"tcp\", first_rtt_marks = \"auto\", first_rtt_acks = true", 1),
    ] {
        let transport = format!("host.transport={{ {transport} }}");
        let [first, second] = [0, 1].map(|flow| format!("flows.{flow}.priority={priority}"));
        let run = in_memory(EVERY_KIND, &[&transport, &first, &second, "flows.0.bytes=100kB"]);
        let marked = assert_flow_hints_agree(&run);
        assert!(marked > 30, "{marked}");
    }
}

const SOURCE: [u8; 6] = [2, 2, 0, 0, 0, 3];

/// No shipped scheme sends these frames, so no capture of a run contains one.
#[test]
fn the_dissector_says_what_hop_control_frames_say() {
    let priority = Priority::new(3);
    let flows = FlowList::new(&[0x0102_0304, 0xa0b0_c0d0]).expect("two fit");
    let (controls, expected): (Vec<_>, Vec<_>) = [
        (
            HopControl::Queue { queue: QueueId::data(127), paused: true },
            "hop control pauses queue 127",
        ),
        (
            HopControl::Queue { queue: QueueId::data(0), paused: false },
            "hop control resumes queue 0",
        ),
        (HopControl::Queues { paused: [5, 1 << 63] }, "hop control paused queues 0 2 127"),
        (HopControl::Queues { paused: [0; 2] }, "hop control paused queues none"),
        (
            HopControl::Flows { priority, paused: true, flows },
            "hop control pauses of priority 3 flows 01020304 a0b0c0d0",
        ),
        (
            HopControl::Rate { priority, kilobits_per_second: 100_000_000 },
            "hop control priority 3 at 100000000 kbit/s",
        ),
    ]
    .into_iter()
    .unzip();
    let frames: Vec<_> =
        controls.into_iter().map(|control| hop_control_bytes(SOURCE, control)).collect();
    assert_eq!(dissected_hop_control(&frames), expected);
}

/// Frames that a switch drops as `bad-hop-control`, by the wrong byte.
#[test]
fn the_dissector_refuses_what_contradicts_itself() {
    let wrong = |control, at: usize, byte| {
        let mut frame = hop_control_bytes(SOURCE, control);
        frame[at] = byte;
        frame
    };
    let queue = HopControl::Queue { queue: QueueId::data(7), paused: true };
    let (priority, flows) = (Priority::new(3), FlowList::default());
    let list = HopControl::Flows { priority, paused: true, flows };
    let rate = HopControl::Rate { priority, kilobits_per_second: 1 };
    let frames = [
        wrong(queue, 17, 0),
        wrong(queue, 17, 5),
        wrong(queue, 18, 128),
        wrong(queue, 19, 2),
        wrong(list, 18, 8),
        wrong(list, 19, 2),
        wrong(list, 20, 5),
        wrong(rate, 18, 8),
        hop_control_bytes(SOURCE, queue)[..37].to_vec(),
    ];
    let [kind, subject, state, count] = [
        "Unknown kind of hop control frame",
        "A queue or priority that does not exist",
        "Neither pauses nor resumes",
        "More flows than a frame has room for",
    ];
    let short = "Shorter than a hop control frame";
    let expected = [kind, kind, subject, state, subject, state, count, subject, short];
    assert_eq!(dissected_hop_control(&frames), expected);
}
