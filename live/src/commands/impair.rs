//! `xoff impair`: losses, damage, delays and lower rates on wires of a live fabric.

use emulation::live::impairment::ImpairmentChange;
use scenario::{LEAST_RATE, MOST_DELAY, Refusal, quantity};
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
    /// The wire, such as "h0->leaf0", or the link, such as "h0-leaf0": both of its wires. `*` stands for any text.
    wire: String,
    /// Part of the frames that vanish, such as 0.1% or 0.001; 100%: all; 0: none.
    #[arg(long, value_parser = part, allow_hyphen_values = true)]
    loss: Option<u32>,
    /// Part of the frames that arrive with a wrong FCS, and are dropped there; 0: none.
    #[arg(long, value_name = "PART", value_parser = part, allow_hyphen_values = true)]
    corrupt: Option<u32>,
    /// By how much each frame arrives later, such as +5us, at most 1s; 0: not at all.
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    delay: Option<u64>,
    /// The most by which a frame arrives later than that; frames stay in order. 0: not at all.
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    jitter: Option<u64>,
    /// The rate at which the port sends, such as 50Mbps, at least 100kbps; 0: the link's.
    #[arg(long, value_parser = rate, allow_hyphen_values = true)]
    rate: Option<u64>,
    /// Takes away all that is set, before other options count.
    #[arg(long)]
    clear: bool,
    /// Prints what is set then as JSON; errors, too.
    #[arg(long)]
    json: bool,
}

/// A part of all frames, in millionths: a percentage, or a number from 0 to 1. A bare 1 is refused: tc means 1% by it.
fn part(text: &str) -> Result<u32, Refusal> {
    let wrong =
        || Refusal::new(format!("{text:?} is not a part of all frames"), "write 0.1%, or 0.001");
    let (number, digits) = match text.strip_suffix('%') {
        Some(number) => (number, 4),
        None => (text, 6),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let fraction =
        if is_number(fraction) { fraction.trim_end_matches('0') } else { return Err(wrong()) };
    if fraction.len() > digits {
        let title = format!("{text:?} is finer than a millionth of all frames");
        return Err(Refusal::new(title, "write 0.0001% at least"));
    }
    let scaled = format!("{whole}{fraction:0<digits$}");
    let millionths = is_number(whole).then(|| scaled.parse::<u32>().ok()).flatten();
    let millionths = millionths.ok_or_else(wrong)?;
    match millionths {
        1_000_000 if digits == 6 => {
            let title = format!("{text:?} may be 1% or 100%");
            Err(Refusal::new(title, "write 1% or 100%"))
        }
        0..=1_000_000 => Ok(millionths),
        _ => Err(wrong()),
    }
}

/// A time in picoseconds, with or without a sign.
fn time(text: &str) -> Result<u64, Refusal> {
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    if unsigned == "0" {
        return Ok(0);
    }
    let time: Picos = quantity::parse(unsigned)?;
    if time > MOST_DELAY {
        Err(Refusal::new(format!("{text} is more than 1s"), ""))
    } else {
        Ok(time.0)
    }
}

/// A rate in bit/s.
fn rate(text: &str) -> Result<u64, Refusal> {
    if text == "0" {
        return Ok(0);
    }
    let rate: BitsPerSecond = quantity::parse(text)?;
    if rate < LEAST_RATE {
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
        Ok(wires) => print(&wires, "nothing is set"),
        Err(message) => super::refuse(message),
    }
}

/// Asks a fabric for something that it answers with how wires are.
pub(super) fn ask(name: &str, request: &Request) -> Result<Vec<NamedWire>, String> {
    match Client::connect(name)?.ask_once(request)? {
        Answer::Wires { wires } => Ok(wires),
        _ => Err(format!("the supervisor of {name} answers something else; deploy {name} again")),
    }
}

/// Prints what is set on wires; `otherwise` stands for nothing.
pub(super) fn print(wires: &[NamedWire], otherwise: &str) -> Exit {
    let width = wires.iter().map(|named| named.wire.len()).max().unwrap_or(0);
    let line = |NamedWire { wire, view }: &NamedWire| {
        let words = report::wire_words(view);
        let words = if words.is_empty() { otherwise.to_owned() } else { words.join(", ") };
        format!("{wire:width$}  {words}")
    };
    let text = wires.iter().map(line).collect::<Vec<_>>().join("\n");
    super::answer(&text, &json!(wires), Exit::Success)
}

#[cfg(test)]
mod tests {
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

    /// tc takes a bare 1 for 1%.
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
