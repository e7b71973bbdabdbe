//! The kernel and the privileges that a fabric on the kernel datapath needs.

use std::fs;

/// The oldest kernel that `cargo xtask vm` boots, and so the oldest whose verifier and drivers are known to
/// do what a fabric asks of them.
const OLDEST_KERNEL: (u32, u32) = (6, 1);

/// Capabilities that the kernel datapath uses, with their numbers in `linux/capability.h`.
const CAPABILITIES: [(&str, u32); 4] =
    [("CAP_NET_ADMIN", 12), ("CAP_NET_RAW", 13), ("CAP_SYS_ADMIN", 21), ("CAP_BPF", 39)];

/// Checks the requirements of a fabric's deployment. The error is a sentence with advice.
pub fn require_kernel_datapath() -> Result<(), String> {
    kernel()?;
    privileges()?;
    Ok(())
}

/// The kernel's release, if it is new enough.
pub fn kernel() -> Result<String, String> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_err(|error| format!("/proc/sys/kernel/osrelease: {error}; is /proc mounted?"))?;
    check_release(release.trim())
}

fn check_release(release: &str) -> Result<String, String> {
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().ok());
    let version = numbers.next().flatten().zip(numbers.next().flatten());
    let (major, minor) = OLDEST_KERNEL;
    match version {
        None => Err(format!(
            "the kernel's release is {release:?}, which does not start with a version such as 6.1"
        )),
        Some(version) if version < OLDEST_KERNEL => Err(format!(
            "Linux {release} is too old: boot Linux {major}.{minor} or later, or use `--datapath memory`"
        )),
        Some(_) => Ok(format!("Linux {release}; {major}.{minor} is the oldest that will do")),
    }
}

fn privileges() -> Result<String, String> {
    check_capabilities(effective_capabilities()?)
}

/// The capabilities of this process, a bit each.
pub fn effective_capabilities() -> Result<u64, String> {
    let status = fs::read_to_string("/proc/self/status")
        .map_err(|error| format!("/proc/self/status: {error}; is /proc mounted?"))?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|value| u64::from_str_radix(value.trim(), 16).ok())
        .ok_or_else(|| "/proc/self/status has no CapEff line".to_owned())
}

/// The capabilities of the kernel datapath, if all of them are in effect; else the missing ones and what to do.
pub fn check_capabilities(effective: u64) -> Result<String, String> {
    let missing: Vec<&str> = CAPABILITIES
        .iter()
        .filter(|(_, number)| effective >> number & 1 == 0)
        .map(|(name, _)| *name)
        .collect();
    if missing.is_empty() {
        Ok(CAPABILITIES.map(|(name, _)| name).join(", "))
    } else {
        Err(format!(
            "the kernel datapath needs {}: run it as root (sudo), or use `--datapath memory`",
            missing.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_kernel_is_named_with_what_to_do() {
        let message =
            check_release("6.0.19-generic").expect_err("6.0 is older than the oldest tested");
        assert!(message.contains("6.0.19-generic") && message.contains("Linux 6.1 "), "{message}");
        let found = check_release("6.18.44-fc").expect("6.18 is newer");
        assert!(found.contains("6.18.44-fc") && found.contains("6.1 is the oldest"), "{found}");
        assert!(check_release("6.1").is_ok());
        assert!(check_release("what").is_err());
    }

    #[test]
    fn a_missing_capability_is_named_with_what_to_do() {
        let message = check_capabilities(!(1 << 39)).expect_err("no CAP_BPF");
        assert!(message.contains("CAP_BPF") && message.contains("root"), "{message}");
        assert!(check_capabilities(u64::MAX).is_ok());
    }
}
