//! Descriptors, threads, memory and processor time of processes, from `/proc`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Resources of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    pub descriptors: usize,
    pub threads: usize,
    /// Resident memory in kB.
    pub memory_kb: u64,
}

/// Returns the resources of a process; `None` if it has ended.
pub fn usage(process: u32) -> Option<Usage> {
    let count = |folder| Some(fs::read_dir(format!("/proc/{process}/{folder}")).ok()?.count());
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let memory_kb = memory.trim().trim_end_matches(" kB").parse().ok()?;
    Some(Usage { descriptors: count("fd")?, threads: count("task")?, memory_kb })
}

/// Processor time of all threads of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Time that they ran.
    pub ran: Duration,
    /// Time that they waited for a processor. On a busy machine a loop without end waits.
    pub waited: Duration,
}

impl Times {
    /// Returns the shares of `span` that the threads have run since `before`, and that they wanted to run.
    pub fn shares_since(self, before: Self, span: Duration) -> [f64; 2] {
        let ran = self.ran.saturating_sub(before.ran);
        let waited = self.waited.saturating_sub(before.waited);
        [ran, ran + waited].map(|time| time.as_secs_f64() / span.as_secs_f64())
    }
}

/// Returns the processor time of a process; `None` if it has ended.
pub fn times(process: u32) -> Option<Times> {
    let mut times = Times::default();
    for thread in fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten() {
        let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        let mut numbers = text.split_whitespace().flat_map(str::parse::<u64>);
        let mut next = || Duration::from_nanos(numbers.next().unwrap_or(0));
        times.ran += next();
        times.waited += next();
    }
    Some(times)
}

/// The processes that run a binary on this machine, as far as they see the file systems that this process sees.
pub fn run_by_binary(binary: &Path) -> BTreeSet<u32> {
    let of = |process: &str, link: &str| fs::read_link(format!("/proc/{process}/{link}")).ok();
    let own = of("thread-self", "ns/mnt");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let processes = names.filter_map(|name| Some((name.parse().ok()?, name)));
    let ours = processes.filter(|(_, name): &(u32, String)| {
        of(name, "exe").is_some_and(|exe| exe == binary) && of(name, "ns/mnt") == own
    });
    ours.map(|(process, _)| process).collect()
}
