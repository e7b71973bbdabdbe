//! Old keys that choose a scheme.

use insta::assert_snapshot;

use super::{SMALL, parse, report};
use crate::Scenario;

fn with(keys: &str) -> String {
    format!("[switch]\n{keys}\n{SMALL}")
}

fn good(keys: &str) -> Scenario {
    parse(&with(keys)).unwrap_or_else(|error| panic!("{keys}: {error}"))
}

fn note(scenario: &Scenario) -> String {
    scenario.warnings_with_places().map(ToString::to_string).collect()
}

const STATIC: &str = "threshold = { kind = \"static\", xoff = \"75kB\", xon = \"45kB\" }";

#[test]
fn old_keys_resolve_to_the_scheme() {
    for (old, new) in [
        ("headroom = { kind = \"dsh\" }", "scheme = { kind = \"dsh\" }"),
        (
            "headroom = { kind = \"dsh\", bytes = \"9kB\", port_xon_offset = \"2kB\" }",
            "headroom = { kind = \"sih\", bytes = \"9kB\" }\n\
             scheme = { kind = \"dsh\", port_xon_offset = \"2kB\" }",
        ),
        (
            "headroom = { kind = \"oversubscribed\", bytes = \"9kB\", ratio = 2 }",
            "headroom = { kind = \"sih\", bytes = \"9kB\" }\n\
             scheme = { kind = \"oversubscribed\", ratio = 2 }",
        ),
        ("threshold = { kind = \"spfc\" }", "scheme = { kind = \"spfc\" }"),
        (
            "threshold = { kind = \"spfc\", alpha = 1, xon_offset = \"1kB\", state_of = \"queue\" }",
            "threshold = { kind = \"dt\", alpha = 1, xon_offset = \"1kB\" }\n\
             scheme = { kind = \"spfc\", state_of = \"queue\" }",
        ),
        (
            "threshold = { kind = \"spfc\", k_spfc = 4, state_of = \"port\" }\n\
             headroom = { kind = \"dsh\" }",
            "scheme = { kind = \"dsh\", victims = { k_spfc = 4 } }",
        ),
        (
            "backpressure = { kind = \"bfc\", queues = 4 }",
            "scheme = { kind = \"bfc\", queues = 4 }",
        ),
        (
            "pause_rule = { kind = \"gfc\", b1 = \"60kB\", bm = \"75kB\" }\n",
            "scheme = { kind = \"gfc\", b1 = \"60kB\", bm = \"75kB\" }",
        ),
    ] {
        let (old, new) = (good(&format!("{old}\n")), good(new));
        assert_eq!(old.to_toml(), new.to_toml());
        assert_eq!(old, new, "equality ignores how a file is written");
        assert!(note(&old).contains("; the next release will refuse "), "{}", note(&old));
        assert_eq!(note(&new), "");
    }
    let ofc = good(&format!("{STATIC}\nbackpressure = {{ kind = \"ofc\" }}"));
    assert!(ofc.switch.pauses_flows());
}

