//! The egress auditor: what left a port, and whether it was allowed to.

use crate::frame::{Frame, Parsed};
use crate::tables::{Tables, ingress_index};
use crate::units::Nanos;

/// Looks at a frame that leaves `port`, its transmission having begun at `started`.
#[inline(always)]
pub fn audit<F: Frame, T: Tables>(frame: &F, tables: &T, port: u32, started: Nanos) -> Option<()> {
    let response_ns = tables.port(port)?.response_ns.load();
    match frame.parse() {
        Ok(Parsed::Ipv4(fields)) => {
            let row = ingress_index(port, fields.priority());
            let counters = tables.audit(row)?;
            counters.frames.add(1);
            counters.bytes.add(u64::from(frame.length()));
            if tables.pause(row)?.forbade(started, response_ns) {
                counters.violations.add(1);
            }
        }
        Ok(Parsed::Pfc(_) | Parsed::LinkDelay) => {
            tables.audit(ingress_index(port, 0))?.mac_control_frames.add(1);
        }
        Err(_) => {}
    }
    Some(())
}
