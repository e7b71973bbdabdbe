//! Creation of a plan's namespaces, links and interfaces in order, and the owner of the result.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::panic;
use std::thread;
use std::time::Duration;

use linux::tap::Tap;

use crate::error::Error;
use crate::fabric::{FabricId, FabricLock};
use crate::namespace::{self, Namespace};
use crate::offload;
use crate::plan::{EndSpec, LinkKind, NamespaceSpec, Plan, StackSpec};
use crate::privilege;
use crate::request::{AskState, BirthOfEnd, Configure, MakeLink, Step};
use crate::route_socket::RouteSocket;
use crate::run_directory;
use crate::settings;

/// Maximum number of checks of an interface without a carrier. Linkwatch runs at least once a second, and may be late
/// on a loaded machine.
const CARRIER_ATTEMPTS: u32 = 5000;
/// Capacity of a stack's transmit queue in frames, until the owner reads them. Further frames are dropped, as by a NIC
/// with a full ring. The kernel's default for an Ethernet interface.
const STACK_QUEUE: u32 = 1000;
/// Time between checks.
const CARRIER_INTERVAL: Duration = Duration::from_millis(1);

/// A deployed fabric. Dropping it removes everything that it created, except namespaces that other processes keep, such
/// as a shell that runs inside one.
///
/// A binary that must clean up on Ctrl-C has to turn the signal into an orderly return.
#[derive(Debug)]
pub struct Deployment {
    /// Ends by link, if links are tap devices. Declared first, because each keeps its namespace alive.
    taps: Vec<[Tap; 2]>,
    /// Interfaces by stack.
    stacks: Vec<Tap>,
    /// Declared before `lock`: the fabric keeps its lock until its namespaces are removed.
    namespaces: Vec<Namespace>,
    interface_indexes: Vec<[u32; 2]>,
    lock: FabricLock,
}

/// Creates everything in `plan`, or nothing.
///
/// Namespaces are named `xoff-<id>-<node>`, so that `ip netns exec xoff-3f9a-leaf0 ...` works.
/// Every interface comes up without IPv6, ARP, offloads and queueing discipline, with one queue in
/// each direction.
///
/// # Errors
/// [`Error::Plan`] and [`Error::Privilege`] before anything is made; any other error after all that
/// was made has been removed again.
pub fn deploy(plan: &Plan) -> Result<Deployment, Error> {
    plan.check()?;
    privilege::check()?;
    run_directory::prepare_namespaces()?;
    let mut deployment = Deployment {
        taps: Vec::new(),
        stacks: Vec::new(),
        namespaces: Vec::with_capacity(plan.namespaces.len()),
        interface_indexes: plan.interface_indexes(),
        lock: FabricLock::allocate()?,
    };
    on_own_thread(|| deployment.fill(plan))??;
    Ok(deployment)
}

impl Deployment {
    /// The fabric's identifier.
    pub fn fabric(&self) -> FabricId {
        self.lock.id()
    }

    /// The namespace at `position` in the plan.
    pub fn namespace(&self, position: usize) -> &Namespace {
        &self.namespaces[position]
    }

    /// All namespaces, in the plan's order.
    pub fn namespaces(&self) -> &[Namespace] {
        &self.namespaces
    }

    /// Returns the interface indexes of ends `a` and `b` of the link at `position` in the plan.
    pub fn interface_indexes(&self, position: usize) -> [u32; 2] {
        self.interface_indexes[position]
    }

    /// Takes the ends `a` and `b` of all links, in the plan's order; empty if links are veth pairs.
    ///
    /// A tap keeps its namespace alive, so the namespaces are removed only when all taps are dropped.
    pub fn take_taps(&mut self) -> Vec<[Tap; 2]> {
        std::mem::take(&mut self.taps)
    }

    /// Takes the interfaces of stacks, in the plan's order. They keep their namespaces alive, as taps of links do.
    pub fn take_stacks(&mut self) -> Vec<Tap> {
        std::mem::take(&mut self.stacks)
    }

