//! Sending of PAUSE frames by a port, and response to them (IEEE 802.1Qbb).

use fabric_core::headroom::MAX_RESPONSE_BYTES;
use fabric_core::wire::pfc::{self, quantum_duration};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use topology::{NodeKind, Wire};
use units::{BitsPerSecond, Picos};

use super::document::Document;
use super::quantity;
use super::ratio::Ratio;
use super::report::ScenarioError;
use super::{Order, Scenario};
use crate::refusal::Refusal;

/// Time after the arrival of a PAUSE in which a port may still start frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum PauseResponse {
    /// The maximum of 802.1Qbb: 3840 bytes at the port's rate.
    #[default]
    Standard,
    /// A fixed time, at most `Standard`.
    Time(Picos),
}

impl PauseResponse {
    /// Returns the response time of a port with this rate.
    pub const fn at(self, rate: BitsPerSecond) -> Picos {
        match self {
            Self::Standard => rate.serialise(MAX_RESPONSE_BYTES),
            Self::Time(time) => time,
        }
    }

    /// Checks the time against the fastest port that it applies to.
    pub(super) fn check(
        self,
        fastest: BitsPerSecond,
        path: &str,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let (given, longest) = (self.at(fastest), Self::Standard.at(fastest));
        if given <= longest {
            return Ok(());
        }
        let rate = quantity::display(fastest);
        let title = format!(
            "a pause response of {} is longer than 802.1Qbb allows at {rate}",
            quantity::display(given)
        );
        let help = format!(
            "it is at most 3840 B at line rate, {} here; \"standard\" is just that",
            quantity::display(longest)
        );
        Err(document.error(path, &title, &help))
    }
}

impl TryFrom<String> for PauseResponse {
    type Error = Refusal;
    fn try_from(text: String) -> Result<Self, Refusal> {
        if text == "standard" { Ok(Self::Standard) } else { quantity::parse(&text).map(Self::Time) }
    }
}

impl From<PauseResponse> for String {
    fn from(response: PauseResponse) -> Self {
        match response {
            PauseResponse::Standard => "standard".into(),
            PauseResponse::Time(time) => quantity::display(time),
        }
    }
}

impl JsonSchema for PauseResponse {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PauseResponse".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = generator.subschema_for::<Picos>();
        json_schema!({ "oneOf": [{ "const": "standard" }, time] })
    }
}

/// Time after which a PAUSE is sent again while congestion lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum PauseRefresh {
    /// A fraction of the pause time; below 1.
    Part(Ratio),
    /// A fixed time, shorter than the pause time.
    Time(Picos),
}

impl Default for PauseRefresh {
    fn default() -> Self {
        Self::Part(Ratio::new(1, 2))
    }
}

impl PauseRefresh {
    /// Returns the time between PAUSE frames of `quanta` on a port with this rate.
    pub fn period(self, quanta: u16, rate: BitsPerSecond) -> Picos {
        match self {
            Self::Part(part) => Picos(part.scale(quantum_duration(rate, quanta).0)),
            Self::Time(time) => time,
        }
    }

    /// Checks that a refresh precedes the end of the quanta on the fastest port.
    pub(super) fn check(
        self,
        quanta: u16,
        fastest: BitsPerSecond,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let (period, time) = (self.period(quanta, fastest), quantum_duration(fastest, quanta));
        if period > Picos::ZERO && period < time {
            return Ok(());
        }
        let title = format!("a PAUSE would be refreshed after {}", quantity::display(period));
        let help = format!(
            "its {quanta} quanta last {} at {}: refresh later than at once and earlier than that",
            quantity::display(time),
            quantity::display(fastest)
        );
        Err(document.error("switch.pause_refresh", &title, &help))
    }
}

impl TryFrom<String> for PauseRefresh {
    type Error = Refusal;
    fn try_from(text: String) -> Result<Self, Refusal> {
        if text.contains('/') {
            Ratio::parse(&text).map(Self::Part)
        } else {
            quantity::parse(&text).map(Self::Time)
        }
    }
}

impl From<PauseRefresh> for String {
    fn from(refresh: PauseRefresh) -> Self {
        match refresh {
            PauseRefresh::Part(Ratio { numerator, denominator }) => {
                format!("{numerator}/{denominator}")
            }
            PauseRefresh::Time(time) => quantity::display(time),
        }
    }
}

impl JsonSchema for PauseRefresh {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PauseRefresh".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = generator.subschema_for::<Picos>();
        json_schema!({ "oneOf": [
            {
                "type": "string",
                "pattern": "^[0-9]+/[0-9]+$",
                "description": "A part of the pause time.",
            },
            time,
        ] })
    }
}

