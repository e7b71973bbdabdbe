//! Fabrics in the kernel, as `netns` makes and removes them. Needs root, `ip` and `ping`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, UdpSocket};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use fabric_core::wire::roce::RocePacket;
use fabric_core::wire::{Ecn, LinkAddresses, Opcode, Psn, RemainingSize};
use netns::{
    Deployment, EndSpec, Error, FabricId, LinkKind, LinkSpec, NamespaceSpec, Owner, Plan, Process,
    RouteSpec,
};

const HOSTS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 1, 1), Ipv4Addr::new(10, 0, 1, 2)];
/// Makes the test executable deploy a fabric, print its name and wait to be killed.
const CHILD: &str = "XOFF_TEST_DEPLOY_AND_WAIT";

fn mac(host: usize) -> [u8; 6] {
    [2, 1, 0, 0, 0, [0, 1][host]]
}

/// Two hosts and one cable.
fn two_hosts() -> Plan {
    let node = |name: &str| NamespaceSpec { name: name.to_owned(), forwarding: false };
    let end = |host: usize| EndSpec {
        namespace: host,
        interface: format!("eth{host}"),
        index: (host == 0).then_some(77),
        mac: mac(host),
        address: Some((HOSTS[host], 8)),
        neighbours: vec![(HOSTS[1 - host], mac(1 - host))],
        routes: Vec::new(),
    };
    Plan {
        namespaces: vec![node("host0"), node("host1")],
        links: vec![LinkSpec { a: end(0), b: end(1), mtu: 1600 }],
        ..Plan::default()
    }
}

fn deploy(plan: &Plan) -> Deployment {
    netns::deploy(plan).unwrap_or_else(|error| panic!("these tests need root: {error}"))
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("this test needs the program {program}: {error}"));
    assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("these programs print ASCII")
}

fn own_namespace() -> PathBuf {
    fs::read_link("/proc/thread-self/ns/net").expect("/proc is mounted")
}

/// Traces of `fabric` visible from outside: files in `/run/netns`, mounts, and its lock.
fn traces(fabric: FabricId) -> Vec<String> {
    let prefix = fabric.namespace_name("");
    let files = fs::read_dir("/run/netns")
        .expect("`deploy` made it")
        .map(|entry| entry.expect("readable").file_name().into_string().expect("ASCII names"));
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("/proc is mounted");
    let mut traces: Vec<_> = files.filter(|name| name.starts_with(&prefix)).collect();
    traces.extend(mounts.lines().filter(|line| line.contains(&prefix)).map(str::to_owned));
    let lock = format!("/run/xoff/{fabric}.lock");
    traces.extend(Path::new(&lock).exists().then_some(lock));
    traces
}

fn assert_ping(deployment: &Deployment) {
    let to = HOSTS[1].to_string();
    deployment
        .namespace(0)
        .enter(|| run("ping", &["-n", "-c", "1", "-W", "2", &to]))
        .expect("the namespace can be entered");
}

#[test]
fn hosts_reach_each_other_through_a_cable() {
    let deployment = deploy(&two_hosts());
    assert_ping(&deployment);
    let [a, b] = [0, 1].map(|host| {
        deployment
            .namespace(host)
            .enter(|| UdpSocket::bind((HOSTS[host], 4791)).expect("the address is the host's"))
            .expect("the namespace can be entered")
    });
    a.send_to(b"over the wire", (HOSTS[1], 4791)).expect("the neighbour is known");
    let mut buffer = [0; 64];
    let (len, from) = b.recv_from(&mut buffer).expect("the datagram arrives");
    assert_eq!((&buffer[..len], from.ip()), (&b"over the wire"[..], HOSTS[0].into()));
}

#[test]
fn interfaces_are_as_planned_and_silent() {
    let deployment = deploy(&two_hosts());
    assert_eq!(deployment.interface_indexes(0), [77, 2]);
    let namespace = deployment.namespace(0);
    assert_eq!(namespace.name(), deployment.fabric().namespace_name("host0"));
    let link = run("ip", &["netns", "exec", namespace.name(), "ip", "-d", "-o", "link"]);
    let (loopback, cable) = link.split_once('\n').expect("two interfaces");
    assert!(loopback.contains("lo: <LOOPBACK,UP,LOWER_UP>"), "{loopback}");
    assert!(cable.starts_with("77: eth0@"), "{cable}");
    for part in ["NOARP", ",UP,LOWER_UP", "mtu 1600", "qdisc noqueue", "02:01:00:00:00:00"] {
        assert!(cable.contains(part), "{part} is not in {cable}");
    }
    assert!(cable.contains("numtxqueues 1 ") && cable.contains("numrxqueues 1 "), "{cable}");
    let (inet6, forward, filter, device) = namespace
        .enter(|| {
            [
                "/proc/thread-self/net/if_inet6",
                "/proc/sys/net/ipv4/ip_forward",
                "/proc/sys/net/ipv4/conf/eth0/rp_filter",
                "/proc/thread-self/net/dev",
            ]
            .map(|path| fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}")))
            .into()
        })
        .expect("the namespace can be entered");
    assert_eq!((inet6.as_str(), forward.trim(), filter.trim()), ("", "0", "0"));
    let counters = device.lines().find(|line| line.contains("eth0:")).expect("eth0 is listed");
    let sums: u64 =
        counters.split_whitespace().skip(1).map(|c| c.parse::<u64>().expect("u64")).sum();
    assert_eq!(sums, 0, "an idle wire carries nothing: {counters}");
}

