//! Threads that run the parts of a fabric, window by window.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use super::part::{Part, Window};
use crate::cpu_time;
use crate::datapath::{DatapathError, Wires};

/// A part that has run a window, with the result.
type Report<W> = (Box<Part<W>>, Result<(), DatapathError>);

/// A thread that runs one part. It sleeps while there is nothing to do.
struct Worker<'scope, W: Wires> {
    windows: SyncSender<(Box<Part<W>>, Window)>,
    reports: Receiver<Report<W>>,
    thread: ScopedJoinHandle<'scope, Duration>,
}

/// The threads of a run, besides the one that drives it. Parts move to them for a window and back: between windows the
/// driver has all of them, and nothing is locked.
pub struct Crew<'scope, W: Wires> {
    workers: Vec<Worker<'scope, W>>,
}

impl<'scope, W: Wires + 'scope> Crew<'scope, W> {
    /// Starts a thread for each part but the first, as far as the system allows. The driver runs parts without a
    /// thread.
    pub fn start<'env>(scope: &'scope Scope<'scope, 'env>, parts: usize) -> Self {
        let start = |_| {
            let (windows, jobs) = sync_channel::<(Box<Part<W>>, Window)>(1);
            let (done, reports) = sync_channel(1);
            let work = move || {
                while let Ok((mut part, window)) = jobs.recv() {
                    let result = part.run(window);
                    if done.send((part, result)).is_err() {
                        break;
                    }
                }
                cpu_time::thread_time()
            };
            let thread = thread::Builder::new().name("xoff".into()).spawn_scoped(scope, work);
            Some(Worker { windows, reports, thread: thread.ok()? })
        };
        Self { workers: (1..parts).map_while(start).collect() }
    }

    /// Number of threads that run a window, including the driver's.
    pub fn threads(&self) -> u32 {
        u32::try_from(self.workers.len()).map_or(u32::MAX, |others| others + 1)
    }

    /// Runs a window of all parts in parallel.
    ///
    /// # Panics
    /// If one of the threads has panicked.
    pub fn run(&self, parts: &mut Vec<Box<Part<W>>>, window: Window) -> Result<(), DatapathError> {
        let own = parts.len() - self.workers.len();
        for (worker, part) in self.workers.iter().zip(parts.drain(own..)) {
            worker.windows.send((part, window)).expect("a thread of the run has panicked");
        }
        let mut result = parts.iter_mut().try_for_each(|part| part.run(window));
        for worker in &self.workers {
            let (part, of_worker) =
                worker.reports.recv().expect("a thread of the run has panicked");
            parts.push(part);
            result = result.and(of_worker);
        }
        result
    }

    /// Ends the threads. Returns the processor time that they took.
    pub fn dismiss(self) -> Duration {
        let end = |Worker { windows, reports, thread }| {
            drop((windows, reports));
            thread.join().expect("a thread of the run has panicked")
        };
        self.workers.into_iter().map(end).sum()
    }
}
