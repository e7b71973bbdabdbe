//! Metrics of a live fabric for Prometheus, in the `OpenMetrics` text format.
//!
//! `docs/live-monitoring.md` lists them, and `docs/grafana.json` shows them; a test compares the three.

use std::fmt;

use emulation::live::view::{HostView, PortView, SwitchView, View};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeMetric, text,
};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

/// Formats all metrics of a fabric.
pub fn render(fabric: &str, view: &View) -> String {
    let mut registry = Registry::default();
    registry
        .register_collector(Box::new(Metrics { fabric: fabric.to_owned(), view: view.clone() }));
    let mut text = String::new();
    text::encode(&mut text, &registry).expect("a String takes every write");
    text
}

#[derive(Debug)]
struct Metrics {
    fabric: String,
    view: View,
}

/// Names and values of labels.
type Labels = Vec<(&'static str, String)>;

/// Encoder of metrics, with the label that all metrics have.
struct Families<'a, 'b> {
    encoder: &'a mut DescriptorEncoder<'b>,
    fabric: &'a str,
}

/// A port of a node, with its labels.
struct Port<'a> {
    labels: Labels,
    rate_bps: u64,
    is_up: bool,
    frames: [u64; 2],
    bytes: [u64; 2],
    paused: &'a [u8],
    paused_ns: [u64; 8],
    pause_frames: [u64; 8],
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut families = Families { encoder: &mut encoder, fabric: &self.fabric };
        write_fabric(&mut families, &self.view)?;
        write_switches(&mut families, &self.view.switches)?;
        write_ports(&mut families, &self.view)?;
        write_hosts(&mut families, &self.view.hosts)
    }
}

fn write_fabric(families: &mut Families<'_, '_>, view: &View) -> fmt::Result {
    let fidelity = &view.fidelity;
    families.counter(
        "xoff_emulated_seconds",
        "Emulated time since the fabric is up",
        [(Vec::new(), seconds(view.emulated_ns))],
    )?;
    families.gauge(
        "xoff_flows_active",
        "RoCE flows under way",
        [(Vec::new(), view.active_flows)],
    )?;
    families.counter(
        "xoff_flows_completed",
        "RoCE flows that are done",
        [(Vec::new(), view.completed_flows)],
    )?;
    families.counter(
        "xoff_packet_hops",
        "Frames that have crossed a wire",
        [(Vec::new(), view.packet_hops)],
    )?;
    families.gauge(
        "xoff_fidelity_good",
        "1 if programs see the fabric as it is, 0 if the machine cannot keep up",
        [(Vec::new(), u64::from(fidelity.is_good))],
    )?;
    let recent = &fidelity.recent;
    let quantiles = [("0.5", recent.p50_ns), ("0.99", recent.p99_ns), ("1", recent.most_ns)];
    families.gauge(
        "xoff_lateness_seconds",
        "Lateness of deadlines in the last one or two seconds, in emulated time",
        quantiles.map(|(quantile, ns)| (vec![("quantile", quantile.to_owned())], seconds(ns))),
    )?;
    families.counter(
        "xoff_clock_lost_seconds",
        "Total by which the emulated clock was set back, in time of the wall clock",
        [(Vec::new(), seconds(fidelity.lost_ns))],
    )?;
    families.gauge(
        "xoff_dilation",
        "Seconds of the wall clock in an emulated second",
        [(Vec::new(), u64::from(fidelity.dilation))],
    )
}

