//! Tests of the hooks at which programs see frames: XDP, native and generic, and TC, by clsact and by TCX.

use emulation::switch_settings::FIRST_INTERFACE;
use fabric_core::priority::Priority;
use linux::af_xdp;
use netns::XdpAttachment;
use switch_user::program::LinkKind;
use units::Nanos;

use super::bench::{Bench, Ended, Patience};
use super::numbered::{Numbered, PRIORITY};
use super::rig::{Place, Rig, SWITCH, Sender, program_verdict};
use super::verdict::Verdict;

/// Number of frames that a test sends.
const FRAMES: u32 = 256;
/// First kernel with TCX.
const TCX_SINCE: (u32, u32) = (6, 6);

/// Native XDP on veth.
pub fn native_xdp(bench: &mut Bench<'_>) -> Result<(), Ended> {
    through_the_switch(bench, "xdp.native", Place::Native)
}

/// Generic XDP on veth.
pub fn generic_xdp(bench: &mut Bench<'_>) -> Result<(), Ended> {
    through_the_switch(bench, "xdp.generic", Place::Generic)
}

/// TC ingress by clsact.
pub fn clsact(bench: &mut Bench<'_>) -> Result<(), Ended> {
    through_the_switch(bench, "tc.ingress", Place::Clsact)
}

/// TC ingress by TCX.
pub fn tcx(bench: &mut Bench<'_>) -> Result<(), Ended> {
    bench.step("the kernel has TCX", || {
        let release = super::runner::kernel_release();
        match super::runner::version(&release) {
            Some(version) if version < TCX_SINCE => {
                Err(Verdict::skip(format!("Linux {release} has no TCX; it came with 6.6")))
            }
            _ => Ok(()),
        }
    })?;
    through_the_switch(bench, "tc.tcx", Place::Tcx)
}

fn through_the_switch(bench: &mut Bench<'_>, test: &str, place: Place) -> Result<(), Ended> {
    let mut rig = bench.step("a switch between two hosts is set up", || Rig::new(place))?;
    bench.step("the kernel says that the program is there", || is_attached(&rig))?;
    rig.ready(bench, test)?;
    let numbered = Numbered::new(bench.seed(), 1);
    let patience = bench.patience();
    let moved = bench.step("frames are sent, and records come", || {
        rig.transfer(patience, &numbered, FRAMES, Sender::Packet)
    })?;
    let name = match place {
        Place::Native => "native XDP",
        Place::Generic => "generic XDP",
        Place::Clsact => "clsact ingress",
        Place::Tcx => "TCX ingress",
    };
    let way = format!(
        "AF_PACKET at {}, veth, {name} at {}, the ring buffer",
        rig.interface(0, "s0"),
        rig.interface(SWITCH, "h0")
    );
    rig.judge(bench, &moved, &way);
    bench.look("the program counted each frame", || {
        let counted = rig.tables.received_frames(0);
        if counted == u64::from(FRAMES) {
            return Ok(());
        }
        let verdict = Verdict::fail(
            format!("{FRAMES} frames in the mapped table of ports"),
            counted.to_string(),
            way.clone(),
        );
        Err(rig.explain(verdict))
    });
    bench.look("the kernel says that the program is still there", || is_attached(&rig));
    rig.judge_surroundings(bench);
    rig.keep();
    Ok(())
}