    /// Removes everything, as dropping does, and reports failures.
    ///
    /// # Errors
    /// The first failure; the rest is removed nevertheless.
    pub fn remove(mut self) -> Result<(), Error> {
        self.namespaces.drain(..).map(Namespace::remove).fold(Ok(()), Result::and)
    }

    /// Creates and configures everything. Runs on a thread that ends afterwards, because it leaves its namespace.
    fn fill(&mut self, plan: &Plan) -> Result<(), Error> {
        for spec in &plan.namespaces {
            self.make_namespace(spec)?;
        }
        let mut ends = vec![Vec::new(); self.namespaces.len()];
        for (link, indexes) in plan.links.iter().zip(&self.interface_indexes) {
            for (spec, &index) in link.ends().into_iter().zip(indexes) {
                ends[spec.namespace].push(End { spec, index, mtu: link.mtu });
            }
        }
        match plan.link_kind {
            LinkKind::Veth => self.make_links(plan)?,
            LinkKind::Tap => self.make_taps(plan, &ends)?,
        }
        for (namespace, ends) in self.namespaces.iter().zip(&ends) {
            configure(namespace, ends, plan.link_kind)?;
        }
        for stack in &plan.stacks {
            self.make_stack(stack)?;
        }
        // A tap device has its carrier from the beginning.
        if plan.link_kind == LinkKind::Tap {
            return Ok(());
        }
        for (namespace, ends) in self.namespaces.iter().zip(&ends) {
            await_carriers(namespace, ends)?;
        }
        Ok(())
    }

    fn make_namespace(&mut self, spec: &NamespaceSpec) -> Result<(), Error> {
        let namespace = Namespace::make_and_enter(self.lock.id().namespace_name(&spec.name))?;
        settings::write(spec.forwarding).map_err(|(path, source)| {
            Error::namespace(namespace.name(), format!("write {path}"), source)
        })?;
        self.namespaces.push(namespace);
        Ok(())
    }

    /// Creates links from a namespace without a name and without interfaces. Older kernels look up the first end's name
    /// and index in the namespace of the request, and would find interfaces of another fabric there.
    fn make_links(&self, plan: &Plan) -> Result<(), Error> {
        if plan.links.is_empty() {
            return Ok(());
        }
        let workshop = "(temporary)";
        namespace::unshare_network()
            .map_err(|source| Error::namespace(workshop, "make it", source))?;
        let mut socket = open_socket(workshop)?;
        let birth = |spec, index| -> BirthOfEnd<'_> {
            let spec: &EndSpec = spec;
            let namespace = &self.namespaces[spec.namespace];
            let namespace_fd = namespace.as_fd().as_raw_fd();
            BirthOfEnd { spec, index, namespace: namespace.name(), namespace_fd }
        };
        let requests: Vec<_> = plan
            .links
            .iter()
            .zip(&self.interface_indexes)
            .map(|(link, &[a, b])| MakeLink {
                ends: [birth(&link.a, a), birth(&link.b, b)],
                mtu: link.mtu,
            })
            .collect();
        socket.execute(&requests)
    }

    fn make_stack(&mut self, StackSpec { end, mtu }: &StackSpec) -> Result<(), Error> {
        let namespace = &self.namespaces[end.namespace];
        let index = end.index.expect("the plan's check asks for it");
        namespace.enter_with_this_thread()?;
        self.stacks.push(make_tap(namespace, end, index)?);
        let finish = Step::FinishTap { end, index, mtu: *mtu, queue: STACK_QUEUE };
        let steps = [finish].into_iter().chain(Step::for_end(end, index));
        let requests: Vec<_> =
            steps.map(|step| Configure { namespace: namespace.name(), step }).collect();
        open_socket(namespace.name())?.execute(&requests)
    }

    /// Creates tap devices. `ends` has the ends of each namespace, in the plan's order.
    fn make_taps(&mut self, plan: &Plan, ends: &[Vec<End<'_>>]) -> Result<(), Error> {
        let mut taps = Vec::with_capacity(ends.len());
        for (namespace, ends) in self.namespaces.iter().zip(ends) {
            namespace.enter_with_this_thread()?;
            let make = |&End { spec, index, .. }: &End<'_>| make_tap(namespace, spec, index);
            taps.push(ends.iter().map(make).collect::<Result<Vec<_>, _>>()?.into_iter());
        }
        let mut next = |end: &EndSpec| taps[end.namespace].next().expect("each end has its tap");
        self.taps = plan.links.iter().map(|link| link.ends().map(&mut next)).collect();
        Ok(())
    }
}