fn write_switches(families: &mut Families<'_, '_>, switches: &[SwitchView]) -> fmt::Result {
    let each = |value: fn(&SwitchView) -> u64| {
        switches.iter().map(move |switch| (vec![("switch", switch.name.clone())], value(switch)))
    };
    families.gauge(
        "xoff_switch_buffer_bytes",
        "Bytes in the buffer of a switch",
        each(|switch| switch.buffer_bytes),
    )?;
    families.gauge(
        "xoff_switch_buffer_max_bytes",
        "The most bytes that the buffer has held",
        each(|switch| switch.most_buffer_bytes),
    )?;
    families.gauge(
        "xoff_switch_buffer_capacity_bytes",
        "Bytes that the buffer can hold",
        each(|switch| switch.capacity_bytes),
    )?;
    families.counter(
        "xoff_switch_ecn_marked_packets",
        "Packets that a switch has marked",
        each(|switch| switch.ecn_marked),
    )?;
    let drops = switches.iter().flat_map(|switch| {
        switch.drops.iter().map(|(reason, &frames)| {
            (vec![("switch", switch.name.clone()), ("reason", reason.clone())], frames)
        })
    });
    families.counter(
        "xoff_switch_dropped_frames",
        "Frames that a switch has dropped, by reason",
        drops,
    )
}

fn write_ports(families: &mut Families<'_, '_>, view: &View) -> fmt::Result {
    let of_switch = |switch: &SwitchView, port: &PortView| Port {
        labels: wire_labels(&switch.name, &port.peer, &port.wire),
        rate_bps: port.rate_bps,
        is_up: port.wire_state.is_up,
        frames: [port.sent_frames, port.received_frames],
        bytes: [port.sent_bytes, port.received_bytes],
        paused: &[],
        paused_ns: port.paused_ns,
        pause_frames: port.pause_frames,
    };
    let mut ports: Vec<Port<'_>> = Vec::new();
    for switch in &view.switches {
        ports.extend(
            switch
                .ports
                .iter()
                .map(|port| Port { paused: &port.paused, ..of_switch(switch, port) }),
        );
    }
    ports.extend(view.hosts.iter().map(|host| Port {
        labels: wire_labels(&host.name, &host.peer, &host.wire),
        rate_bps: host.rate_bps,
        is_up: host.wire_state.is_up,
        frames: [host.sent_frames, host.received_frames],
        bytes: [host.sent_bytes, host.received_bytes],
        paused: &host.paused,
        paused_ns: host.paused_ns,
        pause_frames: host.pause_frames,
    }));
    let each = |value: fn(&Port<'_>) -> u64| {
        ports.iter().map(move |port| (port.labels.clone(), value(port)))
    };
    families.gauge("xoff_port_rate_bits_per_second", "Line rate", each(|port| port.rate_bps))?;
    families.gauge(
        "xoff_port_up",
        "1 if the wire out of the port carries frames",
        each(|port| u64::from(port.is_up)),
    )?;
    families.counter("xoff_port_sent_frames", "Frames sent", each(|port| port.frames[0]))?;
    families.counter(
        "xoff_port_received_frames",
        "Frames received",
        each(|port| port.frames[1]),
    )?;
    families.counter(
        "xoff_port_sent_bytes",
        "Bytes sent, with those around frames on the wire",
        each(|port| port.bytes[0]),
    )?;
    families.counter(
        "xoff_port_received_bytes",
        "Bytes received, with those around frames on the wire",
        each(|port| port.bytes[1]),
    )?;
    families.gauge(
        "xoff_port_paused",
        "1 while the peer pauses a priority",
        ports.iter().flat_map(|port| {
            by_priority(
                &port.labels,
                std::array::from_fn(|it| {
                    u64::from(port.paused.iter().any(|&paused| usize::from(paused) == it))
                }),
            )
        }),
    )?;
    families.counter(
        "xoff_port_paused_seconds",
        "Time for which the peer has paused a priority, in emulated time",
        ports.iter().flat_map(|port| {
            by_priority(&port.labels, port.paused_ns).map(|(labels, ns)| (labels, seconds(ns)))
        }),
    )?;
    families.counter(
        "xoff_port_pause_frames",
        "PAUSE frames of the peer that stop a priority",
        ports.iter().flat_map(|port| by_priority(&port.labels, port.pause_frames)),
    )?;
    let of_queues = |value: fn(&PortView) -> [u64; 8]| {
        view.switches.iter().flat_map(move |switch| {
            switch.ports.iter().flat_map(move |port| {
                by_priority(&wire_labels(&switch.name, &port.peer, &port.wire), value(port))
            })
        })
    };
    families.gauge(
        "xoff_port_queue_bytes",
        "Bytes that wait at a port of a switch, by priority",
        of_queues(|port| port.queued_bytes),
    )?;
    families.gauge(
        "xoff_port_ingress_bytes",
        "Bytes in the buffer that came in at a port of a switch, by priority",
        of_queues(|port| port.ingress_bytes),
    )?;
    write_victims(families, view)
}

