//! Settings of hosts from a scenario: NIC, transport, congestion control.

use fabric_core::map_abi::FIRST_HOST_ADDRESS;
use fabric_core::priority::{self, Priority};
use fabric_core::queue::{FLOW_QUEUES, QueueRanges, one_per_priority, one_per_priority_from};
use host_agent::congestion_control::{
    Algorithm, Fraction, Multiple, cubic, dcqcn, dctcp, hpcc, powertcp, rtt_target, timely,
};
use host_agent::{
    FirstRttMarks, HostConfig, Protocol, Reliability, SelectiveRepeat, WindowLimit, tcp,
};
use scenario::transport::{
    self, CongestionControl, Cubic, Dcqcn, Dctcp, FirstRttLimit, Hpcc, Notification, PowerTcp,
    RoceRc, RttTarget, Start, Timely, TimelyForm, Window, WindowSize,
};
use scenario::{AckPriority, Scenario, Transport};
use topology::HostId;
use units::{BitsPerSecond, Bytes, Picos};

use crate::path_groups::longest_base_rtt;
use crate::stations::station;
use crate::switch_settings;

/// Number of payloads in the initial window of a flow with slow start (RFC 6928).
const INITIAL_PAYLOADS: u64 = 10;

/// Settings that the hosts of a scenario have in common.
#[derive(Debug)]
pub struct HostSettings<'a> {
    scenario: &'a Scenario,
    /// Base round-trip times by transport; zero for transports that do not use them.
    base_rtts: Vec<Picos>,
}

impl<'a> HostSettings<'a> {
    /// The settings of `scenario`.
    pub fn of(scenario: &'a Scenario) -> Self {
        // The search takes longer the more racks there are, and most scenarios do not need it.
        let needed = |transport: &Transport| {
            let control = transport.congestion_control();
            transport.window().size == WindowSize::Bdp
                || transport.first_rtt().limit == FirstRttLimit::Auto
                || !matches!(
                    control,
                    CongestionControl::None
                        | CongestionControl::Cubic(_)
                        | CongestionControl::Dcqcn(_)
                        | CongestionControl::Timely(_)
                )
        };
        let base_rtt = |transport: &Transport| match transport.base_rtt() {
            Some(base_rtt) => base_rtt,
            None if needed(transport) => longest_base_rtt(scenario, transport),
            None => Picos::ZERO,
        };
        Self { scenario, base_rtts: scenario.transports().iter().map(base_rtt).collect() }
    }

    /// Configuration of a host's NIC.
    pub fn config(&self, host: HostId) -> HostConfig {
        let fabric = self.scenario.fabric();
        let settings = &self.scenario.host;
        let link_rate = self.link_rate(host);
        HostConfig {
            address: FIRST_HOST_ADDRESS + host.0,
            station: station(fabric, fabric.host_node(host), 0),
            link_rate,
            frame_time: self.scenario.frame_time(),
            frame_lengths: self.scenario.frames.lengths,
            payload: settings.payload.0.try_into().expect("a payload is at most 3072 bytes"),
            ack_priority: match settings.ack_priority {
                AckPriority::Data => None,
                AckPriority::Fixed(priority) => Some(Priority::new(priority)),
            },
            ack_queue: settings.ack_queue.map(Priority::new),
            cnp_priority: Priority::new(settings.cnp_priority),
            ack_interval: settings.ack_interval,
            retransmission_timeout: settings.retransmission_timeout,
            pause_response: settings.pause_response.at(link_rate),
            queues: self.queues(),
            names_queues: self.obeys_queue_pauses(),
            obeys_flow_pauses: self.scenario.switch.ofc().is_some() && settings.flow_pauses,
            obeys_rates: self.scenario.switch.tells_rates(),
            keeps_incast_queue: self.obeys_queue_pauses() && self.scenario.labels_incasts(),
            scheduler: match self.scenario.host.scheduler {
                scenario::NicScheduler::RoundRobin => host_agent::Scheduler::RoundRobin,
                scenario::NicScheduler::Strict => host_agent::Scheduler::Strict,
                scenario::NicScheduler::Srf => host_agent::Scheduler::ShortestRemaining,
            },
            tells_remaining: self.scenario.switch.scheduler == scenario::Scheduler::Srf,
        }
    }