#[test]
fn notes_say_what_to_write() {
    let scenario = good("headroom = { kind = \"dsh\", bytes = \"9kB\", shared_headroom = false }");
    assert_snapshot!(note(&scenario), @r#"
    error: `switch.headroom` of kind "dsh" is an old key; the next release will refuse it
     --> bad.toml:2:1
      |
    2 | headroom = { kind = "dsh", bytes = "9kB", shared_headroom = false }
      | ^^^^^^^^
      |
      = help: write `switch.scheme = { kind = "dsh", shared_headroom = false }` and `switch.headroom = { kind = "sih", bytes = "9kB" }` instead
    "#);
    assert_snapshot!(note(&good("threshold = { kind = \"spfc\", alpha = 1 }")), @r#"
    error: `switch.threshold` of kind "spfc" is an old key; the next release will refuse it
     --> bad.toml:2:1
      |
    2 | threshold = { kind = "spfc", alpha = 1 }
      | ^^^^^^^^^
      |
      = help: write `switch.scheme = { kind = "spfc" }` and `switch.threshold = { kind = "dt", alpha = 1 }` instead
    "#);
    assert_snapshot!(note(&good("backpressure = { kind = \"bfc\", queues = 4 }")), @r#"
    error: `switch.backpressure` is an old key; the next release will refuse it
     --> bad.toml:2:1
      |
    2 | backpressure = { kind = "bfc", queues = 4 }
      | ^^^^^^^^^^^^
      |
      = help: write `switch.scheme = { kind = "bfc", queues = 4 }` instead, and remove `switch.backpressure`
    "#);
}

#[test]
fn notes_on_dsh_with_spfc_name_all_old_keys_and_kept_parts() {
    let spfc = "threshold = { kind = \"spfc\", alpha = 1 }";
    assert_snapshot!(note(&good(&format!("headroom = {{ kind = \"dsh\" }}\n{spfc}"))), @r#"
    error: `switch.headroom` of kind "dsh" and `switch.threshold` of kind "spfc" are old keys; the next release will refuse them
     --> bad.toml:2:1
      |
    2 | headroom = { kind = "dsh" }
      | ^^^^^^^^
      |
      = help: write `switch.scheme = { kind = "dsh", victims = {} }` and `switch.threshold = { kind = "dt", alpha = 1 }` instead, and remove `switch.headroom`
    "#);
    let dsh = "headroom = { kind = \"dsh\", bytes = \"9kB\" }";
    let both = note(&good(&format!("{spfc}\n{dsh}")));
    for part in [
        "`switch.threshold = { kind = \"dt\", alpha = 1 }`",
        "`switch.headroom = { kind = \"sih\", bytes = \"9kB\" }`",
    ] {
        assert!(both.contains(part), "{both}");
    }
    assert!(!both.contains("remove"), "{both}");
    let neither = note(&good("threshold = { kind = \"spfc\" }\nheadroom = { kind = \"dsh\" }"));
    assert!(
        neither.contains("and remove `switch.threshold` and `switch.headroom`"),
        "in the order of the file: {neither}"
    );
}

#[test]
fn overrides_may_be_old_keys() {
    let sets = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
        Scenario::parse(&with(""), "bad.toml".as_ref(), &sets).map_err(|error| error.to_string())
    };
    let old = sets(&["switch.backpressure.kind=bfc", "switch.backpressure.queues=4"]);
    let new = sets(&["switch.scheme.kind=bfc", "switch.scheme.queues=4"]);
    assert_eq!(old.expect("old keys"), new.expect("new keys"));
    assert_snapshot!(
        sets(&["switch.scheme.kind=bfc", "switch.backpressure={ kind = \"ofc\" }"]).unwrap_err(),
        @r#"
        error: `switch.backpressure` and `switch.scheme` each choose a scheme
         --> --set:1:8
          |
        1 | switch.backpressure={ kind = "ofc" }
          |        ^^^^^^^^^^^^
          |
          = help: a switch runs one scheme: write `switch.scheme` only
        "#
    );
}

#[test]
fn second_choices_of_a_scheme_are_refused_at_their_place() {
    let (bfc, dsh) = ("backpressure = { kind = \"bfc\" }", "headroom = { kind = \"dsh\" }");
    assert_snapshot!(report(&with(&format!("{bfc}\n{dsh}"))), @r#"
    error: `switch.headroom` and `switch.backpressure` each choose a scheme
     --> bad.toml:3:1
      |
    3 | headroom = { kind = "dsh" }
      | ^^^^^^^^
      |
      = help: a switch runs one scheme: write `switch.scheme` only
    "#);
    assert_snapshot!(report(&with(&format!("{dsh}\nscheme = {{ kind = \"bfc\" }}"))), @r#"
    error: `switch.scheme` and `switch.headroom` each choose a scheme
     --> bad.toml:3:1
      |
    3 | scheme = { kind = "bfc" }
      | ^^^^^^
      |
      = help: a switch runs one scheme: write `switch.scheme` only
    "#);
    let rule = "pause_rule = { kind = \"gfc\", b1 = \"60kB\", bm = \"75kB\" }";
    let spfc = "threshold = { kind = \"spfc\" }";
    let less = "headroom = { kind = \"oversubscribed\" }";
    for keys in [[bfc, rule], [bfc, spfc], [rule, spfc], [rule, dsh], [spfc, less], [bfc, less]] {
        let report = report(&with(&keys.join("\n")));
        assert!(report.contains("` each choose a scheme"), "{report}");
        assert!(report.contains("bad.toml:3:1"), "{report}");
    }
}
