//! A switch port behaves as queueing theory predicts for M/D/1.

use std::fmt::Write;
use std::fs;

use tests::fabric::in_memory;
use tests::fabric::results::Row;

/// Hosts that send to h0.
const SENDERS: usize = 16;
/// Time of a packet on h0's link of 1 Gbit/s: 1000 bytes of payload, 58 of headers, 16 of RETH and 24 around the frame.
const SERVICE_NS: f64 = 1098.0 * 8.0;
/// Batches of flows whose means count as independent; an additional one is the warm-up.
const BATCHES: usize = 20;
/// Student's t for 99 % and 19 degrees of freedom.
const STUDENT: f64 = 2.861;

/// h1 to h16 start flows of one packet to h0, each as a Poisson process.
///
/// Arrivals at h0's port are Poisson themselves. The sum of Poisson processes is Poisson, and each packet comes there a
/// constant time after its flow's start unless it waits in its sender for an earlier one of the same sender: a packet
/// leaves a sender of 400 Gbit/s in 22 ns, and a sender's flows are 170 us apart in the mean, so that one packet in
/// thousands waits for some nanoseconds.
fn scenario(weights: &str, load: f64) -> String {
    let mut links = String::from("{ a = \"h0\", b = \"s0\", rate = \"1Gbps\", delay = \"1us\" }");
    let mut hosts = String::from("\"h0\"");
    for sender in 1..=SENDERS {
        write!(links, ", {{ a = \"h{sender}\", b = \"s0\", rate = \"400Gbps\", delay = \"1us\" }}")
            .expect("a String takes every write");
        write!(hosts, ", \"h{sender}\"").expect("a String takes every write");
    }
    format!(
        r#"
name = "m-d-1"
duration = "2s"
[topology]
kind = "custom"
switches = ["s0"]
hosts = [{hosts}]
links = [{links}]
[switch]
buffer = "64MB"
threshold = {{ kind = "static", xoff = "4MB", xon = "3MB" }}
[host]
transport = {{ kind = "roce-rc", congestion_control = "none" }}
[results]
queue_period = "10ms"
[[flows]]
kind = "poisson"
load = {load:.6}
sizes = "1000B"
pairs = {{ kind = "matrix", file = "{weights}" }}
stop = "1990ms"
"#
    )
}

/// Every sender to h0; no other pairs.
fn weights() -> String {
    let row = |sender: usize| {
        let first = if sender == 0 { "0" } else { "1" };
        [first].into_iter().chain(std::iter::repeat_n("0", SENDERS)).collect::<Vec<_>>().join(",")
    };
    (0..=SENDERS).map(|sender| row(sender) + "\n").collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// `load` is a part of the senders' links.
fn assert_theory(load: f64) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("weights.csv");
    fs::write(&file, weights()).expect("it can be written");
    let payload_rate = load * SENDERS as f64 * 400e9;
    let utilisation = payload_rate / 8000.0 * SERVICE_NS / 1e9;
    let run = in_memory(&scenario(&file.display().to_string(), load), &[]);
    run.assert_lossless();
    assert_eq!(run.summary.pause_frames, 0, "no packet waits anywhere else");
    let flows = run.flows();
    let wait = |row: &Row| row.number("fct_ns") as f64 - row.number("ideal_ns") as f64;
    let waits: Vec<f64> = flows.rows().iter().map(wait).collect();
    // Each of the two times is rounded up.
    assert!(waits.iter().all(|wait| *wait >= -1.0), "none is faster than alone");
    let batch = waits.len() / (BATCHES + 1);
    let means: Vec<f64> = waits.chunks_exact(batch).skip(1).take(BATCHES).map(mean).collect();
    let overall = mean(&means);
    let squares = means.iter().map(|batch| (batch - overall).powi(2)).sum::<f64>();
    let deviation = (squares / (BATCHES - 1) as f64 / BATCHES as f64).sqrt();
    // Pollaczek and Khinchine: rho / (2 mu (1 - rho)). With exponential service it would be twice that.
    let theory = utilisation * SERVICE_NS / (2.0 * (1.0 - utilisation));
    let (error, half_width) = ((overall - theory).abs(), STUDENT * deviation);
    let what = format!("{utilisation:.3}: {overall:.0} ns +- {half_width:.0}, theory {theory:.0}");
    assert!(error <= half_width, "{what}");
    assert!(half_width < 0.08 * theory, "too few flows to judge: {what}");
    // Poisson arrivals see time averages: as many packets wait as the link is busy.
    let busy = waits.iter().filter(|wait| **wait > 1.0).count() as f64 / waits.len() as f64;
    assert!((busy - utilisation).abs() < 0.01, "{busy:.3} of packets wait at {utilisation:.3}");
}

#[test]
fn packets_wait_as_in_an_m_d_1_queue_at_a_utilisation_of_0_30() {
    assert_theory(43e-6);
}

#[test]
fn packets_wait_as_in_an_m_d_1_queue_at_a_utilisation_of_0_60() {
    assert_theory(85e-6);
}

#[test]
fn packets_wait_as_in_an_m_d_1_queue_at_a_utilisation_of_0_80() {
    assert_theory(114e-6);
}
