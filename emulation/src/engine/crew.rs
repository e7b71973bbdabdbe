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
/// driver has all of them, and nothing is locked. The threads start with the first window that they run, because a
/// short run may have no such window.
pub struct Crew<'scope, 'env, W: Wires + 'scope> {
    scope: &'scope Scope<'scope, 'env>,
    /// Empty before the first window, or if the system has no threads left.
    workers: Vec<Worker<'scope, W>>,
    started: bool,
}

impl<'scope, 'env, W: Wires + 'scope> Crew<'scope, 'env, W> {
    /// A crew whose threads have not started.
    pub fn new(scope: &'scope Scope<'scope, 'env>) -> Self {
        Self { scope, workers: Vec::new(), started: false }
    }

    /// Starts a thread for each part but the first, as far as the system allows. The driver runs parts without a
    /// thread.
    pub fn start(&mut self, parts: usize) {
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
            let thread = thread::Builder::new().name("xoff".into()).spawn_scoped(self.scope, work);
            Some(Worker { windows, reports, thread: thread.ok()? })
        };
        self.workers = (1..parts).map_while(start).collect();
        self.started = true;
    }

    /// Number of threads that have run a window, including the driver's.
    pub fn threads(&self) -> u32 {
        u32::try_from(self.workers.len()).map_or(u32::MAX, |others| others + 1)
    }

    /// Runs a window of all parts in parallel.
    ///
    /// # Panics
    /// If one of the threads has panicked.
    pub fn run(
        &mut self,
        parts: &mut Vec<Box<Part<W>>>,
        window: Window,
    ) -> Result<(), DatapathError> {
        if !self.started {
            self.start(parts.len());
        }
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
