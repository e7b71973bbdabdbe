//! Messages about a fabric that cannot be reached, or that ends before its time. Needs root.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::thread;

use tests::command::{
    Running, await_that, fabrics, finish, guardian_of, kill, limit, without_capabilities, xoff,
};
use tests::live::{Lab, SLOW, command, json, signal_supervisor, supervisor};

/// A user who is not root.
const NOBODY: u32 = 65534;

/// A process that a debugger has stopped. A signal would not do: a process is continued when its parent ends.
struct Traced(libc::pid_t);

impl Traced {
    fn stop(process: u32) -> Self {
        let traced = Self(process.cast_signed());
        traced.request(libc::PTRACE_ATTACH);
        // SAFETY: nothing is written without an address.
        let stopped = unsafe { libc::waitpid(traced.0, std::ptr::null_mut(), libc::__WALL) };
        assert_eq!(stopped, traced.0, "{}", std::io::Error::last_os_error());
        traced
    }

    fn go_on(self) {
        self.request(libc::PTRACE_DETACH);
    }

    fn request(&self, request: libc::c_uint) {
        let none = std::ptr::null_mut::<libc::c_void>();
        // SAFETY: neither request takes memory.
        let done = unsafe { libc::ptrace(request, self.0, none, none) };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    }
}

#[test]
fn waiters_for_a_flow_are_notified_why_the_fabric_has_ended() {
    let lab = Lab::deploy(SLOW, &[]);
    let send = Running::start(&mut xoff(["send", "lab", "h0", "h3", "--bytes", "1GB"]));
    await_that("a flow starts", || json(&["inspect", "lab", "--json"])["active_flows"] == 1);
    command(&["exec", "lab", "h0", "--", "ip", "link", "set", "leaf0", "down"]).assert_code(0);
    let why = ["the supervisor of lab died, having said \"error: ", "h0", "`xoff destroy lab`"];
    send.finish().assert_refused(&["1 of 1 flows did not finish: the fabric ended", why[0]]);
    for arguments in [&["inspect", "lab"][..], &["send", "lab", "h0", "h1"], &["watch", "lab"]] {
        command(arguments).assert_refused(&why);
    }
    lab.destroy();
}