#[test]
fn tap_devices_are_as_planned_and_receive_what_is_delivered() {
    let mut deployment = deploy(&Plan { link_kind: LinkKind::Tap, ..two_hosts() });
    let fabric = deployment.fabric();
    let name = deployment.namespace(0).name();
    let link = run("ip", &["netns", "exec", name, "ip", "-d", "-o", "link", "show", "eth0"]);
    assert!(link.starts_with("77: eth0: "), "{link}");
    for part in ["NOARP", ",UP,LOWER_UP", "mtu 1600", "qdisc noqueue", "02:01:00:00:00:00", "tap"] {
        assert!(link.contains(part), "{part} is not in {link}");
    }
    let taps = deployment.take_taps();
    let socket = deployment
        .namespace(1)
        .enter(|| UdpSocket::bind((HOSTS[1], 4791)).expect("the address is the host's"))
        .expect("the namespace can be entered");
    let packet = RocePacket {
        source: HOSTS[0].to_bits(),
        destination: HOSTS[1].to_bits(),
        source_port: 49_152,
        dscp: 48,
        ecn: Ecn::NotCapable,
        ttl: 64,
        opcode: Opcode::Cnp,
        ack_request: false,
        congestion_echo: false,
        destination_qp: 2,
        psn: Psn::default(),
        reth: None,
        aeth: None,
        telemetry: None,
        payload_length: 0,
        remaining: RemainingSize::UNKNOWN,
    };
    let mut frame = vec![0; packet.frame_length()];
    let addresses = LinkAddresses { source: mac(0), destination: mac(1) };
    packet.emit(&addresses, &mut frame).expect("its fields are in range");
    taps[0][1].deliver(&frame).expect("the interface is up");
    let mut buffer = [0; 64];
    let (len, from) = socket.recv_from(&mut buffer).expect("the datagram arrives");
    assert_eq!((&buffer[..len], from.ip()), (&frame[42..], HOSTS[0].into()));
    drop((deployment, taps));
    assert_eq!(traces(fabric), [""; 0]);
}

#[test]
fn routes_lead_through_gateways_off_the_subnet() {
    let mut plan = two_hosts();
    let LinkSpec { a, b, .. } = &mut plan.links[0];
    for (end, host) in [(a, 0), (b, 1)] {
        let gateway = Ipv4Addr::new(169, 254, 0, 1);
        end.address = Some((HOSTS[host], 32));
        end.neighbours = vec![(gateway, mac(1 - host))];
        end.routes = vec![RouteSpec {
            destination: Ipv4Addr::new(10, 0, 0, 0),
            prefix_len: 8,
            gateway: Some(gateway),
        }];
    }
    assert_ping(&deploy(&plan));
}

#[test]
fn the_caller_and_the_host_keep_what_they_have() {
    let links = || run("ip", &["-o", "link"]);
    let (namespace, interfaces) = (own_namespace(), links());
    let deployment = deploy(&two_hosts());
    let inside = deployment.namespace(0).enter(own_namespace).expect("can be entered");
    assert_ne!(inside, namespace);
    let panicked = panic::catch_unwind(AssertUnwindSafe(|| {
        deployment.namespace(0).enter(|| panic!("inside"))
    }));
    assert_eq!(panicked.expect_err("panics go on").downcast_ref(), Some(&"inside"));
    assert_eq!((own_namespace(), links()), (namespace.clone(), interfaces.clone()));
    drop(deployment);
    assert_eq!((own_namespace(), links()), (namespace, interfaces));
}

#[test]
fn dropping_removes_everything() {
    let deployment = deploy(&two_hosts());
    let fabric = deployment.fabric();
    // Two files, two mounts, one lock.
    assert_eq!(traces(fabric).len(), 5, "{:?}", traces(fabric));
    drop(deployment);
    assert_eq!(traces(fabric), [""; 0]);
}

