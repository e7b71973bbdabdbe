//! PFC tests as for switches, in memory.

use tests::fabric::{
    congestion, in_memory, pause, pause_rows, port_rates, priorities, private_fill, refusal,
    shipped, shipped_files, switch_buffers,
};

#[test]
fn pause_is_refreshed_while_congestion_lasts() {
    pause::refreshed_while_congested(in_memory);
}

#[test]
fn a_nic_obeys_within_its_response_time() {
    pause::response_time(in_memory);
}

#[test]
fn quanta_expire() {
    pause::quanta_expire(in_memory);
}

#[test]
fn quanta_expire_without_headroom() {
    pause::quanta_expire_without_headroom(in_memory);
}

#[test]
fn a_lost_pause_is_refreshed_in_time_or_not() {
    pause::lost_pause(in_memory);
}

#[test]
fn a_lost_resume_costs_time_only() {
    pause::lost_resume(in_memory);
}

#[test]
fn pause_travels_through_a_fabric() {
    pause::through_a_fabric(in_memory);
}

#[test]
fn pause_stops_only_its_class() {
    priorities::pause_stops_only_its_class(in_memory);
}

#[test]
fn pause_stops_only_acks_of_its_class() {
    priorities::pause_stops_only_acks_of_its_class(in_memory);
}

#[test]
fn a_lossy_priority_never_pauses() {
    priorities::lossy_never_pauses(in_memory);
}

#[test]
fn no_lossless_class_is_no_pfc() {
    priorities::no_lossless_class(in_memory);
}

#[test]
fn several_lossless_classes() {
    priorities::several_lossless(in_memory);
}

#[test]
fn all_eight_classes_lossless() {
    priorities::all_eight_lossless(in_memory);
}

#[test]
fn the_strict_scheduler() {
    priorities::strict_scheduler(in_memory);
}

#[test]
fn the_dwrr_scheduler() {
    priorities::dwrr_scheduler(in_memory);
}

#[test]
fn the_control_priority() {
    priorities::control_priority(in_memory);
}

#[test]
fn periodic_thresholds() {
    congestion::periodic_thresholds(in_memory);
}

#[test]
fn packets_are_split_or_lie_in_one_pool() {
    private_fill::walked(in_memory);
}

#[test]
fn a_leaf_with_less_buffer_pauses_earlier() {
    switch_buffers::a_leaf_with_less_buffer(in_memory);
}

#[test]
fn a_larger_buffer_has_a_descriptor_for_each_of_the_shortest_packets() {
    switch_buffers::shortest_packets_in_the_larger_buffer(in_memory);
}

#[test]
fn ports_pause_by_the_alpha_of_their_rate() {
    port_rates::alpha(in_memory);
}

#[test]
fn ports_mark_by_the_thresholds_of_their_rate() {
    port_rates::marking(in_memory);
}

#[test]
fn switches_that_obey_at_once_break_no_pause() {
    pause::obeyed_at_once(in_memory);
}

#[test]
fn a_pause_tells_what_exceeded_its_threshold() {
    let mut pauses = 0;
    for file in shipped_files() {
        let run = in_memory(&shipped(&file), &[]);
        pause::assert_pauses_exceed(&run);
        pauses += run.pauses().with("event", "xoff").count();
    }
    assert_ne!(pauses, 0);
}

#[test]
fn a_pause_tells_that_the_pool_was_full() {
    pause::beyond_the_pool(in_memory);
}

#[test]
fn marked_packets_count_once() {
    congestion::marked_packets_count_once(in_memory);
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
fn a_queue_without_headroom_pauses() {
    refusal::a_queue_without_headroom_pauses(in_memory);
}

#[test]
fn a_pause_is_renewed_in_time() {
    refusal::a_pause_is_renewed_in_time(in_memory);
}

#[test]
fn rows_of_pauses_add_up() {
    pause_rows::rows_of_pauses_add_up(in_memory);
}
