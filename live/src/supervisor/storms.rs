//! PFC storms that clients of a supervisor ask for, and what watchdogs tell.

use std::sync::mpsc::{self, Receiver};

use emulation::live::desk::{Handle, Request as Asked};
use emulation::live::view::StormEvent;
use scenario::Priorities;
use terminal::say;
use units::Picos;

use super::super::protocol::Answer;
use super::GONE;
use super::names::Names;

/// Events of watchdogs in the log, which nobody empties.
const MOST_LOGGED: usize = 10_000;

/// Writes what watchdogs tell of storms to the log.
pub(super) fn log(events: &Receiver<StormEvent>) {
    for event in events.iter().take(MOST_LOGGED) {
        say(event);
    }
    if events.recv().is_ok() {
        say("further PFC storms are not logged; `xoff inspect` has the latest");
    }
}

/// A storm has begun, or is ended.
pub(super) fn answer(classes: u8) -> Answer {
    Answer::Storm { priorities: Priorities(classes).iter().collect() }
}

impl Names {
    /// Begins a storm, and returns its classes.
    pub(super) fn begin_storm(
        &self,
        handle: &Handle,
        host: &str,
        priorities: &[u8],
        span: Option<Picos>,
    ) -> Result<u8, String> {
        let (host, classes) = (self.host(host)?, self.storm_classes(priorities)?);
        let (done, is_done) = mpsc::channel();
        let asked = handle.ask(Asked::Storm { host, classes, span, done });
        if asked.is_err() || is_done.recv().is_err() {
            return Err(GONE.to_owned());
        }
        Ok(classes)
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

    /// The classes of a storm, a bit each: these priorities, or all lossless ones.
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
