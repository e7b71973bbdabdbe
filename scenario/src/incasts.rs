//! Resolved series of incasts.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use topology::HostId;
use units::{Bytes, Picos};
use workload::variate::Gaps;
use workload::{
    Degree, GAP_BITS, IncastParties, IncastReach, IncastRecipe, PayloadRate, PriorityChoice,
    SizeChoice, Source, Window, exact_gap, mean_gap,
};

use super::flow_keys::IncastKeys;
use super::flows::Expansion;
use super::generated::{Key, stamp};
use super::load::{Load, LoadOf};
use super::queries::QueryRate;
use super::ratio::Probability;
use super::report::ScenarioError;
use super::sizes::Sizes;
use crate::refusal::Refusal;

/// Maximum number of flows of an incast.
const MAX_FLOWS: u32 = 1 << 20;

/// A series of incasts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ManyIncasts {
    /// Label of each flow.
    pub label: String,
    /// Number of senders of an incast.
    #[serde(serialize_with = "serialize_degree")]
    pub degree: Degree,
    /// Bytes of each flow.
    #[serde(flatten)]
    pub bytes: IncastBytes,
    /// Number of flows of an incast; `None`: one for each sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<u32>,
    /// Frequency of incasts.
    #[serde(flatten)]
    pub pace: Pace,
    /// Name of the receiver; `None`: each incast draws a receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<String>,
    /// Names of hosts from which receivers are drawn, and of switches for their hosts; `None`: all hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receivers: Option<Vec<String>>,
    /// Names of hosts from which senders are drawn, and of switches for their hosts; `None`: all hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub senders: Option<Vec<String>>,
    /// True if hosts of the receiver's rack send as well.
    pub own_rack: bool,
    /// True if all senders are in the rack after the receiver's.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub next_rack: bool,
    /// Start of the time span in which incasts start.
    pub start: Picos,
    /// End of the time span in which incasts start.
    pub stop: Picos,
    /// Priority of the flows.
    #[serde(flatten)]
    pub priority: PriorityChoice,
}

/// Bytes of an incast's flows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum IncastBytes {
    /// One size for all flows.
    Fixed {
        /// Bytes of each flow, above zero.
        bytes: Bytes,
    },
    /// A size drawn for each flow.
    Drawn {
        /// Distribution of the sizes.
        sizes: Sizes,
    },
}

/// Frequency of incasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Pace {
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
pub(super) struct DegreeKeys(Degree);

/// Range of the number of senders.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RangeKeys {
    /// Minimum number of senders, from 1 up.
    least: u32,
    /// Maximum number of senders.
    most: u32,
}

impl<'de> Deserialize<'de> for DegreeKeys {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = DegreeKeys;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                write!(f, "a number of hosts such as 16, or a range: {{ least = 1, most = 15 }}")
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<DegreeKeys, E> {
                let wrong = || {
                    E::custom(Refusal::new(format!("{number} senders"), "write a number from 1 up"))
                };
                let number = u32::try_from(number).map_err(|_| wrong())?;
                Ok(DegreeKeys(Degree { least: number, most: number }))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DegreeKeys, A::Error> {
                let range = RangeKeys::deserialize(MapAccessDeserializer::new(map))?;
                Ok(DegreeKeys(Degree { least: range.least, most: range.most }))
            }
        }
        input.deserialize_any(Reader)
    }
}

impl JsonSchema for DegreeKeys {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Degree".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of senders, or a range.",
            "oneOf": [
                { "type": "integer", "minimum": 1 },
                generator.subschema_for::<RangeKeys>(),
            ],
        })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn serialize_degree<S: Serializer>(degree: &Degree, out: S) -> Result<S::Ok, S::Error> {
    let Degree { least, most } = *degree;
    if least == most { out.serialize_u32(least) } else { RangeKeys { least, most }.serialize(out) }
}

impl Expansion<'_> {
    /// Returns incasts with all defaults, and the source of their flows.
    pub(super) fn incasts(
        &self,
        path: &str,
        kind: &str,
        keys: IncastKeys,
        gaps: Gaps,
        key: Key<'_>,
    ) -> Result<(ManyIncasts, Source), ScenarioError> {
        let IncastKeys { label, degree: DegreeKeys(degree), own_rack, next_rack, .. } = keys;
        let label = label.unwrap_or_else(|| kind.to_owned());
        let window = self.window(path, keys.start, keys.stop)?;
        let priority: PriorityChoice = self.priority(path, keys.priority, keys.priorities)?;
        self.check_two_hosts(path)?;
        let reach = self.reach(path, own_rack, next_rack)?;
        let (receiver, receivers, senders) = (keys.receiver, keys.receivers, keys.senders);
        let receiving = self.incast_receivers(path, receiver.as_deref(), receivers.as_deref())?;
        let sending = self.group(&format!("{path}.senders"), senders.as_deref())?;
        let parties = IncastParties::new(sending, receiving, reach, self.racks.clone());
        self.check_degree(&format!("{path}.degree"), degree, &parties)?;
        let flows = self.incast_flows(path, keys.flows, degree)?;
        let each = match keys.total {
            None => keys.bytes,
            Some(total) => {
                self.check_only_total(path, keys.bytes.is_some(), keys.sizes.is_some())?;
                let receivers = parties.receivers();
                Some(self.part_of_total(path, total, (degree, flows), receivers)?)
            }
        };
        let (bytes, sizes) = self.incast_bytes(path, each, keys.sizes)?;
        let event_q16 = IncastRecipe::event_q16(&sizes, degree, flows);
        if event_q16 >> (64 + 16) != 0 {
            let title = "incasts of more than 2^64 bytes";
            let help = "write fewer flows, or fewer bytes for each";
            return Err(self.document.error(&format!("{path}.flows"), title, help));
        }
        let pace = self.pace(path, keys.period, keys.rate, (keys.load, keys.of))?;
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
        let Window { start, stop } = window;
        let resolved = ManyIncasts {
            label,
            degree,
            bytes,
            flows,
            pace,
            receiver,
            receivers,
            senders,
            own_rack,
            next_rack,
            start,
            stop,
            priority,
        };
        Ok((resolved, Source::Incasts(recipe.into())))
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
        sizes: Option<Sizes>,
    ) -> Result<(IncastBytes, SizeChoice), ScenarioError> {
        match (bytes, sizes) {
            (Some(bytes), None) => {
                self.check_bytes(&format!("{path}.bytes"), bytes)?;
                Ok((IncastBytes::Fixed { bytes }, SizeChoice::Fixed(bytes)))
            }
            (None, Some(sizes)) => {
                let (sizes, choice) = self.sizes(&format!("{path}.sizes"), sizes)?;
                Ok((IncastBytes::Drawn { sizes }, choice))
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
