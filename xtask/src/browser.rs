//! Reports of `xoff report` in a real browser: the page opens, and its script and styles work.
//!
//! Tests without a browser compare the charts with the tables. Here a copy of a report gets two more scripts: the first
//! runs before all others and records errors, the second runs behind them, drags across a timeline and writes its
//! findings into the page. Chromium opens the page at three widths, light and dark, and returns its DOM as text.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{binaries, packages, process, workspace};

/// A report, with the runs and sweeps that it covers.
struct Page {
    name: &'static str,
    /// Names of the runs' folders, their scenarios, and an override.
    runs: &'static [(&'static str, &'static str, &'static str)],
    /// Text of a sweep, if the report covers one.
    sweep: Option<&'static str>,
    /// True if the report compares its runs.
    compare: bool,
    /// Min number of pictures.
    pictures: u64,
}

const PAGES: [Page; 4] = [
    // All flows of this run have one size.
    Page {
        name: "single",
        runs: &[("victim", "victim", "seed=1")],
        sweep: None,
        compare: false,
        pictures: 4,
    },
    Page {
        name: "compared",
        runs: &[
            ("before", "incast", "switch.threshold.alpha=\"1/2\""),
            ("after", "incast", "switch.threshold.alpha=\"1/4\""),
        ],
        sweep: None,
        compare: true,
        pictures: 16,
    },
    Page {
        name: "four",
        runs: &[
            ("alpha-1-16", "incast", "switch.threshold.alpha=\"1/16\""),
            ("alpha-1-4", "incast", "switch.threshold.alpha=\"1/4\""),
            ("alpha-1", "incast", "switch.threshold.alpha=\"1\""),
            ("dsh-incast", "dsh-incast", "seed=1"),
        ],
        sweep: None,
        compare: false,
        pictures: 20,
    },
    Page {
        name: "sweep",
        runs: &[],
        sweep: Some(
            "seeds = 2\n[matrix]\n\"host.transport.congestion_control\" = [\"dcqcn\", \"none\"]\n\
             \"switch.headroom.kind\" = [\"sih\", \"dsh\"]\n\"switch.threshold.alpha\" = [\"1/16\", \"1/4\", \"1\"]\n",
        ),
        compare: false,
        pictures: 10,
    },
];
/// Before all other scripts.
const LISTEN: &str = include_str!("browser/listen.js");
/// Behind all others.
const LOOK: &str = include_str!("browser/look.js");
const VERDICT: &str = "<script type=\"application/json\" id=\"verdict\">";

/// Settings with which a page is opened.
struct View {
    name: &'static str,
    /// Width of the frame, in pixels.
    width: u32,
    /// Number of the scheme in Blink.
    colour_scheme: u32,
}

const DARK: u32 = 0;
const LIGHT: u32 = 1;
const VIEWS: [View; 6] = [
    View { name: "light-360", width: 360, colour_scheme: LIGHT },
    View { name: "light-800", width: 800, colour_scheme: LIGHT },
    View { name: "light-1400", width: 1400, colour_scheme: LIGHT },
    View { name: "dark-360", width: 360, colour_scheme: DARK },
    View { name: "dark-800", width: 800, colour_scheme: DARK },
    View { name: "dark-1400", width: 1400, colour_scheme: DARK },
];

/// Makes reports and opens them. Pictures of the pages go to `browser` in the target folder.
pub fn run() -> Result<()> {
    packages::chromium()?;
    binaries::build()?;
    let folder = workspace::target_dir().join("browser");
    fs::create_dir_all(&folder)?;
    for page in &PAGES {
        let html = instrumented(&report(page, &folder)?)?;
        for view in &VIEWS {
            let verdict = look(view, (page.name, &html), &folder)?;
            judge(view, page, &verdict)?;
            println!(
                "{} {:<10} {} pictures, {} texts, no fault",
                page.name, view.name, verdict["figures"], verdict["measured"]
            );
        }
    }
    println!("screenshots are in {}", folder.display());
    Ok(())
}

/// Makes a report of runs and a sweep in memory.
fn report(page: &Page, folder: &Path) -> Result<PathBuf> {
    let xoff = workspace::target_dir().join("debug/xoff");
    let report = folder.join(format!("{}.html", page.name));
    let mut all = Command::new(&xoff);
    all.arg("report");
    for (name, scenario, set) in page.runs {
        let out = folder.join(name);
        let mut run = Command::new(&xoff);
        run.args(["run", &format!("scenarios/{scenario}.toml"), "--datapath", "memory"]);
        run.args(["--set", set, "--out"]).arg(&out).current_dir(workspace::root());
        process::output(&mut run)?;
        all.arg(out);
    }
    if let Some(sweep) = page.sweep {
        let (file, out) = (folder.join("sweep.toml"), folder.join("sweep"));
        let scenario = workspace::root().join("scenarios/incast.toml");
        fs::write(&file, format!("scenario = \"{}\"\n{sweep}", scenario.display()))?;
        process::output(Command::new(&xoff).arg("sweep").arg(&file).arg("--out").arg(&out))?;
        all.arg(out);
    }
    all.args(page.compare.then_some("--compare"));
    process::run(all.arg("--out").arg(&report))?;
    Ok(report)
}

