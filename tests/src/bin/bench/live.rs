//! Live fabrics as a user has them: speed of programs, punctuality, and cost of a fabric.

use std::env;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tests::command::isolate;

/// Scenario over which programs send.
const LAB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/live/lab.toml");
/// Rates of its links.
const RATES: [&str; 4] = ["100Mbps", "200Mbps", "500Mbps", "1Gbps"];
/// Names and options of a fabric's modes.
const MODES: [(&str, &[&str]); 3] =
    [("sleeping", &[]), ("--busy-poll", &["--busy-poll"]), ("--real-time", &["--real-time"])];
/// Time that a program sends, and the first part of it, which is not measured.
const SENDING: Duration = Duration::from_secs(3);
const STARTING: Duration = Duration::from_millis(500);
/// Time that an idle fabric is watched.
const IDLE: Duration = Duration::from_secs(20);
/// Links of 16 leaves, 16 spines and 256 hosts, and of 8 hosts.
const LARGE: [&str; 3] = ["leaves=16", "spines=16", "hosts_per_leaf=16"];
const SMALL: [&str; 3] = ["leaves=2", "spines=2", "hosts_per_leaf=4"];

/// Prints all of it. Leaves no fabric behind if it fails.
pub fn run() -> Result<()> {
    isolate();
    fs::create_dir_all("/run/netns")?;
    let measured = measure();
    if measured.is_err() {
        // The error to report is the measurement's, not the clean-up's.
        let _ = xoff(&["destroy", "--all"]);
    }
    measured
}

fn measure() -> Result<()> {
    println!("live fabrics on {} processors", thread::available_parallelism()?);
    println!("\none TCP connection over 4 links, and its ACKs back, for {} s", SENDING.as_secs());
    println!(
        "{:<10}{:<14}{:>10}{:>12}{:>12}{:>12}{:>12}",
        "links", "mode", "Mbit/s", "99 of 100", "worst", "lost", "us/hop"
    );
    for rate in RATES {
        for (mode, options) in MODES {
            let Goodput { megabits, fidelity, micros_per_hop } = goodput(rate, options)?;
            let lost = Duration::from_nanos(number(&fidelity, "lost_ns"));
            let all = &fidelity["all"];
            let late = |key: &str| format!("{:.1?}", Duration::from_nanos(number(all, key)));
            println!(
                "{rate:<10}{mode:<14}{megabits:>10.1}{:>12}{:>12}{:>12}{micros_per_hop:>12.2}",
                late("p99_ns"),
                late("most_ns"),
                format!("{} ms", lost.as_millis()),
            );
        }
    }
    println!("\nan idle fabric");
    for (mode, options) in MODES {
        println!("  8 hosts, {mode}: {:.2} % of a processor", idle(options)?);
    }
    println!("\n16 leaves, 16 spines, 256 hosts");
    for _ in 0..3 {
        large()?;
    }
    Ok(())
}

/// Result of a program that sends.
struct Goodput {
    megabits: f64,
    fidelity: Value,
    micros_per_hop: f64,
}

fn goodput(rate: &str, options: &[&str]) -> Result<Goodput> {
    let rates =
        [format!("topology.host_link.rate={rate}"), format!("topology.fabric_link.rate={rate}")];
    let mut deploy = vec!["deploy", LAB];
    deploy.extend(rates.iter().flat_map(|rate| ["--set", rate]));
    deploy.extend(options);
    xoff(&deploy)?;
    let listener = inside(3, || TcpListener::bind("10.0.1.4:7000"))??;
    let before = cpu_seconds(supervisor()?)?;
    let receiver = thread::spawn(move || receive(&listener));
    let address = SocketAddr::from((Ipv4Addr::new(10, 0, 1, 4), 7000));
    let mut stream = inside(0, move || TcpStream::connect(address))??;
    let began = now();
    let block = vec![0; 64 << 10];
    while began.elapsed() < SENDING {
        stream.write_all(&block)?;
    }
    let view: Value = serde_json::from_str(&xoff(&["inspect", "lab", "--json"])?)?;
    let cpu = cpu_seconds(supervisor()?)? - before;
    drop(stream);
    let megabits = receiver.join().expect("it does not panic")?;
    xoff(&["destroy", "lab"])?;
    let hops = number(&view, "packet_hops").max(1);
    let fidelity = view["fidelity"].clone();
    Ok(Goodput { megabits, fidelity, micros_per_hop: cpu * 1e6 / hops as f64 })
}

