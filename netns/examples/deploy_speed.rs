//! Measures the time to create and to remove fabrics:
//! `cargo run --release -p netns --example deploy_speed`, as root.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use netns::{EndSpec, Error, LinkSpec, NamespaceSpec, Plan, RouteSpec, deploy};

/// Numbers of namespaces and links of each fabric.
const SIZES: [(usize, usize); 3] = [(12, 12), (80, 128), (288, 512)];
const ROUNDS: usize = 3;

fn main() -> Result<(), Error> {
    println!("namespaces  links  deploy ms  enter us  remove ms");
    for (namespaces, links) in SIZES {
        let plan = plan(namespaces, links);
        for _ in 0..ROUNDS {
            let (deployment, making) = timed(|| deploy(&plan));
            let deployment = deployment?;
            let (entered, entering) = timed(|| deployment.namespace(0).enter(|| ()));
            entered?;
            let (removed, removing) = timed(|| deployment.remove());
            removed?;
            println!(
                "{namespaces:>10} {links:>6} {:>10} {:>9} {:>10}",
                making.as_millis(),
                entering.as_micros(),
                removing.as_millis()
            );
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "measures the wall clock, computes no result")]
fn timed<R>(work: impl FnOnce() -> R) -> (R, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

/// Plan with links that join namespace `n` with `n + 1` or, in further rounds, with one further
/// away.
fn plan(namespaces: usize, links: usize) -> Plan {
    let node = |number| NamespaceSpec { name: format!("node{number}"), forwarding: false };
    let link = |number: usize| {
        let a = number % namespaces;
        let b = (a + 1 + number / namespaces) % namespaces;
        LinkSpec { a: end(a, number, 0), b: end(b, number, 1), mtu: 1500 }
    };
    Plan {
        namespaces: (0..namespaces).map(node).collect(),
        links: (0..links).map(link).collect(),
        ..Plan::default()
    }
}

fn end(namespace: usize, link: usize, side: u8) -> EndSpec {
    let [.., high, low] = link.to_be_bytes();
    let gateway = Ipv4Addr::new(10, 0, 0, 1);
    EndSpec {
        namespace,
        interface: format!("p{link}-{side}"),
        mac: [2, 2, side, 0, high, low],
        address: Some((Ipv4Addr::new(10, 1 + side, high, low), 32)),
        neighbours: vec![(gateway, [2, 2, 1 - side, 0, high, low])],
        routes: if link < 12 && side == 0 {
            vec![RouteSpec {
                destination: Ipv4Addr::new(10, 0, 0, 0),
                prefix_len: 8,
                gateway: Some(gateway),
            }]
        } else {
            Vec::new()
        },
        ..EndSpec::default()
    }
}
