//! Congested queues of a priority, the definition and the count: `c_p` in BSHARE, `n_p` in ABM.
//!
//! BSHARE's Section III-A says both "when its length nears its threshold" and "when its length reaches at least 90% of
//! the overall buffer space"; only one queue at a time can meet the second condition. ABM's paper says 0.9 of the
//! threshold. In the public simulator of ABM's authors a queue counts in proportion to its bytes, up to 1 at 28,000
//! bytes. All three definitions are implemented.

use super::state::{self, ONE_QUEUE};
use super::{Egress, buffer};
use crate::map_abi::SwitchConfig;
use crate::policy::Policy;
use crate::priority;
use crate::tables::Tables;

/// Definition of a congested queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// A queue counts if it holds at least this fraction of its threshold.
    OfThreshold(super::Ratio),
    /// A queue counts if it holds at least this fraction of the lossy buffer.
    OfBuffer(super::Ratio),
    /// A queue counts in proportion to its bytes, up to 1 at this number of bytes, above 0.
    Bytes(u32),
}

const OF_THRESHOLD: u32 = 0;
const OF_BUFFER: u32 = 1;
const BYTES: u32 = 2;

impl Congestion {
    pub(super) fn write(self, parameters: &state::Parameters) {
        let (form, numerator, denominator) = match self {
            Self::OfThreshold(part) => (OF_THRESHOLD, part.numerator, part.denominator),
            Self::OfBuffer(part) => (OF_BUFFER, part.numerator, part.denominator),
            Self::Bytes(bytes) => (BYTES, bytes, 1),
        };
        parameters.congestion_form.store(form);
        parameters.congestion_numerator.store(numerator);
        parameters.congestion_denominator.store(denominator);
    }
}

/// Returns the congestion of a queue with `bytes` and max `threshold`: 0 to [`ONE_QUEUE`].
fn congested(
    parameters: &state::Parameters,
    config: &SwitchConfig,
    bytes: u64,
    threshold: u64,
) -> u32 {
    if bytes == 0 {
        return 0;
    }
    let numerator = parameters.congestion_numerator.load();
    let part = |of: u64| {
        let least =
            crate::threshold::scaled(of, numerator, parameters.congestion_denominator.load());
        if bytes >= least { ONE_QUEUE } else { 0 }
    };
    match parameters.congestion_form.load() {
        OF_THRESHOLD => part(threshold),
        OF_BUFFER => part(buffer(config)),
        _ => {
            let most = u64::from(numerator.max(1));
            (bytes.min(most) * u64::from(ONE_QUEUE) / most) as u32
        }
    }
}

/// Counts the congested queues of each lossy priority. `threshold` returns the max bytes of a queue.
pub(super) fn count<T: Tables>(
    tables: &T,
    policy: Policy,
    threshold: impl Fn(&Egress<'_, T>) -> u64,
) -> Option<()> {
    let (config, parameters) = (tables.config()?, state::parameters(tables)?);
    for priority in priority::in_mask(!config.lossless_classes) {
        let mut sum = 0;
        for port in 0..config.ports {
            for queue in config.queues_of(priority).iter() {
                let at = Egress::new(tables, policy, port, queue, priority)?;
                sum += congested(parameters, config, at.row.bytes.load(), threshold(&at));
            }
        }
        state::priority(tables, priority)?.congested.store(sum);
    }
    Some(())
}
