//! Slots of descriptors: a stack of the free slots, with `slots_taken` as its pointer.
//! [`Tables::free_slot`] defines the encoding of its entries.

use crate::drop_reason::DropReason;
use crate::map_abi::{Descriptor, SwitchConfig, SwitchState};
use crate::tables::Tables;

/// True if all slots are taken.
#[inline(always)]
pub fn exhausted(switch: &SwitchState) -> bool {
    switch.slots_taken.load() >= switch.slots_limit.load()
}

/// Takes a slot and returns it with its descriptor. If a table lacks the slot's row, the slot stays
/// free. Another CPU may have taken the last slot since [`exhausted`] returned false.
#[inline(always)]
pub fn take<'a, T: Tables>(
    tables: &'a T,
    config: &SwitchConfig,
    switch: &SwitchState,
) -> Result<(u32, &'a Descriptor), DropReason> {
    let taken = switch.slots_taken.add::<T>(1);
    if T::SHARED && taken > switch.slots_limit.load() {
        switch.slots_taken.sub::<T>(1);
        return Err(DropReason::NoDescriptor);
    }
    let entry = entry(config, taken - 1);
    if let Some(row) = tables.free_slot(entry) {
        let slot = row.load() as u32 ^ entry;
        if let Some(descriptor) = tables.descriptor(slot) {
            return Ok((slot, descriptor));
        }
    }
    switch.slots_taken.sub::<T>(1);
    Err(DropReason::BrokenTable)
}

/// Frees a slot. The next packet takes this slot, because its rows were used recently and are in a
/// cache. Call it only while no packet arrives: see `cell`.
#[inline]
pub fn give_back<T: Tables>(
    tables: &T,
    config: &SwitchConfig,
    switch: &SwitchState,
    slot: u32,
) -> Option<()> {
    let taken = switch.slots_taken.load().wrapping_sub(1);
    let entry = entry(config, taken);
    tables.free_slot(entry)?.store(u64::from(slot ^ entry));
    switch.slots_taken.store(taken);
    Some(())
}

/// Stack index of the next slot when `taken` slots are in use. The stack's size is a power of two.
#[inline(always)]
fn entry(config: &SwitchConfig, taken: u64) -> u32 {
    (taken & u64::from(config.slots.wrapping_sub(1))) as u32
}
