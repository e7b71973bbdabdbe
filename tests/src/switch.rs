//! One loaded switch, and the same switch natively, for `BPF_PROG_TEST_RUN`.
