//! Edge values: increases of zero, rates of loss below a millionth, unlimited flows in lists, units of sizes.

use std::path::Path;

use crate::{FineProbability, Scenario};

use super::{SMALL, report_on};

/// Returns the smallest scenario with additional text, after checking that it survives writing and reading.
fn settled(more: &str) -> Scenario {
    let read = |text: &str| Scenario::parse(text, Path::new("x.toml"), &[]).unwrap();
    let scenario = read(&format!("{SMALL}{more}"));
    assert_eq!(read(&scenario.to_toml()), scenario);
    scenario
}

#[test]
fn an_increase_may_be_zero() {
    for (control, increase) in [
        ("hpcc", "additive_increase = \"0B\""),
        ("powertcp", "additive_increase = \"0B\""),
        ("theta-powertcp", "additive_increase = \"0B\""),
        ("dctcp", "additive_increase = \"0B\""),
        ("dcqcn", "additive_increase = \"0bps\", hyper_increase = \"0Mbps\""),
        ("timely", "additive_increase = \"0bps\", hyper_increase = \"0bps\""),
    ] {
        let table = control.replace('-', "_");
        settled(&format!(
            "[host.transport]\nkind = \"roce-rc\"\ncongestion_control = \"{control}\"\n\
             {table} = {{ {increase} }}\n"
        ));
    }
}

#[test]
fn rates_of_loss_have_twelve_digits() {
    let fault = |rate: &str| format!("[[faults]]\nkind = \"loss\"\nrate = {rate}\n");
    for (rate, trillionths) in [
        ("1e-7", 100_000),
        ("0.000000000001", 1),
        ("0.2", 200_000_000_000),
        ("1", 1_000_000_000_000),
    ] {
        let scenario = settled(&fault(rate));
        let found = format!("{:?}", scenario.faults[0]);
        let expected = format!("rate: Some({:?})", FineProbability { trillionths });
        assert!(found.contains(&expected), "{rate}: {found}");
    }
    let report = report_on(&fault("1.5e-12"));
    assert!(report.contains("0.0000000000015 is finer than 10^-12"), "{report}");
    assert!(report_on(&fault("1.1")).contains("a number from 0 to 1"));
}

#[test]
fn a_list_has_flows_without_an_end_and_a_table_has_a_unit() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    put("l.csv", "start_ns,src,dst,bytes,priority\n0,h0,h1,unlimited,3\n50000000,h1,h0,7,3\n");
    put("t.cdf", "1 1 0\n2 1 1\n");
    let topology = SMALL.split("[[flows]]").next().unwrap();
    let text = format!(
        "duration = \"100ms\"\n{topology}[[flows]]\nkind = \"list\"\nfile = \"l.csv\"\n\
         [[flows]]\nkind = \"poisson\"\nload = 0.01\nof = \"host-links\"\nstop = \"1ms\"\n\
         sizes = {{ file = \"t.cdf\", unit = \"1460B\" }}\n"
    );
    let read = |text: &str| Scenario::parse(text, &folder.path().join("x.toml"), &[]);
    let scenario = read(&text).unwrap();
    assert_eq!(read(&scenario.to_toml()).unwrap(), scenario);
    let flows = scenario.flows();
    // 100 Gbit/s for 100 ms.
    let endless = flows.iter().filter(|flow| flow.long_lived);
    assert_eq!(endless.map(|flow| flow.bytes.0).collect::<Vec<_>>(), [1_250_000_000]);
    let drawn = flows.iter().filter(|flow| &*flow.label == "poisson");
    assert!(drawn.map(|flow| flow.bytes.0).all(|bytes| (1460..=2920).contains(&bytes)));
    let without = read(&text.replace(", unit = \"1460B\"", "")).unwrap_err();
    assert_eq!(without.title(), "a line of 3 numbers, as in ns-2, and no unit of its sizes");
    let zero = read(&text.replace("1460B", "0B")).unwrap_err();
    assert!(zero.title().contains("a unit of no bytes"), "{zero}");
}
