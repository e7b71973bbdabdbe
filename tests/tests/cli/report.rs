//! `xoff report`: charts agree with the tables.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tests::command::{finish, shipped, xoff};

/// Runs a scenario that ships, in memory.
fn run(scenario: &str, out: &Path, sets: &[&str]) {
    let mut command = xoff(["run", &shipped(scenario), "--datapath", "memory", "--out"]);
    command.arg(out);
    for set in sets {
        command.args(["--set", set]);
    }
    finish(&mut command).assert_code(0);
}

/// Data of the document's charts, for programs.
fn data(html: &str) -> Value {
    let (_, data) = html.split_once("id=\"data\">").expect("a document has its numbers");
    serde_json::from_str(data.split_once("</script>").expect("they end").0).unwrap()
}

fn chart<'a>(data: &'a Value, id: &str) -> &'a Value {
    let charts = data["charts"].as_array().unwrap();
    charts.iter().find(|chart| chart["id"] == id).unwrap_or_else(|| panic!("{id}"))
}

/// Columns of a table whose fields have no commas.
fn columns<const N: usize>(folder: &Path, file: &str, names: [&str; N]) -> Vec<[String; N]> {
    let text = fs::read_to_string(folder.join(file)).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let places = names.map(|name| header.iter().position(|it| *it == name).unwrap());
    lines.map(|fields| places.map(|place| fields[place].to_owned())).collect()
}

/// Lengths of the rows of the first timeline, in nanoseconds; longest first.
fn drawn_pauses(data: &Value) -> Vec<u64> {
    let rows = data["timelines"][0]["rows"].as_array().unwrap();
    let length = |span: &Value| span[1].as_f64().unwrap() - span[0].as_f64().unwrap();
    let lengths =
        rows.iter().map(|row| row["spans"].as_array().unwrap().iter().map(length).sum::<f64>());
    lengths.map(|length| format!("{length}").parse().expect("whole nanoseconds")).collect()
}

/// The longest forty pauses that neighbours ordered.
fn ordered_pauses(folder: &Path) -> Vec<u64> {
    let rows = columns(folder, "pause_time.csv", ["ordered_ns"]);
    let mut lengths: Vec<u64> =
        rows.iter().map(|[it]| it.parse().unwrap()).filter(|&it| it > 0).collect();
    lengths.sort_by_key(|&length| std::cmp::Reverse(length));
    lengths.truncate(40);
    lengths
}

/// Ports and queues pause the same neighbours there.
#[test]
fn pauses_of_ports_and_queues_are_those_that_were_ordered() {
    let folder = tempfile::tempdir().unwrap();
    let (results, out) = (folder.path().join("dsh"), folder.path().join("report.html"));
    run("dsh-incast", &results, &[]);
    finish(xoff(["report"]).arg(&results).arg("--out").arg(&out)).assert_code(0);
    let data = data(&fs::read_to_string(&out).unwrap());
    let drawn = drawn_pauses(&data);
    assert_eq!((drawn.len(), drawn), (40, ordered_pauses(&results)));
}

#[test]
fn pictures_have_the_numbers_of_the_tables() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["victim", "incast"].map(|name| folder.path().join(name));
    run("victim", &first, &[]);
    run("incast", &second, &["results.throughput={ interval = \"10us\" }"]);
    let (out, figures) = (folder.path().join("report.html"), folder.path().join("figures"));
    let written = finish(
        xoff(["report"])
            .args([&first, &second])
            .arg("--out")
            .arg(&out)
            .arg("--figures")
            .arg(&figures),
    )
    .assert_code(0);
    assert!(written.stdout.contains("pictures"), "{}", written.stdout);
    let html = fs::read_to_string(&out).unwrap();
    // One file that needs no other.
    for outside in ["src=", "href=", "@import", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
    let data = data(&html);

    // The flows of the first run have one range of sizes, and so no chart over sizes.
    assert!(
        !html.contains("run0-slowdown-by-size")
            && html.contains("All flows have sizes of one range")
    );
    let sizes = columns(&second, "fct_by_size.csv", ["label", "completed", "slowdown_p99"]);
    let expected: Vec<f64> = sizes
        .iter()
        .filter(|[label, completed, _]| label.is_empty() && completed != "0")
        .map(|[.., p99]| p99.parse().unwrap())
        .collect();
    let drawn = &chart(&data, "run1-slowdown-by-size")["series"][2];
    assert_eq!(drawn["name"], "p99");
    let drawn = drawn["points"].as_array().unwrap().iter().map(|point| point[1].as_f64().unwrap());
    assert_eq!(drawn.collect::<Vec<f64>>(), expected);

    // A thinned line keeps its peak.
    let samples = columns(&first, "queues.csv", ["node", "kind", "bytes"]);
    let of_leaf = samples.iter().filter(|[node, kind, _]| node == "leaf0" && kind == "buffer");
    let most = of_leaf.map(|[.., bytes]| bytes.parse::<u32>().unwrap()).max();
    let buffers = chart(&data, "run0-buffers")["series"].as_array().unwrap();
    let leaf = buffers.iter().find(|series| series["name"] == "leaf0").unwrap();
    let peak = leaf["points"].as_array().unwrap().iter().map(|point| point[1].as_f64().unwrap());
    assert_eq!(Some(peak.fold(0.0, f64::max)), most.map(f64::from));

    assert_eq!(drawn_pauses(&data), ordered_pauses(&first));

    let flows = columns(&second, "flows.csv", ["slowdown"]);
    let cdf = &chart(&data, "slowdown-cdf")["series"][1]["points"];
    let last = cdf.as_array().unwrap().last().unwrap();
    let greatest = flows.iter().map(|[it]| it.parse::<f64>().unwrap()).fold(0.0, f64::max);
    assert_eq!((last[0].as_f64(), last[1].as_f64()), (Some(greatest), Some(1.0)));
    assert!(!chart(&data, "run1-throughput")["series"].as_array().unwrap().is_empty());

    // Each picture of the page is a file, too.
    let pictures = fs::read_dir(&figures).unwrap().count();
    assert_eq!(pictures, html.matches("<figure ").count());
    assert!(written.stdout.contains(&format!("{pictures} pictures")), "{}", written.stdout);
    let timeline = fs::read_to_string(figures.join("run0-pauses.svg")).unwrap();
    assert!(timeline.starts_with("<svg "), "{timeline}");

    // A later report replaces it.
    finish(xoff(["report"]).arg(&second).arg("--out").arg(&out)).assert_code(0);
    assert!(!fs::read_to_string(&out).unwrap().contains("run1-"));
}