/// Checks that the switch's program is attached where the test has attached it, and nowhere else.
pub fn is_attached(rig: &Rig) -> Result<(), Verdict> {
    let namespace = rig.deployment.namespace(SWITCH);
    for index in [FIRST_INTERFACE, FIRST_INTERFACE + 1] {
        let state =
            namespace.link_state(index).map_err(|error| super::rig::netns_verdict(&error))?;
        let place = format!("{} (rtnetlink, IFLA_XDP)", rig.interface(SWITCH, &state.name));
        let expected = match rig.place() {
            Place::Native => XdpAttachment::Native,
            Place::Generic => XdpAttachment::Generic,
            Place::Clsact | Place::Tcx => XdpAttachment::Nothing,
        };
        if state.xdp != expected {
            let verdict = Verdict::fail(expected.to_string(), state.xdp.to_string(), place);
            return Err(rig.explain(verdict));
        }
        let arrival = rig.program.arrival_info().map_err(|error| program_verdict(&error))?;
        let is_xdp = expected != XdpAttachment::Nothing;
        if is_xdp && state.xdp_program != arrival.id() {
            let expected = format!("program {} of the test", arrival.id());
            let got = format!("program {}", state.xdp_program);
            return Err(rig.explain(Verdict::fail(expected, got, place)));
        }
        let at_tcx = namespace
            .enter(|| switch_user::program::at_tcx(&state.name, false).unwrap_or_default())
            .map_err(|error| super::rig::netns_verdict(&error))?;
        let expected: &[u32] = if rig.place() == Place::Tcx { &[arrival.id()] } else { &[] };
        let found: Vec<u32> = at_tcx.iter().map(|(number, _)| *number).collect();
        if found != expected {
            let place = format!("{}, TCX ingress", rig.interface(SWITCH, &state.name));
            let verdict = Verdict::fail(
                format!("programs {expected:?}"),
                format!("programs {found:?}"),
                place,
            );
            return Err(rig.explain(verdict));
        }
    }
    let kind = if rig.place() == Place::Tcx { LinkKind::Tcx } else { LinkKind::Xdp };
    for attachment in &rig.attachments {
        let found = attachment.kind().map_err(|error| program_verdict(&error))?;
        if found != kind {
            let place = "BPF_OBJ_GET_INFO_BY_FD of the link";
            return Err(Verdict::fail(kind.to_string(), found.to_string(), place));
        }
    }
    Ok(())
}

/// TC egress by clsact: the auditor sees each frame on its way to a host, whose AF_XDP socket receives it.
pub fn egress(bench: &mut Bench<'_>) -> Result<(), Ended> {
    let mut rig = bench.step("a switch between two hosts is set up", || Rig::new(Place::Clsact))?;
    bench.step("hosts have AF_XDP sockets", || rig.open_hosts(af_xdp::Options::default()))?;
    rig.ready(bench, "tc.egress")?;
    let (patience, seed) = (bench.patience(), bench.seed());
    let moved = bench.step("frames are sent", || to_host(patience, seed, &mut rig, FRAMES))?;
    let way = format!(
        "AF_PACKET at {}, clsact egress, veth, native XDP at {}, AF_XDP",
        rig.interface(SWITCH, "h1"),
        rig.interface(1, "s0")
    );
    rig.judge(bench, &moved, &way);
    bench.look("the program at egress saw each frame and byte", || {
        let audit = rig.tables.audited(1, Priority::new(PRIORITY));
        let bytes: usize = moved[0].iter().map(Vec::len).sum();
        let (frames, found) = (audit.frames.load(), audit.bytes.load());
        if (frames, found) == (u64::from(FRAMES), bytes as u64) {
            return Ok(());
        }
        let verdict = Verdict::fail(
            format!("{FRAMES} frames of {bytes} bytes"),
            format!("{frames} frames of {found} bytes"),
            format!("egress_auditor at {}", rig.interface(SWITCH, "h1")),
        );
        Err(rig.explain(verdict))
    });
    rig.judge_surroundings(bench);
    rig.keep();
    Ok(())
}

/// Number of frames under way to a host.
const TO_HOST: usize = 32;

/// Sends numbered frames from the switch to host 1, whose socket receives them.
pub fn to_host(
    patience: Patience<'_>,
    seed: u64,
    rig: &mut Rig,
    count: u32,
) -> Result<[Vec<Vec<u8>>; 2], Verdict> {
    let (numbered, addresses) = (Numbered::new(seed, 1), rig.outbound(1));
    let (mut sent, mut arrived) = (Vec::new(), Vec::new());
    let numbers: Vec<u32> = (0..count).collect();
    // Several frames are under way, so that reordering can show.
    for batch in numbers.chunks(TO_HOST) {
        for &number in batch {
            let frame = numbered.frame(number, &addresses, 1);
            rig.program.set_clock(Nanos(u64::from(number) + 1));
            rig.send_to_host(1, &frame, number + 1)?;
            sent.push(frame);
        }
        let here = patience.wait(super::rig::PATIENCE, || {
            while rig.sockets[1].receive(|frame| arrived.push(frame.to_vec())) {}
            arrived.len() >= sent.len()
        })?;
        if !here {
            break;
        }
    }
    Ok([sent, arrived])
}
