//! `xoff impair`: loss, damage, delay and lower rates on wires of a live fabric.

use emulation::live::impairment::{Impairment, ImpairmentChange};
use scenario::{MAX_DELAY, MIN_RATE, Refusal, quantity};
use serde_json::json;
use units::{BitsPerSecond, Picos};

use super::Exit;
use crate::client::Client;
use crate::protocol::{Answer, NamedWire, Request};
use crate::report;

/// Arguments of `xoff impair`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The live fabric.
    name: String,
    /// Wire, such as "h0->leaf0", or link (both wires), such as "h0-leaf0". `*` matches any text.
    wire: String,
    /// Share of frames that are lost, such as 0.1% or 0.001; 100%: all; 0: none.
    #[arg(long, value_parser = part, allow_hyphen_values = true)]
    loss: Option<u32>,
    /// Share of frames that arrive with a wrong FCS and are dropped there; 0: none.
    #[arg(long, value_name = "PART", value_parser = part, allow_hyphen_values = true)]
    corrupt: Option<u32>,
    /// Extra delay of each frame, such as +5us, at most 1s; 0: none.
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    delay: Option<u64>,
    /// Max random delay in addition to --delay; frames stay in order. 0: none.
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    jitter: Option<u64>,
    /// Rate at which the port sends, such as 50Mbps, at least 100kbps; 0: the link's rate.
    #[arg(long, value_parser = rate, allow_hyphen_values = true)]
    rate: Option<u64>,
    /// Removes all impairments before other options are applied.
    #[arg(long)]
    clear: bool,
    /// Prints the resulting impairments as JSON, including errors.
    #[arg(long)]
    json: bool,
}

/// Parses a share of all frames, in millionths: a percentage, or a number from 0 to 1. A bare 1 is refused, because in
/// tc it means 1%.
fn part(text: &str) -> Result<u32, Refusal> {
    let wrong =
        || Refusal::new(format!("{text:?} is not a part of all frames"), "write 0.1%, or 0.001");
    let (number, digits) = match text.strip_suffix('%') {
        Some(number) => (number, 4),
        None => (text, 6),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return Err(wrong());
    }
    let fraction = fraction.trim_end_matches('0');
    let (kept, finer) = fraction.split_at(fraction.len().min(digits));
    let millionths: u32 = format!("{whole}{kept:0<digits$}").parse().map_err(|_| wrong())?;
    match (millionths, finer.is_empty()) {
        (1_000_000, true) if digits == 6 => {
            let title = format!("{text:?} may be 1% or 100%");
            Err(Refusal::new(title, "write 1% or 100%"))
        }
        (0..=1_000_000, true) => Ok(millionths),
        (0..1_000_000, false) => {
            let title = format!("{text:?} is finer than a millionth of all frames");
            let nearest = report::percent(millionths.max(1));
            Err(Refusal::new(title, format!("write {nearest}")))
        }
        _ => Err(wrong()),
    }
}

/// Parses a time in picoseconds, with or without a plus sign.
fn time(text: &str) -> Result<u64, Refusal> {
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    if unsigned == "0" {
        return Ok(0);
    }
    let time: Picos = quantity::parse(unsigned)?;
    if time > MAX_DELAY {
        Err(Refusal::new(format!("{text} is more than 1s"), ""))
    } else {
        Ok(time.0)
    }
}

/// Parses a rate in bit/s.
fn rate(text: &str) -> Result<u64, Refusal> {
    if text == "0" {
        return Ok(0);
    }
    let rate: BitsPerSecond = quantity::parse(text)?;
    if rate < MIN_RATE {
        Err(Refusal::new(format!("{text} is less than 100kbps"), ""))
    } else {
        Ok(rate.0)
    }
}

impl Arguments {
    fn change(&self) -> ImpairmentChange {
        let before = if self.clear { ImpairmentChange::CLEAR } else { ImpairmentChange::default() };
        before.and_then(ImpairmentChange {
            loss_millionths: self.loss,
            corrupt_millionths: self.corrupt,
            delay_ps: self.delay,
            jitter_ps: self.jitter,
            rate_bps: self.rate,
        })
    }
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let Arguments { name, wire, json, .. } = arguments;
    super::json_errors::answer_in_json(*json);
    let change = arguments.change();
    match ask(name, &Request::Impair { wire: wire.clone(), change }) {
        Ok(wires) => print(&wires),
        Err(message) => super::refuse(message),
    }
}

