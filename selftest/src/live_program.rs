//! Tests that pass frames other than data to the switch's program: `BPF_PROG_TEST_RUN` between live frames, and MAC
//! control frames.

use emulation::switch_settings::FIRST_INTERFACE;
use fabric_core::arrival::Outcome;
use fabric_core::hop_control::HopControl;
use fabric_core::priority::Priority;
use fabric_core::wire::{PfcFrame, pfc};
use linux::af_xdp;
use units::Nanos;

use super::bench::{Bench, Ended};
use super::hooks::is_attached;
use super::numbered::{Numbered, PRIORITY};
use super::rig::{HOSTS, PATIENCE, Place, Rig, SWITCH, netns_verdict, program_verdict};
use super::verdict::Verdict;

/// Number of frames in a test run, each after its copy on the wire.
const FRAMES: u32 = 64;
/// Return code of the program when it has taken a frame (`XDP_DROP`).
const TAKEN: u32 = 1;
/// Quanta of a PAUSE.
const QUANTA: u16 = 0xffff;
/// Time between two PAUSE frames, and after which a pause is in effect; it lasts 335 us.
const APART_NS: u64 = 1_000_000;
const RESPONSE_NS: u64 = 100_000;

/// `BPF_PROG_TEST_RUN` of an attached program with traffic: each frame has the same outcome as on the wire.
pub fn test_run(bench: &mut Bench<'_>) -> Result<(), Ended> {
    let mut rig = bench.step("a switch between two hosts is set up", || Rig::new(Place::Native))?;
    bench.step("the kernel says that the program is there", || is_attached(&rig))?;
    rig.ready(bench, "prog.test-run")?;
    let numbered = Numbered::new(bench.seed(), 1);
    let (inbound, patience) = (rig.inbound(), bench.patience());
    let place = format!("the program at {}", rig.interface(SWITCH, "h0"));
    bench.look("a test run does what the frame on the wire did", || {
        for number in 0..FRAMES {
            let frame = numbered.frame(number, &inbound, 0);
            rig.program.set_clock(Nanos(u64::from(number) + 1));
            rig.send(&frame)?;
            let mut live = None;
            patience.wait(PATIENCE, || {
                live = rig.take().transpose();
                live.is_some()
            })?;
            let Some(live) = live.transpose()? else {
                let verdict = Verdict::fail("a record", format!("none of frame {number}"), &place);
                return Err(rig.explain(verdict));
            };
            let answer = rig
                .deployment
                .namespace(SWITCH)
                .enter(|| rig.program.test_arrival(FIRST_INTERFACE, &frame))
                .map_err(|error| netns_verdict(&error))?
                .map_err(|error| program_verdict(&error))?;
            let tested = rig.take()?;
            let by_test_run = format!("{place}, by BPF_PROG_TEST_RUN");
            if answer != TAKEN {
                let got = format!("{answer} for frame {number}");
                return Err(Verdict::fail("XDP_DROP (1)", got, by_test_run));
            }
            let decided = |(records, bytes): &(_, Option<Vec<u8>>)| match records {
                switch_user::program::Records {
                    outcome: Outcome::Queued(queued), port, ..
                } => Ok((queued.egress_port, queued.queue, queued.marked, *port, bytes.clone())),
                other => Err(format!("{:?}", other.outcome)),
            };
            let (live, tested) = (decided(&live), tested.as_ref().map(decided));
            if live.is_err() || tested.as_ref() != Some(&live) {
                let expected = format!("frame {number} queued as on the wire: {live:02x?}");
                let got = format!("{tested:02x?}");
                return Err(rig.explain(Verdict::fail(expected, got, by_test_run)));
            }
        }
        Ok(())
    });
    bench.look("the kernel says that the program is still there", || is_attached(&rig));
    rig.judge_surroundings(bench);
    rig.keep();
    Ok(())
}

/// Adds the frame's name to the failure of sending it.
fn unsent(verdict: Verdict, frame: &str) -> Verdict {
    match verdict {
        Verdict::Fail(failure) => Verdict::fail(frame, failure.got, failure.place),
        other => other,
    }
}

