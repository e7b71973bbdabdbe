//! PFC storms that clients request, and events of watchdogs.

use std::sync::mpsc::{self, Receiver};

use emulation::live::desk::{Handle, Request as Asked};
use emulation::live::view::{StormEvent, StormSpan};
use scenario::Priorities;
use terminal::say;
use units::Picos;

use super::super::protocol::Answer;
use super::GONE;
use super::names::Names;

/// Max number of watchdog events in the log, which is never truncated.
const MAX_LOGGED: usize = 10_000;

/// Logs the watchdogs' events about storms.
pub(super) fn log(events: &Receiver<StormEvent>) {
    for event in events.iter().take(MAX_LOGGED) {
        say(event);
    }
    if events.recv().is_ok() {
        say("further PFC storms are not logged; `xoff inspect` has the latest");
    }
}

/// A storm has begun.
pub(super) fn begun(spans: Vec<StormSpan>) -> Answer {
    Answer::Storm { priorities: spans.iter().map(|span| span.priority).collect(), spans }
}

/// Storms are ended.
pub(super) fn ended(classes: u8) -> Answer {
    Answer::Storm { priorities: Priorities(classes).iter().collect(), spans: Vec::new() }
}

impl Names {
    /// Begins a storm, and returns how long the host then pauses each of its classes.
    pub(super) fn begin_storm(
        &self,
        handle: &Handle,
        host: &str,
        priorities: &[u8],
        span: Option<Picos>,
    ) -> Result<Vec<StormSpan>, String> {
        let (host, classes) = (self.host(host)?, self.storm_classes(priorities)?);
        let (done, is_done) = mpsc::channel();
        handle.ask(Asked::Storm { host, classes, span, done }).map_err(|_| GONE)?;
        is_done.recv().map_err(|_| GONE.to_owned())
    }

    /// Ends storms of a host, and returns the classes that had one.
    pub(super) fn end_storm(
        &self,
        handle: &Handle,
        name: &str,
        priorities: &[u8],
    ) -> Result<u8, String> {
        let (host, classes) = (self.host(name)?, self.storm_classes(priorities)?);
        let (ended, answer) = mpsc::channel();
        if handle.ask(Asked::EndStorm { host, classes, ended }).is_err() {
            return Err(GONE.to_owned());
        }
        match answer.recv() {
            Err(_) => Err(GONE.to_owned()),
            Ok(0) => Err(format!("{name} has no storm to stop")),
            Ok(ended) => Ok(ended),
        }
    }

    /// Returns the classes of a storm as a bit mask: these priorities, or all lossless ones.
    fn storm_classes(&self, priorities: &[u8]) -> Result<u8, String> {
        if priorities.is_empty() && self.lossless.count() > 0 {
            return Ok(self.lossless.0);
        }
        let known: Vec<String> = self.lossless.iter().map(|it| it.to_string()).collect();
        let is_lossy = |priority: &&u8| **priority > 7 || !self.lossless.contains(**priority);
        match priorities.iter().find(is_lossy) {
            Some(lossy) => Err(format!(
                "switches obey no pause of priority {lossy}: the lossless priorities of the fabric are {}",
                known.join(", ")
            )),
            None if priorities.is_empty() => {
                Err("the fabric has no lossless priority, so switches obey no pause".to_owned())
            }
            None => Ok(priorities.iter().fold(0, |classes, priority| classes | 1 << priority)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_is_of_lossless_priorities() {
        let names = |lossless| Names {
            hosts: Vec::new(),
            wires: Vec::new(),
            lossless: Priorities(lossless),
        };
        let lossless = names(0b11000);
        assert_eq!(lossless.storm_classes(&[]), Ok(0b11000));
        assert_eq!(lossless.storm_classes(&[4]), Ok(0b10000));
        for lossy in [0, 5, 8, 255] {
            let error = lossless.storm_classes(&[3, lossy]).expect_err("it is lossy");
            assert!(error.contains(&format!("priority {lossy}: ")), "{error}");
            assert!(error.ends_with("are 3, 4"), "{error}");
        }
        assert!(names(0).storm_classes(&[]).is_err());
    }
}