#[test]
fn removing_bears_what_is_gone_already() {
    let deployment = deploy(&two_hosts());
    let fabric = deployment.fabric();
    run("ip", &["netns", "delete", deployment.namespace(0).name()]);
    run("umount", &["--lazy", deployment.namespace(1).path().to_str().expect("ASCII")]);
    deployment.remove().expect("nothing is left to fail");
    assert_eq!(traces(fabric), [""; 0]);
}

#[test]
fn a_failed_deployment_leaves_nothing() {
    let mut plan = two_hosts();
    let twice = plan.links[0].b.neighbours[0];
    plan.links[0].b.neighbours.push(twice);
    let error = netns::deploy(&plan).expect_err("the kernel refuses a neighbour's second entry");
    let message = error.to_string();
    assert!(matches!(error, Error::Refused { .. }), "these tests need root: {message}");
    assert!(message.contains("host1/eth1 the neighbour 10.0.1.1"), "{message}");
    let name = message.split_whitespace().find_map(|word| word.split_once('/')).expect("a name").0;
    let fabric = FabricId::from_namespace(name).expect("a fabric's namespace");
    assert_eq!(traces(fabric), [""; 0]);
}

#[test]
fn a_wrong_plan_makes_nothing() {
    let mut plan = two_hosts();
    plan.links[0].a.interface = "a/b".to_owned();
    assert!(matches!(netns::deploy(&plan), Err(Error::Plan(_))));
}

#[test]
fn fabrics_deployed_at_once_do_not_meet() {
    let fabrics = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| deploy(&two_hosts()))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("every deployment succeeds"))
            .collect::<Vec<_>>()
    });
    fabrics.iter().for_each(assert_ping);
    let names: BTreeSet<_> = fabrics.iter().map(Deployment::fabric).collect();
    assert_eq!(names.len(), fabrics.len());
}

#[test]
fn only_fabrics_of_killed_processes_are_abandoned() {
    if std::env::var_os(CHILD).is_some() {
        deploy_and_wait();
    }
    let own = deploy(&two_hosts());
    let (mut dead, abandoned) = deploying_child();
    let (mut killed_next, abandoned_next) = deploying_child();
    let owner = |fabric| {
        let statuses = netns::list().expect("root may list");
        statuses.into_iter().find(|status| status.fabric == fabric).map(|status| status.owner)
    };
    let of_dead = Owner::Living(Some(Process::new(dead.id())));
    assert_eq!(owner(abandoned), Some(of_dead));
    let refused = netns::destroy(abandoned).expect_err("its owner lives").to_string();
    assert!(refused.contains(&dead.id().to_string()), "{refused}");

    kill(&mut dead);
    assert_eq!(owner(abandoned), Some(Owner::Gone));
    run("umount", &["--lazy", &format!("/run/netns/{}", abandoned.namespace_name("host0"))]);
    netns::destroy(abandoned).expect("nobody owns it");
    assert_eq!(traces(abandoned), [""; 0]);
    assert!(matches!(netns::destroy(abandoned), Err(Error::NoSuchFabric { .. })));

    let report = netns::destroy_abandoned().expect("root may destroy");
    let living: Vec<_> = report.living.iter().map(|status| status.fabric).collect();
    assert!(living.contains(&own.fabric()) && living.contains(&abandoned_next), "{report:?}");
    kill(&mut killed_next);
    fs::remove_file(format!("/run/xoff/{abandoned_next}.lock")).expect("a kill leaves the lock");
    assert_eq!(owner(abandoned_next), Some(Owner::Gone), "found by its namespaces alone");
    netns::destroy_abandoned().expect("root may destroy");
    assert_eq!(traces(abandoned_next), [""; 0]);
    assert_ping(&own);
}

fn deploy_and_wait() -> ! {
    let deployment = deploy(&two_hosts());
    println!("\nfabric={}", deployment.fabric());
    loop {
        thread::park();
    }
}

/// Starts this executable again as a process that owns a fabric.
fn deploying_child() -> (Child, FabricId) {
    let mut child = Command::new(std::env::current_exe().expect("the test has a file"))
        .args(["--exact", "netns::only_fabrics_of_killed_processes_are_abandoned", "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test can start itself");
    let output = BufReader::new(child.stdout.take().expect("piped"));
    let fabric = output
        .lines()
        .find_map(|line| line.expect("text").strip_prefix("fabric=")?.parse().ok())
        .expect("the child deploys a fabric");
    (child, fabric)
}

fn kill(child: &mut Child) {
    child.kill().expect("SIGKILL reaches a child");
    child.wait().expect("a child can be waited for");
}