    /// True if hosts pause single flow queues when switches pause these.
    fn obeys_queue_pauses(&self) -> bool {
        self.scenario.switch.pauses_queues() && self.scenario.host.queue_pauses
    }

    /// Transmit queues of a host: one per priority, or the queues of a switch.
    fn queues(&self) -> QueueRanges {
        if !self.obeys_queue_pauses() {
            return one_per_priority(None);
        }
        let spread = switch_settings::queues(self.scenario);
        let paused = self.scenario.switch.backpressure.map_or(0, |kind| kind.priorities().0);
        let mut queues = one_per_priority_from(FLOW_QUEUES, None);
        for priority in priority::of_mask(paused) {
            queues[priority.index()] = spread[priority.index()];
        }
        queues
    }

    /// Transports of a host, in the order in which flows name them.
    pub fn transports(&self, host: HostId) -> Vec<host_agent::Transport> {
        let link_rate = self.link_rate(host);
        let one = |(transport, base_rtt): (&Transport, &Picos)| {
            let of = TransportSettings { scenario: self.scenario, base_rtt: *base_rtt, link_rate };
            host_agent::Transport {
                protocol: protocol(transport),
                congestion_control: of.algorithm(transport.congestion_control()),
                telemetry_hops: transport.telemetry_hops(),
                window: of.window(transport.window()),
                window_overrun: transport.window().overrun,
                first_rtt: of.first_rtt(transport.first_rtt()),
            }
        };
        self.scenario.transports().iter().zip(&self.base_rtts).map(one).collect()
    }

    fn link_rate(&self, host: HostId) -> BitsPerSecond {
        let fabric = self.scenario.fabric();
        fabric.wire(fabric.host(host).ports[0]).rate
    }
}

/// One transport of a host.
struct TransportSettings<'a> {
    scenario: &'a Scenario,
    base_rtt: Picos,
    link_rate: BitsPerSecond,
}