#[test]
fn a_sweep_has_intervals() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sweep.toml");
    fs::write(
        &file,
        format!(
            "scenario = \"{}\"\nseeds = 3\nmetrics = [\"slowdown.mean\", \"pause_frames\"]\n\
             [matrix]\n\"switch.buffer\" = [\"2MB\", \"4MB\"]\n",
            shipped("incast")
        ),
    )
    .unwrap();
    let (sweep, out) = (folder.path().join("sweep"), folder.path().join("report.html"));
    let made = finish(xoff(["sweep"]).arg(&file).arg("--out").arg(&sweep));
    made.assert_code(0);
    finish(xoff(["report"]).arg(&sweep).arg("--out").arg(&out)).assert_code(0);
    let data = data(&fs::read_to_string(&out).unwrap());
    let names = ["metric", "mean", "ci95_low", "ci95_high"];
    let rows = columns(&sweep, "summary.csv", names);
    let rows = rows.iter().filter(|[metric, ..]| metric == "slowdown.mean");
    let numbers = rows.map(|[_, rest @ ..]| rest.each_ref().map(|it| it.parse::<f64>().unwrap()));
    let numbers: Vec<[f64; 3]> = numbers.collect();
    assert_eq!(numbers.len(), 2);
    let drawn = &chart(&data, "sweep0-slowdown-mean")["series"][0];
    for (place, [mean, low, high]) in numbers.into_iter().enumerate() {
        assert_eq!(drawn["points"][place][1].as_f64(), Some(mean));
        let interval = &drawn["intervals"][place];
        assert_eq!([&interval[0], &interval[1]].map(Value::as_f64), [Some(low), Some(high)]);
    }
}

#[test]
fn what_is_no_result_and_what_is_no_report_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (results, out) = (folder.path().join("incast"), folder.path().join("report.html"));
    let report = |what: &Path| {
        let made = finish(xoff(["report"]).arg(what).arg("--out").arg(&out)).assert_code(2);
        made.stderr
    };
    let said = report(folder.path());
    assert!(said.contains("holds no results") && said.contains("xoff run --out"), "{said}");
    run("incast", &results, &[]);
    fs::write(&out, "my notes").unwrap();
    assert!(report(&results).contains("is not a report of xoff"));
    assert_eq!(fs::read_to_string(&out).unwrap(), "my notes");
    fs::remove_file(&out).unwrap();

    let inside =
        finish(xoff(["report"]).arg(&results).arg("--out").arg(results.join("report.html")));
    let inside = inside.assert_code(2);
    assert!(inside.stderr.contains("lies in a folder of results"), "{}", inside.stderr);
    // So the results can be written again.
    run("incast", &results, &[]);

    let table = results.join("flows.csv");
    let flows = fs::read_to_string(&table).unwrap();
    fs::write(&table, flows.replacen("slowdown", "speed", 1)).unwrap();
    assert!(report(&results).contains("has no column `slowdown`"));
    fs::write(&table, flows.replacen(",453017,", ",soon,", 1)).unwrap();
    let said = report(&results);
    assert!(said.contains("line 2: \"soon\" is not a number (fct_ns)"), "{said}");
    fs::write(&table, flows).unwrap();
    fs::write(results.join("summary.json"), "{}").unwrap();
    assert!(report(&results).contains("is not a summary of this version"));
    assert!(!out.exists(), "nothing is half written");
}

/// A run without tables is drawn as far as possible, and without lossless priorities is not called lossless.
#[test]
fn tables_that_were_left_out_are_not_missed() {
    let folder = tempfile::tempdir().unwrap();
    let (out, html) = (folder.path().join("run"), folder.path().join("report.html"));
    run("incast", &out, &["results.omit=[\"*\"]"]);
    assert!(!out.join("flows.csv").exists() && out.join("summary.json").exists());
    finish(xoff(["report"]).arg(&out).arg("--out").arg(&html)).assert_code(0);
    let html_of = || fs::read_to_string(&html).unwrap();
    assert!(html_of().contains(">lossless<"), "{}", html_of());
    run("incast", &out, &["results.omit=[\"*\"]", "switch.lossless=[]"]);
    finish(xoff(["report"]).arg(&out).arg("--out").arg(&html)).assert_code(0);
    let lost = html_of().contains(">no packet lost<") || html_of().contains(">packets lost<");
    assert!(lost && !html_of().contains(">lossless<"), "{}", html_of());
}
