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
