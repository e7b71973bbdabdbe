//! TCP over fabrics, in memory.

use tests::fabric::{in_memory, tcp};

#[test]
fn frames_are_lost_at_random() {
    for rate in ["0.001", "0.01", "0.05"] {
        tcp::random_loss(in_memory, rate);
    }
}
