//! `BPF_PROG_TEST_RUN` for callers without aya's types.

use aya::programs::TestRunOptions;

use super::{ProgramError, SwitchProgram};

impl SwitchProgram {
    /// Runs the arrival program of an XDP hook on a frame as if received at an interface of the
    /// calling thread's namespace. Returns the program's verdict.
    pub fn test_arrival(&self, interface: u32, frame: &[u8]) -> Result<u32, ProgramError> {
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        // `struct xdp_md`: data, data_end, data_meta, ingress_ifindex, rx_queue_index.
        let context: Vec<u8> =
            [0, length, 0, interface, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
        let options = TestRunOptions {
            data_in: Some(frame),
            ctx_in: Some(&context),
            repeat: 1,
            ..TestRunOptions::default()
        };
        self.run_arrival(options).map(|result| result.return_value)
    }
}