/// End of a received pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum PauseLasts {
    /// The end of its quanta, unless another frame comes before.
    #[default]
    Quanta,
    /// A RESUME.
    UntilResume,
    /// This time at any rate, unless another frame comes before.
    Time(Picos),
}

/// Time of a pause that lasts until a RESUME: longer than any run.
const ENDLESS: Picos = Picos(1 << 62);
const _: () = assert!(ENDLESS.0 / 64 > crate::MAX_DURATION.0);

impl PauseLasts {
    /// Returns the time after which a timer event ends each pause; `None` if quanta or a RESUME end it.
    pub const fn own_end(self) -> Option<Picos> {
        match self {
            Self::Time(time) => Some(time),
            Self::Quanta | Self::UntilResume => None,
        }
    }

    /// Returns the quanta that a switch writes into a PAUSE, instead of these.
    pub const fn quanta(self, pause_quanta: u16) -> u16 {
        // One quantum is the whole time.
        if self.own_end().is_some() { 1 } else { pause_quanta }
    }

    /// Returns the duration of a quantum at a rate, if a PAUSE has `pause_quanta`.
    pub fn quantum(self, rate: BitsPerSecond, pause_quanta: u16) -> Picos {
        match self {
            Self::Quanta => quantum_duration(rate, 1),
            Self::UntilResume => Picos(ENDLESS.0 / u64::from(pause_quanta)),
            Self::Time(time) => time,
        }
    }

    /// Returns the time of a pause of these quanta at a rate, unless another frame comes before its end.
    pub fn time(self, rate: BitsPerSecond, quanta: u16) -> Picos {
        match self {
            Self::Quanta => quantum_duration(rate, quanta),
            _ if quanta == 0 => Picos::ZERO,
            Self::UntilResume => ENDLESS,
            Self::Time(time) => time,
        }
    }

    /// Returns the time after which a PAUSE is renewed.
    pub fn refresh_period(
        self,
        refresh: PauseRefresh,
        pause_quanta: u16,
        rate: BitsPerSecond,
    ) -> Picos {
        match self {
            Self::Quanta => refresh.period(pause_quanta, rate),
            Self::UntilResume | Self::Time(_) => ENDLESS,
        }
    }
}

impl TryFrom<String> for PauseLasts {
    type Error = Refusal;
    fn try_from(text: String) -> Result<Self, Refusal> {
        match text.as_str() {
            "quanta" => Ok(Self::Quanta),
            "until-resume" => Ok(Self::UntilResume),
            word if quantity::starts_like_a_word(word) => {
                let title = format!("no end of a pause is called `{word}`");
                let help = "write \"quanta\", \"until-resume\", or a time such as \"5us\"";
                Err(Refusal::new(title, help))
            }
            text => quantity::parse(text).map(Self::Time),
        }
    }
}

impl From<PauseLasts> for String {
    fn from(lasts: PauseLasts) -> Self {
        match lasts {
            PauseLasts::Quanta => "quanta".into(),
            PauseLasts::UntilResume => "until-resume".into(),
            PauseLasts::Time(time) => quantity::display(time),
        }
    }
}

impl JsonSchema for PauseLasts {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PauseLasts".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = generator.subschema_for::<Picos>();
        json_schema!({ "oneOf": [{ "enum": ["quanta", "until-resume"] }, time] })
    }
}

/// Events at which a paused queue is compared with `X_on`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResumeTest {
    /// Departure of a packet of the queue, and each time its PAUSE is due again, because a threshold may have risen.
    #[default]
    Refresh,
    /// Departure of a packet of the queue only.
    Departure,
}

impl Scenario {
    /// Returns a warning if a PAUSE may expire before it is renewed. The renewal may wait at the port for the longest
    /// frame and for one control frame of each lossless class. The delay of a wire does not matter unless a fault slows
    /// it down.
    pub(super) fn warnings_of_quanta(&self) -> Option<String> {
        let quanta = self.switch.pause_quanta;
        if self.switch.lossless.count() == 0 || self.renews_in_time(quanta) {
            return None;
        }
        let least = (quanta..=u16::MAX).find(|&quanta| self.renews_in_time(quanta));
        let otherwise = match least {
            Some(least) => format!("write `switch.pause_quanta = {least}` or more"),
            None => "refresh earlier (`switch.pause_refresh`)".to_owned(),
        };
        Some(format!(
            "a PAUSE of {quanta} quanta may run out before it is renewed, behind the longest frame, and lossless packets be lost: \
             {otherwise}"
        ))
    }

