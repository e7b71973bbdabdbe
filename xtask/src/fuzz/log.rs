//! Output of libFuzzer.

use std::path::PathBuf;

/// Headings of [`Log::figures`], behind the target's name.
pub const HEADINGS: &str = "target          inputs    edges  features   corpus";
/// Lines of a failure that are shown.
const LAST_LINES: usize = 40;

/// The output of one run.
pub struct Log {
    lines: Vec<String>,
}

impl Log {
    /// Log of the target's whole output.
    pub fn new(text: &str) -> Self {
        Self { lines: text.lines().map(str::to_owned).collect() }
    }

    /// Inputs tried, edges of the program and features (among others, edges by execution count) reached, and the number
    /// of inputs that are enough to reach all of them.
    pub fn figures(&self) -> String {
        let reached = |name| self.last_of(name).unwrap_or("?");
        let corpus = reached("corp:");
        format!(
            "{:>10}{:>9}{:>10}{:>9}",
            self.inputs().unwrap_or("?"),
            reached("cov:"),
            reached("ft:"),
            corpus.split('/').next().unwrap_or(corpus)
        )
    }

    /// The input that is written because the target failed for it.
    pub fn artifact(&self) -> Option<PathBuf> {
        let written = "Test unit written to ";
        let path = |line: &String| line.split_once(written).map(|(_, path)| PathBuf::from(path));
        // Inputs that are slow are written, too, and end nothing.
        let ends = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default();
            !name.to_string_lossy().starts_with("slow-unit-")
        };
        self.lines.iter().rev().filter_map(path).find(ends)
    }

    /// End of the target's output, without libFuzzer's own statistics and notes.
    pub fn last_words(&self) -> String {
        let is_own = |line: &str| {
            let line = line.trim_start();
            line.starts_with("stat::") || line.starts_with("NOTE: libFuzzer")
        };
        let kept: Vec<&str> =
            self.lines.iter().map(String::as_str).filter(|line| !is_own(line)).collect();
        kept[kept.len().saturating_sub(LAST_LINES)..].join("\n")
    }

    fn inputs(&self) -> Option<&str> {
        let count = |line: &'_ String| line.starts_with("stat::number_of_executed_units:");
        self.lines.iter().rev().find(|line| count(line))?.split_whitespace().last()
    }

    /// The word behind the last `name`.
    fn last_of(&self, name: &str) -> Option<&str> {
        let behind = |line: &'_ String| line.split_whitespace().any(|word| word == name);
        let line = self.lines.iter().rev().find(|line| behind(line))?;
        line.split_whitespace().skip_while(|word| *word != name).nth(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "\
INFO: Seed: 42
#2\tINITED cov: 20 ft: 21 corp: 1/1b exec/s: 0 rss: 40Mb
#4194\tDONE   cov: 123 ft: 456 corp: 78/9Kb lim: 43 exec/s: 69 rss: 60Mb
";

    #[test]
    fn figures_are_those_of_the_last_line() {
        let log = Log::new(&format!("{STATUS}stat::number_of_executed_units: 4194\n"));
        let words: Vec<_> = log.figures().split_whitespace().map(str::to_owned).collect();
        assert_eq!(words, ["4194", "123", "456", "78"]);
        assert_eq!(log.artifact(), None);
        let none = Log::new("no such file").figures();
        assert_eq!(none.split_whitespace().collect::<Vec<_>>(), ["?"; 4]);
    }

    #[test]
    fn a_slow_input_ends_no_run() {
        let slow = "artifact_prefix='/t/'; Test unit written to /t/slow-unit-1\n";
        assert_eq!(Log::new(slow).artifact(), None);
        let found = "thread panicked\n\
                     artifact_prefix='/t/'; Test unit written to /t/crash-2\n\
                     stat::number_of_executed_units: 7\n";
        let log = Log::new(&format!("{STATUS}{slow}{found}"));
        assert_eq!(log.artifact(), Some(PathBuf::from("/t/crash-2")));
        assert!(log.last_words().ends_with("Test unit written to /t/crash-2"));
    }
}
