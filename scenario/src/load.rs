//! `load` of a workload, and its conversion to a rate of payload.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Deserializer;
use serde::{Deserialize, Serialize, Serializer};
use topology::HostId;
use workload::{Demand, PayloadRate, load};

use super::flows::Expansion;
use super::ratio::Probability;
use super::report::ScenarioError;
use super::thousandths::Thousandths;

/// Links that a load is a fraction of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadOf {
    /// Links of the sending hosts; for incasts, links of the receiving hosts.
    #[default]
    HostLinks,
    /// Links of the sending hosts, for incasts too.
    SenderLinks,
    /// Links between the two highest tiers of switches, as far as the workload uses them.
    CoreLinks,
}

/// Load: payload as a fraction of the links' rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Load {
    /// Fraction, above 0, up to 1.
    #[serde(rename = "load")]
    pub part: Probability,
    /// Links that the load is a fraction of.
    pub of: LoadOf,
}

/// Standard deviation of a lognormal gap's logarithm, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sigma {
    /// Thousandths, 1 to 10,000.
    pub thousandths: u32,
}

impl Serialize for Sigma {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_f64(f64::from(self.thousandths) / 1e3)
    }
}

impl<'de> Deserialize<'de> for Sigma {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let expected = "a number from 0.001 to 10 such as 2";
        let thousandths = Thousandths { expected, most: 10_000 }.read(input)?;
        Ok(Self { thousandths })
    }
}

impl JsonSchema for Sigma {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Sigma".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A deviation, in steps of a thousandth.",
            "type": "number", "minimum": 0.001, "maximum": 10,
        })
    }
}

impl Expansion<'_> {
    /// Returns the payload rate of a workload at a load. `hosts` are the hosts whose links count by default.
    pub(super) fn payload_rate(
        &self,
        path: &str,
        label: &str,
        load: Load,
        hosts: &[HostId],
        senders: &[HostId],
        demand: &Demand,
    ) -> Result<PayloadRate, ScenarioError> {
        let at = format!("{path}.load");
        let millionths = load.part.millionths;
        if millionths == 0 {
            let help = "write a number above 0, up to 1; a workload without load is left out";
            return Err(self.document.error(&at, "a load of 0", help));
        }
        let of_hosts = |hosts: &[HostId], millionths| {
            let rates = hosts.iter().map(|&host| load::host_rate(self.fabric, host));
            load::link_load_rate(rates, millionths)
        };
        let full = of_hosts(hosts, 1_000_000);
        let (rate, links) = match load.of {
            LoadOf::HostLinks => return Ok(of_hosts(hosts, millionths)),
            LoadOf::SenderLinks => (of_hosts(senders, millionths), "the senders' links have"),
            LoadOf::CoreLinks => {
                let rate = load::core_load_rate(
                    self.fabric,
                    self.groups,
                    demand,
                    self.classes.get(label).copied(),
                    millionths,
                );
                let Some(rate) = rate else {
                    let help = "give the load of the host links: of = \"host-links\"";
                    let title = "no flow of this workload crosses a core link";
                    return Err(self.document.error(&format!("{path}.of"), title, help));
                };
                (rate, "the core has")
            }
        };
        if rate > full {
            let percent = |rate: PayloadRate| rate.0 * 100 / full.0;
            let title = format!("the hosts' links would carry {}% of their rate", percent(rate));
            let largest = u128::from(millionths) * full.0 / rate.0;
            let help = format!(
                "{links} more capacity than they have: write a load of at most {}",
                largest as f64 / 1e6
            );
            return Err(self.document.error(&at, &title, &help));
        }
        Ok(rate)
    }
}
