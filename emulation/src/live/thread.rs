//! Scheduling of the threads that run a live fabric.

use std::io;

use linux::scheduling::{be_ordinary, be_real_time};

/// Scheduling priority of a fabric's threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// Ordinary scheduling: threads may wait some milliseconds for other threads.
    #[default]
    Ordinary,
    /// Real-time scheduling (`SCHED_RR`): the threads run before all ordinary ones. Niceness would not suffice:
    /// where sessions are scheduled as groups, it counts only within the session.
    RealTime,
}

/// Sets the priority of the calling thread, and of threads it starts, until it is dropped.
#[derive(Debug)]
pub struct Hurry {
    priority: Priority,
}

impl Hurry {
    /// Sets the priority.
    pub fn begin(priority: Priority) -> io::Result<Self> {
        if priority == Priority::RealTime {
            be_real_time()?;
        }
        Ok(Self { priority })
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        if self.priority == Priority::RealTime {
            let _ = be_ordinary();
        }
    }
}