/// Returns the report with both scripts.
fn instrumented(report: &Path) -> Result<String> {
    let html = fs::read_to_string(report)?;
    let (head, rest) = html.split_once("<head>").context("a document has a head")?;
    let (body, end) = rest.rsplit_once("</body>").context("a document has a body")?;
    Ok(format!(
        "{head}<head><script>\n{LISTEN}</script>{body}<script>\n{LOOK}</script></body>{end}"
    ))
}

/// Returns a page that has the report in a frame as wide as the view. Chromium's own windows are at least 500 px wide.
fn framed(html: &str, width: u32) -> String {
    let html = html.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<!doctype html><html><head><meta charset=\"utf-8\"><style>:root {{ color-scheme: light dark; }} body {{ margin: 0; }}\
         iframe {{ display: block; border: 0; width: {width}px; height: 4000px; }}</style></head><body>\
         <iframe srcdoc=\"{html}\"></iframe></body></html>"
    )
}

/// Opens the page, takes a picture, and returns the findings of the second script.
fn look(view: &View, (report, html): (&str, &str), folder: &Path) -> Result<Value> {
    let View { name, width, colour_scheme } = view;
    let open = || {
        let mut chromium = Command::new("chromium");
        chromium
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
            .args([
                "--no-first-run",
                "--disable-extensions",
                "--disable-dev-shm-usage",
                "--virtual-time-budget=5000",
            ])
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg(format!("--window-size={},4000", width.max(&500)))
            .arg(format!("--blink-settings=preferredColorScheme={colour_scheme}"));
        chromium
    };
    let page = folder.join("framed.html");
    fs::write(&page, framed(html, *width))?;
    let address = format!("file://{}", page.display());
    let picture = folder.join(format!("{report}-{name}.png"));
    let mut shot = open();
    shot.arg(format!("--screenshot={}", picture.display())).arg(&address);
    process::output(&mut shot).with_context(|| format!("opening {address} {name}"))?;
    ensure!(picture.exists(), "Chromium took no picture of {address}");
    let dom = process::output(open().arg("--dump-dom").arg(&address))?;
    let dom = String::from_utf8(dom).context("a DOM is text")?;
    let verdict = dom.rsplit_once(VERDICT).and_then(|(_, rest)| rest.split_once("</script>"));
    let (verdict, _) =
        verdict.with_context(|| format!("{name}: the page's last script left nothing"))?;
    serde_json::from_str(verdict).with_context(|| format!("{name}: {verdict}"))
}

/// Checks the findings of the second script.
fn judge(View { name, width, colour_scheme }: &View, page: &Page, verdict: &Value) -> Result<()> {
    let name = format!("{} {name}", page.name);
    let list = |key: &str| verdict[key].as_array().cloned().unwrap_or_default();
    ensure!(verdict["errors"].is_array(), "{name}: {verdict}");
    ensure!(list("errors").is_empty(), "{name}: errors: {}", verdict["errors"]);
    ensure!(list("empty").is_empty(), "{name}: pictures without a size: {}", verdict["empty"]);
    ensure!(list("unnamed").is_empty(), "{name}: charts without numbers: {}", verdict["unnamed"]);
    let faults: Vec<String> = list("faults").iter().map(Value::to_string).collect();
    ensure!(faults.is_empty(), "{name}: {} faults:\n{}", faults.len(), faults.join("\n"));
    let count = |key: &str| verdict[key].as_u64().unwrap_or(0);
    ensure!(count("figures") >= page.pictures, "{name}: {verdict}");
    ensure!(count("measured") > count("figures"), "{name}: {verdict}");
    // Wide fabrics and tables scroll within themselves.
    ensure!(
        count("page_width") <= u64::from(*width),
        "{name}: the page is wider than its window: {verdict}"
    );
    let is_dark = |colour: &Value| colour.as_str().is_some_and(|it| it == "rgb(20, 24, 28)");
    let grounds = list("grounds");
    let all = grounds.iter().chain([&verdict["background"]]);
    ensure!(
        all.map(is_dark).all(|it| it == (*colour_scheme == DARK)),
        "{name}: the page or a fabric has the ground of the other colour scheme: {verdict}"
    );
    if !page.runs.is_empty() {
        ensure!(verdict["zoomed"] == true, "{name}: a drag does not zoom a timeline: {verdict}");
        ensure!(verdict["relabelled"] == true, "{name}: its axis keeps the old times: {verdict}");
        ensure!(verdict["reset"] == true, "{name}: a double click does not reset it: {verdict}");
    }
    Ok(())
}