/// MAC control frames to 01:80:C2:00:00:01, both ways; the switch does not forward them.
#[expect(clippy::too_many_lines, reason = "one step after the other")]
pub fn mac_control(bench: &mut Bench<'_>) -> Result<(), Ended> {
    let mut rig = bench.step("a switch between two hosts is set up", || Rig::new(Place::Native))?;
    bench.step("hosts have AF_XDP sockets", || rig.open_hosts(af_xdp::Options::default()))?;
    rig.ready(bench, "mac-control")?;
    let patience = bench.patience();
    let (source, port) = (rig.inbound().source, rig.outbound(0).source);
    let frames = |source| {
        (0..8).flat_map(move |priority| {
            [PfcFrame::xoff(source, 1 << priority, QUANTA), PfcFrame::xon(source, 1 << priority)]
        })
    };
    let name = |frame: &PfcFrame| {
        let priority = frame.class_enable.trailing_zeros();
        let what = if frame.quanta.iter().all(|&quanta| quanta == 0) { "RESUME" } else { "PAUSE" };
        format!("the {what} of priority {priority} to 01:80:c2:00:00:01")
    };
    let bytes = |frame: &PfcFrame| {
        let mut bytes = [0; pfc::LEN];
        frame.emit(&mut bytes);
        bytes
    };
    bench.look("a host's frames reach the switch's program", || {
        for (frame, instant) in frames(source).zip((1..).map(|number| number * APART_NS)) {
            rig.program.set_clock(Nanos(instant));
            rig.send(&bytes(&frame)).map_err(|verdict| unsent(verdict, &name(&frame)))?;
            let mut found = None;
            patience.wait(PATIENCE, || {
                found = rig.take().transpose();
                found.is_some()
            })?;
            let place = format!(
                "{}, veth, native XDP at {}",
                rig.interface(HOSTS[0], "s0"),
                rig.interface(SWITCH, "h0")
            );
            let Some((records, _)) = found.transpose()? else {
                let got = "nothing: the MAC control frame is lost";
                return Err(rig.explain(Verdict::fail(name(&frame), got, place)));
            };
            let said = match records.outcome {
                Outcome::ControlReceived(HopControl::Classes(pauses)) => {
                    Some(PfcFrame::new(source, pauses))
                }
                _ => None,
            };
            if said != Some(frame) {
                let got = format!("{:?}", records.outcome);
                return Err(rig.explain(Verdict::fail(name(&frame), got, place)));
            }
            let is_paused =
                rig.tables.is_paused(0, Priority::new(PRIORITY), Nanos(instant + RESPONSE_NS));
            if is_paused != (frame.quanta[usize::from(PRIORITY)] != 0) {
                let expected = format!("priority 3 as {} says", name(&frame));
                let got = if is_paused { "a pause" } else { "no pause" };
                return Err(Verdict::fail(expected, got, "the mapped table of pauses"));
            }
        }
        Ok(())
    });
    bench.look("the program counted each", || {
        let counted = rig.tables.received_pfc(0);
        if counted == 16 {
            return Ok(());
        }
        let place = rig.interface(SWITCH, "h0");
        Err(rig.explain(Verdict::fail("16 PFC frames", counted.to_string(), place)))
    });
    bench.look("the switch's frames reach a host's socket", || {
        for frame in frames(port) {
            let sent = rig.send_to_host(0, &bytes(&frame), 0);
            sent.map_err(|verdict| unsent(verdict, &name(&frame)))?;
            let mut found = None;
            patience.wait(PATIENCE, || {
                rig.sockets[HOSTS[0]].receive(|bytes| found = Some(bytes.to_vec()));
                found.is_some()
            })?;
            let place = format!(
                "{}, veth, native XDP at {}, AF_XDP",
                rig.interface(SWITCH, "h0"),
                rig.interface(HOSTS[0], "s0")
            );
            match found {
                Some(found) if found == bytes(&frame) => {}
                Some(found) => {
                    let got = format!("{found:02x?}");
                    return Err(rig.explain(Verdict::fail(name(&frame), got, place)));
                }
                None => {
                    let got = "nothing: the MAC control frame is lost";
                    return Err(rig.explain(Verdict::fail(name(&frame), got, place)));
                }
            }
        }
        Ok(())
    });
    bench.look("none is forwarded to the other host", || {
        let mut found = 0;
        while rig.sockets[HOSTS[1]].receive(|_| found += 1) {}
        if found == 0 {
            return Ok(());
        }
        let place = rig.interface(HOSTS[1], "s0");
        Err(Verdict::fail("no frame", format!("{found} frames"), place))
    });
    rig.judge_surroundings(bench);
    rig.keep();
    Ok(())
}
