//! Two views of a star of three hosts, half a second apart: h1 and h2 send to h0, which pauses its switch.

use emulation::live::clock::Fidelity;
use emulation::live::view::{HostView, PortView, SwitchView, View, WireView};
use results::Lateness;

const RATE: u64 = 100_000_000;

fn port(number: u64, sent_bytes: u64, received_bytes: u64) -> PortView {
    PortView {
        peer: format!("h{number}"),
        wire: format!("leaf0->h{number}"),
        rate_bps: RATE,
        sent_bytes,
        received_bytes,
        wire_state: WireView { is_up: true, ..WireView::default() },
        ..PortView::default()
    }
}

fn host(number: u64, sent_bytes: u64, received_bytes: u64) -> HostView {
    HostView {
        name: format!("h{number}"),
        address: format!("10.0.1.{}", number + 1),
        peer: "leaf0".to_owned(),
        wire: format!("h{number}->leaf0"),
        rate_bps: RATE,
        sent_bytes,
        received_bytes,
        wire_state: WireView { is_up: true, ..WireView::default() },
        ..HostView::default()
    }
}

/// Returns the first view.
pub fn before() -> View {
    let switch = SwitchView {
        name: "leaf0".to_owned(),
        capacity_bytes: 500_000,
        ecn_marked: 100,
        drops: [("lossy-threshold".to_owned(), 3)].into(),
        ports: vec![port(0, 1_000_000, 0), port(1, 0, 500_000), port(2, 0, 500_000)],
        ..SwitchView::default()
    };
    View {
        emulated_ns: 2_000_000_000,
        switches: vec![switch],
        hosts: vec![host(0, 0, 1_000_000), host(1, 500_000, 0), host(2, 500_000, 0)],
        ..View::default()
    }
}

/// Returns the second view.
pub fn now() -> View {
    let mut view = before();
    view.emulated_ns = 2_500_000_000;
    view.active_flows = 2;
    view.completed_flows = 5;
    let lateness =
        Lateness { deadlines: 900, late: 2, p50_ns: 30_000, p99_ns: 120_000, most_ns: 900_000 };
    view.fidelity = Fidelity {
        is_good: true,
        dilation: 1,
        recent: lateness,
        all: lateness,
        ..Fidelity::default()
    };
    let leaf = &mut view.switches[0];
    (leaf.buffer_bytes, leaf.most_buffer_bytes, leaf.ecn_marked) = (210_000, 400_000, 140);
    leaf.drops.insert("lossy-threshold".to_owned(), 10);
    leaf.drops.insert("ttl-expired".to_owned(), 1);
    let receiver = &mut leaf.ports[0];
    receiver.sent_bytes += 5_000_000;
    receiver.queued_bytes[3] = 200_000;
    receiver.queued_bytes[0] = 10_000;
    receiver.paused = vec![3];
    receiver.paused_ns[3] = 100_000_000;
    receiver.pause_frames[3] = 12;
    for sender in 1..=2 {
        leaf.ports[sender].received_bytes += 2_500_000;
        leaf.ports[sender].ingress_bytes[3] = 100_000;
    }
    leaf.ports[2].wire_state.is_up = false;
    view.hosts[0].received_bytes += 5_000_000;
    for sender in 1..=2 {
        let host = &mut view.hosts[sender];
        host.sent_bytes += 2_500_000;
        host.paused_ns[3] = 375_000_000;
        host.pause_frames[3] = 30;
    }
    view.hosts[1].paused = vec![3];
    view.hosts[1].program_frames_sent = 42;
    view.hosts[1].program_frames_waiting = 8;
    view.hosts[0].program_frames_received = 40;
    view
}
