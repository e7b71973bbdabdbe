//! Tests of the BPF ring buffer and of memory-mapped arrays, both under load.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use fabric_core::arrival::Outcome;
use fabric_core::drop_reason::DropReason;
use units::Nanos;

use super::bench::{Bench, Ended};
use super::numbered::Numbered;
use super::rig::{FIRST_HOST_INTERFACE, Place, Rig, SWITCH, program_verdict};
use super::verdict::Verdict;

/// Number of records that the ring holds, with room to spare.
const FILL: u32 = 512;
/// Number of times that the ring is filled.
const ROUNDS: u32 = 6;
/// Number of frames that are sent while records are taken.
const STREAM: u32 = 20_000;
/// Number of frames in the test of mapped arrays.
const CLOCKED: u32 = 4096;
/// Max payload, so that all frames fit the switch's buffer.
const SHORT: u64 = 200;

/// Tests the ring buffer: filled and emptied, then filled on one processor while it is emptied on another.
pub fn load(bench: &mut Bench<'_>) -> Result<(), Ended> {
    let mut rig = bench.step("a switch between two hosts is set up", || Rig::new(Place::Native))?;
    rig.ready(bench, "ring.load")?;
    let (seed, patience) = (bench.seed(), bench.patience());
    let numbered = Numbered { longest: SHORT, ..Numbered::new(seed, 1) };
    let (inbound, outbound) = (rig.inbound(), rig.outbound(1));
    let place = format!("the ring buffer of the program at {}", rig.interface(SWITCH, "h0"));
    let filled =
        bench.step("the ring is filled to the brim and emptied, again and again", || {
            let (mut sent, mut arrived) = (Vec::new(), Vec::new());
            for round in 0..ROUNDS {
                for number in round * FILL..(round + 1) * FILL {
                    rig.send(&numbered.frame(number, &inbound, 0))?;
                    sent.push(numbered.frame(number, &outbound, 1));
                }
                rig.await_frames(patience, &mut arrived, sent.len())?;
                if arrived.len() < sent.len() {
                    break;
                }
            }
            Ok([sent, arrived])
        })?;
    rig.judge(bench, &filled, &place);
    bench.look("no reservation failed, for there was room", || {
        let refused = rig.tables.dropped(DropReason::RingFull);
        if refused == 0 {
            return Ok(());
        }
        let got = format!("{refused} reservations that failed (counted as ring-full)");
        Err(rig.explain(Verdict::fail("room for 512 records at a time", got, &place)))
    });
    rig.renew();
    let (numbers, sent) = bench
        .step("a stream is taken while it is sent", || stream(&mut rig, &numbered, patience))?;
    bench.look("records of the stream are in order, and each once", || {
        let Some(pair) = numbers.windows(2).find(|pair| pair[0] >= pair[1]) else { return Ok(()) };
        let got = format!("frame {} after frame {}", pair[1], pair[0]);
        Err(Verdict::fail("frames in the order in which they were sent", got, &place))
    });
    bench.look("each frame of the stream has a record, or its reservation failed", || {
        let refused = rig.tables.dropped(DropReason::RingFull);
        let (found, sent) = (numbers.len() as u64, u64::from(sent));
        if found + refused == sent {
            return Ok(());
        }
        let lost = sent.saturating_sub(found + refused);
        let expected = format!("{sent} records and failed reservations");
        let got = format!("{found} records and {refused} failed reservations: {lost} are lost");
        Err(rig.explain(Verdict::fail(expected, got, &place)))
    });
    rig.judge_surroundings(bench);
    rig.keep();
    Ok(())
}

/// Sends on one thread and takes records on another. Returns the numbers of the frames in the order of their records,
/// and the number of frames sent.
fn stream(
    rig: &mut Rig,
    numbered: &Numbered,
    patience: super::bench::Patience<'_>,
) -> Result<(Vec<u32>, u32), Verdict> {
    let (inbound, outbound) = (rig.inbound(), rig.outbound(1));
    let expected: std::collections::BTreeMap<Vec<u8>, u32> =
        (0..STREAM).map(|number| (numbered.frame(number, &outbound, 1), number)).collect();
    let Rig { sender, program, .. } = rig;
    let (is_sent, mut numbers) = (AtomicBool::new(false), Vec::new());
    let mut strange = None;
    let sent = thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let mut sent = 0;
            for number in 0..STREAM {
                if patience.go_on().is_err() {
                    break;
                }
                // A full ring of the veth is not a loss by the ring buffer.
                let frame = numbered.frame(number, &inbound, 0);
                sent += u32::from(sender.send(FIRST_HOST_INTERFACE, &frame, 0).is_ok());
            }
            is_sent.store(true, Ordering::Release);
            sent
        });
        let mut quiet = 0;
        while quiet < 3 && strange.is_none() {
            let is_over = is_sent.load(Ordering::Acquire);
            let mut frame = Vec::new();
            match program.take_records(|_, bytes| frame = bytes.to_vec(), |_, _, _| ()) {
                Ok(Some(records)) => match (records.outcome, expected.get(&frame)) {
                    (Outcome::Queued(_), Some(number)) => numbers.push(*number),
                    (outcome, _) => {
                        let got = format!("a record that nobody caused, which says {outcome:?}");
                        strange = Some(Verdict::fail("records of the stream", got, "the ring"));
                    }
                },
                // Work that the kernel has deferred completes a moment later.
                Ok(None) if is_over => {
                    quiet += 1;
                    thread::sleep(std::time::Duration::from_millis(2));
                }
                Ok(None) => thread::yield_now(),
                Err(error) => strange = Some(program_verdict(&error)),
            }
        }
        sending.join().expect("it does not panic")
    });
    patience.go_on()?;
    strange.map_or(Ok((numbers, sent)), Err)
}

