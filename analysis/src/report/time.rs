//! Times of tables.

use results::count;

/// Writes nanoseconds as microseconds, exactly, with separators of thousands.
pub fn micros(nanos: u64) -> String {
    format!("{}.{:03}", count(nanos / 1000), nanos % 1000)
}
