//! Material for a bug report: the kernel's log and configuration, the kernel's view of programs and maps, captures,
//! scenarios, verifier logs, and a command that repeats the test.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use analysis::expectation::LentFolder;
use nix::fcntl::OFlag;
use results::{Capture, CaptureWire};
use switch_user::program::objects::{describe_maps, describe_programs};
use terminal::Complaint;
use units::{BitsPerSecond, Nanos};

use super::bench::{Bench, Ended};
use super::rig::Rig;
use super::verdict::Verdict;
use linux::bpf::{ARRAY, Map};

/// Max number of rows of an array that are read.
const MAX_ROWS: u32 = 4096;
/// Max length of a record of the kernel's log, in bytes.
const LOG_RECORD: usize = 8192;
/// Line in place of records that were overwritten before they were read.
const LOST: &str = "(records are lost: the kernel's log has overwritten them)";
/// Patterns of kernel log lines that report a kernel problem, one per line.
const ALARMS: &str = include_str!("alarms.txt");

/// Folder of this process's report, and the kernel's log since the start.
static REPORT: OnceLock<PathBuf> = OnceLock::new();
static KERNEL_LOG: OnceLock<Mutex<KernelLog>> = OnceLock::new();

/// The kernel's log since it was opened.
struct KernelLog {
    device: File,
    lines: Vec<String>,
}

impl KernelLog {
    fn open() -> io::Result<Self> {
        let mut options = File::options();
        let mut device =
            options.read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open("/dev/kmsg")?;
        device.seek(SeekFrom::End(0))?;
        Ok(Self { device, lines: Vec::new() })
    }

