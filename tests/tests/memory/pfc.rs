//! PFC tests as for switches, in memory.

use tests::fabric::{in_memory, pause, pause_rows, shipped, shipped_files, switch_buffers};

#[test]
fn a_larger_buffer_has_a_descriptor_for_each_of_the_shortest_packets() {
    switch_buffers::shortest_packets_in_the_larger_buffer(in_memory);
}

#[test]
fn a_pause_reports_what_exceeded_its_threshold() {
    let mut pauses = 0;
    for file in shipped_files() {
        let run = in_memory(&shipped(&file), &[]);
        pause::assert_pauses_exceed(&run);
        pauses += run.pauses().with("event", "xoff").count();
    }
    assert_ne!(pauses, 0);
}

#[test]
fn a_pause_reports_that_the_pool_was_full() {
    pause::beyond_the_pool(in_memory);
}

/// 312,500 packets of 122 bytes come in before the first sender is paused.
#[test]
fn a_deep_buffer_has_a_descriptor_for_each_small_frame() {
    let text = r#"
        name = "deep"
        duration = "100ms"
        [topology]
        kind = "star"
        hosts = 3
        host_link = { rate = "100Gbps", delay = "1us" }
        [switch]
        buffer = "256MB"
        threshold = { kind = "static", xoff = "100MB", xon = "90MB" }
        [host]
        payload = "64B"
        transport = { kind = "roce-rc", congestion_control = "none" }
        [[flows]]
        kind = "incast"
        senders = ["h1", "h2"]
        receiver = "h0"
        bytes = "20MB"
        priority = 3
    "#;
    let run = in_memory(text, &[]);
    run.assert_lossless();
    let most = run.summary.buffer_max_bytes["s0"];
    assert!(most / 122 > 300_000, "{most} bytes");
}

#[test]
fn rows_of_pauses_add_up() {
    pause_rows::rows_of_pauses_add_up(in_memory);
}