/// Tests memory-mapped arrays: the program reads values stored by user space, and user space reads the program's
/// counters.
pub fn mapped_arrays(bench: &mut Bench<'_>) -> Result<(), Ended> {
    let mut rig = bench.step("a switch between two hosts is set up", || Rig::new(Place::Native))?;
    bench.step("its tables are mapped", || {
        if rig.tables.is_mapped() {
            return Ok(());
        }
        Err(Verdict::fail("arrays in mapped memory", "tables of this process", "mmap()"))
    })?;
    rig.ready(bench, "map.mmapable")?;
    let numbered = Numbered { longest: SHORT, ..Numbered::new(bench.seed(), 1) };
    let inbound = rig.inbound();
    let place = format!("the program at {}", rig.interface(SWITCH, "h0"));
    let patience = bench.patience();
    // A clock that changes in all of its 64 bits reveals torn stores.
    let clock = |number: u32| u64::from(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 2;
    bench.look("the program reads each store to its clock at the next frame", || {
        for number in 0..CLOCKED {
            rig.program.set_clock(Nanos(clock(number)));
            rig.send(&numbered.frame(number, &inbound, 0))?;
            let mut found = None;
            patience.wait(super::rig::PATIENCE, || {
                found = rig.take().transpose();
                found.is_some()
            })?;
            let time = match found {
                Some(Ok((records, _))) => records.time_ns,
                Some(Err(verdict)) => return Err(verdict),
                None => {
                    let got = format!("nothing of frame {number}");
                    return Err(rig.explain(Verdict::fail("a record", got, &place)));
                }
            };
            if time != clock(number) {
                let expected = format!("{:#x} in the record of frame {number}", clock(number));
                return Err(rig.explain(Verdict::fail(expected, format!("{time:#x}"), &place)));
            }
        }
        Ok(())
    });
    bench.look("counters in mapped memory never go back, and have all frames", || {
        let (before, is_sent) = (rig.tables.received_frames(0), AtomicBool::new(false));
        let Rig { sender, program, tables, .. } = &mut rig;
        let (sent, back) = thread::scope(|scope| {
            let sending = scope.spawn(|| {
                let frames = (0..CLOCKED).map(|number| numbered.frame(number, &inbound, 0));
                let sent =
                    frames.filter(|frame| sender.send(FIRST_HOST_INTERFACE, frame, 0).is_ok());
                let sent = sent.count() as u64;
                is_sent.store(true, Ordering::Release);
                sent
            });
            let (mut last, mut back) = (before, None);
            while !is_sent.load(Ordering::Acquire) {
                let now = tables.received_frames(0);
                if now < last {
                    back = Some((last, now));
                }
                last = now;
                // Makes room in the ring, because a frame without a record is not counted.
                let _ = program.take_records(|_, _| (), |_, _, _| ());
            }
            (sending.join().expect("it does not panic"), back)
        });
        if let Some((high, low)) = back {
            let got = format!("{low} after {high}");
            return Err(Verdict::fail("a counter that grows", got, &place));
        }
        let refused = rig.tables.dropped(DropReason::RingFull);
        let counted = || rig.tables.received_frames(0) - before + refused;
        if patience.wait(super::rig::PATIENCE, || counted() >= sent)? && counted() == sent {
            return Ok(());
        }
        let expected = format!("{sent} frames, of which {refused} found no room in the ring");
        let got = (counted() - refused).to_string();
        Err(rig.explain(Verdict::fail(expected, format!("{got} counted"), &place)))
    });
    rig.judge_surroundings(bench);
    rig.keep();
    Ok(())
}
