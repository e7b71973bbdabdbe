//! Remains of a process that dies: its guardian, and its objects in the kernel.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, Child, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use aya::maps::loaded_maps;
use aya::programs::loaded_programs;

/// Checks of a condition before it counts as failed.
const LOOKS: u32 = 5000;
const LOOK_INTERVAL: Duration = Duration::from_millis(2);

/// Starts a guardian of this process, which removes its fabrics if it is killed, as `xoff` does in each run. A benchmark
/// that was built without `xoff` has none.
pub fn guard() {
    static GUARDIAN: OnceLock<Child> = OnceLock::new();
    if !super::profile_folder().join("xoff").is_file() {
        return;
    }
    GUARDIAN.get_or_init(|| {
        let this = process::id().to_string();
        let mut guardian = super::xoff(["guardian", &this, "--fabrics"]);
        // Not in the process group that Ctrl-C ends. The pipe ends with this process.
        guardian.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        guardian.spawn().expect("xoff can be started")
    });
}

/// Waits until `done`, or fails with `what`, the description of the condition.
#[track_caller]
pub fn await_that(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..LOOKS {
        if done() {
            return;
        }
        thread::sleep(LOOK_INTERVAL);
    }
    panic!("waited in vain: {what}");
}

/// Removes the output of an interrupted run at `out`: nothing, or a complete folder that records the interruption.
/// Returns true if there was a folder.
#[track_caller]
pub fn take_interrupted(out: &str) -> bool {
    let folder = Path::new(out);
    if !folder.exists() {
        return false;
    }
    let read = |name| fs::read_to_string(folder.join(name)).unwrap_or_else(|_| panic!("no {name}"));
    let summary = read("summary.json");
    assert!(summary.contains("\"ended\": \"interrupted\""), "{summary}");
    assert!(summary.contains("\"books\": []"), "{summary}");
    assert!(read("flows.csv").lines().count() > 1, "flows that are not done have rows, too");
    read("manifest.json");
    assert!(!folder.join(".xoff-partial").exists(), "something is half-written");
    fs::remove_dir_all(folder).expect("the run made it");
    true
}

/// The process that cleans up after the process `run`; waits until it has made itself independent.
#[track_caller]
pub fn guardian_of(run: u32) -> u32 {
    let mut guardian = None;
    await_that("a run has a guardian", || {
        guardian = child_of(run).filter(|id| is_independent(*id));
        guardian.is_some()
    });
    guardian.expect("it was waited for")
}

fn child_of(parent: u32) -> Option<u32> {
    let processes = fs::read_dir("/proc").expect("/proc is mounted");
    let mut ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.find(|id: &u32| {
        // The parent follows the name, which is in parentheses, and the state.
        let status = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let mut fields = status.rsplit(')').next().unwrap_or_default().split_whitespace();
        fields.nth(1).is_some_and(|field| field == parent.to_string())
    })
}

/// Changing into the root is the last that a guardian does before it waits.
fn is_independent(guardian: u32) -> bool {
    fs::read_link(format!("/proc/{guardian}/cwd")).is_ok_and(|folder| folder.as_os_str() == "/")
}

/// BPF programs and maps, by kind and number.
pub type BpfObjects = BTreeSet<(&'static str, u32)>;

/// The BPF programs and maps that a process has open.
pub fn bpf_objects_of(process: u32) -> BpfObjects {
    let mut objects = BpfObjects::new();
    let Ok(entries) = fs::read_dir(format!("/proc/{process}/fdinfo")) else { return objects };
    for entry in entries.flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        for kind in ["prog_id:", "map_id:"] {
            let number = text.lines().find_map(|line| line.strip_prefix(kind)?.trim().parse().ok());
            objects.extend(number.map(|number: u32| (kind, number)));
        }
    }
    objects
}

/// Waits until the kernel has unloaded all of these. It removes interfaces some time after their namespace.
#[track_caller]
pub fn await_unloaded(objects: &BpfObjects) {
    await_that("BPF programs and maps of a dead process go", || loaded_of(objects).is_empty());
}

/// Returns the objects that the kernel still has.
pub fn loaded_of(objects: &BpfObjects) -> BpfObjects {
    let programs = loaded_programs().flatten().map(|program| ("prog_id:", program.id()));
    let maps = loaded_maps().flatten().map(|map| ("map_id:", map.id()));
    programs.chain(maps).filter(|object| objects.contains(object)).collect()
}
