//! Captures under tshark's eyes, in memory.

use tests::fabric::dissection::{EVERY_KIND, assert_tshark_agrees};
use tests::fabric::in_memory;

/// Payloads of the first flow, too: what goes to queue pair 1 would be taken for management datagrams.
#[test]
fn tshark_takes_every_frame_for_what_it_is() {
    let run = in_memory(EVERY_KIND, &[]);
    run.assert_sound();
    assert_tshark_agrees(&run);
}
