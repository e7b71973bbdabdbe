//! Fabrics and settings out of the ordinary, in memory.

use tests::fabric::{in_memory, shapes};

#[test]
fn much_at_once() {
    for seed in 1..=20 {
        shapes::turmoil(in_memory, seed);
    }
}