/// Creates a tap device in the namespace of the calling thread.
fn make_tap(namespace: &Namespace, end: &EndSpec, index: u32) -> Result<Tap, Error> {
    Tap::make(&end.interface, index).map_err(|(step, source)| {
        let action = format!("make the tap device {}: {step}", end.interface);
        Error::namespace(namespace.name(), action, source)
    })
}

/// One end of a link in its namespace.
#[derive(Clone, Copy)]
struct End<'a> {
    spec: &'a EndSpec,
    index: u32,
    mtu: u32,
}

impl<'a> End<'a> {
    /// Returns the configuration steps of the end, once its interface exists.
    fn steps(self, kind: LinkKind) -> impl Iterator<Item = Step<'a>> {
        let Self { spec, index, mtu } = self;
        let finish =
            (kind == LinkKind::Tap).then_some(Step::FinishTap { end: spec, index, mtu, queue: 0 });
        finish.into_iter().chain(Step::for_end(spec, index))
    }
}

fn configure(namespace: &Namespace, ends: &[End<'_>], kind: LinkKind) -> Result<(), Error> {
    namespace.enter_with_this_thread()?;
    let mut socket = open_socket(namespace.name())?;
    // A tap device has offloads only on request.
    if kind == LinkKind::Veth {
        for End { spec, .. } in ends {
            offload::switch_off(&socket, &spec.interface).map_err(|(offload, source)| {
                let action = format!("switch off {offload} of {}", spec.interface);
                Error::namespace(namespace.name(), action, source)
            })?;
        }
    }
    let requests: Vec<_> = [Step::LoopbackUp]
        .into_iter()
        .chain(ends.iter().flat_map(|end| end.steps(kind)))
        .map(|step| Configure { namespace: namespace.name(), step })
        .collect();
    socket.execute(&requests)
}

/// Waits until every end can transmit.
///
/// The end of a pair that is brought up first gets its carrier with the second. The kernel then installs its queueing
/// discipline from a work queue (linkwatch), and silently drops all frames until then. Since Linux 6.8 querying the
/// state does that work at once.
fn await_carriers(namespace: &Namespace, ends: &[End<'_>]) -> Result<(), Error> {
    if ends.is_empty() {
        return Ok(());
    }
    namespace.enter_with_this_thread()?;
    let mut socket = open_socket(namespace.name())?;
    let requests: Vec<_> = ends
        .iter()
        .map(|&End { spec, index, .. }| AskState { namespace: namespace.name(), end: spec, index })
        .collect();
    for _ in 0..CARRIER_ATTEMPTS {
        let mut up = 0;
        socket.query(&requests, |answer| {
            up += usize::from(AskState::is_up(answer));
        })?;
        if up == ends.len() {
            return Ok(());
        }
        thread::sleep(CARRIER_INTERVAL);
    }
    let source = io::ErrorKind::TimedOut.into();
    Err(Error::namespace(namespace.name(), "get a carrier on all its interfaces", source))
}

fn open_socket(namespace: &str) -> Result<RouteSocket, Error> {
    RouteSocket::open()
        .map_err(|source| Error::namespace(namespace, "open a netlink socket in it", source))
}

/// Runs `work` on a thread that may enter any namespace; the calling thread does not change its namespace.
fn on_own_thread<R: Send>(work: impl FnOnce() -> R + Send) -> Result<R, Error> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, work).map_err(Error::Thread)?;
        Ok(thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
    })
}