    /// Reads and returns all lines until now.
    fn read(&mut self) -> &[String] {
        let mut record = vec![0; LOG_RECORD];
        loop {
            match self.device.read(&mut record) {
                Ok(0) => break,
                Ok(length) => self.lines.extend(shown(&String::from_utf8_lossy(&record[..length]))),
                // Records were overwritten before they were read.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    self.lines.push(LOST.into());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        &self.lines
    }
}

/// Formats a record of /dev/kmsg as dmesg does: `6,1234,5678901,-;text`, in microseconds. Records that programs have
/// written are marked: their first number has a facility above the level's three bits.
fn shown(record: &str) -> Option<String> {
    let (head, text) = record.split_once(';')?;
    let mut fields = head.split(',');
    let priority: u32 = fields.next()?.parse().ok()?;
    let micros: u64 = fields.nth(1)?.parse().ok()?;
    let text = text.lines().next().unwrap_or_default();
    let from = if priority >> 3 == 0 { "" } else { NOT_THE_KERNEL };
    Some(format!("[{:5}.{:06}] {from}{text}", micros / 1_000_000, micros % 1_000_000))
}

/// Prefix of lines that a program wrote.
const NOT_THE_KERNEL: &str = "(a program) ";

/// Returns the first line with a complaint of the kernel, or after which a complaint may be lost.
fn complaint(lines: &[String]) -> Option<&String> {
    let is_alarm = |line: &&String| {
        *line == LOST
            || !line.contains(NOT_THE_KERNEL) && ALARMS.lines().any(|alarm| line.contains(alarm))
    };
    lines.iter().find(is_alarm)
}

/// Starts to collect the kernel's log.
pub fn begin_log() {
    if let Ok(log) = KernelLog::open() {
        let _ = KERNEL_LOG.set(Mutex::new(log));
    }
}

fn log_lines() -> Option<Vec<String>> {
    let mut log = KERNEL_LOG.get()?.lock().unwrap_or_else(PoisonError::into_inner);
    Some(log.read().to_vec())
}

/// Tests that the kernel has not complained while tests ran.
pub fn kernel_log(bench: &mut Bench<'_>) -> Result<(), Ended> {
    let lines = bench.step("the kernel's log can be read", || {
        log_lines().ok_or_else(|| Verdict::skip("/dev/kmsg cannot be read"))
    })?;
    bench.look("the kernel did not complain while tests ran", || {
        complaint(&lines).map_or(Ok(()), |line| {
            Err(Verdict::fail("no warning and no bug", line.as_str(), "dmesg"))
        })
    });
    Ok(())
}

/// Creates the folder of the report.
pub fn begin_report(folder: &Path) -> Result<(), Complaint> {
    fs::create_dir_all(folder).map_err(|error| {
        let title = format!("cannot make the folder {}: {error}", folder.display());
        Complaint::new(title).with_help("name another one with --report")
    })?;
    let _ = REPORT.set(folder.to_owned());
    Ok(())
}

/// Completes the report with the kernel's log and configuration, and the command that was run.
pub fn end_report(folder: &Path, command: &str, json: &str) {
    let log =
        log_lines().map_or_else(|| "/dev/kmsg cannot be read\n".to_owned(), |it| it.join("\n"));
    write(folder, "dmesg.txt", log + "\n");
    write(folder, "results.json", json);
    let release = super::runner::kernel_release();
    let version = env!("CARGO_PKG_VERSION");
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let about = format!("xoff {version}\nLinux {release}\nprocessors {processors}\n");
    write(folder, "machine.txt", about);
    write(folder, "command.txt", format!("{command}\n"));
    let places = [PathBuf::from("/proc/config.gz"), format!("/boot/config-{release}").into()];
    if let Some((place, config)) =
        places.into_iter().find_map(|place| fs::read(&place).ok().map(|it| (place, it)))
    {
        let is_packed = place.extension().is_some_and(|it| it == "gz");
        write(folder, if is_packed { "config.gz" } else { "config.txt" }, config);
    }
}

/// Stores the verifier's log of a program that it refused.
pub fn keep_verifier_log(log: &str) {
    if let Some(folder) = REPORT.get() {
        write(folder, "verifier.txt", log);
    }
}

/// Returns a folder for a run's results that is removed when it is dropped, or if the run is killed.
pub fn lend() -> Result<LentFolder, Verdict> {
    LentFolder::new().map_err(|error| {
        let place = std::env::temp_dir().display().to_string();
        Verdict::fail("a folder for results (TMPDIR)", error.to_string(), place)
    })
}

/// Writes a file of a report; prints a warning if this fails.
pub fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) {
    let file = folder.join(name);
    if let Err(error) = fs::write(&file, content) {
        terminal::warn(format!("cannot write {}: {error}", file.display()));
    }
}

/// Stores the kernel's view of a rig.
pub fn keep(folder: &Path, rig: &Rig) {
    keep_objects(folder);
    let mut interfaces = String::new();
    for namespace in rig.deployment.namespaces() {
        // Interfaces of the hosts, then of the switch.
        for index in [1000, 1001, 2, 3] {
            if let Ok(state) = namespace.link_state(index) {
                writeln!(interfaces, "{}: {state:#?}", namespace.name())
                    .expect("a String takes every write");
            }
        }
    }
    write(folder, "interfaces.txt", interfaces);
}

/// Stores frames that a test has sent and received, as a capture with two interfaces.
pub fn keep_frames(bench: &Bench<'_>, [sent, arrived]: [&[Vec<u8>]; 2]) {
    let Some(folder) = bench.folder() else { return };
    // A test may send several times.
    let mut paths = (1..).map(|number| folder.join(format!("frames-{number}.pcapng")));
    let path = paths.find(|path| !path.exists()).expect("a folder has few files");
    let wire =
        |name: &str| CaptureWire { name: name.to_owned(), rate: BitsPerSecond(100_000_000_000) };
    let written = File::create(&path).map_err(|error| error.to_string()).and_then(|file| {
        let wires = [wire("as they should arrive"), wire("as they arrived")];
        let failed = |error: results::ResultsError| error.to_string();
        let mut capture = Capture::new(file, &path, "xoff selftest", &wires, 0).map_err(failed)?;
        for (wire, frames) in [(0, sent), (1, arrived)] {
            for (frame, time) in frames.iter().zip(1..) {
                capture.frame(wire, Nanos(time), frame, None).map_err(failed)?;
            }
        }
        capture.finish().map_err(failed)
    });
    if let Err(error) = written {
        terminal::warn(format!("cannot write {}: {error}", path.display()));
    }
}

/// Stores a run's results when it is dropped, however the test ends.
pub struct KeptAtTheEnd {
    folder: Option<PathBuf>,
    results: PathBuf,
}

impl KeptAtTheEnd {
    /// Stores the results in a folder at the end, if evidence is collected.
    pub fn new(bench: &Bench<'_>, results: &Path) -> Self {
        Self { folder: bench.folder().map(Path::to_owned), results: results.to_owned() }
    }
}

impl Drop for KeptAtTheEnd {
    fn drop(&mut self) {
        let Some(folder) = &self.folder else { return };
        for file in fs::read_dir(&self.results).into_iter().flatten().flatten() {
            if let Ok(content) = fs::read(file.path()) {
                write(folder, &file.file_name().to_string_lossy(), content);
            }
        }
    }
}

/// Stores the kernel's view of this process's programs and maps.
pub fn keep_objects(folder: &Path) {
    let [programs, maps] = own_objects();
    write(folder, "programs.txt", describe_programs(&programs));
    let mut text = String::new();
    for map in describe_maps(&maps) {
        writeln!(
            text,
            "{}: type {}  name {}  flags {:#x}\n\tkey {}B  value {}B  max_entries {}",
            map.id, map.kind, map.name, map.flags, map.key_bytes, map.value_bytes, map.entries
        )
        .expect("a String takes every write");
        let opened = (map.kind == ARRAY).then(|| Map::from_number(map.id));
        let Some(Ok(open)) = opened else { continue };
        for key in 0..map.entries.min(MAX_ROWS) {
            let Ok(value) = open.entry(key) else { break };
            if value.iter().any(|&byte| byte != 0) {
                write!(text, "\t[{key}] ").expect("a String takes every write");
                for byte in value {
                    write!(text, "{byte:02x}").expect("a String takes every write");
                }
                text.push('\n');
            }
        }
    }
    write(folder, "maps.txt", text);
}

/// Returns the numbers of the programs and maps that this process has open.
fn own_objects() -> [BTreeSet<u32>; 2] {
    let mut objects = [BTreeSet::new(), BTreeSet::new()];
    let Ok(entries) = fs::read_dir("/proc/self/fdinfo") else { return objects };
    for entry in entries.flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        for (kind, found) in ["prog_id:", "map_id:"].into_iter().zip(&mut objects) {
            let numbers =
                text.lines().filter_map(|line| line.strip_prefix(kind)?.trim().parse::<u32>().ok());
            found.extend(numbers);
        }
    }
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_the_kernels_log_reads_as_dmesg_shows_it() {
        let record = "6,339,5140900,-;NET: Registered\n SUBSYSTEM=net\n";
        assert_eq!(shown(record).as_deref(), Some("[    5.140900] NET: Registered"));
        assert_eq!(shown("nothing"), None);
        let program = shown("12,340,5140901,-;BUG: says a program").unwrap();
        assert_eq!(program, "[    5.140901] (a program) BUG: says a program");
    }

