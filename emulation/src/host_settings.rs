//! From a scenario to its hosts: NIC, transport, congestion control.

use fabric_core::map_abi::FIRST_HOST_ADDRESS;
use fabric_core::priority::Priority;
use host_agent::congestion_control::Algorithm;
use host_agent::congestion_control::dcqcn::{Fraction, Parameters};
use host_agent::{HostConfig, Reliability};
use scenario::Scenario;
use topology::HostId;
use units::BitsPerSecond;

use crate::stations::station;

/// A host's NIC and transport.
pub fn host_config(scenario: &Scenario, host: HostId) -> HostConfig {
    let fabric = scenario.fabric();
    let link_rate = fabric.wire(fabric.host(host).ports[0]).rate;
    let settings = &scenario.host;
    let scenario::Transport::RoceRc { congestion_control } = &settings.transport;
    HostConfig {
        address: FIRST_HOST_ADDRESS + host.0,
        station: station(fabric, fabric.host_node(host), 0),
        link_rate,
        wire_overhead: scenario.switch.wire_overhead.0,
        payload: settings.payload.0.try_into().expect("a payload is at most 3072 bytes"),
        ack_priority: Priority::new(settings.ack_priority),
        cnp_priority: Priority::new(settings.cnp_priority),
        ack_interval: settings.ack_interval,
        retransmission_timeout: settings.retransmission_timeout,
        pause_response: settings.pause_response.at(link_rate),
        reliability: Reliability::GoBackN,
        congestion_control: match congestion_control {
            scenario::CongestionControl::None => Algorithm::LineRate,
            scenario::CongestionControl::Dcqcn(dcqcn) => {
                Algorithm::Dcqcn(dcqcn_parameters(dcqcn, link_rate))
            }
        },
    }
}

fn dcqcn_parameters(dcqcn: &scenario::Dcqcn, link_rate: BitsPerSecond) -> Parameters {
    Parameters {
        alpha_interval: dcqcn.alpha_update_interval,
        rate_decrease_interval: dcqcn.rate_decrease_interval,
        rate_increase_interval: dcqcn.rate_increase_timer,
        rate_increase_bytes: dcqcn.byte_counter,
        alpha_gain: Fraction::from_ratio(dcqcn.g.numerator, dcqcn.g.denominator),
        fast_recovery_stages: dcqcn.fast_recovery_stages,
        additive_increase: dcqcn.additive_increase,
        hyper_increase: dcqcn.hyper_increase,
        minimum_rate: dcqcn.minimum_rate.min(link_rate),
        clamp_target_rate: dcqcn.profile.published().clamp_target_rate,
        notification_interval: dcqcn.cnp_interval,
    }
}

/// The priorities of ACKs, NAKs and CNPs, a bit each.
pub fn control_classes(scenario: &Scenario) -> u8 {
    1 << scenario.host.ack_priority | 1 << scenario.host.cnp_priority
}
