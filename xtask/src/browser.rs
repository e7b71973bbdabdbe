//! Reports of `xoff report` in a real browser: the page opens, and its script and styles work.
//!
//! Tests without a browser compare the charts with the tables. Here a copy of a report gets two more scripts: the first
//! runs before all others and records errors, the second runs behind them, drags across a timeline and writes its
//! findings into the page. Chromium opens the page light, dark and narrow, and returns its DOM as text.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::{packages, process, workspace};

/// Runs that the report covers.
const RUNS: [&str; 2] = ["victim", "dsh-incast"];
/// Before all other scripts.
const LISTEN: &str = include_str!("browser/listen.js");
/// Behind all others.
const LOOK: &str = include_str!("browser/look.js");
const VERDICT: &str = "<script type=\"application/json\" id=\"verdict\">";

/// Settings with which a page is opened.
struct View {
    name: &'static str,
    /// 500 is the least that Chromium takes.
    width: u32,
    /// Number of the scheme in Blink.
    colour_scheme: u32,
}

const DARK: u32 = 0;
const LIGHT: u32 = 1;
const VIEWS: [View; 3] = [
    View { name: "light", width: 1280, colour_scheme: LIGHT },
    View { name: "dark", width: 1280, colour_scheme: DARK },
    View { name: "narrow", width: 500, colour_scheme: LIGHT },
];

/// Makes a report and opens it. Pictures of the pages go to `browser` in the target folder.
pub fn run() -> Result<()> {
    packages::chromium()?;
    process::run(process::cargo("build").args(["--profile", "test", "--package", "xoff"]))?;
    let folder = workspace::target_dir().join("browser");
    fs::create_dir_all(&folder)?;
    let page = instrumented(&report(&folder)?)?;
    let mut backgrounds = Vec::new();
    for view in &VIEWS {
        let verdict = look(view, &page, &folder)?;
        judge(view, &verdict)?;
        let background = verdict["background"].as_str().unwrap_or_default().to_owned();
        println!(
            "{:<7} {} pictures, {} timelines, no error",
            view.name, verdict["figures"], verdict["timelines"]
        );
        backgrounds.push(background);
    }
    let [light, dark, narrow] = &backgrounds[..] else { bail!("there are three views") };
    ensure!(light != dark, "the page is {light} also where a reader asks for dark");
    ensure!(light == narrow, "the narrow page is {narrow}, the wide one {light}");
    println!("screenshots are in {}", folder.display());
    Ok(())
}

/// A report of two runs in memory.
fn report(folder: &Path) -> Result<PathBuf> {
    let xoff = workspace::target_dir().join("debug/xoff");
    let report = folder.join("report.html");
    let mut all = Command::new(&xoff);
    all.arg("report");
    for name in RUNS {
        let out = folder.join(name);
        let mut run = Command::new(&xoff);
        run.args(["run", &format!("scenarios/{name}.toml"), "--datapath", "memory", "--out"]);
        process::output(run.arg(&out).current_dir(workspace::root()))?;
        all.arg(out);
    }
    process::run(all.arg("--out").arg(&report))?;
    Ok(report)
}

/// A copy with both scripts.
fn instrumented(report: &Path) -> Result<PathBuf> {
    let html = fs::read_to_string(report)?;
    let (head, rest) = html.split_once("<head>").context("a document has a head")?;
    let (body, end) = rest.rsplit_once("</body>").context("a document has a body")?;
    let page = report.with_file_name("instrumented.html");
    let html = format!(
        "{head}<head><script>\n{LISTEN}</script>{body}<script>\n{LOOK}</script></body>{end}"
    );
    fs::write(&page, html)?;
    Ok(page)
}

/// Opens the page, takes a picture, and returns the findings of the second script.
fn look(view: &View, page: &Path, folder: &Path) -> Result<Value> {
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
            .arg(format!("--window-size={width},1000"))
            .arg(format!("--blink-settings=preferredColorScheme={colour_scheme}"));
        chromium
    };
    let address = format!("file://{}", page.display());
    let picture = folder.join(format!("{name}.png"));
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
fn judge(View { name, width, .. }: &View, verdict: &Value) -> Result<()> {
    let list = |key: &str| verdict[key].as_array().cloned().unwrap_or_default();
    ensure!(verdict["errors"].is_array(), "{name}: {verdict}");
    ensure!(list("errors").is_empty(), "{name}: errors: {}", verdict["errors"]);
    ensure!(list("empty").is_empty(), "{name}: pictures without a size: {}", verdict["empty"]);
    ensure!(list("unnamed").is_empty(), "{name}: charts without numbers: {}", verdict["unnamed"]);
    let count = |key: &str| verdict[key].as_u64().unwrap_or(0);
    ensure!(count("figures") > 5 && count("timelines") > 0, "{name}: {verdict}");
    // Wide pictures scroll within themselves.
    ensure!(
        count("page_width") <= u64::from(*width),
        "{name}: the page is wider than its window: {verdict}"
    );
    ensure!(verdict["zoomed"] == true, "{name}: a drag does not zoom a timeline: {verdict}");
    ensure!(verdict["relabelled"] == true, "{name}: its axis keeps the old times: {verdict}");
    ensure!(verdict["reset"] == true, "{name}: a double click does not reset it: {verdict}");
    Ok(())
}