    #[test]
    fn complaints_of_the_kernel_are_known_and_those_of_programs_are_not_its() {
        for line in [
            "BUG: KASAN: use-after-free in veth_xmit",
            "kernel BUG at net/core/skbuff.c:116!",
            "invalid opcode: 0000 [#1] PREEMPT SMP NOPTI",
            "divide error: 0000 [#1] SMP",
            "rcu: INFO: rcu_preempt self-detected stall on CPU",
            "rcu: INFO: rcu_sched detected stalls on CPUs/tasks:",
            "INFO: trying to register non-static key.",
            "WARNING: possible circular locking dependency detected",
            "WARNING: CPU: 0 PID: 1 at net/core/dev.c:7",
            "INFO: task kworker/0:1 blocked for more than 120 seconds.",
            "watchdog: BUG: soft lockup - CPU#0 stuck for 22s!",
            "unregister_netdevice: waiting for lo to become free. Usage count = 2",
        ] {
            let lines = |text: &str| [format!("[    5.140900] {text}")];
            assert!(complaint(&lines(line)).is_some(), "{line}");
            assert_eq!(complaint(&lines(&format!("{NOT_THE_KERNEL}{line}"))), None);
        }
        assert_eq!(complaint(&["[    1.000000] veth: renamed".into()]), None);
        assert!(complaint(&[LOST.into()]).is_some(), "who knows what they said");
    }
}