/// Encodes victims, if the scheme has any.
fn write_victims(families: &mut Families<'_, '_>, view: &View) -> fmt::Result {
    if !view.switches.iter().flat_map(|switch| &switch.ports).any(|port| port.victim.is_some()) {
        return Ok(());
    }
    let victims = view.switches.iter().flat_map(|switch| {
        switch.ports.iter().filter_map(move |port| {
            let victim = port.victim.as_ref()?;
            let of_priority =
                |it: usize| u64::from(victim.iter().any(|&priority| usize::from(priority) == it));
            let labels = wire_labels(&switch.name, &port.peer, &port.wire);
            Some(by_priority(&labels, std::array::from_fn(of_priority)))
        })
    });
    families.gauge(
        "xoff_port_victim",
        "1 while what comes in at a port of a switch in a priority is a victim's (SPFC)",
        victims.flatten(),
    )
}

fn write_hosts(families: &mut Families<'_, '_>, hosts: &[HostView]) -> fmt::Result {
    let each = |value: fn(&HostView) -> u64| {
        hosts.iter().map(move |host| (vec![("host", host.name.clone())], value(host)))
    };
    families.counter(
        "xoff_host_program_sent_frames",
        "Frames that programs have sent",
        each(|host| host.program_frames_sent),
    )?;
    families.counter(
        "xoff_host_program_received_frames",
        "Frames that programs were handed",
        each(|host| host.program_frames_received),
    )?;
    families.gauge(
        "xoff_host_program_waiting_frames",
        "Frames of programs that wait for the port",
        each(|host| host.program_frames_waiting),
    )?;
    let dropped = hosts.iter().flat_map(|host| {
        let why = |why: &str| vec![("host", host.name.clone()), ("reason", why.to_owned())];
        [
            (why("too-long"), host.program_frames_too_long),
            (why("paused-for-too-long"), host.program_frames_dropped),
        ]
    });
    families.counter(
        "xoff_host_program_dropped_frames",
        "Frames of programs that the NIC has dropped",
        dropped,
    )
}

