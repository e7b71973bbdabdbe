//! An isolated machine: a `/run` and a network without other users' fabrics.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use std::ptr;
use std::thread;
use std::time::Duration;

/// Checks for a fabric before it counts as missing.
const LOOKS: u32 = 5000;
const LOOK_INTERVAL: Duration = Duration::from_millis(2);

/// Gives the calling thread, and all processes that it starts from now on, a private `/run` and
/// network. All that appears there is then due to the test, and is removed with it.
pub fn isolate() {
    // SAFETY: takes flags only, and changes only the calling thread's view.
    let unshared = unsafe { libc::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWNET) };
    assert_eq!(unshared, 0, "this test needs root: {}", io::Error::last_os_error());
    let root = Path::new("/");
    mount(root, None, libc::MS_REC | libc::MS_PRIVATE, None).expect("mounts can be made private");
    // Copies of other processes' mounts would keep their namespaces alive.
    while unmount(Path::new("/run/netns")).is_ok() {}
    mount(Path::new("/run"), Some("tmpfs"), 0, None).expect("a file system can be mounted");
    let added = ip(&["link", "add", "own0", "type", "veth", "peer", "name", "own1"]);
    assert!(added.is_empty(), "{added}");
}

/// Traces that a run could leave: names of namespaces, locks, mounts, and `ip`'s output on the
/// interfaces that existed before.
pub fn traces() -> Vec<String> {
    let mut traces = names("/run/netns");
    traces.extend(names("/run/xoff"));
    let mounts = fs::read_to_string("/proc/thread-self/mountinfo").expect("/proc is mounted");
    traces.extend(mounts.lines().filter(|line| line.contains("xoff-")).map(str::to_owned));
    traces.push(ip(&["-json", "address"]));
    traces.push(ip(&["-json", "route"]));
    traces
}

/// The identifiers of the fabrics that exist, sorted.
pub fn fabrics() -> Vec<String> {
    names("/run/xoff").iter().filter_map(|name| Some(name.strip_suffix(".lock")?.into())).collect()
}

/// Waits until there are `fabrics` fabrics and `namespaces` namespaces; returns the latter's names.
pub fn await_fabrics(fabrics: usize, namespaces: usize) -> Vec<String> {
    let mut found = Vec::new();
    for _ in 0..LOOKS {
        found = names("/run/netns");
        if self::fabrics().len() == fabrics && found.len() == namespaces {
            return found;
        }
        thread::sleep(LOOK_INTERVAL);
    }
    panic!("{fabrics} fabrics with {namespaces} namespaces did not come up: {found:?}");
}

/// Mounts a file system of `bytes` bytes on `folder`.
pub fn mount_small_disk(folder: &Path, bytes: u64) {
    let size = CString::new(format!("size={bytes}")).expect("no NUL");
    mount(folder, Some("tmpfs"), 0, Some(&size)).expect("a file system can be mounted");
}

/// Unmounts everything on `folder`, if anything is mounted there.
pub fn unmount(folder: &Path) -> io::Result<()> {
    let path = c_path(folder);
    // SAFETY: the path is a zero-terminated string that outlives the call.
    match unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn mount(
    target: &Path,
    kind: Option<&str>,
    flags: libc::c_ulong,
    data: Option<&CString>,
) -> io::Result<()> {
    let target = c_path(target);
    let kind = kind.map(|kind| CString::new(kind).expect("no NUL"));
    let kind = kind.as_ref().map_or(ptr::null(), |kind| kind.as_ptr());
    let data = data.map_or(ptr::null(), |data| data.as_ptr());
    // SAFETY: all strings are zero-terminated and outlive the call, or null where that is allowed.
    match unsafe { libc::mount(kind, target.as_ptr(), kind, flags, data.cast()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("paths of tests have no NUL")
}

fn names(folder: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("readable").file_name().display().to_string()).collect();
    names.sort();
    names
}

fn ip(arguments: &[&str]) -> String {
    let output = Command::new("ip")
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("this test needs the program ip: {error}"));
    assert!(output.status.success(), "ip {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("ip prints ASCII")
}
