//! Speed of xoff on this machine: `cargo xtask bench kernel`, `memory`, `live` or `threads`.
//!
//! - [`ceiling`], on [`bare_program`]: the machine's limit for one frame, without xoff.
//! - [`fabric`]: a scenario on the kernel datapath.
//! - [`live`]: fabrics that programs use.
//! - [`websearch`]: a paper's workload in memory, on fabrics of three sizes.
//! - [`arrival`]: one arrival in eBPF, warm and in a fabric.
//! - [`threads`]: runs in memory on their default number of threads, compared with one.
//! - [`figure`]: medians, aims and their output.
//!
//! Compared measurements alternate in rounds, so that a machine that slows down or speeds up affects both.
#![expect(clippy::cast_possible_truncation, reason = "numbers that the benchmark chooses itself")]

mod arrival;
mod bare_program;
mod ceiling;
mod fabric;
mod figure;
mod live;
mod threads;
mod websearch;

use anyhow::Result;
use clap::{Parser, ValueEnum};

use arrival::ArrivalBench;
use ceiling::Ceiling;
use figure::{Aim, Rates, Series};
use scenario::HookKind;

/// Hooks that are compared with native XDP.
const OTHER_HOOKS: [HookKind; 2] = [HookKind::XdpGeneric, HookKind::Tc];
/// Rounds of which the median counts.
const ROUNDS: usize = 5;

#[derive(Parser)]
#[command(about = "Measures xoff on this machine")]
struct Arguments {
    /// Datapath of the fabric's switches.
    datapath: Datapath,
    /// Leaves, spines, hosts per leaf and duration of a single run, and its settings.
    #[arg(hide = true)]
    single_run: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Datapath {
    /// veth pairs and eBPF, as root.
    Kernel,
    /// In this process.
    Memory,
    /// Live fabrics, as root.
    Live,
    /// In this process, on the threads that runs get by themselves and on one.
    Threads,
    /// One run of the memory benchmark, whose figures the parent process reads.
    #[value(hide = true)]
    MemoryRun,
}

fn main() -> Result<()> {
    let Arguments { datapath, single_run } = Arguments::parse();
    match datapath {
        Datapath::Kernel => kernel(),
        Datapath::Memory => memory(),
        Datapath::Live => live::run(),
        Datapath::Threads => threads::run(),
        Datapath::MemoryRun => websearch::run(&single_run),
    }
}

fn kernel() -> Result<()> {
    let scenario = fabric::scenario(HookKind::Xdp)?;
    let at_hooks: Vec<_> = OTHER_HOOKS.into_iter().map(fabric::scenario).collect::<Result<_>>()?;
    let mut cost_at_hooks = OTHER_HOOKS.map(|_| Rates::default());
    let mut ceiling = Ceiling::new()?;
    let (mut bare, mut hops, mut ratios) = (Rates::default(), Rates::default(), Rates::default());
    let mut deploy = Series::default();
    for round in 1..=ROUNDS {
        eprintln!("round {round} of {ROUNDS}");
        let raw = ceiling.measure()?;
        let run = fabric::on_kernel(&scenario)?;
        bare.push(raw);
        hops.push(run.rate);
        ratios.push(run.rate / raw);
        deploy.push(run.deploy.as_secs_f64() * 1e3);
        for (scenario, cost) in at_hooks.iter().zip(&mut cost_at_hooks) {
            cost.push(run.rate / fabric::on_kernel(scenario)?.rate);
        }
    }
    drop(ceiling);
    let arrival = ArrivalBench::run(&scenario, ROUNDS)?;

    println!("kernel datapath: median of {ROUNDS} rounds (lowest to highest)");
    println!("packet-hops per second, {}", fabric::describe(&scenario));
    println!("{:<44}{} frames/s", "  bare veth, XDP and ring, CPU time", bare.cpu);
    println!("{:<44}{} frames/s", "  bare veth, XDP and ring, wall time", bare.wall);
    println!(
        "{:<44}{} hops/s  {}",
        "  xoff, CPU time",
        hops.cpu,
        Aim::AtLeast(250e3).text(&hops.cpu)
    );
    println!("{:<44}{} hops/s", "  xoff, wall time", hops.wall);
    println!(
        "{:<44}{}  {}",
        "  xoff / bare, CPU time",
        ratios.cpu,
        Aim::AtLeast(0.5).text(&ratios.cpu)
    );
    println!("{:<44}{}", "  xoff / bare, wall time", ratios.wall);
    for (hook, cost) in OTHER_HOOKS.iter().zip(&cost_at_hooks) {
        let name = format!("cost of a hop, {} / xdp, CPU time", hook.name());
        println!("{name:<44}{}", cost.cpu);
    }
    println!("{:<44}{} ms  {}", "deployment", deploy, Aim::AtMost(300.0).text(&deploy));
    arrival.print();
    Ok(())
}

fn memory() -> Result<()> {
    let sizes = websearch::SIZES;
    let mut rates = sizes.map(|_| Series::default());
    let mut peaks = sizes.map(|_| Series::default());
    let mut hpcc_to_dcqcn = Series::default();
    for round in 1..=ROUNDS {
        eprintln!("round {round} of {ROUNDS}");
        for ((size, rate), peak) in sizes.iter().zip(&mut rates).zip(&mut peaks) {
            let run = websearch::in_a_process(size, &[])?;
            rate.push(run.hops_per_cpu_second);
            peak.push(run.peak_megabytes);
        }
        let dcqcn = websearch::in_a_process(&sizes[1], &websearch::DCQCN)?;
        let hpcc = websearch::in_a_process(&sizes[1], &websearch::HPCC)?;
        hpcc_to_dcqcn.push(dcqcn.hops_per_cpu_second / hpcc.hops_per_cpu_second);
    }
    let [small, reference, large] = &rates;
    let mut growth = Series::default();
    for (small, large) in small.rounds().zip(large.rounds()) {
        growth.push(small / large);
    }
    println!("memory datapath: median of {ROUNDS} rounds (lowest to highest)");
    println!("packet-hops per CPU second, start-up and results included, {}", websearch::ABOUT);
    for (size, rate) in sizes.iter().zip(&rates) {
        println!("{:<44}{rate} hops/s", format!("  {size}"));
    }
    println!("{:<44}{}", "  64 hosts, against the aim", Aim::AtLeast(10e6).text(reference));
    println!(
        "{:<44}{growth}  {}",
        "cost of a hop, 1024 hosts / 32 hosts",
        Aim::AtMost(1.5).text(&growth)
    );
    println!(
        "{:<44}{hpcc_to_dcqcn}  {}",
        "cost of a hop, HPCC / DCQCN, 64 hosts",
        Aim::AtMost(1.4).text(&hpcc_to_dcqcn)
    );
    let [.., peak] = &peaks;
    println!("{:<44}{peak} MB  {}", "peak memory, 1024 hosts", Aim::AtMost(400.0).text(peak));
    Ok(())
}
