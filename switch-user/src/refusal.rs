//! Refusals by the kernel's verifier. One line of its log gives the reason; the thousands of lines
//! before it help only to change the program.

use std::fmt;
use std::io;

/// A refusal of the kernel to load an object.
#[derive(Debug, thiserror::Error)]
pub struct Refusal {
    /// Name of the refused object.
    what: String,
    /// The system call's error.
    #[source]
    error: io::Error,
    /// Log of the verifier; empty if it did not run.
    log: String,
}

impl Refusal {
    /// Creates a refusal of `what` with `error` and the verifier's `log`.
    pub fn new(what: String, error: io::Error, log: String) -> Self {
        Self { what, error, log }
    }

    /// Returns the verifier's whole log; empty if the verifier did not run.
    pub fn log(&self) -> &str {
        &self.log
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, error, log } = self;
        write!(f, "the kernel refused {what}: {error}")?;
        match reason(log) {
            Some(reason) => write!(
                f,
                ": {reason}; `xoff doctor --verifier-log` shows the verifier's whole log, please \
                 report it with the kernel's version"
            ),
            None => Ok(()),
        }
    }
}

/// Returns the reason in a verifier's log: the last line before its statistics.
fn reason(log: &str) -> Option<&str> {
    const STATISTICS: [&str; 3] = ["processed ", "verification time ", "stack depth "];
    log.lines().map(str::trim).rfind(|line| {
        let is_source = line.starts_with(';');
        let is_statistic = STATISTICS.iter().any(|start| line.starts_with(start));
        !line.is_empty() && !is_source && !is_statistic
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(log: &str) -> Refusal {
        let error = io::Error::from(nix::errno::Errno::EACCES);
        Refusal::new("eBPF program switch_port".to_owned(), error, log.to_owned())
    }

    #[test]
    fn the_verdict_follows_from_code_source_and_statistics() {
        let linux_6_1 = "\
; bpf_xdp_load_bytes(context.ctx, 0, place, copied);
1920: (b4) w2 = 0                     ; R2_w=0 refs=5
; 
1921: (85) call bpf_xdp_load_bytes#189
invalid access to memory, mem_size=3272 off=72 size=0
R3 min value is outside of the allowed memory range
verification time 105227 usec
stack depth 336+0
processed 1248 insns (limit 1000000) max_states_per_insn 2 total_states 51 peak_states 51 mark_read 35
";
        assert_eq!(reason(linux_6_1), Some("R3 min value is outside of the allowed memory range"));
        let too_long = "756: (ae) if w3 < w2 goto pc-5\n\
             BPF program is too large. Processed 1000001 insn\n\
             processed 1000001 insns (limit 1000000) max_states_per_insn 4\n\n";
        assert_eq!(reason(too_long), Some("BPF program is too large. Processed 1000001 insn"));
        assert_eq!(reason(""), None);
    }

    #[test]
    fn a_refusal_is_one_line_with_the_way_to_the_log() {
        let log =
            "0: (bf) r9 = r1\nR4 invalid zero-sized read: u64=[0,4294967295]\nprocessed 1 insns\n";
        let refused = refusal(log);
        assert_eq!(
            refused.to_string(),
            "the kernel refused eBPF program switch_port: Permission denied (os error 13): \
             R4 invalid zero-sized read: u64=[0,4294967295]; `xoff doctor --verifier-log` shows the \
             verifier's whole log, please report it with the kernel's version"
        );
        assert_eq!(refused.log(), log);
        let without_log = refusal("").to_string();
        assert!(without_log.ends_with("Permission denied (os error 13)"), "{without_log}");
    }
}
