//! `xoff link`: takes wires of a live fabric down and up.

use emulation::live::impairment::LinkState;
use scenario::MIN_PERIOD;
use scenario::whole_number::at_least;
use scenario::{Refusal, quantity};
use units::Picos;

use super::Exit;
use super::impair;
use crate::protocol::Request;

/// Arguments of `xoff link`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The live fabric.
    name: String,
    /// Wire, such as "h0->leaf0", or link (both wires), such as "h0-leaf0". `*` matches any text.
    wire: String,
    /// New state. A wire that is down loses every new frame; frames already on it arrive.
    state: State,
    /// Makes routes avoid the link while one of its wires is down. Otherwise switches keep using it.
    #[arg(long)]
    reroute: bool,
    /// For `flap`: time from one failure to the next, in emulated time. Default: 2s.
    #[arg(long, value_parser = time, allow_hyphen_values = true)]
    period: Option<Picos>,
    /// For `flap`: time that the wire stays down. Default: half the period.
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    down_for: Option<Picos>,
    /// For `flap`: number of failures, after which the wire stays up. Default: until another `xoff link`.
    #[arg(long, value_parser = at_least(1u64), allow_hyphen_values = true)]
    times: Option<u64>,
    /// Prints the resulting state as JSON, including errors.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum State {
    /// Carries frames.
    Up,
    /// Loses frames.
    Down,
    /// Goes down repeatedly, for the first time now.
    Flap,
}

/// Parses a time with its unit.
fn time(text: &str) -> Result<Picos, Refusal> {
    quantity::parse(text)
}

impl Arguments {
    fn state(&self) -> Result<LinkState, String> {
        let Self { state, reroute, period, down_for, times, .. } = self;
        if *state == State::Flap {
            let period = period.unwrap_or(Picos(2_000_000_000_000));
            let down_for = down_for.unwrap_or(Picos(period.0 / 2));
            if period < MIN_PERIOD {
                return Err("a link flaps every 1us at most; give a longer --period".into());
            }
            if down_for == Picos::ZERO || down_for >= period {
                return Err(
                    "--down-for is a part of the period: above zero and less than that".into()
                );
            }
            let (period_ps, down_for_ps) = (period.0, down_for.0);
            return Ok(LinkState::Flap { period_ps, down_for_ps, times: *times });
        }
        if period.is_some() || down_for.is_some() || times.is_some() {
            return Err("--period, --down-for and --times are for `flap`; leave them out".into());
        }
        match state {
            State::Up if *reroute => {
                Err("--reroute is for `down` and `flap`; routes use a link again when it is up"
                    .into())
            }
            State::Up => Ok(LinkState::Up),
            _ => Ok(LinkState::Down),
        }
    }
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let Arguments { name, wire, reroute, json, .. } = arguments;
    super::json_errors::answer_in_json(*json);
    let state = match arguments.state() {
        Ok(state) => state,
        Err(message) => return super::refuse(message),
    };
    let request = Request::Link { wire: wire.clone(), state, reroute: *reroute };
    match impair::ask(name, &request) {
        Ok(wires) => impair::print(&wires),
        Err(message) => super::refuse(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(state: State, more: fn(&mut Arguments)) -> Result<LinkState, String> {
        let (name, wire) = ("lab".to_owned(), "h0-leaf0".to_owned());
        let (reroute, json) = (false, false);
        let (period, down_for, times) = (None, None, None);
        let mut arguments = Arguments { name, wire, state, reroute, period, down_for, times, json };
        more(&mut arguments);
        arguments.state()
    }

    #[test]
    fn a_link_is_up_or_down_or_flaps() {
        assert_eq!(state(State::Up, |_| {}), Ok(LinkState::Up));
        assert_eq!(state(State::Down, |it| it.reroute = true), Ok(LinkState::Down));
        let second = 1_000_000_000_000;
        let flap = LinkState::Flap { period_ps: 2 * second, down_for_ps: second, times: Some(3) };
        assert_eq!(state(State::Flap, |it| it.times = Some(3)), Ok(flap));
        let short = state(State::Flap, |it| it.period = Some(Picos(999_999)));
        let long = state(State::Flap, |it| it.down_for = Some(Picos(2_000_000_000_000)));
        let never = state(State::Flap, |it| it.down_for = Some(Picos::ZERO));
        let idle = state(State::Down, |it| it.times = Some(1));
        let back = state(State::Up, |it| it.reroute = true);
        for (refused, word) in [
            (short, "1us"),
            (long, "--down-for"),
            (never, "--down-for"),
            (idle, "for `flap`"),
            (back, "--reroute"),
        ] {
            assert!(refused.as_ref().is_err_and(|why| why.contains(word)), "{refused:?}");
        }
    }
}
