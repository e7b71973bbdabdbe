//! The egress auditor: what left a port, and whether it was allowed to.

use crate::frame::{Frame, Parsed};
use crate::map_abi::{Lane, MAX_PORTS};
use crate::tables::{Tables, ingress_index};
use crate::units::Nanos;

/// Looks at a frame that leaves `port`, its transmission having begun at `started`. `None` if there is no
/// such port.
#[inline(always)]
pub fn audit<F: Frame, T: Tables>(frame: &F, tables: &T, port: u32, started: Nanos) -> Option<()> {
    if port >= MAX_PORTS as u32 {
        return None;
    }
    match frame.parse() {
        Ok(Parsed::Ipv4(fields)) => {
            let Lane { pause, audit } = tables.lane(ingress_index(port, fields.priority()))?;
            audit.frames.add(1);
            audit.bytes.add(u64::from(frame.length()));
            if pause.forbade(started) {
                audit.violations.add(1);
            }
        }
        Ok(Parsed::Pfc(_) | Parsed::LinkDelay) => {
            tables.lane(ingress_index(port, 0))?.audit.mac_control_frames.add(1);
        }
        Err(_) => {}
    }
    Some(())
}
