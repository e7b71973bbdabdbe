//! Tests of owned tables; a separate file tests tables that are mapped twice.

#[cfg(feature = "kernel")]
mod mapped;

use super::*;

const CAPACITY: Capacity = Capacity::new(2, 2, 64);
#[test]
fn switches_in_one_arena_have_tables_of_their_own() {
    let larger = Capacity { ports: 5, slots: 100, ..CAPACITY };
    let mut arena = Arena::default();
    let mut tables = [CAPACITY, larger].map(|capacity| {
        SwitchTables::owned_in(&mut arena, capacity).expect("memory for a switch's tables")
    });
    for (tables, number) in tables.iter_mut().zip([1, 2]) {
        let rows = &mut tables.rows;
        for cell in rows.free_slots.iter().chain(rows.drops.iter()) {
            cell.store(number);
        }
        for row in rows.descriptors.iter() {
            row.arrival_ns.store(number);
        }
        for row in rows.ports.iter() {
            row.quantum_ps.store(number);
        }
    }
    for (tables, number) in tables.iter().zip([1, 2]) {
        let Rows { free_slots, drops, descriptors, ports, .. } = &tables.rows;
        let mut cells = free_slots.iter().chain(drops.iter()).map(Cell64::load);
        assert!(cells.all(|cell| cell == number));
        assert!(descriptors.iter().all(|row| row.arrival_ns.load() == number));
        assert!(ports.iter().all(|row| row.quantum_ps.load() == number));
        assert_eq!(tables.state().received_frames.load(), 0);
    }
    let lengths = |tables: &SwitchTables| (tables.rows.ports.len(), tables.rows.descriptors.len());
    assert_eq!(lengths(&tables[1]), (5, 100));
}
