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

/// Padding behind one to three bytes of payload would make some EtherType of them.
#[test]
fn tshark_takes_short_payloads_for_payloads() {
    for payload in 1..=4 {
        let payload = format!("host.payload={payload}B");
        let run = in_memory(EVERY_KIND, &[&payload, "flows.0.bytes=1000B"]);
        run.assert_sound();
        assert_tshark_agrees(&run);
    }
}
