//! Measures of headroom and paused queues, in memory.

use tests::fabric::{distributions, in_memory};

#[test]
fn a_queue_that_others_resume_is_on() {
    distributions::a_queue_that_others_resume(in_memory);
}
