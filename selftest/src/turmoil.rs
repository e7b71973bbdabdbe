//! Tests of changes to namespaces, links and attachments under traffic.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use emulation::switch_settings::FIRST_INTERFACE;
use fabric_core::wire::LinkAddresses;
use linux::packet_socket::{Error as SendError, PacketSocket};
use nix::errno::Errno;
use switch_user::hook::XdpHook;
use switch_user::program::ByLink;

use super::bench::{Bench, Ended};
use super::hooks::is_attached;
use super::numbered::Numbered;
use super::rig::{
    FIRST_HOST_INTERFACE, HOSTS, Place, Rig, SWITCH, Sender, netns_verdict, program_verdict,
};
use super::verdict::Verdict;
use linux::bpf;

/// Number of times that namespaces are torn down.
const TEARDOWNS: u32 = 3;
/// Number of times that a link goes down and up again, and that a program is detached and attached.
const FLAPS: u32 = 10;
const ATTACHMENTS: u32 = 20;
/// Number of frames that must pass after the changes.
const AFTERWARDS: u32 = 64;
/// Time between two changes.
const PERIOD: Duration = Duration::from_millis(10);
/// Number of frames that a sender sends without a rest. Senders without rests keep processors from ending an RCU grace
/// period, which a namespace's removal waits for.
const BURST: u64 = 32;
/// Rest of a sender after a burst.
const REST: Duration = Duration::from_micros(100);
/// Max time until the kernel releases unused objects.
const LETTING_GO: Duration = Duration::from_secs(30);

/// A sender that does not check whether its frames arrive.
struct Traffic<'a> {
    /// Set to end the traffic.
    over: &'a AtomicBool,
    sent: &'a AtomicU64,
}

impl Traffic<'_> {
    /// Sends until the traffic ends. Returns the error if the interface is gone.
    fn send(&self, socket: &PacketSocket, addresses: &LinkAddresses) -> Option<i32> {
        let frame = Numbered::new(0, 1).frame(1, addresses, 0);
        while !self.over.load(Ordering::Relaxed) {
            match socket.send(FIRST_HOST_INTERFACE, &frame, 0) {
                Ok(()) => {
                    if self.sent.fetch_add(1, Ordering::Relaxed).is_multiple_of(BURST) {
                        thread::sleep(REST);
                    }
                }
                Err(SendError::Send { source, .. })
                    if matches!(
                        source.raw_os_error().map(Errno::from_raw),
                        Some(Errno::ENXIO | Errno::ENODEV)
                    ) =>
                {
                    return source.raw_os_error();
                }
                // The link is down for a moment, or has no room.
                Err(_) => thread::yield_now(),
            }
        }
        None
    }
}

/// Removes namespaces while frames cross them, together with their interfaces and programs.
pub fn teardown(bench: &mut Bench<'_>) -> Result<(), Ended> {
    for round in 1..=TEARDOWNS {
        let mut rig =
            bench.step("a switch between two hosts is set up", || Rig::new(Place::Native))?;
        if round == 1 {
            rig.ready(bench, "netns.teardown")?;
        }
        let (names, patience) = (rig.names(), bench.patience());
        let program = bench.step("the kernel says that the program is there", || {
            is_attached(&rig)?;
            let program = rig.program.arrival_info().map_err(|error| program_verdict(&error))?.id();
            if bpf::is_loaded(program) {
                return Ok(program);
            }
            let expected = format!("program {program} to be loaded");
            Err(Verdict::fail(expected, "no such program", "BPF_PROG_GET_FD_BY_ID"))
        })?;
        let (over, sent) = (AtomicBool::new(false), AtomicU64::new(0));
        bench.step("namespaces are removed under traffic", || {
            let addresses = rig.inbound();
            let Rig { sender, switch_sender, attachments, deployment, program, .. } = rig;
            let traffic = Traffic { over: &over, sent: &sent };
            let ended = thread::scope(|scope| {
                let sending = scope.spawn(|| traffic.send(&sender, &addresses));
                let flows =
                    patience.wait(super::rig::PATIENCE, || sent.load(Ordering::Relaxed) > 100);
                // The sender's own namespace stays as long as its socket; its link goes with the switch's namespace.
                drop(switch_sender);
                let removed = deployment.remove();
                let gone = patience.wait(LETTING_GO, || sending.is_finished());
                over.store(true, Ordering::Relaxed);
                let error = sending.join().expect("it does not panic");
                drop((attachments, program));
                Ok::<_, Verdict>((flows?, removed, gone?, error))
            });
            let (flows, removed, gone, error) = ended?;
            removed.map_err(|error| netns_verdict(&error))?;
            let place = names.join(" ");
            if !flows {
                return Err(Verdict::fail("traffic", "no frame was sent", place));
            }
            if !gone || error.is_none() {
                let got = format!("a link that is still there after {} s", LETTING_GO.as_secs());
                return Err(Verdict::fail("a link that goes with its namespace", got, place));
            }
            Ok(())
        })?;
        bench.look("their names are gone", || {
            let left: Vec<_> =
                names.iter().filter(|name| Path::new("/run/netns").join(name).exists()).collect();
            if left.is_empty() {
                return Ok(());
            }
            Err(Verdict::fail("no name", format!("{left:?}"), "/run/netns"))
        });
        bench.look("the program is unloaded", || {
            if patience.wait(LETTING_GO, || !bpf::is_loaded(program))? {
                return Ok(());
            }
            let got = format!("program {program} is loaded after {} s", LETTING_GO.as_secs());
            Err(Verdict::fail("a program that nobody uses to go", got, "BPF_PROG_GET_FD_BY_ID"))
        });
    }
    Ok(())
}