#[test]
fn a_fabric_of_which_nothing_can_be_known_is_not_said_to_be_missing() {
    let lab = Lab::deploy(SLOW, &[]);
    let commands: [&[&str]; 7] = [
        &["inspect", "lab"],
        &["graph", "lab"],
        &["list"],
        &["send", "lab", "h0", "h1"],
        &["watch", "lab"],
        &["exec", "lab", "h0", "--", "true"],
        &["destroy", "lab"],
    ];
    // Root without capabilities is a user like others.
    chown("/run/xoff/live", Some(NOBODY), Some(NOBODY)).unwrap();
    fs::set_permissions("/run/xoff/live", std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .unwrap();
    for arguments in commands {
        let mut command = xoff(arguments.iter().copied());
        let refused = finish(without_capabilities(&mut command));
        refused.assert_refused(&["Permission denied", "live fabrics need root"]);
    }
    chown("/run/xoff/live", Some(0), Some(0)).unwrap();
    // Enough files to open the folder, but not its contents.
    for files in 4..=6 {
        let refused = finish(limit(&mut xoff(["inspect", "lab"]), libc::RLIMIT_NOFILE, files));
        if files == 6 && refused.code == 0 {
            break;
        }
        refused.assert_refused(&["Too many open files", "`ulimit -n"]);
    }
    lab.destroy();
}

/// Another process holds the lock of a fabric whose supervisor is dead. `xoff destroy` leaves its namespaces, and
/// reports it.
#[test]
fn a_lock_that_a_stranger_holds_keeps_a_fabric_from_being_destroyed_and_destroy_says_so() {
    let lab = Lab::deploy(SLOW, &[]);
    let supervisor = supervisor();
    let guardian = Traced::stop(guardian_of(supervisor));
    let [fabric] = &fabrics()[..] else { panic!("one fabric") };
    let path = format!("/run/xoff/{fabric}.lock");
    // The stranger waits for the lock, and has it when the supervisor is dead.
    let lock = fs::File::open(&path).unwrap();
    let stranger = thread::spawn(move || {
        lock.lock().unwrap();
        lock
    });
    let waiting = format!(" {} ", std::process::id());
    await_that("the stranger waits", || {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        locks.lines().any(|line| line.contains("-> FLOCK") && line.contains(&waiting))
    });
    kill(supervisor);
    let lock = stranger.join().unwrap();
    guardian.go_on();
    let namespaces = || fs::read_dir("/run/netns").unwrap().count();
    let refused = command(&["destroy", "lab"]);
    assert_eq!(namespaces(), 8, "{refused:?}");
    let holder = format!("process {} holds {path}", std::process::id());
    refused.assert_refused(&["lab is not destroyed", "8 namespaces are left", &holder]);
    let all = command(&["destroy"]).assert_code(1);
    assert!(all.stderr.contains(&format!("fabric {fabric} is left, because {holder}")), "{all:?}");
    // Neither is it replaced: with its folder would go what says whose the namespaces are.
    let file = lab.folder.path("lab.toml");
    for more in [&["--replace"][..], &[]] {
        let deploy = [&["deploy", &file, "--name", "lab"], more].concat();
        command(&deploy).assert_refused(&["lab is not deployed", "8 namespaces are left", &holder]);
    }
    assert_eq!((namespaces(), fabrics()), (8, vec![fabric.clone()]));
    assert!(command(&["list"]).stdout.contains("abandoned"));
    drop(lock);
    // Then its guardian has removed it, or this does.
    command(&["destroy", "lab"]).assert_code(0);
    lab.assert_gone();
}

/// A stranger holds the lock of a name, without a fabric.
#[test]
fn a_name_whose_lock_a_stranger_holds_is_not_deployed() {
    let lab = Lab::prepare(SLOW);
    fs::create_dir_all("/run/xoff/live/lab").unwrap();
    let lock = fs::File::create("/run/xoff/live/lab/lock").unwrap();
    lock.lock().unwrap();
    let deploy = ["deploy", &lab.folder.path("lab.toml"), "--name", "lab", "--replace"];
    command(&deploy).assert_refused(&["lab", "is being deployed or destroyed"]);
    drop(lock);
    command(&deploy).assert_code(0);
    lab.destroy();
}

/// The number of the supervisor that has left it is now that of another one.
#[test]
fn a_number_that_came_again_keeps_no_fabric_from_being_destroyed() {
    let lab = Lab::deploy(SLOW, &[]);
    let lock = fs::read_to_string("/run/xoff/live/lab/lock").unwrap();
    let (number, started) = lock.trim().split_once(' ').expect("a number and a start");
    assert_eq!(number, supervisor().to_string());
    let earlier = started.parse::<u64>().unwrap() - 1;
    fs::create_dir_all("/run/xoff/live/ghost").unwrap();
    fs::write("/run/xoff/live/ghost/lock", format!("{number} {earlier}\n")).unwrap();
    fs::write("/run/xoff/live/ghost/log", "").unwrap();
    let destroyed = command(&["destroy", "ghost", "--json"]);
    assert!(destroyed.stdout.contains("\"ghost\""), "{destroyed:?}");
    assert!(!Path::new("/run/xoff/live/ghost").exists());
    assert!(command(&["list"]).assert_code(0).stdout.contains("lab"));
    // Without a name, too.
    fs::create_dir_all("/run/xoff/live/ghost").unwrap();
    fs::write("/run/xoff/live/ghost/lock", format!("{number} {earlier}\n")).unwrap();
    let removed = json(&["destroy", "--json"]);
    assert_eq!(removed["live_fabrics"], serde_json::json!(["ghost"]), "{removed}");
    assert_eq!(removed["left_alone"].as_array().map(Vec::len), Some(1), "{removed}");
    lab.destroy();
}

#[test]
fn nobody_but_root_can_hold_a_lock() {
    let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let lab = Lab::prepare(SLOW);
    // Permissions of an earlier version.
    fs::set_permissions("/run/xoff", fs::Permissions::from_mode(0o755)).unwrap();
    command(&["deploy", &lab.folder.path("lab.toml"), "--name", "lab"]).assert_code(0);
    let [fabric] = &fabrics()[..] else { panic!("one fabric") };
    let path = format!("/run/xoff/{fabric}.lock");
    assert_eq!([mode("/run/xoff"), mode(&path)], [0o700, 0o600]);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    command(&["destroy"]).assert_code(0);
    assert_eq!(mode(&path), 0o600);
    lab.destroy();
}

#[test]
fn a_guardian_that_is_killed_is_replaced() {
    let lab = Lab::deploy(SLOW, &[]);
    let supervisor = supervisor();
    let first = guardian_of(supervisor);
    kill(first);
    let log = || fs::read_to_string("/run/xoff/live/lab/log").unwrap_or_default();
    await_that("another guardian is there", || log().contains("another one does its work"));
    assert_ne!(guardian_of(supervisor), first);
    // The supervisor does the work.
    signal_supervisor(supervisor, libc::SIGKILL);
    await_that("the namespaces go", || fs::read_dir("/run/netns").unwrap().count() == 0);
    command(&["destroy", "lab"]).assert_code(0);
    lab.assert_gone();
}