/// Sends a request to a fabric that is answered with the state of wires.
pub(super) fn ask(name: &str, request: &Request) -> Result<Vec<NamedWire>, String> {
    match Client::connect(name)?.ask_once(request)? {
        Answer::Wires { wires } => Ok(wires),
        _ => Err(format!("the supervisor of {name} answers something else; deploy {name} again")),
    }
}

/// Prints how wires are and what is set on them.
pub(super) fn print(wires: &[NamedWire]) -> Exit {
    super::answer(&table(wires), &json!(wires), Exit::Success)
}

/// A line for each wire. It says in each case whether the wire is up, and what is set.
fn table(wires: &[NamedWire]) -> String {
    let width = wires.iter().map(|named| named.wire.len()).max().unwrap_or(0);
    let line = |NamedWire { wire, view }: &NamedWire| {
        let mut words = report::wire_words(view);
        if view.is_up {
            words.insert(0, "up".to_owned());
        }
        if view.impairment == Impairment::default() {
            let states = [true, view.is_flapping, view.is_avoided];
            let place = states.into_iter().filter(|is_so| *is_so).count();
            words.insert(place, "nothing is set".to_owned());
        }
        format!("{wire:width$}  {}", words.join(", "))
    };
    wires.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use emulation::live::view::WireView;

    use super::*;

    #[test]
    fn a_part_is_a_percentage_or_a_number_up_to_one() {
        for (text, millionths) in [
            ("0.1%", 1000),
            ("0.001", 1000),
            ("0", 0),
            ("0%", 0),
            ("100%", 1_000_000),
            ("0.999999", 999_999),
        ] {
            assert_eq!(part(text), Ok(millionths), "{text}");
        }
        assert_eq!((part("0.0001%"), part("0.000001"), part("12.5%")), (Ok(1), Ok(1), Ok(125_000)));
        for text in [
            "",
            "%",
            "-1",
            "+1",
            "1.1",
            "101%",
            "0.00001%",
            "0.0000001",
            "1.",
            ".5",
            "a",
            "1e-3",
            "1%%",
        ] {
            assert!(part(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_part_that_is_too_fine_is_refused_with_one_that_is_not() {
        for (text, help) in [
            ("0.9999999", "write 99.9999%"),
            ("99.99999%", "write 99.9999%"),
            ("0.0000001", "write 0.0001%"),
            ("0.00001%", "write 0.0001%"),
            ("0.1234567", "write 12.3456%"),
        ] {
            let refusal = part(text).unwrap_err();
            assert!(refusal.title.contains("finer than a millionth"), "{text}: {}", refusal.title);
            assert_eq!(refusal.help, help, "{text}");
            assert!(part(help.strip_prefix("write ").unwrap()).is_ok(), "{help}");
        }
        for text in ["1.0000001", "100.00001%"] {
            assert!(part(text).unwrap_err().title.contains("is not a part"), "{text}");
        }
    }

    #[test]
    fn a_wire_is_said_to_be_up_and_what_is_set_whatever_was_lost_on_it() {
        let up = WireView { is_up: true, ..WireView::default() };
        let impairment = Impairment { loss_millionths: 1000, ..Impairment::default() };
        let line = |view| {
            let wire = "h0->leaf0".to_owned();
            table(&[NamedWire { wire, view }])
        };
        for (view, words) in [
            (up, "up, nothing is set"),
            (WireView { lost_frames: 1, ..up }, "up, nothing is set, 1 frame lost"),
            (WireView { impairment, ..up }, "up, loss 0.1%"),
            (WireView { is_flapping: true, ..up }, "up, flapping, nothing is set"),
            (
                WireView { is_up: false, is_avoided: true, ..up },
                "down, routes avoid its link, nothing is set",
            ),
            (WireView { is_up: false, impairment, ..up }, "down, loss 0.1%"),
        ] {
            assert_eq!(line(view), format!("h0->leaf0  {words}"));
        }
    }

    /// tc reads a bare 1 as 1%.
    #[test]
    fn a_bare_one_is_refused() {
        for text in ["1", "1.0", "1.000000"] {
            let refusal = part(text).unwrap_err();
            assert_eq!(refusal.help, "write 1% or 100%", "{text}");
        }
    }

    #[test]
    fn times_and_rates_have_units_unless_they_are_zero() {
        assert_eq!((time("+5us"), time("5us"), time("0")), (Ok(5_000_000), Ok(5_000_000), Ok(0)));
        assert_eq!((rate("50Mbps"), rate("0")), (Ok(50_000_000), Ok(0)));
        for text in ["5", "+", "-5us", "++5us", "2s"] {
            assert!(time(text).is_err(), "{text}");
        }
        for text in ["50", "10kbps", "0bps"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
