//! Queries of a host to many others: their rate, and the bytes of all answers together.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use topology::HostId;
use units::{Bytes, Picos};
use workload::{Degree, load};

use super::flows::Expansion;
use super::quantity;
use super::ratio::Probability;
use super::report::ScenarioError;
use super::thousandths::Thousandths;

/// Incasts per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryRate {
    /// Thousandths of an incast per second, 1 to 10^9.
    pub thousandths: u64,
}

impl QueryRate {
    /// Returns the mean gap between the incasts of `hosts` hosts, in picoseconds with `fractional_bits` fractional
    /// bits.
    pub(super) fn mean_gap(self, hosts: usize, fractional_bits: u32) -> u128 {
        const THOUSAND_SECONDS: u128 = 1_000_000_000_000_000;
        (THOUSAND_SECONDS << fractional_bits) / (u128::from(self.thousandths) * hosts as u128)
    }

    /// Returns the mean gap in whole picoseconds, above zero.
    pub(super) fn mean_period(self, hosts: usize) -> Picos {
        Picos(self.mean_gap(hosts, 0).max(1).try_into().unwrap_or(u64::MAX))
    }
}

impl Serialize for QueryRate {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_f64(self.thousandths as f64 / 1e3)
    }
}

impl<'de> Deserialize<'de> for QueryRate {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let expected = "a number of queries a second from 0.001 to 1000000, such as 2";
        let thousandths = Thousandths { expected, most: 1_000_000_000 }.read(input)?;
        Ok(Self { thousandths: thousandths.into() })
    }
}

impl JsonSchema for QueryRate {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "QueryRate".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Queries a second, in steps of a thousandth.",
            "type": "number", "minimum": 0.001, "maximum": 1_000_000,
        })
    }
}

/// Bytes of an incast: a size, or a fraction of a switch's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// A size.
    Bytes(Bytes),
    /// A fraction of the buffer of the receiver's switch.
    OfBuffer(Probability),
}

/// Fraction of the buffer of the receiver's switch.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OfBufferKeys")]
struct OfBuffer {
    /// Fraction, above 0, up to 1.
    of_buffer: Probability,
}

impl<'de> Deserialize<'de> for Total {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Total;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                write!(f, "a size such as \"1MB\", or a part of the buffer: {{ of_buffer = 0.3 }}")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Total, E> {
                let size = Bytes::deserialize(StrDeserializer::<E>::new(text))?;
                Ok(Total::Bytes(size))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Total, A::Error> {
                let keys = OfBuffer::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Total::OfBuffer(keys.of_buffer))
            }
        }
        input.deserialize_any(Reader)
    }
}

impl JsonSchema for Total {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Total".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "oneOf": [generator.subschema_for::<Bytes>(), generator.subschema_for::<OfBuffer>()],
        })
    }
}

impl Expansion<'_> {
    /// Checks that the answers fit into the link of each receiver. Incasts with a `period` are not checked, because
    /// bursts are meant to overload links.
    pub(super) fn check_queries(
        &self,
        path: &str,
        rate: QueryRate,
        event_q16: u128,
        receivers: &[HostId],
    ) -> Result<(), ScenarioError> {
        let link = |&host: &HostId| u128::from(load::host_rate(self.fabric, host).0);
        let Some((host, link)) = receivers.iter().map(|it| (it, link(it))).min_by_key(|it| it.1)
        else {
            return Ok(());
        };
        // Bits, in thousandths and with 16 fractional bits.
        let full = (link * 1000) << 16;
        let each = event_q16 * 8;
        let offered = each.saturating_mul(rate.thousandths.into());
        if offered <= full {
            return Ok(());
        }
        let name = &self.fabric.host(*host).name;
        let percent = offered.saturating_mul(100).div_ceil(full);
        let title = format!("the link of `{name}` would carry {percent}% of its rate");
        let help = match full / each {
            0 => "write fewer bytes".to_owned(),
            most => format!("write a rate of at most {}, or fewer bytes", most as f64 / 1e3),
        };
        Err(self.document.error(&format!("{path}.rate"), &title, &help))
    }

    /// Returns the bytes of each flow of an incast with this total.
    pub(super) fn part_of_total(
        &self,
        path: &str,
        total: Total,
        (degree, flows): (Degree, Option<u32>),
        receivers: &[HostId],
    ) -> Result<Bytes, ScenarioError> {
        let at = format!("{path}.total");
        let total = match total {
            Total::Bytes(bytes) => bytes,
            Total::OfBuffer(part) => {
                let bytes = u128::from(self.buffer_of(&at, receivers)?.0);
                let part = bytes * u128::from(part.millionths) / 1_000_000;
                Bytes(part.try_into().expect("a part of a buffer"))
            }
        };
        if degree.least != degree.most {
            let help = "write `degree` as one number, or `bytes` of each flow";
            let title = "a total, divided among a number of senders that varies";
            return Err(self.document.error(&at, title, help));
        }
        let flows = u64::from(flows.unwrap_or(degree.most).max(1));
        match total.0 / flows {
            0 => {
                let title = format!("{} for {flows} flows", quantity::display(total));
                let help = "each has a byte at least: write more";
                Err(self.document.error(&at, &title, help))
            }
            each => Ok(Bytes(each)),
        }
    }

    /// Returns the buffer of the receivers' switches, which must be equal.
    fn buffer_of(&self, at: &str, receivers: &[HostId]) -> Result<Bytes, ScenarioError> {
        let of_host = |&host: &HostId| self.switch_kinds.at(self.fabric.edge(host)).buffer();
        let buffers = || receivers.iter().map(of_host);
        match (buffers().min(), buffers().max()) {
            (Some(least), Some(most)) if least < most => {
                let [least, most] = [least, most].map(quantity::display);
                let title = format!("a part of a buffer of {least}, or of {most}");
                let help = "the switches of the receivers differ: write a size, or name `receivers` of alike switches";
                Err(self.document.error(at, &title, help))
            }
            (least, _) => Ok(least.unwrap_or_default()),
        }
    }
}