    /// Checks a pause of a fixed time, whose end is an event: the order of insertion has such events, and no frame of
    /// before the pause may arrive at its end.
    pub(super) fn check_pause_time(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        const KEY: &str = "switch.pause_lasts";
        let PauseLasts::Time(time) = self.switch.pause_lasts else { return Ok(()) };
        let shown = quantity::display(time);
        if self.order == Order::Nodes {
            let title = format!("pauses of {shown}, and events by node");
            let help = "write order = \"insertion\", or dialect = \"conweave-ns3\" for all of the \
                        simulator's rules";
            return Err(document.error(KEY, &title, help));
        }
        let own = self.host.ns3.is_none();
        let in_the_way = [
            (KEY, own, "xoff's own hosts", "write the table [host.ns3]"),
            (
                "results.explain",
                self.results.explain,
                "an explanation",
                "it counts in quanta: leave it out",
            ),
        ];
        if let Some((path, _, what, help)) = in_the_way.iter().find(|(_, is_there, ..)| *is_there) {
            let title = format!("pauses of {shown}, and {what}");
            return Err(document.error(path, &title, help));
        }
        let longest = self.longest_frame().0;
        let on_its_way = |wire: &Wire| wire.delay + self.frame_time().serialise(wire.rate, longest);
        let slowest = self.fabric.wires().iter().map(on_its_way).max().unwrap_or_default();
        if time <= slowest || Picos::from_nanos(time.to_nanos()) != time {
            let title = format!("pauses of {shown}");
            let help = format!(
                "write whole nanoseconds, more than a frame is on its way: {}",
                quantity::display(slowest)
            );
            return Err(document.error(KEY, &title, &help));
        }
        Ok(())
    }

    /// Returns true if each PAUSE of this many quanta is renewed before it expires, on every link.
    fn renews_in_time(&self, quanta: u16) -> bool {
        let longest = self.longest_frame().0;
        let classes = u64::from(self.switch.lossless.count());
        self.fabric.wires().iter().all(|wire| {
            let frame = |length| self.frame_time().serialise(wire.rate, length).0;
            let behind = frame(longest) + classes * frame(pfc::LEN as u64);
            let renewed = self.switch.pause_refresh.period(quanta, wire.rate).0 + behind;
            renewed <= quantum_duration(wire.rate, quanta).0
        })
    }

    /// Checks pause times at the fastest port, where they are shortest.
    pub(super) fn check_pauses(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let wires = self.fabric.wires();
        let is_host = |node| matches!(self.fabric.node(node).kind, NodeKind::Host(_));
        let fastest = |hosts| {
            let rates = wires.iter().filter(|wire| is_host(wire.from) == hosts).map(|w| w.rate);
            rates.max()
        };
        if let Some(rate) = fastest(false) {
            let switch = &self.switch;
            switch.pause_response.check(rate, "switch.pause_response", document)?;
            switch.pause_refresh.check(switch.pause_quanta, rate, document)?;
        }
        if let Some(rate) = fastest(true) {
            self.host.pause_response.check(rate, "host.pause_response", document)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: BitsPerSecond = BitsPerSecond(100_000_000_000);

    #[test]
    fn few_quanta_are_warned_of_with_the_fewest_that_do() {
        let warned = |settings: &str| -> Option<String> {
            let text = format!(
                "name = \"quanta\"\n[topology]\nkind = \"star\"\nhosts = 2\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
                 [switch]\n{settings}\n[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"\n"
            );
            let path = std::path::Path::new("quanta.toml");
            let scenario = Scenario::parse(&text, path, &[]).expect("it is right");
            scenario.warnings().into_iter().find(|it| it.contains("may run out"))
        };
        assert_eq!(warned(""), None);
        // A frame of 1098 B and a PAUSE of 84 B in half of the quanta, of 64 B each.
        let few = warned("pause_quanta = 36").expect("a warning");
        assert!(few.contains("`switch.pause_quanta = 37`"), "{few}");
        assert_eq!(warned("pause_quanta = 37"), None);
        assert_eq!(warned("pause_quanta = 1\nlossless = []"), None);
        let later = warned("pause_quanta = 37\npause_refresh = \"3/4\"").expect("a warning");
        assert!(later.contains("`switch.pause_quanta = 74`"), "{later}");
    }

    #[test]
    fn all_quanta_are_a_third_of_a_millisecond_at_100g() {
        assert_eq!(PauseRefresh::default().period(65535, RATE), Picos(167_769_600));
        assert_eq!(PauseResponse::Standard.at(RATE), Picos(307_200));
    }
}