/// Takes links down and up again while frames cross them.
pub fn flap(bench: &mut Bench<'_>) -> Result<(), Ended> {
    let mut rig = bench.step("a switch between two hosts is set up", || Rig::new(Place::Native))?;
    rig.ready(bench, "link.flap")?;
    under_traffic(bench, &mut rig, "a link goes down and up under traffic", FLAPS, |rig| {
        let namespace = rig.deployment.namespace(SWITCH);
        let set =
            |up| namespace.set_link_up(FIRST_INTERFACE, up).map_err(|error| netns_verdict(&error));
        set(false)?;
        thread::sleep(PERIOD);
        set(true)
    })?;
    let patience = bench.patience();
    bench.step("the carrier is back", || {
        let place = rig.interface(HOSTS[0], "s0");
        let is_up = || {
            let state = rig.deployment.namespace(HOSTS[0]).link_state(FIRST_HOST_INTERFACE);
            state.is_ok_and(|state| state.has_carrier)
        };
        if patience.wait(super::rig::PATIENCE, is_up)? {
            return Ok(());
        }
        Err(rig.explain(Verdict::fail("a carrier", "none after 5 s", place)))
    })?;
    afterwards(bench, rig)
}

/// Detaches and attaches programs while frames arrive.
pub fn attach_and_detach(bench: &mut Bench<'_>) -> Result<(), Ended> {
    let mut rig = bench.step("a switch between two hosts is set up", || Rig::new(Place::Native))?;
    rig.ready(bench, "xdp.attach-detach")?;
    let name = "a program is detached and attached under traffic";
    under_traffic(bench, &mut rig, name, ATTACHMENTS, |rig| {
        let attachment = rig.attachments.remove(0);
        drop(attachment);
        let namespace = rig.deployment.namespace(SWITCH);
        let state = namespace.link_state(FIRST_INTERFACE).map_err(|error| netns_verdict(&error))?;
        if state.xdp_program != 0 {
            let got = format!("program {}", state.xdp_program);
            let place = rig.interface(SWITCH, "h0");
            return Err(Verdict::fail("no program after its link was closed", got, place));
        }
        thread::sleep(PERIOD / 5);
        let program = &mut rig.program;
        let attached = namespace
            .enter(|| program.attach_by_link(FIRST_INTERFACE, ByLink::Xdp(XdpHook::Native)));
        let attached = attached.map_err(|error| netns_verdict(&error))?;
        rig.attachments.insert(0, attached.map_err(|error| program_verdict(&error))?);
        Ok(())
    })?;
    afterwards(bench, rig)
}

/// Repeats a change while frames arrive, and checks that they did.
fn under_traffic(
    bench: &mut Bench<'_>,
    rig: &mut Rig,
    name: &str,
    times: u32,
    mut change: impl FnMut(&mut Rig) -> Result<(), Verdict>,
) -> Result<(), Ended> {
    let patience = bench.patience();
    let (over, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let addresses = rig.inbound();
    let opened = rig.deployment.namespace(HOSTS[0]).enter(PacketSocket::open);
    let socket = bench.step("a sender", || {
        opened.map_err(|error| netns_verdict(&error))?.map_err(|error| {
            Verdict::fail("an AF_PACKET socket", terminal::with_causes(&error), "socket()")
        })
    })?;
    bench.step(name, || {
        let traffic = Traffic { over: &over, sent: &sent };
        let mut taken = 0_u64;
        let done = thread::scope(|scope| {
            let sending = scope.spawn(|| traffic.send(&socket, &addresses));
            let mut work = || {
                for _ in 0..times {
                    patience.go_on()?;
                    change(rig)?;
                    thread::sleep(PERIOD);
                    while rig.take()?.is_some() {
                        taken += 1;
                    }
                }
                Ok(())
            };
            let done: Result<(), Verdict> = work();
            over.store(true, Ordering::Relaxed);
            let gone = sending.join().expect("it does not panic");
            done.map(|()| gone)
        });
        let place = rig.interface(SWITCH, "h0");
        if let Some(error) = done.map_err(|verdict| rig.explain(verdict))? {
            let got = std::io::Error::from_raw_os_error(error).to_string();
            return Err(Verdict::fail("an interface that stays", got, place));
        }
        if taken == 0 {
            let got = format!("no record of {} frames", sent.load(Ordering::Relaxed));
            return Err(rig.explain(Verdict::fail("traffic between the changes", got, place)));
        }
        Ok(())
    })
}

/// Checks that the program is attached and frames pass, as before.
fn afterwards(bench: &mut Bench<'_>, mut rig: Rig) -> Result<(), Ended> {
    let patience = bench.patience();
    bench.look("the kernel says that the program is there", || is_attached(&rig));
    let numbered = Numbered::new(bench.seed(), 1);
    let moved = bench.step("frames pass afterwards", || {
        while rig.take()?.is_some() {}
        rig.renew();
        rig.transfer(patience, &numbered, AFTERWARDS, Sender::Packet)
    })?;
    let way = format!("native XDP at {}, afterwards", rig.interface(SWITCH, "h0"));
    rig.judge(bench, &moved, &way);
    rig.keep();
    Ok(())
}
