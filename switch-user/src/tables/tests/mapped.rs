//! One switch's tables in two mappings at once, as in eBPF and user space.

use std::array;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::sync::mpsc;
use std::thread;

use fabric_core::admission::{charge, release};
use fabric_core::map_abi::Pool;
use fabric_core::policy::{MarkingScheme, Policy, ThresholdScheme};
use fabric_core::priority::Priority;
use fabric_core::scheme::Ingress;
use fabric_core::tables::count_drop;

use super::*;

/// More than the size of any table.
const TABLE_BYTES: u64 = 1 << 16;

/// Returns two views of one switch's tables, with a file for each table.
fn both_sides() -> [SwitchTables; 2] {
    let files = RefCell::new(BTreeMap::new());
    let map = |wanted: &'static str| {
        let mut files = files.borrow_mut();
        let file: &'static File = files.entry(wanted).or_insert_with(|| {
            let file = tempfile::tempfile().expect("a directory for temporary files");
            file.set_len(TABLE_BYTES).expect("room for a table");
            // Open until the tests end.
            &*Box::leak(Box::new(file))
        });
        Ok(file.as_fd())
    };
    array::from_fn(|_| SwitchTables::mapped(CAPACITY, map).expect("files can be mapped"))
}

fn ingress(tables: &SwitchTables) -> Ingress<'_, SwitchTables> {
    let policy = Policy::new(ThresholdScheme::Static, MarkingScheme::Off);
    Ingress::new(tables, policy, 1, Priority::new(3)).expect("the port has its rows")
}

#[test]
fn mapped_tables_are_shared_and_owned_ones_need_not_be() {
    let owned = SwitchTables::owned(CAPACITY).expect("memory for a switch's tables");
    assert!(!owned.is_mapped());
    assert!(owned.unshared().port(1).is_some());
    let [mapped, _] = both_sides();
    assert!(mapped.is_mapped());
    const { assert!(SwitchTables::SHARED && !Rows::SHARED) }
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "eBPF works on these tables, too")]
fn mapped_tables_are_nobodys_alone() {
    let [mapped, _] = both_sides();
    mapped.unshared();
}

/// One side charges packets, the other releases them a moment later, and both count drops.
#[test]
fn two_sides_lose_no_count() {
    const PACKETS: u64 = 300_000;
    const LENGTH: u64 = 1058;
    const POOLS: [Pool; 3] = [Pool::Private, Pool::Shared, Pool::Headroom];
    let [arrivals, departures] = both_sides();
    let (admitted, leaving) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            for (_, pool) in (0..PACKETS).zip(POOLS.into_iter().cycle()) {
                charge(&ingress(&arrivals), pool, LENGTH);
                count_drop(&arrivals, DropReason::Truncated);
                admitted.send(()).expect("the other side is there");
            }
            drop(admitted);
        });
        for () in leaving {
            release(&ingress(&departures), LENGTH);
            count_drop(&departures, DropReason::Truncated);
        }
    });
    let Ingress { queue, switch, .. } = ingress(&arrivals);
    for (of_queue, of_switch) in [
        (&queue.private_bytes, &switch.private_bytes),
        (&queue.shared_bytes, &switch.shared_bytes),
        (&queue.headroom_bytes, &switch.headroom_bytes),
    ] {
        assert_eq!((of_queue.load(), of_switch.load()), (0, 0));
    }
    let dropped = arrivals.drops(DropReason::Truncated).expect("each reason has a counter");
    assert_eq!(dropped.load(), 2 * PACKETS);
    let most = (switch.headroom_max_bytes.load(), switch.buffer_max_bytes.load());
    assert!(most.0 >= LENGTH && most.1 >= most.0 && most.1 <= PACKETS * LENGTH, "{most:?}");
}
