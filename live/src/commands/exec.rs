//! `xoff exec`: runs a program in a host of a live fabric.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use scenario::Scenario;
use terminal::Complaint;
use topology::SwitchId;

use super::Exit;
use crate::client;
use crate::folder::{Description, LiveFolder};

/// Arguments of `xoff exec`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The live fabric.
    name: String,
    /// Name of the host in the scenario.
    host: String,
    /// Prints errors as JSON if the program cannot be started.
    #[arg(long)]
    json: bool,
    /// The program and its arguments.
    #[arg(required = true, last = true)]
    command: Vec<OsString>,
}

/// Runs the command. The program replaces this process, so it keeps its exit code and the terminal.
pub fn execute(arguments: &Arguments) -> Exit {
    super::json_errors::answer_in_json(arguments.json);
    let Err((complaint, exit)) = become_program(arguments);
    super::json_errors::error(complaint, exit)
}

fn become_program(arguments: &Arguments) -> Result<Infallible, (Complaint, Exit)> {
    enter_host(arguments).map_err(|complaint| (complaint, Exit::BadInput))?;
    let (program, rest) = arguments.command.split_first().expect("clap asks for one");
    let error = Command::new(program).args(rest).exec();
    let exit = match error.kind() {
        io::ErrorKind::NotFound => Exit::NotFound,
        _ => Exit::NotExecutable,
    };
    Err((format!("cannot run {}: {error}", program.display()).into(), exit))
}

/// Moves this process into the selected host.
fn enter_host(arguments: &Arguments) -> Result<(), Complaint> {
    let Arguments { name, host: wanted, .. } = arguments;
    let (folder, description) = client::find(name)?;
    let host = description.hosts.iter().find(|host| host.name == *wanted);
    let host = host.ok_or_else(|| no_host(&folder, &description, wanted))?;
    let path = format!("/run/netns/{}", host.namespace);
    let namespace = File::open(&path).map_err(|error| format!("{path}: {error}"))?;
    enter(&namespace, &folder.file("hosts"))
        .map_err(|error| format!("cannot enter {path}: {error}; `xoff exec` needs root"))?;
    Ok(())
}

/// Returns the error for an unknown host: the hosts that exist, or how to run a program in a switch.
fn no_host(folder: &LiveFolder, description: &Description, wanted: &str) -> Complaint {
    let Description { name, hosts, .. } = description;
    let title = format!("{name} has no host {wanted:?}");
    let scenario = Scenario::load_live(&folder.file("scenario.toml"), &[]).ok();
    let is_switch = scenario.is_some_and(|scenario| {
        let fabric = scenario.fabric();
        (0..fabric.switch_count()).any(|it| fabric.switch(SwitchId(it)).name == wanted)
    });
    let prefix = hosts.first().and_then(|host| host.namespace.strip_suffix(&host.name));
    if let Some(prefix) = prefix.filter(|_| is_switch) {
        let namespace = format!("{prefix}{wanted}");
        let help = format!("`ip netns exec {namespace} ..` runs a program in the switch");
        return Complaint::new(format!("{title}: it is a switch")).with_help(help);
    }
    match (hosts.first(), hosts.last()) {
        (Some(first), Some(last)) => {
            format!("{title}; its hosts are {} to {}", first.name, last.name).into()
        }
        _ => title.into(),
    }
}

/// Moves this process into a host's network namespace, where the other hosts' names resolve.
fn enter(namespace: &File, hosts: &Path) -> io::Result<()> {
    // This process has one thread, so all of it moves.
    setns(namespace, CloneFlags::CLONE_NEWNET)?;
    unshare(CloneFlags::CLONE_NEWNS)?;
    // Only the program sees mounts made here.
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_SLAVE | MsFlags::MS_REC, None::<&str>)?;
    // `/sys/class/net` shows the namespace in which it was mounted. If it cannot be mounted again, it shows another
    // one.
    let _ = mount(Some("xoff"), "/sys", Some("sysfs"), MsFlags::empty(), None::<&str>);
    // A system without `/etc/hosts` resolves no names.
    let _ = mount(Some(hosts), "/etc/hosts", None::<&str>, MsFlags::MS_BIND, None::<&str>);
    Ok(())
}
