//! From a scenario to its hosts: NIC, transport, congestion control.

use fabric_core::map_abi::FIRST_HOST_ADDRESS;
use fabric_core::priority::Priority;
use host_agent::congestion_control::{
    Algorithm, Fraction, Multiple, dcqcn, dctcp, hpcc, powertcp, timely,
};
use host_agent::{HostConfig, Reliability, SelectiveRepeat, WindowLimit};
use scenario::transport::{
    CongestionControl, Dcqcn, Dctcp, Hpcc, PowerTcp, RoceRc, Start, Timely, TimelyForm, WindowSize,
};
use scenario::{Scenario, Transport};
use topology::HostId;
use units::{BitsPerSecond, Bytes, Picos};

use crate::path_groups::longest_base_rtt;
use crate::stations::station;

/// Payloads of the first window of a flow that starts slowly (RFC 6928).
const INITIAL_PAYLOADS: u64 = 10;

/// What the hosts of a scenario have in common.
#[derive(Debug)]
pub struct HostSettings<'a> {
    scenario: &'a Scenario,
    transport: RoceRc,
    base_rtt: Picos,
}

impl<'a> HostSettings<'a> {
    /// Those of `scenario`.
    pub fn of(scenario: &'a Scenario) -> Self {
        let Transport::RoceRc(transport) = scenario.host.transport;
        // Looking for it takes the longer the more racks there are; most scenarios need it not.
        let needed = transport.window.size == WindowSize::Bdp
            || !matches!(
                transport.congestion_control,
                CongestionControl::None
                    | CongestionControl::Dcqcn(_)
                    | CongestionControl::Timely(_)
            );
        let base_rtt = match transport.base_rtt {
            Some(base_rtt) => base_rtt,
            None if needed => longest_base_rtt(scenario),
            None => Picos::ZERO,
        };
        Self { scenario, transport, base_rtt }
    }

    /// A host's NIC and transport.
    pub fn config(&self, host: HostId) -> HostConfig {
        let fabric = self.scenario.fabric();
        let link_rate = fabric.wire(fabric.host(host).ports[0]).rate;
        let settings = &self.scenario.host;
        HostConfig {
            address: FIRST_HOST_ADDRESS + host.0,
            station: station(fabric, fabric.host_node(host), 0),
            link_rate,
            wire_overhead: self.scenario.switch.wire_overhead.0,
            payload: settings.payload.0.try_into().expect("a payload is at most 3072 bytes"),
            ack_priority: Priority::new(settings.ack_priority),
            cnp_priority: Priority::new(settings.cnp_priority),
            ack_interval: settings.ack_interval,
            telemetry_hops: settings.telemetry_hops,
            retransmission_timeout: settings.retransmission_timeout,
            pause_response: settings.pause_response.at(link_rate),
            reliability: reliability(self.scenario),
            congestion_control: self.algorithm(link_rate),
            window: self.window(link_rate),
        }
    }

    fn window(&self, link_rate: BitsPerSecond) -> Option<WindowLimit> {
        let window = self.transport.window;
        let bytes = match window.size {
            WindowSize::Unlimited => return None,
            WindowSize::Bdp => link_rate.bytes_in(self.base_rtt),
            WindowSize::Bytes(bytes) => bytes,
        };
        Some(WindowLimit { bytes, scales: window.scales })
    }

    fn algorithm(&self, link_rate: BitsPerSecond) -> Algorithm {
        match &self.transport.congestion_control {
            CongestionControl::None => Algorithm::LineRate,
            CongestionControl::Dcqcn(dcqcn) => Algorithm::Dcqcn(dcqcn_parameters(dcqcn, link_rate)),
            CongestionControl::Dctcp(dctcp) => Algorithm::Dctcp(self.dctcp(dctcp, link_rate)),
            CongestionControl::Hpcc(hpcc) => Algorithm::Hpcc(self.hpcc(hpcc, link_rate)),
            CongestionControl::PowerTcp(powertcp) => {
                Algorithm::PowerTcp(self.powertcp(powertcp, link_rate))
            }
            CongestionControl::ThetaPowerTcp(powertcp) => {
                Algorithm::ThetaPowerTcp(self.powertcp(powertcp, link_rate))
            }
            CongestionControl::Timely(timely) => {
                Algorithm::Timely(timely_parameters(timely, link_rate))
            }
        }
    }

    fn bandwidth_delay(&self, link_rate: BitsPerSecond) -> Bytes {
        link_rate.bytes_in(self.base_rtt)
    }

    fn dctcp(&self, dctcp: &Dctcp, link_rate: BitsPerSecond) -> dctcp::Parameters {
        let payload = self.scenario.host.payload;
        let minimum_window = dctcp.minimum_window.unwrap_or(payload);
        let (initial_window, maximum_window) = match dctcp.start {
            Start::LineRate => {
                let whole = self.bandwidth_delay(link_rate).max(minimum_window);
                (whole, whole)
            }
            Start::SlowStart => {
                let first = Bytes(payload.0 * INITIAL_PAYLOADS).max(minimum_window);
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

    fn hpcc(&self, hpcc: &Hpcc, link_rate: BitsPerSecond) -> hpcc::Parameters {
        let left = u64::from(1_000_000 - hpcc.utilisation.millionths);
        let usual = part_of(self.bandwidth_delay(link_rate), left, 100_000_000);
        hpcc::Parameters {
            base_rtt: self.base_rtt,
            utilisation: Multiple::from_millionths(hpcc.utilisation.millionths),
            stages: hpcc.max_stage,
            additive_increase: hpcc.additive_increase.unwrap_or(usual),
            line_rate: link_rate,
            minimum_rate: hpcc.minimum_rate.min(link_rate),
        }
    }

    fn powertcp(&self, powertcp: &PowerTcp, link_rate: BitsPerSecond) -> powertcp::Parameters {
        let usual = part_of(self.bandwidth_delay(link_rate), 6, 1000);
        powertcp::Parameters {
            base_rtt: self.base_rtt,
            gain: Multiple::from_millionths(powertcp.gain.millionths),
            additive_increase: powertcp.additive_increase.unwrap_or(usual),
            line_rate: link_rate,
            minimum_rate: powertcp.minimum_rate.min(link_rate),
        }
    }
}

/// How queue pairs repair losses.
pub fn reliability(scenario: &Scenario) -> Reliability {
    let Transport::RoceRc(transport) = &scenario.host.transport;
    match transport.reliability {
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
        clamp_target_rate: published.clamp_target_rate,
        clocked_cuts: published.clocked_cuts,
        notification_interval: dcqcn.cnp_interval,
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

/// The priorities of ACKs, NAKs and CNPs, a bit each.
pub fn control_classes(scenario: &Scenario) -> u8 {
    1 << scenario.host.ack_priority | 1 << scenario.host.cnp_priority
}
