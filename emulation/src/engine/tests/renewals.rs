//! Measurements of a port that turns ON without a packet passing.

use fabric_core::priority::Priority;
use fabric_core::scheme::dsh::state as dsh;
use results::Measure;
use switch_user::switch::{Event, Observer};
use topology::SwitchId;
use units::Picos;

use super::{engine, flow, scenario, star};
use crate::engine::headroom_study::Passage;
use crate::engine::journal::Journal;
use crate::engine::switch_recorder::{Followed, SwitchRecorder};

/// A packet found the port of h1 OFF at 5 ns. When its pause is to be renewed, at 25 ns, the port is empty.
#[test]
fn a_port_that_its_renewal_turns_on_was_off_until_then() {
    let text = star("", &flow("h1", "h0", 1)).to_toml();
    let text = text.replace("kind = \"pfc\"", "kind = \"dsh\"");
    let scenario = scenario(&text.replace("distributions = false", "distributions = true"));
    let engine = engine(&scenario);
    let tables = engine.switch(SwitchId(0)).tables();
    let port = dsh::port_of(tables, 1).expect("three ports");
    port.off.store(1);
    let mut followed = Followed::new(&scenario, SwitchId(0));
    let mut measured = Some(Box::default());
    let study = followed.study.as_mut().expect("it is asked for");
    let queue = (1, Priority::new(3));
    let passage = Passage::Arrival;
    study.observe(Picos(5_000), tables, queue, 1058, passage, measured.as_mut().expect("above"));
    port.off.store(0);
    let mut recorder = SwitchRecorder {
        followed: &mut followed,
        journal: &mut Journal::default(),
        measured: &mut measured,
    };
    recorder.event(Picos(25_000), tables, Event::PausesTested { port: 1 });
    let mut measured = measured.expect("above");
    followed.study.expect("it is asked for").finish(Picos(90_000), &mut measured);
    let rows = measured.rows();
    let durations = rows.iter().filter(|row| row.measure == Measure::PortPauseDuration);
    assert!(durations.map(|row| (row.value, row.weight)).eq([(20, 1)]), "{rows:?}");
}
