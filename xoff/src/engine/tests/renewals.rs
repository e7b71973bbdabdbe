//! What is measured of a port that turns ON without a packet passing.

use fabric_core::map_abi::Port;
use fabric_core::tables::Tables;
use fabric_core::units::Picos;

use super::{engine, flow, scenario, star};
use crate::datapath::Datapath;
use crate::engine::event::Event;
use crate::engine::headroom_study::Passage;
use crate::results::Measure;

/// A packet found the port of h1 OFF at 5 ns. When its pause is to be renewed, at 25 ns, the port is empty.
#[test]
fn a_port_that_its_renewal_turns_on_was_off_until_then() {
    let text = star("", &flow("h1", "h0", 1)).to_toml();
    let text = text.replace("kind = \"sih\"", "kind = \"dsh\"");
    let scenario = scenario(&text.replace("distributions = false", "distributions = true"));
    let mut engine = engine(&scenario);
    let turn_off = |port: &Port| {
        port.off.store(1);
        port.pauses.store(7);
    };
    turn_off(engine.datapath.tables(0).port(1).expect("three ports"));
    let study = engine.study.as_mut().expect("it is asked for");
    let tables = engine.datapath.tables(0);
    study.observe(Picos(5_000), 0, tables, (1, 3), 1058, Passage::Arrival);
    engine.now = Picos(25_000);
    let wire = engine.wire_from(0, 1);
    engine.handle(Event::PauseRefresh { wire, class: None, pause: 7 }).expect("no file to write");
    let off = engine.datapath.tables(0).port(1).map(|port| port.off.load());
    assert_eq!(off, Some(0), "nothing is left that could pause it");
    let measured = engine.study.take().expect("it is asked for").finish(Picos(90_000));
    let rows = measured.rows();
    let durations = rows.iter().filter(|row| row.measure == Measure::PortPauseDuration);
    assert!(durations.map(|row| (row.value, row.weight)).eq([(20, 1)]), "{rows:?}");
}
