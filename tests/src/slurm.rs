//! A Slurm of one node with two processors, of a test's own: its files are in a temporary folder, its ports in the network
//! of the test, and its processes end with it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::command::{Finished, finish, isolate};

/// Variable with the root folder of Slurm and munge: `/`, or the folder in which packages were unpacked.
pub const ROOT_VARIABLE: &str = "XOFF_SLURM_ROOT";
/// Folder of libraries and plugins in Debian's packages.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const LOOKS: u32 = 600;
const LOOK_PERIOD: Duration = Duration::from_millis(100);

/// A Slurm. Dropped, it ends with all its jobs.
#[derive(Debug)]
pub struct Slurm {
    folder: TempDir,
    root: PathBuf,
    shell: Child,
    commands: ChildStdin,
}

impl Slurm {
    /// Starts a Slurm, and waits until it accepts jobs.
    ///
    /// # Panics
    /// If there is no Slurm, or it does not start: with its logs.
    pub fn start() -> Self {
        Self::start_after(|| ())
    }

    /// Starts a Slurm after `prepare` has changed the mounts that the test and Slurm see.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn start_after(prepare: impl FnOnce()) -> Self {
        let root = std::env::var(ROOT_VARIABLE)
            .unwrap_or_else(|_| panic!("{ROOT_VARIABLE} is not set: `cargo xtask test` sets it"));
        isolate();
        prepare();
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        // munged takes no folder that others can write to.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
        let root = PathBuf::from(root);
        write_configuration(folder.path(), &root);
        let mut shell = Command::new("unshare");
        // The shell is the first process of a PID namespace. It ends when this process closes its input, also if it
        // is killed, and takes all others along.
        shell.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c"]);
        // Slurm asks the resolver for its own addresses, which ignores loopback addresses.
        shell.arg("ip link set lo up; ip link set own0 up; ip address add 192.0.2.1/32 dev own0; while read -r line; do eval \"$line\"; done");
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        in_root(&mut shell, &root, folder.path());
        let mut shell = shell.spawn().expect("unshare is a part of util-linux");
        let commands = shell.stdin.take().expect("it is piped");
        let mut this = Self { folder, root, shell, commands };
        let path = this.folder.path().display().to_string();
        this.run(&format!(
            "munged --force --key-file={path}/munge.key --socket={path}/munge.sock --pid-file={path}/munged.pid \
             --log-file={path}/munged.log --seed-file={path}/munge.seed"
        ));
        this.run("slurmctld");
        this.start_slurmd();
        this
    }

    /// Has the first process of Slurm's namespace do something.
    pub fn run(&mut self, line: &str) {
        writeln!(self.commands, "{line}").expect("the shell is there");
        self.commands.flush().expect("the shell is there");
    }

    /// Starts slurmd, and waits until its node takes jobs.
    pub fn start_slurmd(&mut self) {
        let stepd = self.root.join("usr/sbin/slurmstepd");
        self.run(&format!("slurmd -d {}", stepd.display()));
        self.await_that("the node takes jobs", |slurm| {
            slurm.ask("sinfo", &["--noheader", "--format=%T"]).stdout.trim() == "idle"
        });
    }

    /// Kills slurmd and the processes of its jobs.
    pub fn kill_slurmd(&mut self) {
        self.run("kill -9 $(grep -lE '^(slurmd|slurmstepd|xoff)' /proc/[0-9]*/comm | cut -d/ -f3)");
    }

    /// Runs a program of Slurm to its end.
    pub fn ask(&self, program: &str, arguments: &[&str]) -> Finished {
        let mut command = Command::new(program);
        self.equip(command.args(arguments));
        finish(&mut command)
    }

    /// Lets a command find this Slurm.
    pub fn equip<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        in_root(command, &self.root, self.folder.path())
    }

    /// States of all tasks that Slurm knows.
    pub fn states(&self) -> Vec<String> {
        let listing = self.ask("squeue", &["--noheader", "--array", "--states=all", "--format=%T"]);
        listing.stdout.lines().map(|line| line.trim().to_owned()).collect()
    }

    /// Waits until a condition holds.
    ///
    /// # Panics
    /// If it does not hold in time: with the logs.
    pub fn await_that(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        for _ in 0..LOOKS {
            if holds(self) {
                return;
            }
            thread::sleep(LOOK_PERIOD);
        }
        panic!("{what}: not within a minute\n{}", self.logs());
    }

    /// Logs of its programs.
    pub fn logs(&self) -> String {
        let read = |name: &str| {
            let text = fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
            format!("{name}:\n{text}\n")
        };
        ["munged.log", "slurmctld.log", "slurmd.log"].map(read).concat()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // The end of the first process ends all: unshare forwards the signal.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

fn in_root<'a>(command: &'a mut Command, root: &Path, folder: &Path) -> &'a mut Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let below = |name: &str| root.join(name).display().to_string();
    let programs = ["usr/sbin", "usr/bin"].map(below).join(":");
    command
        .env("PATH", format!("{programs}:{path}"))
        .env(
            "LD_LIBRARY_PATH",
            [LIBRARIES.to_owned(), format!("{LIBRARIES}/slurm-wlm")].map(|it| below(&it)).join(":"),
        )
        .env("SLURM_CONF", folder.join("slurm.conf"))
}

fn write_configuration(folder: &Path, root: &Path) {
    for name in ["state", "spool"] {
        fs::create_dir(folder.join(name)).expect("a folder can be made");
    }
    let key = folder.join("munge.key");
    fs::write(&key, fs::read("/proc/sys/kernel/random/uuid").expect("/proc is mounted").repeat(4))
        .expect("a file can be written");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).expect("it is ours");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("/proc is mounted");
    let host = host.trim().split('.').next().unwrap_or_default().to_owned();
    let path = folder.display();
    let plugins = root.join(LIBRARIES).join("slurm-wlm");
    let configuration = format!(
        "ClusterName=xoff
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={path}/munge.sock
PluginDir={plugins}
SlurmUser=root
SlurmdUser=root
StateSaveLocation={path}/state
SlurmdSpoolDir={path}/spool
SlurmctldPidFile={path}/slurmctld.pid
SlurmdPidFile={path}/slurmd.pid
SlurmctldLogFile={path}/slurmctld.log
SlurmdLogFile={path}/slurmd.log
SwitchType=switch/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=1000
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SlurmdTimeout=5
MessageTimeout=5
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=2000 State=UNKNOWN
PartitionName=debug Nodes={host} Default=YES MaxTime=INFINITE State=UP
PartitionName=short Nodes={host} MaxTime=1 State=UP
",
        plugins = plugins.display(),
    );
    fs::write(folder.join("slurm.conf"), configuration).expect("a file can be written");
}
