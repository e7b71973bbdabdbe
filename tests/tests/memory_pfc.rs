//! PFC as those who test switches test it, in memory.

use tests::fabric::{in_memory, pause};

#[test]
fn refreshed_while_congested() {
    pause::refreshed_while_congested(in_memory);
}
#[test]
fn response_time() {
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
fn lost_pause() {
    pause::lost_pause(in_memory);
}
#[test]
fn lost_resume() {
    pause::lost_resume(in_memory);
}
#[test]
fn through_a_fabric() {
    pause::through_a_fabric(in_memory);
}
#[test]
fn p1() {
    use tests::fabric::priorities as p;
    p::pause_stops_only_its_class(in_memory);
}
#[test]
fn p2() {
    use tests::fabric::priorities as p;
    p::lossy_never_pauses(in_memory);
}
#[test]
fn p3() {
    use tests::fabric::priorities as p;
    p::no_lossless_class(in_memory);
}
#[test]
fn p4() {
    use tests::fabric::priorities as p;
    p::several_lossless(in_memory);
}
#[test]
fn p5() {
    use tests::fabric::priorities as p;
    p::all_eight_lossless(in_memory);
}
#[test]
fn p6() {
    use tests::fabric::priorities as p;
    p::strict_scheduler(in_memory);
}
#[test]
fn p7() {
    use tests::fabric::priorities as p;
    p::dwrr_scheduler(in_memory);
}
#[test]
fn p8() {
    use tests::fabric::priorities as p;
    p::control_priority(in_memory);
}
#[test]
fn c1() {
    tests::fabric::congestion::periodic_thresholds(in_memory);
}
#[test]
fn c2() {
    tests::fabric::congestion::hpcc_profile_is_fair(in_memory);
}
#[test]
fn c3() {
    tests::fabric::congestion::paper_profile_is_fair(in_memory);
}
#[test]
fn g1() {
    tests::fabric::go_back_n::single_data_loss(in_memory);
}
#[test]
fn g2() {
    tests::fabric::go_back_n::last_packet_loss(in_memory);
}
#[test]
fn g3() {
    tests::fabric::go_back_n::single_ack_loss(in_memory);
}
#[test]
fn g4() {
    tests::fabric::go_back_n::nak_loss(in_memory);
}
#[test]
fn g5() {
    tests::fabric::go_back_n::cnp_loss(in_memory);
}
#[test]
fn g6() {
    tests::fabric::go_back_n::random_loss(in_memory, "0.001");
}
#[test]
fn g7() {
    tests::fabric::go_back_n::random_loss(in_memory, "0.01");
}
#[test]
fn g8() {
    tests::fabric::go_back_n::total_loss(in_memory);
}
#[test]
fn s1() {
    tests::fabric::shapes::custom_topology_and_flow_list(in_memory);
}
#[test]
fn s2() {
    tests::fabric::shapes::star_of_64_ports(in_memory);
}
#[test]
fn s3() {
    tests::fabric::shapes::incast_of_16(in_memory);
}
#[test]
fn s4() {
    tests::fabric::shapes::unfinished(in_memory);
}
#[test]
fn s5() {
    tests::fabric::shapes::extreme_settings(in_memory);
}
#[test]
fn s6() {
    for seed in 1..4 {
        tests::fabric::shapes::turmoil(in_memory, seed);
    }
}
