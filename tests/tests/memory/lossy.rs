//! Buffer management of lossy priorities, in memory.

use tests::fabric::{in_memory_on, lossy};

#[test]
fn threads_change_nothing() {
    lossy::a_pool_of_their_own(in_memory_on::<3>);
}
