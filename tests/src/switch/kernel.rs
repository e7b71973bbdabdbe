//! The switch as a loaded eBPF program under `BPF_PROG_TEST_RUN`.

use std::time::Duration;

use aya::programs::{TestRun, TestRunOptions};
use fabric_core::policy::Policy;
use fabric_core::record::Header;
use netns::{EndSpec, LinkSpec, NamespaceSpec, Plan};
use switch_user::hook::Hook;
use switch_user::program::SwitchProgram;
use switch_user::tables::{Capacity, SwitchTables};
use units::Nanos;

use super::{Arrival, FIRST_INTERFACE, PORTS};
use crate::command::guard;

/// The program's verdict on every frame at XDP.
const XDP_DROP: u32 = 1;
/// The program's verdict on every frame at TC.
const TC_ACT_STOLEN: u32 = 4;
/// Verdict of the auditor.
const TC_ACT_OK: u32 = 0;
/// The shortest packet that `BPF_PROG_TEST_RUN` takes whole at XDP: an Ethernet header.
const ETHERNET_HEADER: usize = 14;

/// Interfaces beyond the ports: where more switches are attached than one has ports.
const SPARE_INTERFACES: u32 = 20;

/// Runs `work` in a namespace whose interfaces 2 to 5 are the ports of a switch, on a separate thread.
pub fn in_namespace<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let end = |port: u32| EndSpec {
        interface: format!("p{port}"),
        index: Some(FIRST_INTERFACE + port),
        mac: [2, 2, 0, 0, 0, port as u8],
        ..EndSpec::default()
    };
    let link = |port| LinkSpec { a: end(port), b: end(port + 1), mtu: 1500 };
    let plan = Plan {
        namespaces: vec![NamespaceSpec { name: "switch".to_owned(), forwarding: false }],
        links: (0..PORTS + SPARE_INTERFACES).step_by(2).map(link).collect(),
        ..Plan::default()
    };
    guard();
    let deployment = netns::deploy(&plan)
        .unwrap_or_else(|error| panic!("tests of the eBPF program need root: {error}"));
    deployment.namespace(0).enter(work).expect("the namespace can be entered")
}

/// Run time of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestRunTime {
    /// Mean of the repetitions, as the kernel measured it.
    pub mean: Duration,
}

/// A loaded switch and its tables in mapped memory.
pub struct KernelSwitch {
    hook: Hook,
    program: SwitchProgram,
    tables: SwitchTables,
}

impl KernelSwitch {
    /// Loads a switch whose ports use `hook`; `ring_bytes` replaces the size of its ring.
    pub fn load(capacity: Capacity, policy: Policy, hook: Hook, ring_bytes: Option<u32>) -> Self {
        let (program, tables) = SwitchProgram::load(&[capacity], policy, hook, ring_bytes)
            .unwrap_or_else(|error| panic!("tests of the eBPF program need root: {error}"))
            .pop()
            .expect("one switch was asked for");
        Self { hook, program, tables }
    }

    /// Instructions that the verifier has followed to accept the arrival program.
    pub fn verified_instructions(&mut self) -> u32 {
        self.program.verified_instructions().expect("kernels from 5.16 on say so")
    }

    /// Attaches the programs to a port. Repeated test runs are then spared a grace period each: the
    /// kernel calls an XDP program that is attached anywhere through its dispatcher already.
    pub fn attach(&mut self, port: u32) -> Result<(), String> {
        self.program.attach(FIRST_INTERFACE + port).map_err(|error| error.to_string())
    }

    /// The switch's tables.
    pub fn tables(&self) -> &SwitchTables {
        &self.tables
    }

    /// The switch's tables, mutable.
    pub fn tables_mut(&mut self) -> &mut SwitchTables {
        &mut self.tables
    }

    /// Runs the program on `frame` as if it came in at `port`. Each of the `repeat` runs starts from the frame that the
    /// previous run left. XDP takes a frame shorter than an Ethernet header since Linux 6.18.
    pub fn run(&mut self, port: u32, frame: &[u8], repeat: u32) -> Result<TestRunTime, String> {
        let length = frame.len() as u32;
        let interface = FIRST_INTERFACE.wrapping_add(port);
        let (context, taken) = match self.hook {
            // `struct xdp_md`: data, data_end, data_meta, ingress_ifindex, rx_queue_index.
            Hook::Xdp | Hook::XdpGeneric => (words([0, length, 0, interface, 0]), XDP_DROP),
            Hook::Tc => (skb_words(0, interface), TC_ACT_STOLEN),
        };
        // What exceeds `data_end` becomes a fragment, which this program does not see.
        let mut padded = [0; ETHERNET_HEADER];
        let bytes = match padded.get_mut(..frame.len()) {
            Some(start) => {
                start.copy_from_slice(frame);
                &padded
            }
            None => frame,
        };
        let options = TestRunOptions {
            data_in: Some(bytes),
            ctx_in: Some(&context),
            repeat,
            ..TestRunOptions::default()
        };
        let result = self
            .program
            .run_arrival(options)
            .map_err(|error| format!("{length} bytes at interface {interface}: {error:?}"))?;
        if result.return_value != taken {
            return Err(format!("the program returned {}", result.return_value));
        }
        Ok(TestRunTime { mean: result.duration })
    }

    /// Removes one frame's records from the ring; `None` if the ring is empty.
    pub fn take(&mut self) -> Result<Option<Arrival>, String> {
        let (mut queued, mut control) = (None, Vec::new());
        let copy = |header: &Header, bytes: &[u8]| (*header, bytes.to_vec());
        let records = self
            .program
            .take_records(
                |header, bytes| queued = Some(copy(header, bytes)),
                |header, _, bytes| control.push(copy(header, bytes)),
            )
            .map_err(|error| error.to_string())?;
        Ok(records.map(|records| Arrival {
            outcome: records.outcome,
            port: records.port,
            time_ns: records.time_ns,
            queued,
            control,
        }))
    }

    /// Hands a frame to the program and removes its records from the ring.
    pub fn arrive(&mut self, port: u32, now: Nanos, frame: &[u8]) -> Result<Arrival, String> {
        self.program.set_clock(now);
        self.run(port, frame, 1)?;
        let arrival = self.take()?.ok_or("the frame left no record")?;
        match self.take()? {
            None => Ok(arrival),
            Some(second) => Err(format!("one frame left two records: {arrival:?}, {second:?}")),
        }
    }

    /// Shows the auditor a frame that leaves `port`, its transmission having begun at `started`.
    pub fn audit(
        &mut self,
        port: u32,
        now: Nanos,
        started: Nanos,
        frame: &[u8],
    ) -> Result<(), String> {
        self.program.set_clock(now);
        let interface = FIRST_INTERFACE.wrapping_add(port);
        let context = skb_words(started.0 as u32, interface);
        let options = TestRunOptions {
            data_in: Some(frame),
            ctx_in: Some(&context),
            ..TestRunOptions::default()
        };
        let program = self.program.auditor().map_err(|error| error.to_string())?;
        let result = program.test_run(options).map_err(|error| format!("{error:?}"))?;
        if result.return_value != TC_ACT_OK {
            return Err(format!("the auditor returned {}", result.return_value));
        }
        Ok(())
    }
}

/// `struct __sk_buff` up to `ifindex`; the third word is `mark`.
fn skb_words(mark: u32, interface: u32) -> Vec<u8> {
    words([0, 0, mark, 0, 0, 0, 0, 0, 0, 0, interface])
}

/// The words of a context as the kernel reads them.
fn words<const N: usize>(words: [u32; N]) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_ne_bytes).collect()
}