/// Receives all data, and returns the goodput in Mbit/s after the start phase.
fn receive(listener: &TcpListener) -> Result<f64> {
    let (mut stream, _) = listener.accept()?;
    let mut block = vec![0; 256 << 10];
    let (began, mut from, mut bytes) = (now(), now(), 0_u64);
    loop {
        let read = stream.read(&mut block)?;
        if read == 0 {
            return Ok(bytes as f64 * 8.0 / from.elapsed().as_secs_f64() / 1e6);
        }
        bytes += read as u64;
        if began.elapsed() < STARTING {
            (from, bytes) = (now(), 0);
        }
    }
}

/// Processor time of an idle fabric, in percent.
fn idle(options: &[&str]) -> Result<f64> {
    let sets = SMALL.map(|set| format!("topology.{set}"));
    deploy_of(&sets, options)?;
    let process = supervisor()?;
    let before = cpu_seconds(process)?;
    thread::sleep(IDLE);
    let took = cpu_seconds(process)? - before;
    xoff(&["destroy", "lab"])?;
    Ok(100.0 * took / IDLE.as_secs_f64())
}

/// Times of a large fabric.
fn large() -> Result<()> {
    let sets = LARGE.map(|set| format!("topology.{set}"));
    let began = now();
    deploy_of(&sets, &[])?;
    let up = began.elapsed();
    let cpu = cpu_seconds(supervisor()?)?;
    let began = now();
    xoff(&["inspect", "lab"])?;
    let inspected = began.elapsed();
    let began = now();
    xoff(&["destroy", "lab"])?;
    let down = began.elapsed();
    println!(
        "  up in {:.2} s ({cpu:.2} s of processor time), inspected in {} ms, down in {:.2} s",
        up.as_secs_f64(),
        inspected.as_millis(),
        down.as_secs_f64()
    );
    Ok(())
}

fn deploy_of(sets: &[String], options: &[&str]) -> Result<()> {
    let mut deploy = vec!["deploy", LAB, "--set", "switch.buffer=4MB"];
    deploy.extend(sets.iter().flat_map(|set| ["--set", set]));
    deploy.extend(options);
    xoff(&deploy).map(drop)
}

/// Runs the binary next to this one, and returns its output.
fn xoff(arguments: &[&str]) -> Result<String> {
    let binary = env::current_exe()?.with_file_name("xoff");
    let mut command = Command::new(&binary);
    let output = command.args(arguments).output();
    let output = output.with_context(|| format!("{}: build it first", binary.display()))?;
    ensure!(output.status.success(), "xoff {arguments:?}: {output:?}");
    Ok(String::from_utf8(output.stdout)?)
}

fn fabric() -> Result<Value> {
    let listed: Value = serde_json::from_str(&xoff(&["list", "--json"])?)?;
    Ok(listed[0]["fabric"].clone())
}

fn supervisor() -> Result<u64> {
    fabric()?["process"].as_u64().context("the fabric is up")
}

/// Runs `work` in the network of a host.
fn inside<R: Send + 'static>(host: usize, work: impl FnOnce() -> R + Send + 'static) -> Result<R> {
    let fabric = fabric()?;
    let name = fabric["hosts"][host]["namespace"].as_str().context("the host is there")?;
    let namespace = File::open(Path::new("/run/netns").join(name))?;
    let inside = thread::spawn(move || {
        // SAFETY: the descriptor is open, and only this thread moves.
        let moved = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
        ensure!(moved == 0, "{}", std::io::Error::last_os_error());
        Ok(work())
    });
    inside.join().expect("it does not panic")
}

/// Processor time of a process, user and system.
fn cpu_seconds(process: u64) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    // SAFETY: reads a number of the system.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    Ok(ticks as f64 / per_second as f64)
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or(0)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
fn now() -> Instant {
    Instant::now()
}
