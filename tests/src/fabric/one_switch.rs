//! One switch at 8 Gbit/s, where a byte takes a nanosecond: every instant in a capture is exact.

/// Serialisation of a full data packet: 1000 bytes of payload, 58 of headers, 24 around the frame.
pub const PACKET_NS: u64 = 1082;
/// A quantum: 512 bit times.
pub const QUANTUM_NS: u64 = 64;
/// Response time of a NIC: 3840 bytes.
pub const RESPONSE_NS: u64 = 3840;

/// Hosts `h0..` on `s0`, all links 8 Gbit/s and 1 us; senders at line rate; queues pause above 20 kB and
/// resume at 15 kB; every frame captured.
pub fn star(hosts: u32, flows: &str) -> String {
    format!(
        "name = \"one-switch\"\n[topology]\nkind = \"star\"\nhosts = {hosts}\n\
         host_link = {{ rate = \"8Gbps\", delay = \"1us\" }}\n{SETTINGS}{flows}"
    )
}

/// h1 at 8 Gbit/s and h0 at a hundredth of it, so that packets from h1 to h0 stay long in the switch.
pub fn funnel(flows: &str) -> String {
    let link = |host, rate| {
        format!("{{ a = \"{host}\", b = \"s0\", rate = \"{rate}\", delay = \"1us\" }}")
    };
    let links = [link("h0", "80Mbps"), link("h1", "8Gbps"), link("h2", "8Gbps")].join(", ");
    format!(
        "name = \"funnel\"\n[topology]\nkind = \"custom\"\nswitches = [\"s0\"]\n\
         hosts = [\"h0\", \"h1\", \"h2\"]\nlinks = [{links}]\n{SETTINGS}{flows}"
    )
}

const SETTINGS: &str = r#"
[switch]
buffer = "1MB"
lossless = [3]
threshold = { kind = "static", xoff = "20kB", xon = "15kB" }
[host]
transport = { kind = "roce-rc", congestion_control = "none" }
retransmission_timeout = "20ms"
[results]
queue_period = "10us"
[[captures]]
"#;

/// A flow that starts at once; its label is its source.
pub fn flow(src: &str, dst: &str, kilobytes: u64, priority: u8) -> String {
    format!(
        "[[flows]]\nkind = \"one\"\nlabel = \"{src}\"\nsrc = \"{src}\"\ndst = \"{dst}\"\n\
         bytes = \"{kilobytes}kB\"\npriority = {priority}\n"
    )
}

/// h1 and h2 to h0, 200 kB each: twice the capacity of h0's link.
pub fn two_to_one(priority: u8) -> String {
    star(3, &(flow("h1", "h0", 200, priority) + &flow("h2", "h0", 200, priority)))
}

/// Damages one in ten data packets on a wire.
pub fn corrupt(wire: &str) -> String {
    format!("faults=[{{ kind = \"corrupt\", wire = \"{wire}\", match = \"data\", rate = 0.1 }}]")
}

/// A fault on a wire; `which` is `nth = [..]` or `rate = ..`.
pub fn loss(wire: &str, class: &str, which: &str) -> String {
    format!("faults=[{{ kind = \"loss\", wire = \"{wire}\", match = \"{class}\", {which} }}]")
}
