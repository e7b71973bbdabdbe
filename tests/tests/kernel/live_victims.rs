//! Victims in live fabrics (SPFC). Needs root and `ip`.

use serde_json::{Value, json as value};
use tests::live::{Lab, SLOW, command, json};

/// Whoever sends 100 kB is a victim for five seconds at least.
const SPFC: &str = "kind = \"spfc\", period = \"5s\", counting_number = \"20kB\"";

/// Victim states of each port of a switch, by the name of the peer.
fn victims<'a>(view: &'a Value, name: &str) -> Vec<(&'a str, &'a Value)> {
    let switches = view["switches"].as_array().expect("a fabric has switches");
    let switch = switches.iter().find(|it| it["name"] == name).expect("it is in the fabric");
    let ports = switch["ports"].as_array().expect("a switch has ports");
    ports.iter().map(|port| (port["peer"].as_str().expect("a name"), &port["victim"])).collect()
}

/// The packets from h0 to h2 have departed from h0's port of its leaf, and from one spine's port of the other leaf.
#[test]
fn a_view_shows_the_victims() {
    for (threshold, expected) in [
        (SPFC, value!([3, 4])),
        (&format!("{SPFC}, state_of = \"queue\""), value!([3])),
        ("kind = \"dt\", alpha = 1", Value::Null),
    ] {
        let normal = if expected.is_null() { Value::Null } else { value!([]) };
        let keys = format!("switch.threshold={{ {threshold} }}");
        let lab = Lab::deploy(SLOW, &["--set", &keys, "--set", "switch.lossless=[3, 4]"]);
        command(&["send", "lab", "h0", "h2", "--bytes", "100kB", "--priority", "3"]).assert_code(0);
        let view = json(&["inspect", "lab", "--json"]);
        for (peer, victim) in victims(&view, "leaf0") {
            let is_victim = peer == "h0";
            assert_eq!(victim, if is_victim { &expected } else { &normal }, "{threshold}: {peer}");
        }
        let of_leaf1 = victims(&view, "leaf1");
        let from_spines = of_leaf1.iter().filter(|(peer, _)| peer.starts_with("spine"));
        assert_eq!(from_spines.filter(|(_, victim)| *victim == &expected).count(), {
            if expected.is_null() { 2 } else { 1 }
        });
        let line = json(&["watch", "lab", "-n", "1", "--json", "--every", "50ms"]);
        let ports = line["ports"].as_array().expect("it has ports");
        let of_h0 = ports.iter().find(|port| port["wire"] == "leaf0->h0").expect("the port");
        assert_eq!(of_h0["victim"], expected, "{threshold}");
        lab.destroy();
    }
}
