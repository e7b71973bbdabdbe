//! Limits of a sweep file, and the parsed sweep.

use std::io;

use scenario::DatapathKind;

use super::*;

const SCENARIO: &str = r#"
duration = "1ms"
[topology]
kind = "star"
hosts = 11
host_link = { rate = "100Gbps", delay = "1us" }
[datapath]
kind = "kernel"
"#;

/// A sweep of a scenario with this many flows.
fn sweep_of_flows(flows: usize, text: &str) -> Result<Sweep, String> {
    let flow = "[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"\n";
    let scenario = format!("{SCENARIO}{}", flow.repeat(flows));
    let text = format!("scenario = \"base.toml\"\n{text}");
    let read =
        |path: &Path| Ok(if path == "a/base.toml" { scenario.clone() } else { text.clone() });
    let sweep = Sweep::read(Path::new("a/sweep.toml"), &SweepOptions::default(), &read);
    sweep.map_err(|error| error.to_string().lines().next().expect("a title").to_owned())
}

fn sweep(text: &str) -> Result<Sweep, String> {
    sweep_of_flows(1, text)
}

/// Returns the title of the error that a sweep causes.
fn title(text: &str) -> String {
    sweep(text).expect_err("this is wrong")
}

#[test]
fn a_sweep_may_have_a_million_runs() {
    let seeds = |text| sweep(text).map(|sweep| sweep.seeds.len());
    assert_eq!(seeds("seeds = 1000000"), Ok(1_000_000));
    assert_eq!(title("seeds = 1000001"), "error: 1000001 runs; the limit is 1000000");
    let halved = "[matrix]\n\"switch.buffer\" = [\"1MB\", \"2MB\"]";
    assert_eq!(seeds(&format!("seeds = 500000\n{halved}")), Ok(500_000));
    let more = title(&format!("seeds = 500001\n{halved}"));
    assert_eq!(more, "error: 1000002 runs; the limit is 1000000");
}

#[test]
fn an_error_in_the_count_of_seeds_points_at_the_count() {
    for (count, title) in [
        ("0", "a sweep without seeds"),
        ("1000001", "1000001 runs; the limit is 1000000"),
        ("-3", "a count"),
        ("true", "a count"),
    ] {
        let text = format!("scenario = \"base.toml\"\nseeds = {{ first = 7, count = {count} }}\n");
        let read = |path: &Path| {
            Ok(if path == "a/base.toml" { SCENARIO.to_owned() } else { text.clone() })
        };
        let sweep = Sweep::read(Path::new("a/sweep.toml"), &SweepOptions::default(), &read);
        let error = sweep.expect_err("this is wrong").to_string();
        let column = "seeds = { first = 7, count = ".len() + 1;
        assert!(error.contains(&format!("a/sweep.toml:2:{column}")), "{title}: {error}");
    }
}

#[test]
fn a_seed_is_any_whole_number_of_toml() {
    let largest = format!("seeds = [0, {}]", i64::MAX);
    assert_eq!(sweep(&largest).unwrap().seeds, [0, i64::MAX as u64]);
    assert!(sweep("seeds = [9223372036854775808]").is_err());
}

/// The scenario requests the kernel.
#[test]
fn the_sweep_says_where_switches_run_and_its_default_is_memory() {
    for (text, expected) in [
        ("", DatapathKind::Memory),
        ("datapath = \"memory\"", DatapathKind::Memory),
        ("datapath = \"kernel\"", DatapathKind::Kernel),
    ] {
        assert_eq!(
            sweep(text).unwrap().scenario(&[], 1).unwrap().datapath.kind,
            expected,
            "{text}"
        );
    }
}

#[test]
fn a_sweep_keeps_its_text_and_labels_its_values_as_they_are_written() {
    let text =
        "[matrix]\n\"switch.lossless\" = [ [3],  [3,\n   4] ]\n\"switch.buffer\" = [\"1MB\"]";
    let sweep = sweep(text).unwrap();
    assert_eq!(sweep.text(), format!("scenario = \"base.toml\"\n{text}"));
    let labels: Vec<&str> =
        sweep.axes.iter().flat_map(|axis| &axis.choices).map(|it| it.label.as_str()).collect();
    assert_eq!(labels, ["[3]", "[3, 4]", "1MB"]);
}

#[test]
fn keys_that_only_begin_alike_are_apart() {
    let bytes = |flow| format!("\"flows.{flow}.bytes\" = [\"2kB\"]\n");
    assert!(sweep_of_flows(11, &format!("[matrix]\n{}{}", bytes(1), bytes(10))).is_ok());
}

#[test]
fn a_name_is_that_of_one_axis() {
    let axis =
        |name| format!("[[axes]]\nname = {name:?}\nvariants = [{{ name = \"a\", set = {{}} }}]\n");
    let matrix = "[matrix]\n\"switch.buffer\" = [\"1MB\"]";
    let variants = "[[variants]]\nname = \"a\"\nset = {}\n";
    assert_eq!(
        title(&format!("{}{matrix}", axis("switch.buffer"))),
        "error: two axes are called `switch.buffer`"
    );
    assert_eq!(
        title(&format!("{}{variants}", axis("variant"))),
        "error: two axes are called `variant`"
    );
    let names = |sweep: Sweep| sweep.axes.into_iter().map(|axis| axis.name).collect::<Vec<_>>();
    let apart = sweep(&format!("{}{variants}{matrix}", axis("other"))).map(names);
    assert_eq!(apart, Ok(["variant", "other", "switch.buffer"].map(str::to_owned).into()));
}

#[test]
fn a_file_that_a_scenario_names_and_nobody_can_read_is_an_error_of_the_sweep() {
    let error = io::Error::new(io::ErrorKind::NotFound, "gone");
    let shown = sweep("").unwrap().unreadable(&error).to_string();
    assert!(
        shown.starts_with("error: cannot read a file that the scenario names: gone\n")
            && shown.contains("a/sweep.toml"),
        "{shown}"
    );
}
