//! Processes, distinguished even if the kernel reuses their numbers.

use std::fmt;
use std::fs;
use std::str::FromStr;

/// A process as a lock names it: `NUMBER STARTED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number in its own namespace of process numbers.
    pub number: u32,
    /// When it has started, in clock ticks since the machine has; `None` if that is not known, as in locks of older builds.
    pub started: Option<u64>,
}

impl Process {
    /// The process that has a number now, or had it last.
    pub fn new(number: u32) -> Self {
        Self { number, started: stat(number).map(|(_, started)| started) }
    }

    /// This process.
    pub fn this() -> Self {
        Self::new(std::process::id())
    }

    /// Returns true if both are one process, as far as is known: their numbers are equal, and known starts do not differ.
    pub fn is(&self, other: Self) -> bool {
        let differ = self.started.zip(other.started).is_some_and(|(one, two)| one != two);
        self.number == other.number && !differ
    }

    /// Returns true if the process has ended: its number is free, belongs to another process, or is a zombie's.
    pub fn is_over(&self) -> bool {
        match stat(self.number) {
            Some((state, started)) => {
                state == 'Z' || self.started.is_some_and(|known| known != started)
            }
            None => true,
        }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.started {
            Some(started) => write!(f, "{} {started}", self.number),
            None => write!(f, "{}", self.number),
        }
    }
}

impl FromStr for Process {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, started) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        Ok(Self { number: number.parse()?, started: started.parse().ok() })
    }
}

/// State and start of a process, from `/proc`.
fn stat(process: u32) -> Option<(char, u64)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before it is in parentheses, and may have some in it.
    let (_, rest) = stat.rsplit_once(") ")?;
    // The third field is the state, the 22nd the start.
    let started = rest.split(' ').nth(19)?.parse().ok()?;
    Some((rest.chars().next()?, started))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_comes_again_is_another_process() {
        let this = Process::this();
        assert!(this.started.is_some() && !this.is_over());
        assert_eq!(this.to_string().parse(), Ok(this));
        let earlier = Process { started: Some(1), ..this };
        assert!(this.is(this) && !this.is(earlier) && earlier.is_over());
        // A lock of an older build has the number alone.
        let old: Process = format!("{}\n", this.number).parse().unwrap();
        assert_eq!(old.started, None);
        assert!(old.is(this) && old.is(earlier) && !old.is_over());
        assert!("x".parse::<Process>().is_err());
    }

    #[test]
    fn a_process_that_has_ended_is_over_even_if_nobody_has_waited_for_it() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let process = Process::new(child.id());
        while !process.is_over() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(process.is_over());
    }
}
