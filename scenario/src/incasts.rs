//! Series of incasts.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use topology::HostId;
use units::{Bytes, Picos};
use workload::variate::Gaps;
use workload::{
    Degree, GAP_BITS, IncastParties, IncastReach, IncastRecipe, PayloadRate, SizeChoice, Source,
    exact_gap, mean_gap,
};

use super::flow_keys::unwritten;
use super::flows::Expansion;
use super::generated::{Key, stamp};
use super::load::{Load, LoadOf};
use super::priority::Priority;
use super::queries::{QueryRate, Total};
use super::ratio::Probability;
use super::report::ScenarioError;
use super::sizes::Sizes;
use super::transport::TransportKeys;
use crate::refusal::Refusal;

/// Maximum number of flows of an incast.
const MAX_FLOWS: u32 = 1 << 20;

/// A series of incasts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "IncastKeys")]
pub struct ManyIncasts {
    /// Name of the flows in the results. Default: the kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<String>,
    /// Number of senders of an incast, drawn for each incast: a number, or { least = 1, most = 15 }, from which each
    /// incast draws its number.
    pub degree: Senders,
    /// Bytes of each flow, above zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<Bytes>,
    /// Sizes from which each flow draws, such as "hadoop"; instead of `bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// Bytes of an incast, divided evenly among its flows and rounded down; needs a fixed `degree`. A size such as
    /// "1MB", or { `of_buffer` = 0.3 }: this fraction, above 0 and up to 1, of the buffer of the receiver's switch.
    /// Instead of `bytes` and `sizes`.
    #[serde(serialize_with = "unwritten", skip_serializing_if = "Option::is_none")]
    pub(super) total: Option<Total>,
    /// Number of flows of an incast, dealt to its senders in turn. Default: one for each sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) flows: Option<u32>,
    /// Time between incasts, or its mean if incasts are random. Instead of `load` and `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) period: Option<Picos>,
    /// Incasts (queries) per second for each receiver, 0.001 to 1000000, as if each receiver had a separate process.
    /// Instead of `period` and `load`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rate: Option<QueryRate>,
    /// Payload as a fraction of the links' rate, above 0, up to 1. Instead of `period` and `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) load: Option<Probability>,
    /// Links that `load` is a fraction of: "host-links" (of the receivers), "sender-links" or "core-links" (between the
    /// two highest tiers of switches). Default "host-links".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) of: Option<LoadOf>,
    /// The receiving host. Default: each incast draws a receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) receiver: Option<String>,
    /// Hosts from which each incast draws its receiver, by name; a switch's name stands for its
    /// hosts. Instead of `receiver`. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) receivers: Option<Vec<String>>,
    /// Hosts from which each incast draws its senders, by name; a switch's name stands for its hosts.
    /// Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) senders: Option<Vec<String>>,
    /// True if hosts of the receiver's rack may send to it as well. In a fabric of one rack they always do. Default
    /// false.
    #[serde(default)]
    pub(super) own_rack: bool,
    /// True if all senders are in the rack after the receiver's, in the order of the switches, as in ABM's simulator.
    /// Hosts of the first rack send to the last. Default false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub(super) next_rack: bool,
    /// Start of the time span in which incasts start. Default "0s".
    #[serde(default)]
    pub(super) start: Picos,
    /// End of the time span in which incasts start. Default: `duration`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop: Option<Picos>,
    /// Priority, 0 to 7. Default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) priority: Option<Priority>,
    /// Priorities from which each flow draws one, instead of `priority`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) priorities: Option<Vec<Priority>>,
    /// Transport of the flows, with the keys of `host.transport`. Default: `host.transport`.
    #[serde(serialize_with = "unwritten", skip_serializing_if = "Option::is_none")]
    pub(super) transport: Option<TransportKeys>,
}

impl ManyIncasts {
    /// Returns the label of each flow.
    pub fn label(&self) -> &str {
        self.label.as_deref().expect("a scenario has all defaults")
    }
}

/// Frequency of incasts.
#[derive(Clone, Copy)]
enum Pace {
    /// Time between incasts.
    Period {
        /// Time between incasts or its mean; above zero.
        period: Picos,
    },
    /// Frequency for each receiver.
    Rate {
        /// Incasts per second.
        rate: QueryRate,
    },
    /// Frequency that results in a load.
    Load(Load),
}

/// A number of senders, or a range of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Senders(pub Degree);

/// Range of the number of senders.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RangeKeys")]
struct SenderRange {
    /// Minimum number of senders, from 1 up.
    least: u32,
    /// Maximum number of senders.
    most: u32,
}

impl<'de> Deserialize<'de> for Senders {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Senders;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                write!(f, "a number of hosts such as 16, or a range: {{ least = 1, most = 15 }}")
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Senders, E> {
                let wrong = || {
                    E::custom(Refusal::new(format!("{number} senders"), "write a number from 1 up"))
                };
                let number = u32::try_from(number).map_err(|_| wrong())?;
                Ok(Senders(Degree { least: number, most: number }))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Senders, A::Error> {
                let range = SenderRange::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Senders(Degree { least: range.least, most: range.most }))
            }
        }
        input.deserialize_any(Reader)
    }
}

