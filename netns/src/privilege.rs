//! Check for the capabilities that creating namespaces needs.

use std::fs;

use crate::error::Error;

/// Capabilities that deploying needs, by bit of the effective set (`capability.h`).
const NEEDED: [(u32, &str); 2] = [(21, "CAP_SYS_ADMIN"), (12, "CAP_NET_ADMIN")];
const STATUS: &str = "/proc/thread-self/status";

/// Returns an error for the first capability that the calling thread lacks.
pub(crate) fn check() -> Result<(), Error> {
    let status = fs::read_to_string(STATUS)
        .map_err(|source| Error::file("read capabilities from", STATUS, source))?;
    missing(&status).map_or(Ok(()), |capability| Err(Error::Privilege { capability }))
}

fn missing(status: &str) -> Option<&'static str> {
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .unwrap_or(0);
    NEEDED.iter().find(|(bit, _)| effective & (1 << bit) == 0).map(|&(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effective_set_is_what_counts() {
        assert_eq!(missing("CapPrm:\t0\nCapEff:\t000001ffffffffff\n"), None);
        assert_eq!(missing("CapPrm:\tffff\nCapEff:\t0000000000000000\n"), Some("CAP_SYS_ADMIN"));
        assert_eq!(missing("CapEff:\t0000000000200000\n"), Some("CAP_NET_ADMIN"));
        assert_eq!(missing(""), Some("CAP_SYS_ADMIN"));
    }
}
