//! The command line of ns3-datacenter's programs, which overrides their configs.

use std::collections::BTreeSet;

use super::simulator::Simulator;

/// Arguments; the default is an empty command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// `--algorithm`, replaces `CC_MODE`.
    pub algorithm: u64,
    /// `--wien`: true if `PowerTCP` replaces HPCC.
    pub wien: bool,
    /// `--delayWien`: true if theta-PowerTCP replaces `PowerTCP`.
    pub delay_wien: bool,
    /// `--windowCheck`, replaces `HAS_WIN`.
    pub window_check: bool,
}

impl Default for Arguments {
    /// Returns the programs' own defaults.
    fn default() -> Self {
        Self { algorithm: 3, wien: true, delay_wien: false, window_check: true }
    }
}

impl Arguments {
    /// Parses words `name=value`. An error has a sentence and a help text.
    pub fn parse(simulator: Simulator, words: &[String]) -> Result<Self, (String, String)> {
        let mut arguments = Self::default();
        if simulator != Simulator::Ns3Datacenter
            && let Some(word) = words.first()
        {
            let title = format!("an argument `{word}` for {}", simulator.traits().name);
            let help = "its config file says all; leave --argument out";
            return Err((title, help.to_owned()));
        }
        let mut given = BTreeSet::new();
        for word in words {
            arguments.take(word)?;
            if !given.insert(name_and_value(word).0) {
                let title = format!("the argument `{word}` comes twice");
                return Err((title, "keep one of that name".to_owned()));
            }
        }
        Ok(arguments)
    }

    fn take(&mut self, word: &str) -> Result<(), (String, String)> {
        let (name, value) = name_and_value(word);
        let flag = match value {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        };
        let wrong = |help: &str| (format!("the argument `{word}`"), help.to_owned());
        let flag = || flag.ok_or_else(|| wrong("write true or false behind the ="));
        match name {
            "algorithm" => {
                let help =
                    "write a number behind the =: 1 DCQCN, 3 PowerTCP or HPCC, 7 TIMELY, 8 DCTCP";
                self.algorithm = value.parse().map_err(|_| wrong(help))?;
            }
            "wien" => self.wien = flag()?,
            "delayWien" => self.delay_wien = flag()?,
            "windowCheck" => self.window_check = flag()?,
            _ => {
                let help = "ns3-datacenter has algorithm, wien, delayWien and windowCheck";
                return Err(wrong(help));
            }
        }
        Ok(())
    }
}

fn name_and_value(word: &str) -> (&str, &str) {
    word.split_once('=').unwrap_or((word, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_or_named() {
        let parse = |simulator, words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            Arguments::parse(simulator, &words)
        };
        let datacenter = Simulator::Ns3Datacenter;
        assert_eq!(parse(datacenter, &[]), Ok(Arguments::default()));
        let given =
            parse(datacenter, &["algorithm=7", "wien=false", "delayWien=1", "windowCheck=0"]);
        let expected =
            Arguments { algorithm: 7, wien: false, delay_wien: true, window_check: false };
        assert_eq!(given, Ok(expected));
        for wrong in ["algorithm=", "algorithm=hpcc", "wien=yes", "wien", "conf=x", "--wien=true"] {
            let (title, help) = parse(datacenter, &[wrong]).unwrap_err();
            assert!(title.contains(wrong) && !help.is_empty(), "{title}");
        }
        let (title, _) = parse(datacenter, &["wien=true", "wien=false"]).unwrap_err();
        assert_eq!(title, "the argument `wien=false` comes twice");
        for simulator in [Simulator::Hpcc, Simulator::ConWeave] {
            assert!(parse(simulator, &["wien=true"]).is_err());
            assert!(parse(simulator, &[]).is_ok());
        }
    }
}
