//! Meaning of each command's exit codes, for `--help` and manual pages.

use clap::Command;

const DONE: (&str, &str) = ("0", "it did what it says");
const REFUSED: (&str, &str) = ("2", "the command line, the input or the machine does not allow it");

/// A command's exit codes with their meaning.
type Codes = &'static [(&'static str, &'static str)];

fn codes(command: &str) -> Codes {
    match command {
        "run" => &[
            (
                "0",
                "the run was what it claims: flows completed, books balance, nothing lossless was lost",
            ),
            (
                "1",
                "it ran, and was not: unfinished, lossless drops, or an expectation fails; results are there",
            ),
            REFUSED,
            ("130", "interrupted; results go up to then"),
        ],
        "sweep" => &[
            ("0", "every run is complete"),
            (
                "1",
                "runs failed, were cut by their duration or dropped lossless packets; the next call goes on",
            ),
            REFUSED,
            ("130", "interrupted; the next call goes on. A job on a cluster was left alone"),
        ],
        "reproduce" => &[
            ("0", "the figures are there; with --check, numbers are as committed"),
            ("1", "runs failed; with --check, numbers differ"),
            REFUSED,
            ("130", "interrupted; the next call goes on"),
        ],
        "compare" => &[
            ("0", "everything that both sides have is equal, up to --tolerance"),
            ("1", "it differs, or a flow is on one side only"),
            REFUSED,
        ],
        "import" => &[DONE, REFUSED, ("130", "interrupted; nothing was written")],
        "doctor" => &[
            ("0", "this machine can run fabrics"),
            ("2", "something is missing, or the command line is wrong"),
        ],
        "selftest" => &[
            ("0", "no test failed, and one passed at least"),
            ("1", "a test failed"),
            REFUSED,
            ("4", "every test was skipped: no root, no BPF, no namespaces"),
            ("130", "interrupted"),
        ],
        "deploy" => &[
            ("0", "the fabric is up; with --foreground, it was destroyed"),
            REFUSED,
            ("130", "interrupted; the fabric is not up"),
        ],
        "exec" => &[
            ("any", "exit code of the program"),
            ("2", "the fabric or the host does not exist, or the program exited with 2"),
            ("126", "the program cannot be executed, or exited with 126"),
            ("127", "the program was not found, or exited with 127"),
        ],
        "send" | "incast" => &[
            ("0", "all flows are done"),
            ("1", "--timeout was over before; the flows go on"),
            REFUSED,
            ("130", "interrupted; the flows go on"),
        ],
        "top" | "watch" | "metrics" | "capture" => {
            &[("0", "it ended as asked: by its options, a signal, or with the fabric"), REFUSED]
        }
        "destroy" => &[
            ("0", "the fabrics are down"),
            ("1", "they are down, and one had not ended well: what is lost is said"),
            REFUSED,
        ],
        _ => &[DONE, REFUSED],
    }
}

/// Adds each command's exit codes to its help.
pub fn explained(all: Command) -> Command {
    all.mut_subcommands(|command| {
        let codes =
            codes(command.get_name()).iter().map(|(code, what)| format!("  {code:<5}{what}"));
        let codes = codes.collect::<Vec<_>>().join("\n");
        let more = command.get_after_help().map(|help| format!("{help}\n\n")).unwrap_or_default();
        command.after_help(format!("{more}Exit codes:\n{codes}"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::command;

    #[test]
    fn every_command_says_its_codes_once() {
        for mut of_command in command().get_subcommands().cloned() {
            let name = of_command.get_name().to_owned();
            let help = of_command.render_long_help().to_string();
            assert_eq!(help.matches("Exit codes:\n  ").count(), 1, "{name}: {help}");
            let (_, codes) = help.split_once("Exit codes:\n").unwrap();
            assert!(codes.lines().all(|line| line.len() <= 100), "{name}: {codes}");
            assert!(codes.contains("\n  2  "), "{name}: {codes}");
        }
    }

    #[test]
    fn examples_stay() {
        let all = command();
        let report = all.find_subcommand("report").expect("there is one").get_after_help();
        let help = report.expect("it has examples").to_string();
        assert!(
            help.starts_with("Examples:\n  xoff run") && help.contains("\n\nExit codes:\n  0"),
            "{help}"
        );
    }
}