impl TransportSettings<'_> {
    fn window(&self, window: Window) -> Option<WindowLimit> {
        let bytes = match window.size {
            WindowSize::Unlimited => return None,
            WindowSize::Bdp => self.bandwidth_delay(),
            WindowSize::Bytes(bytes) => bytes,
        };
        Some(WindowLimit { bytes, scales: window.scales })
    }

    fn first_rtt(&self, marks: transport::FirstRttMarks) -> FirstRttMarks {
        let limit = match marks.limit {
            FirstRttLimit::Off => Bytes(0),
            // On a path without delay, the first packet must still be allowed.
            FirstRttLimit::Auto => self.bandwidth_delay().max(Bytes(1)),
            FirstRttLimit::Bytes(bytes) => bytes,
        };
        FirstRttMarks { limit, acknowledgements: marks.acks }
    }

    fn algorithm(&self, control: &CongestionControl) -> Algorithm {
        match control {
            CongestionControl::None => Algorithm::LineRate,
            CongestionControl::Cubic(cubic) => Algorithm::Cubic(self.cubic(cubic)),
            CongestionControl::Dcqcn(dcqcn) => {
                Algorithm::Dcqcn(dcqcn_parameters(dcqcn, self.link_rate))
            }
            CongestionControl::Dctcp(dctcp) => Algorithm::Dctcp(self.dctcp(dctcp)),
            CongestionControl::Hpcc(hpcc) => Algorithm::Hpcc(self.hpcc(hpcc)),
            CongestionControl::PowerTcp(powertcp) => Algorithm::PowerTcp(self.powertcp(powertcp)),
            CongestionControl::RttTarget(target) => Algorithm::RttTarget(self.rtt_target(target)),
            CongestionControl::ThetaPowerTcp(powertcp) => {
                Algorithm::ThetaPowerTcp(self.powertcp(powertcp))
            }
            CongestionControl::Timely(timely) => {
                Algorithm::Timely(timely_parameters(timely, self.link_rate))
            }
        }
    }

    fn bandwidth_delay(&self) -> Bytes {
        self.link_rate.bytes_in(self.base_rtt)
    }

    /// Initial window of a flow with slow start.
    fn initial_window(&self, given: Option<Bytes>) -> Bytes {
        given.unwrap_or(Bytes(self.scenario.host.payload.0 * INITIAL_PAYLOADS))
    }

    fn cubic(&self, cubic: &Cubic) -> cubic::Parameters {
        cubic::Parameters {
            segment: self.scenario.host.payload,
            scaling: (cubic.c.numerator, cubic.c.denominator),
            decrease_millionths: cubic.beta.millionths,
            fast_convergence: cubic.fast_convergence,
            reno_friendly: cubic.reno_friendly,
            ecn: cubic.ecn,
            initial_window: self.initial_window(cubic.initial_window),
        }
    }

    fn dctcp(&self, dctcp: &Dctcp) -> dctcp::Parameters {
        let payload = self.scenario.host.payload;
        let minimum_window = dctcp.minimum_window.unwrap_or(payload);
        let (initial_window, maximum_window) = match dctcp.start {
            Start::LineRate => {
                let whole = self.bandwidth_delay().max(minimum_window);
                (whole, whole)
            }
            Start::SlowStart => {
                let first = self.initial_window(dctcp.initial_window).max(minimum_window);
                (first, Bytes(u64::MAX))
            }
        };
        dctcp::Parameters {
            gain: Fraction::from_ratio(dctcp.g.numerator, dctcp.g.denominator),
            initial_window,
            minimum_window,
            maximum_window,
            additive_increase: dctcp.additive_increase.unwrap_or(payload),
            slow_start: dctcp.start == Start::SlowStart,
            pacing: dctcp.pacing.then_some(self.base_rtt),
        }
    }

    fn hpcc(&self, hpcc: &Hpcc) -> hpcc::Parameters {
        let left = u64::from(1_000_000 - hpcc.utilisation.millionths);
        let usual = part_of(self.bandwidth_delay(), left, 100_000_000);
        hpcc::Parameters {
            base_rtt: self.base_rtt,
            utilisation: Multiple::from_millionths(hpcc.utilisation.millionths),
            stages: hpcc.max_stage,
            fast_reaction: hpcc.fast_reaction,
            additive_increase: hpcc.additive_increase.unwrap_or(usual),
            line_rate: self.link_rate,
            minimum_rate: hpcc.minimum_rate.min(self.link_rate),
        }
    }

    fn rtt_target(&self, of: &RttTarget) -> rtt_target::Parameters {
        let [numerator, denominator] = [of.target.numerator, of.target.denominator].map(u128::from);
        let target = u128::from(self.base_rtt.0) * numerator / denominator;
        let target = Picos(u64::try_from(target).unwrap_or(u64::MAX).max(1));
        rtt_target::Parameters {
            target,
            initial_window: of.initial_window.unwrap_or(self.bandwidth_delay()),
            maximum_window: of.maximum_window.unwrap_or(self.link_rate.bytes_in(target)),
        }
    }

    fn powertcp(&self, powertcp: &PowerTcp) -> powertcp::Parameters {
        let usual = part_of(self.bandwidth_delay(), 6, 1000);
        powertcp::Parameters {
            base_rtt: self.base_rtt,
            gain: Multiple::from_millionths(powertcp.gain.millionths),
            utilisation: Multiple::from_millionths(powertcp.utilisation.millionths),
            additive_increase: powertcp.additive_increase.unwrap_or(usual),
            line_rate: self.link_rate,
            minimum_rate: powertcp.minimum_rate.min(self.link_rate),
        }
    }
}

