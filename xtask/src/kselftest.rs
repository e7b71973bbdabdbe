//! xoff as a target of the kernel's own tests: a folder that is dropped into `tools/testing/selftests`, and a check of it with
//! the kernel's runner.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::dist::{copy, write};
use crate::{packages, privilege, process, static_build, workspace};

/// The folder's name, by which the kernel's runner calls it.
const NAME: &str = "xoff";
/// Files of the folder, besides the binary and the scenarios.
const FILES: [(&str, &str); 3] = [
    ("Makefile", include_str!("kselftest/Makefile")),
    ("config", include_str!("kselftest/config")),
    ("settings", include_str!("kselftest/settings")),
];
/// Test programs of the folder.
const PROGRAMS: [(&str, &str); 2] = [
    ("xoff.sh", include_str!("kselftest/xoff.sh")),
    ("scenarios.sh", include_str!("kselftest/scenarios.sh")),
];
/// The scenarios of `xoff selftest`, as models for a user's own.
const SCENARIOS: &str = "selftest/src/scenarios";
/// A scenario whose expectation always fails.
const FAILING: &str = include_str!("kselftest/failing.toml");
/// Counts results of tests and of the tests in them by the expression that netdev's CI reads them with (nipa, `ktap_split`).
const NETDEV: &str = r##"
import re, sys
result = re.compile(r"(not )?ok (\d+)( -)? ([^#]*[^ ])( # )?([^ ].*)?$")
counts = {"pass": 0, "fail": 0, "skip": 0}
for line in sys.stdin:
    line = line.rstrip("\n")
    line = line[2:] if line.startswith("# ") else line
    if not line.startswith(("ok ", "not ok ")):
        continue
    bad, _, _, name, _, comment = result.match(line).groups()
    skipped = (comment or "").lower().startswith("skip")
    counts["fail" if bad else "skip" if skipped else "pass"] += 1
print(counts["pass"], counts["fail"], counts["skip"])
"##;

/// Writes the folder as `out`, which must not be there or be empty.
pub fn write_folder(out: &Path) -> Result<()> {
    if fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        bail!("{} is not empty: name another folder, or empty it", out.display());
    }
    if out.exists() && !out.is_dir() {
        bail!("{} is not a folder: name another one", out.display());
    }
    let build = workspace::target_dir().join("dist/build");
    let binary =
        static_build::build(&workspace::root(), &build, static_build::XOFF, None)?.join("xoff");
    for (name, content) in FILES {
        write(&out.join(name), content.as_bytes())?;
    }
    for (name, content) in PROGRAMS {
        let program = out.join(name);
        write(&program, content.as_bytes())?;
        process::output(Command::new("chmod").arg("755").arg(&program))?;
    }
    copy(&binary, &out.join("xoff"))?;
    copy(&workspace::root().join(SCENARIOS), &out.join("scenarios"))?;
    println!(
        "{} is for tools/testing/selftests/{NAME} of a kernel's source:\n\
         make -C tools/testing/selftests TARGETS={NAME} run_tests",
        out.display()
    );
    Ok(())
}

/// Runs the folder by the kernel's rules: in a tree, and installed.
pub fn check() -> Result<()> {
    privilege::require_root("the kernel's runner", "kselftest", None)?;
    packages::make_and_rsync()?;
    let testing = packages::kernel_testing()?;
    let source = testing.ancestors().nth(2).context("a source has tools/testing")?;
    let work = workspace::target_dir().join("kselftest");
    if work.exists() {
        fs::remove_dir_all(&work).with_context(|| format!("{}", work.display()))?;
    }
    let tree = work.join("linux");
    copy(source, &tree)?;
    let selftests = tree.join("tools/testing/selftests");
    write_folder(&selftests.join(NAME))?;

    let make = |target: &str| {
        let mut make = Command::new("make");
        make.args(["--silent", "-C"]).arg(&selftests).arg(format!("TARGETS={NAME}")).arg(target);
        make
    };
    let in_tree = said(&mut make("run_tests"))?;
    judge("make run_tests", &in_tree, ["ok 1", "ok 2"], [true, false, false])?;

    let installed = work.join("installed");
    process::run(make("install").arg(format!("INSTALL_PATH={}", installed.display())))?;
    let run = |privileged: bool| {
        let mut command = Command::new(if privileged { "env" } else { "setpriv" });
        if !privileged {
            command.args(["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]);
        }
        command.arg("./run_kselftest.sh").args(["--collection", NAME]).current_dir(&installed);
        command
    };
    judge("run_kselftest.sh", &said(&mut run(true))?, ["ok 1", "ok 2"], [true, false, false])?;
    judge(
        "run_kselftest.sh without a capability",
        &said(&mut run(false))?,
        ["ok 1", "ok 2"],
        [false, false, true],
    )?;
    write(&installed.join(NAME).join("scenarios/failing.toml"), FAILING.as_bytes())?;
    let failing = said(&mut run(true))?;
    judge(
        "run_kselftest.sh with a failing scenario",
        &failing,
        ["ok 1", "not ok 2"],
        [true, true, false],
    )
}

/// Output of a command, whether it succeeds or not, because the kernel's runner reports in words.
fn said(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().context("starting the kernel's runner")?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text += &String::from_utf8_lossy(&output.stderr);
    Ok(text)
}

/// Checks the lines of both programs, and the kinds of results that netdev's CI finds in them: passed, failed, skipped.
fn judge(what: &str, text: &str, begins: [&str; 2], any: [bool; 3]) -> Result<()> {
    for (begin, (program, _)) in begins.into_iter().zip(PROGRAMS) {
        let line = format!("\n{begin} selftests: {NAME}: {program}");
        ensure!(text.contains(&line), "{what}: no line `{}` in\n{text}", line.trim_start());
    }
    let file = workspace::target_dir().join("kselftest/output.txt");
    write(&file, text.as_bytes())?;
    let mut python = Command::new("python3");
    python.args(["-c", NETDEV]).stdin(fs::File::open(&file)?);
    let output = python.output().context("this check needs python3")?;
    let counts = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    let found: Vec<bool> = counts.split(' ').map(|count| count != "0").collect();
    ensure!(
        output.status.success() && found == any,
        "{what}: netdev's CI finds `{counts}` passed, failed, skipped in\n{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    println!("{what}: as it should be; netdev's CI counts {counts} (passed, failed, skipped)");
    Ok(())
}
