//! Locations of the results, and the command that opens the capture.

use std::fmt::{self, Write};
use std::path::Path;

use units::Bytes;

use super::super::folder::ResultFiles;
use super::quantity;
use super::style::Style;
use super::text_table::wrap;

/// Names and lengths of the files, and which were cut.
pub fn render(
    out: &mut String,
    files: &ResultFiles,
    truncated: &[String],
    style: Style,
) -> fmt::Result {
    let title = format!("Results in {}", files.folder.display());
    writeln!(out, "{}", style.heading(&title))?;
    let names: Vec<String> = files
        .files
        .iter()
        .map(|(name, bytes)| format!("{name} ({})", quantity::bytes(Bytes(*bytes))))
        .collect();
    let names = names.join(", ");
    let words = names.split_inclusive("), ").map(str::trim_end);
    out.push_str(&wrap(words, 0, ""));
    for line in truncated {
        let line = format!("truncated: {line}");
        writeln!(out, "{}", style.bad(wrap(line.split(' '), 2, "").trim_end()))?;
    }
    Ok(())
}

/// The command that shows a capture's PAUSE frames of these priorities.
pub fn how_to_see_pauses(
    out: &mut String,
    capture: &Path,
    priorities: &[u8],
    style: Style,
) -> fmt::Result {
    writeln!(out, "\n{}", style.heading("The PAUSE frames on the wires"))?;
    out.push_str(&tshark(capture, priorities));
    Ok(())
}

fn tshark(capture: &Path, priorities: &[u8]) -> String {
    let mut words = vec![
        "tshark".to_owned(),
        format!("-r {}", shell_quoted(&capture.display().to_string())),
        "-Y 'macc.opcode == 0x0101' -T fields".to_owned(),
        "-e frame.time_epoch".to_owned(),
        "-e frame.interface_name".to_owned(),
    ];
    for priority in priorities {
        words.push(format!("-e macc.cbfc.enbv.c{priority}"));
        words.push(format!("-e macc.cbfc.pause_time.c{priority}"));
    }
    wrap(words.iter().map(String::as_str), 2, " \\")
}

fn shell_quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-+=:@%,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_for_the_shell() {
        for (path, expected) in [
            ("out/a.pcapng", "out/a.pcapng"),
            ("my runs/a.pcapng", "'my runs/a.pcapng'"),
            ("it's/a.pcapng", r"'it'\''s/a.pcapng'"),
        ] {
            assert_eq!(shell_quoted(path), expected);
        }
    }

    #[test]
    fn a_line_for_tshark_asks_for_each_priority() {
        let line = tshark(Path::new("a b"), &[3]);
        let words = line.split_whitespace().filter(|word| *word != "\\").collect::<Vec<_>>();
        assert_eq!(
            words.join(" "),
            "tshark -r 'a b' -Y 'macc.opcode == 0x0101' -T fields -e frame.time_epoch \
             -e frame.interface_name -e macc.cbfc.enbv.c3 -e macc.cbfc.pause_time.c3"
        );
        assert_eq!(shell_quoted(""), "''");
    }
}
