//! Files in the HPCC simulator's format against xoff's own, in memory.

use tests::fabric::{in_memory, simulator_files};

#[test]
fn columns() {
    simulator_files::columns_agree_with_tables(in_memory);
}

#[test]
fn histograms() {
    simulator_files::histograms_count_every_look(in_memory);
}