impl Families<'_, '_> {
    /// Encodes values that only increase; the format adds `_total` to the name.
    fn counter<N: EncodeCounterValue>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels, N)>,
    ) -> fmt::Result {
        self.family(
            name,
            help,
            values.into_iter().map(|(labels, it)| (labels, ConstCounter::new(it))),
            ConstCounter::new(0u64).metric_type(),
        )
    }

    /// Encodes values that increase and decrease.
    fn gauge<N: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels, N)>,
    ) -> fmt::Result {
        self.family(
            name,
            help,
            values.into_iter().map(|(labels, it)| (labels, ConstGauge::new(it))),
            ConstGauge::new(0i64).metric_type(),
        )
    }

    fn family(
        &mut self,
        name: &str,
        help: &str,
        values: impl Iterator<Item = (Labels, impl EncodeMetric)>,
        kind: prometheus_client::metrics::MetricType,
    ) -> fmt::Result {
        let mut family = self.encoder.encode_descriptor(name, help, None, kind)?;
        for (mut labels, value) in values {
            labels.insert(0, ("fabric", self.fabric.to_owned()));
            value.encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

fn wire_labels(node: &str, peer: &str, wire: &str) -> Labels {
    vec![("node", node.to_owned()), ("peer", peer.to_owned()), ("wire", wire.to_owned())]
}

/// Returns the labels and the value of each priority.
fn by_priority(labels: &Labels, values: [u64; 8]) -> impl Iterator<Item = (Labels, u64)> + use<> {
    let labels = labels.clone();
    (0..8).zip(values).map(move |(priority, value)| {
        let mut labels = labels.clone();
        labels.push(("priority", i32::to_string(&priority)));
        (labels, value)
    })
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::glance::fixture::now;

    /// Returns the metrics' names as queries use them.
    fn exported() -> BTreeSet<String> {
        let plain = render("lab", &now());
        assert!(!plain.contains("xoff_port_victim"), "the scheme has no states");
        let mut view = now();
        view.switches[0].ports[1].victim = Some(vec![3]);
        let text = render("lab", &view);
        let port = "fabric=\"lab\",node=\"leaf0\",peer=\"h1\",wire=\"leaf0->h1\",priority";
        for (priority, value) in [(3, 1), (4, 0)] {
            let line = format!("xoff_port_victim{{{port}=\"{priority}\"}} {value}\n");
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
        let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        types
            .map(|line| {
                let (name, kind) = line.split_once(' ').expect("a name and a type");
                let total = if kind == "counter" { "_total" } else { "" };
                format!("{name}{total}")
            })
            .collect()
    }

    /// Returns the names of metrics in a text.
    fn named(text: &str) -> BTreeSet<String> {
        let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
        let words = text.split(|it| !is_part(it)).filter(|word| word.starts_with("xoff_"));
        words.map(str::to_owned).collect()
    }

    #[test]
    fn values_and_labels_are_those_of_the_view() {
        let text = render("lab", &now());
        for line in [
            "xoff_emulated_seconds_total{fabric=\"lab\"} 2.5",
            "xoff_fidelity_good{fabric=\"lab\"} 1",
            "xoff_lateness_seconds{fabric=\"lab\",quantile=\"0.99\"} 0.00012",
            "xoff_switch_dropped_frames_total{fabric=\"lab\",switch=\"leaf0\",reason=\"ttl-expired\"} 1",
            "xoff_port_sent_bytes_total{fabric=\"lab\",node=\"leaf0\",peer=\"h0\",wire=\"leaf0->h0\"} 6000000",
            "xoff_port_paused{fabric=\"lab\",node=\"leaf0\",peer=\"h0\",wire=\"leaf0->h0\",priority=\"3\"} 1",
            "xoff_port_paused_seconds_total{fabric=\"lab\",node=\"h1\",peer=\"leaf0\",wire=\"h1->leaf0\",priority=\"3\"} 0.375",
            "xoff_port_queue_bytes{fabric=\"lab\",node=\"leaf0\",peer=\"h0\",wire=\"leaf0->h0\",priority=\"3\"} 200000",
            "xoff_host_program_sent_frames_total{fabric=\"lab\",host=\"h1\"} 42",
        ] {
            assert!(text.contains(&format!("\n{line}\n")), "{line} is not in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
        let mut series: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.rsplit_once(' '))
            .map(|(series, _)| series)
            .collect();
        let all = series.len();
        series.sort_unstable();
        series.dedup();
        assert_eq!(series.len(), all, "no series is there twice");
    }

    #[test]
    fn the_dashboard_shows_all_metrics_and_no_others() {
        let dashboard = include_str!("../../docs/grafana.json");
        let dashboard: Value = serde_json::from_str(dashboard).expect("it is JSON");
        let panels = dashboard["panels"].as_array().expect("it has panels");
        let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
        let queries = targets.map(|target| target["expr"].as_str().expect("a query"));
        let shown: BTreeSet<String> = queries.flat_map(named).collect();
        assert_eq!(shown, exported());
    }

    #[test]
    fn the_document_lists_all_metrics_and_no_others() {
        let document = include_str!("../../docs/live-monitoring.md");
        assert_eq!(named(document), exported());
    }
}