impl JsonSchema for Senders {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Degree".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of senders, or a range.",
            "oneOf": [
                { "type": "integer", "minimum": 1 },
                generator.subschema_for::<SenderRange>(),
            ],
        })
    }
}

impl Serialize for Senders {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let Degree { least, most } = self.0;
        if least == most {
            out.serialize_u32(least)
        } else {
            SenderRange { least, most }.serialize(out)
        }
    }
}

impl Expansion<'_> {
    /// Completes incasts, and returns the source of their flows.
    pub(super) fn incasts(
        &self,
        path: &str,
        kind: &str,
        keys: &mut ManyIncasts,
        gaps: Gaps,
        key: Key<'_>,
    ) -> Result<Source, ScenarioError> {
        let Senders(degree) = keys.degree;
        let label = keys.label.get_or_insert_with(|| kind.to_owned()).clone();
        let window = self.window(path, keys.start, keys.stop)?;
        keys.stop = Some(window.stop);
        let priorities = keys.priorities.as_deref();
        let priority = self.complete_priority(path, &mut keys.priority, priorities)?;
        self.check_two_hosts(path)?;
        let reach = self.reach(path, keys.own_rack, keys.next_rack)?;
        let (receiver, receivers) = (keys.receiver.as_deref(), keys.receivers.as_deref());
        let receiving = self.incast_receivers(path, receiver, receivers)?;
        let sending = self.group(&format!("{path}.senders"), keys.senders.as_deref())?;
        let parties = IncastParties::new(sending, receiving, reach, self.racks.clone());
        self.check_degree(&format!("{path}.degree"), degree, &parties)?;
        let flows = self.incast_flows(path, keys.flows, degree)?;
        if let Some(total) = keys.total.take() {
            self.check_only_total(path, keys.bytes.is_some(), keys.sizes.is_some())?;
            let receivers = parties.receivers();
            keys.bytes = Some(self.part_of_total(path, total, (degree, flows), receivers)?);
        }
        let sizes = self.incast_bytes(path, keys.bytes, &mut keys.sizes)?;
        let event_q16 = IncastRecipe::event_q16(&sizes, degree, flows);
        if event_q16 >> (64 + 16) != 0 {
            let title = "incasts of more than 2^64 bytes";
            let help = "write fewer flows, or fewer bytes for each";
            return Err(self.document.error(&format!("{path}.flows"), title, help));
        }
        let pace = self.pace(path, keys.period, keys.rate, (keys.load, keys.of))?;
        if let Pace::Load(load) = pace {
            keys.of = Some(load.of);
        }
        let demand = parties.demand(self.fabric, self.groups);
        self.check_reach(path, &demand)?;
        let (mean_gap, rate) = match pace {
            Pace::Period { period } => (exact_gap(period), PayloadRate::average(event_q16, period)),
            Pace::Rate { rate } => {
                let receivers = parties.receivers();
                let offered = PayloadRate::average(event_q16, rate.mean_period(receivers.len()));
                self.check_queries(path, rate, event_q16, receivers)?;
                (rate.mean_gap(receivers.len(), GAP_BITS), offered)
            }
            Pace::Load(load) => {
                let (receivers, senders) = (parties.receivers(), parties.senders());
                let rate = self.payload_rate(path, &label, load, receivers, senders, &demand)?;
                (mean_gap(event_q16, rate), rate)
            }
        };
        let stamp = stamp(&label, &priority, key);
        let recipe =
            IncastRecipe { stamp, window, gaps, mean_gap, degree, flows, sizes, parties, rate };
        Ok(Source::Incasts(recipe.into()))
    }

    fn reach(
        &self,
        path: &str,
        own_rack: bool,
        next_rack: bool,
    ) -> Result<IncastReach, ScenarioError> {
        match (own_rack, next_rack) {
            (true, true) => {
                let at = format!("{path}.next_rack");
                let help = "leave one out: senders are of all racks, or of the next one alone";
                Err(self.document.error(&at, "`own_rack` and `next_rack`", help))
            }
            (true, false) => Ok(IncastReach::AllRacks),
            (false, false) => Ok(IncastReach::OtherRacks),
            (false, true) => {
                self.check_next_rack(&format!("{path}.next_rack"))?;
                Ok(IncastReach::NextRack)
            }
        }
    }

    fn check_only_total(&self, path: &str, bytes: bool, sizes: bool) -> Result<(), ScenarioError> {
        let other = match (bytes, sizes) {
            (true, _) => "bytes",
            (false, true) => "sizes",
            (false, false) => return Ok(()),
        };
        let title = format!("`total` and `{other}`");
        let help = "leave one out: a total is divided among the flows";
        Err(self.document.error(&format!("{path}.total"), &title, help))
    }

    fn incast_bytes(
        &self,
        path: &str,
        bytes: Option<Bytes>,
        sizes: &mut Option<Sizes>,
    ) -> Result<SizeChoice, ScenarioError> {
        match (bytes, sizes) {
            (Some(bytes), None) => {
                self.check_bytes(&format!("{path}.bytes"), bytes)?;
                Ok(SizeChoice::Fixed(bytes))
            }
            (None, Some(sizes)) => {
                let (named, choice) = self.sizes(&format!("{path}.sizes"), sizes.clone())?;
                *sizes = named;
                Ok(choice)
            }
            (Some(_), Some(_)) => {
                let help = "leave one out: `bytes` is for all flows, `sizes` are drawn from";
                let title = "`bytes` and `sizes`";
                Err(self.document.error(&format!("{path}.sizes"), title, help))
            }
            (None, None) => {
                let help = "add bytes = \"64kB\", sizes = \"websearch\", or total = \"1MB\"";
                Err(self.document.error(path, "incasts without bytes, sizes or a total", help))
            }
        }
    }

    fn incast_receivers(
        &self,
        path: &str,
        one: Option<&str>,
        many: Option<&[String]>,
    ) -> Result<Vec<HostId>, ScenarioError> {
        let at = format!("{path}.receivers");
        match (one, many) {
            (Some(_), Some(_)) => {
                let help =
                    "leave one out: `receiver` is always the same, `receivers` are drawn from";
                Err(self.document.error(&at, "`receiver` and `receivers`", help))
            }
            (Some(name), None) => Ok(vec![self.host(&format!("{path}.receiver"), name)?]),
            (None, many) => self.group(&at, many),
        }
    }

    fn incast_flows(
        &self,
        path: &str,
        flows: Option<u32>,
        degree: Degree,
    ) -> Result<Option<u32>, ScenarioError> {
        if let Some(count) = flows
            && !(degree.most..=MAX_FLOWS).contains(&count)
        {
            let title = format!("{count} flows of {} senders", degree.most);
            let help = format!("each sends at least one: write {} to {MAX_FLOWS}", degree.most);
            return Err(self.document.error(&format!("{path}.flows"), &title, &help));
        }
        Ok(flows)
    }

    fn pace(
        &self,
        path: &str,
        period: Option<Picos>,
        rate: Option<QueryRate>,
        (load, of): (Option<Probability>, Option<LoadOf>),
    ) -> Result<Pace, ScenarioError> {
        if let Some(rate) = rate {
            if period.is_some() || load.is_some() || of.is_some() {
                let help = "leave out `period`, `load` and `of`, or `rate`";
                let title = "`rate` beside another pace";
                return Err(self.document.error(&format!("{path}.rate"), title, help));
            }
            return Ok(Pace::Rate { rate });
        }
        match (period, load) {
            (Some(_), None) if of.is_some() => {
                let help = "leave it out: with `period` there is no load";
                let title = "`of` says which links a load is a part of";
                Err(self.document.error(&format!("{path}.of"), title, help))
            }
            (Some(Picos::ZERO), None) => {
                let help = "write a time such as \"100us\"";
                Err(self.document.error(&format!("{path}.period"), "a period of no time", help))
            }
            (Some(period), None) => Ok(Pace::Period { period }),
            (None, Some(part)) => Ok(Pace::Load(Load { part, of: of.unwrap_or_default() })),
            (Some(_), Some(_)) => {
                let help = "leave one out: a load follows from a period, and a period from a load";
                Err(self.document.error(&format!("{path}.load"), "a period and a load", help))
            }
            (None, None) => {
                let help = "add period = \"100us\", rate = 2, or load = 0.1";
                Err(self.document.error(path, "incasts without a period, a rate or a load", help))
            }
        }
    }

    fn check_degree(
        &self,
        path: &str,
        degree: Degree,
        parties: &IncastParties,
    ) -> Result<(), ScenarioError> {
        let Degree { least, most } = degree;
        if least == 0 || least > most {
            let help = "write how many hosts send at once, from 1 up; of a range, the least first";
            let title = if most == 0 {
                "an incast without senders".to_owned()
            } else {
                format!("incasts of {least} to {most} senders")
            };
            return Err(self.document.error(path, &title, help));
        }
        let fewest = parties.receivers().iter().min_by_key(|host| parties.eligible(**host));
        match fewest.map(|&host| (host, parties.eligible(host))) {
            Some((host, count)) if count < most => {
                let name = &self.fabric.host(host).name;
                let title = format!("{count} hosts can send to `{name}` at once, not {most}");
                let help = if parties.reach() == IncastReach::NextRack {
                    format!(
                        "senders are of the next rack: write {count} at most, or use more hosts"
                    )
                } else {
                    format!(
                        "senders are of other racks than the receiver: write {count} at most, or \
                         use more hosts, or own_rack = true"
                    )
                };
                Err(self.document.error(path, &title, &help))
            }
            _ => Ok(()),
        }
    }
}
