//! Queues that flows get.

use super::*;

/// Receives a packet of a flow. Returns its queue, and whether it is counted.
fn arrive_of_flow(tables: &OwnedTables, policy: Policy, flow: u16, now: u64) -> (QueueId, bool) {
    let mut bytes = Sent { port: 0, flow, upstream: Some(1), labelled: false }.frame();
    let frame = &mut ByteFrame(bytes.as_mut_slice());
    match arrival_under::<Bfc, _, _>(frame, tables, policy, 0, Nanos(now), &mut |_| {}) {
        Outcome::Queued(Queued { slot, queue, .. }) => {
            let note = tables.descriptor(slot).expect("a slot").note.load();
            Bfc::depart(tables, &policy, slot, Nanos(now), &mut |_| {}).expect("it is there");
            (queue, Note::from_bits(note).entry().is_some())
        }
        other => panic!("{other:?}"),
    }
}

/// A flow that finds no empty queue gets a random one, and whether it is counted does not depend on the queue.
#[test]
fn what_is_counted_does_not_hang_on_the_queue() {
    let options = Options { samples: true, ..options(Assignment::Dynamic) };
    let (tables, policy) = (tables(options, true, None), policy(options));
    let port = state::port(&tables, 1).expect("a port");
    let mut found = [[0u32; 2]; 3];
    for flow in 0..3000 {
        QUEUES.iter().for_each(|queue| port.in_use.set(queue, true));
        let now = 10_000 * u64::from(flow);
        let (queue, counted) = arrive_of_flow(&tables, policy, flow, now);
        found[QUEUES.number_of(queue) as usize][usize::from(counted)] += 1;
    }
    for [left_out, counted] in found {
        assert!(left_out + counted > 800, "{found:?}");
        assert!(left_out.abs_diff(counted) < (left_out + counted) / 5, "{found:?}");
    }
}

/// Flows get the empty queues in turn, so that the queue that another flow has just left comes last.
#[test]
fn empty_queues_are_given_in_turn() {
    let options = options(Assignment::Dynamic);
    let (tables, policy) = (tables(options, true, None), policy(options));
    let mut given = |flow: u16| {
        let now = 10 * STICKY * u64::from(flow + 1);
        arrive_of_flow(&tables, policy, flow, now).0.number()
    };
    let order: Vec<u8> = (0..7).map(&mut given).collect();
    assert_eq!(order, [8, 9, 10, 8, 9, 10, 8]);
}

/// Flows of two priorities that share an entry have equal positions among the queues of their priorities.
#[test]
fn priorities_with_fewer_queues_stay_among_their_own() {
    const OTHER: u8 = 5;
    let mut tables = tables(options(Assignment::Dynamic), true, None);
    tables.config.queues[usize::from(OTHER)] = QueueRange::flow_queues(11, 2);
    let options = Options::new(Assignment::Dynamic, 1 << CLASS | 1 << OTHER, 4).expect("a line");
    let policy = Policy::new(ThresholdScheme::Static, MarkingScheme::Off);
    let policy = policy.with_scheme(SchemeKind::Bfc, options.to_bits());
    let arrive = |class: u8, flow: u16| {
        let mut bytes = packet(0, 1, class, Ecn::NotCapable);
        bytes[34..36].copy_from_slice(&(50_000 + flow).to_be_bytes());
        let frame = &mut ByteFrame(bytes.as_mut_slice());
        match arrival_under::<Bfc, _, _>(frame, &tables, policy, 0, Nanos(0), &mut |_| {}) {
            Outcome::Queued(queued) => queued.queue.number(),
            other => panic!("{other:?}"),
        }
    };
    let three: Vec<u8> = (0..12).map(|flow| arrive(CLASS, flow)).collect();
    let five: Vec<u8> = (0..12).map(|flow| arrive(OTHER, flow)).collect();
    assert!(three.iter().all(|queue| (8..11).contains(queue)), "{three:?}");
    assert!(five.iter().all(|queue| (11..13).contains(queue)), "{five:?}");
    assert!(three.contains(&10) && five.contains(&11) && five.contains(&12));
}