/// A transport's protocol.
fn protocol(transport: &Transport) -> Protocol {
    match transport {
        Transport::RoceRc(roce) => Protocol::Roce { reliability: reliability(roce) },
        Transport::Tcp(tcp) => Protocol::Tcp(tcp::Parameters {
            initial_timeout: tcp.initial_rto,
            minimum_timeout: tcp.minimum_rto,
            maximum_timeout: tcp.maximum_rto,
            loss_threshold: tcp.loss_threshold,
            tail_loss_probe: tcp.tail_loss_probe,
            delayed_ack: tcp.delayed_ack,
            handshake: tcp.handshake,
        }),
    }
}

/// Repair of losses of queue pairs.
pub fn reliability(roce: &RoceRc) -> Reliability {
    match roce.reliability {
        scenario::Reliability::GoBackN => Reliability::GoBackN,
        scenario::Reliability::SelectiveRepeat(scenario::SelectiveRepeat {
            rto_low,
            rto_low_packets,
        }) => Reliability::SelectiveRepeat(SelectiveRepeat { rto_low, rto_low_packets }),
    }
}

/// `numerator / denominator` of some bytes, at least one byte.
fn part_of(bytes: Bytes, numerator: u64, denominator: u64) -> Bytes {
    let part = u128::from(bytes.0) * u128::from(numerator) / u128::from(denominator);
    Bytes(u64::try_from(part).unwrap_or(u64::MAX).max(1))
}

fn dcqcn_parameters(dcqcn: &Dcqcn, link_rate: BitsPerSecond) -> dcqcn::Parameters {
    let published = dcqcn.profile.published();
    dcqcn::Parameters {
        alpha_interval: dcqcn.alpha_update_interval,
        rate_decrease_interval: dcqcn.rate_decrease_interval,
        rate_increase_interval: dcqcn.rate_increase_timer,
        rate_increase_bytes: dcqcn.byte_counter,
        alpha_gain: Fraction::from_ratio(dcqcn.g.numerator, dcqcn.g.denominator),
        fast_recovery_stages: dcqcn.fast_recovery_stages,
        additive_increase: dcqcn.additive_increase,
        hyper_increase: dcqcn.hyper_increase,
        minimum_rate: dcqcn.minimum_rate.min(link_rate),
        clamp_target_rate: dcqcn.clamp_target_rate,
        clocked_cuts: published.clocked_cuts,
        notification_interval: dcqcn.cnp_interval,
        notification: match dcqcn.notification {
            Notification::Cnp => dcqcn::Notification::Cnp,
            Notification::Ack => dcqcn::Notification::Ack,
        },
    }
}

fn timely_parameters(timely: &Timely, link_rate: BitsPerSecond) -> timely::Parameters {
    let additive_increase =
        timely.additive_increase.unwrap_or(BitsPerSecond((link_rate.0 / 1000).max(1)));
    let five_times = BitsPerSecond(additive_increase.0.saturating_mul(5));
    timely::Parameters {
        low: timely.low,
        high: timely.high,
        minimum_rtt: timely.minimum_rtt,
        gain: Fraction::from_ratio(timely.gain.numerator, timely.gain.denominator),
        decrease: Fraction::from_ratio(timely.decrease.numerator, timely.decrease.denominator),
        additive_increase,
        hyper_increase: timely.hyper_increase.unwrap_or(five_times),
        hyper_after: timely.hyper_after,
        patched: timely.form == TimelyForm::Patched,
        line_rate: link_rate,
        minimum_rate: timely.minimum_rate.min(link_rate),
    }
}

/// Priorities of ACKs, NAKs and CNPs that differ from the priorities of data, one bit each.
pub fn control_classes(scenario: &Scenario) -> u8 {
    let ack = match scenario.host.ack_priority {
        AckPriority::Data => 0,
        AckPriority::Fixed(priority) => 1 << priority,
    };
    ack | 1 << scenario.host.cnp_priority
}
