//! Faults on wires, on the real kernel and as in memory. Needs root.

use tests::fabric::{CAPTURE_ALL, faults, in_kernel_on, in_memory, on_both};

#[test]
fn a_loss_lasts_for_its_span() {
    faults::losses_in_a_span(on_both);
}

#[test]
fn a_damaged_frame_is_dropped_and_sent_again() {
    faults::damage_is_recovered(on_both);
}

#[test]
fn a_frame_in_a_hundred_is_damaged() {
    faults::random_damage(on_both);
}

#[test]
fn a_delay_is_added_to_the_closed_form() {
    faults::delays_are_added(on_both);
}

#[test]
fn jitter_keeps_frames_in_order() {
    faults::jitter_keeps_the_order(on_both);
}

#[test]
fn a_slower_port_has_a_closed_form() {
    faults::a_slower_port(on_both);
}

#[test]
fn a_link_is_down_for_a_while() {
    faults::a_link_that_is_down(on_both);
}

#[test]
fn a_link_flaps() {
    faults::a_link_that_flaps(on_both);
}

#[test]
fn routes_avoid_a_link_that_is_down() {
    faults::routes_around_a_dead_link(on_both);
}

#[test]
fn a_host_without_a_link_has_no_route() {
    faults::no_route_is_left(on_both);
}

#[test]
fn all_faults_at_once() {
    faults::all_at_once(on_both);
}

#[test]
fn the_documented_example_runs() {
    faults::documented_example(on_both);
}

#[test]
fn threads_do_not_matter() {
    let text = faults::everything();
    let memory = in_memory(&text, &[CAPTURE_ALL]);
    in_kernel_on::<3>(&text, &[CAPTURE_ALL]).assert_same_as(&memory);
}
