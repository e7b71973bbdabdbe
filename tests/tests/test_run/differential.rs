//! The eBPF program compared with the native functions: any configuration, any state, any sequence of frames and
//! departures; after each step outputs and states of both must be equal. Needs root.
//!
//! `XOFF_CASES` replaces the number of cases. A failing case is shrunk and its seed kept in
//! `proptest-regressions/`, which later runs try first.

use std::cell::RefCell;
use std::collections::BTreeMap;

use fabric_core::arrival::Outcome;
use fabric_core::departure::{Departure, Fate};
use fabric_core::drop_reason::{DropClass, DropReason};
use fabric_core::hop_control::{HopControl, Order, PauseLevel};
use proptest::test_runner::TestCaseError;
use tests::generated;
use tests::switch::case::{Action, Case, Step, cases, policies};
use tests::switch::{Arrival, Twins, in_namespace};
use units::Nanos;

const CASES: u32 = 40_000;
const REGRESSIONS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/differential.txt");

/// Events in the cases so far, which prove that the cases are not trivial.
#[derive(Clone, Debug, Default)]
struct Met {
    queued: u64,
    marked_at_enqueue: u64,
    marked_at_dequeue: u64,
    pauses: u64,
    port_pauses: u64,
    resumes: u64,
    port_resumes: u64,
    queue_pauses: u64,
    queue_resumes: u64,
    pauses_received: u64,
    queue_pauses_received: u64,
    flow_pauses: u64,
    flow_resumes: u64,
    flow_pauses_received: u64,
    requeued: u64,
    link_delays: u64,
    violations: u64,
    dropped: BTreeMap<DropReason, u64>,
}

impl Met {
    fn arrival(&mut self, arrival: &Arrival) {
        match arrival.outcome {
            Outcome::Queued(queued) => {
                self.queued += 1;
                self.marked_at_enqueue += u64::from(queued.marked);
                let orders = arrival.orders();
                self.pauses += count(&orders, |_| true);
                self.port_pauses += count(&orders, of_port);
                self.queue_pauses += count(&orders, of_queue);
                self.flow_pauses += count(&orders, of_flows);
            }
            Outcome::ControlReceived(HopControl::Classes(_)) => self.pauses_received += 1,
            Outcome::ControlReceived(HopControl::Flows { .. }) => self.flow_pauses_received += 1,
            Outcome::ControlReceived(_) => self.queue_pauses_received += 1,
            Outcome::LinkDelayReceived => self.link_delays += 1,
            Outcome::Dropped(reason) => *self.dropped.entry(reason).or_default() += 1,
        }
    }

    fn departure(&mut self, departure: &Departure, orders: &[Order]) {
        if let Fate::Dropped(reason) = departure.fate {
            *self.dropped.entry(reason).or_default() += 1;
        }
        self.requeued += u64::from(matches!(departure.fate, Fate::Requeued(_)));
        self.marked_at_dequeue += u64::from(departure.fate == Fate::Sent { mark: true });
        self.resumes += count(orders, |_| true);
        self.port_resumes += count(orders, of_port);
        self.queue_resumes += count(orders, of_queue);
        self.flow_resumes += count(orders, of_flows);
    }

    /// Counts that are too small for as many cases as there are by default.
    fn check(&self) {
        let counts = [
            ("queued", self.queued),
            ("marked at enqueue", self.marked_at_enqueue),
            ("marked at dequeue", self.marked_at_dequeue),
            ("pauses", self.pauses),
            ("port-level pauses", self.port_pauses),
            ("resumes", self.resumes),
            ("port-level resumes", self.port_resumes),
            ("pauses of single queues", self.queue_pauses),
            ("resumes of single queues", self.queue_resumes),
            ("pauses received", self.pauses_received),
            ("pauses of single queues received", self.queue_pauses_received),
            ("pauses of flows", self.flow_pauses),
            ("resumes of flows", self.flow_resumes),
            ("pauses of flows received", self.flow_pauses_received),
            ("moved to another queue", self.requeued),
            ("link delay frames", self.link_delays),
            ("violations", self.violations),
        ];
        let of_drops = DropReason::ALL.iter().map(|reason| {
            let count = self.dropped.get(reason).copied().unwrap_or(0);
            // Service pools and SONiC's pools are in memory only.
            let elsewhere = matches!(reason.class(), DropClass::Substrate | DropClass::Injected)
                || *reason == DropReason::EgressPoolExhausted;
            (reason.name(), if elsewhere { u64::MAX } else { count })
        });
        for (what, count) in counts.into_iter().chain(of_drops) {
            assert!(count >= 50, "the cases met \"{what}\" {count} times: {self:?}");
        }
    }
}

fn count(orders: &[Order], of_interest: impl Fn(&Order) -> bool) -> u64 {
    orders.iter().filter(|order| of_interest(order)).count() as u64
}

fn of_port(order: &Order) -> bool {
    order.level == PauseLevel::Port
}

fn of_queue(order: &Order) -> bool {
    matches!(order.control, HopControl::Queue { .. })
}

fn of_flows(order: &Order) -> bool {
    matches!(order.control, HopControl::Flows { .. })
}

fn run(twins: &mut Twins, case: &Case, met: &mut Met) -> Result<(), String> {
    twins.reset(&case.state);
    twins.check_tables()?;
    let mut now = case.start;
    let mut held = Vec::new();
    for (number, Step { wait, action }) in case.steps.iter().enumerate() {
        now += wait;
        let at = |error| format!("step {number}, at {now} ns: {error}");
        match action {
            Action::Arrive { port, frame } => {
                let arrival = twins.arrive(*port, Nanos(now), frame).map_err(at)?;
                met.arrival(&arrival);
                if let Outcome::Queued(queued) = arrival.outcome {
                    held.push(queued.slot);
                }
            }
            Action::Depart(_) if held.is_empty() => {}
            Action::Depart(index) => {
                let slot = held.swap_remove(index.index(held.len()));
                let departure = twins.depart(slot, Nanos(now)).map_err(at)?;
                let departure = departure.ok_or_else(|| at("an empty slot".to_owned()))?;
                met.departure(&departure.0, &departure.1);
                if matches!(departure.0.fate, Fate::Requeued(_)) {
                    held.push(slot);
                }
            }
            Action::DepartSlot(slot) => {
                if twins.depart(*slot, Nanos(now)).map_err(at)?.is_some() {
                    held.retain(|other| other != slot);
                }
            }
            Action::Audit { port, age, frame } => {
                let started = Nanos(now.saturating_sub(u64::from(*age)));
                twins.audit(*port, Nanos(now), started, frame).map_err(at)?;
            }
            Action::UpdateLossy => twins.update_lossy(Nanos(now)).map_err(at)?,
            Action::Observe(policy) => twins.observe(*policy, Nanos(now)).map_err(at)?,
        }
    }
    met.violations += twins.native.tables().violations();
    Ok(())
}

#[test]
fn both_switches_agree() {
    let count = generated::count(CASES);
    in_namespace(|| {
        let twins: Vec<_> =
            policies().into_iter().map(|policy| RefCell::new(Twins::load(policy))).collect();
        let met = RefCell::new(Met::default());
        generated::check(REGRESSIONS, count, &cases(), |case| {
            let (mut twins, mut met) = (twins[case.policy].borrow_mut(), met.borrow_mut());
            run(&mut twins, &case, &mut met).map_err(TestCaseError::fail)
        });
        println!("{:?}", met.borrow());
        if count >= CASES {
            met.borrow().check();
        }
    });
}
