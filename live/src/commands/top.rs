//! `xoff top`: a live fabric on a terminal.

use std::io::{self, IsTerminal};
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use emulation::live::view::View;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use super::watch::Period;
use super::{Exit, leave};
use crate::glance::Glance;
use crate::screen::{Screen, Wish, draw};
use crate::watcher::{Missed, Watcher};

/// Time between two checks of the interrupt flag, while nothing changes.
const MOMENT: Duration = Duration::from_millis(50);
/// Number of periods after which a missing answer counts as late; [`LATE`] is the minimum time.
const PERIODS: u32 = 3;
const LATE: Duration = Duration::from_secs(2);

/// Arguments of `xoff top`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The live fabric.
    name: String,
    #[command(flatten)]
    period: Period,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return super::refuse(
            "`xoff top` needs a terminal; for files and programs there is `xoff watch`, with `--json` if need be",
        );
    }
    let watcher = match Watcher::new(&arguments.name) {
        Ok(watcher) => watcher,
        Err(message) => return super::refuse(message),
    };
    let interrupted = leave::watch(Exit::Success, true);
    let mut screen = Screen::new(watcher.description());
    let every = arguments.period.every;
    let (updates, seen) = mpsc::sync_channel(1);
    // The poll thread ends when `end` is dropped, or with the process.
    let (end, ended) = mpsc::channel();
    // From here on a panic restores the terminal before it prints its message.
    let shown = match ratatui::try_init() {
        Ok(mut terminal) => {
            let keys = updates.clone();
            thread::spawn(move || read_keys(&keys));
            thread::spawn(move || look(&watcher, every, &updates, &ended));
            let shown = show(&mut terminal, &mut screen, &seen, every, interrupted);
            let restored = terminal.show_cursor().and(ratatui::try_restore());
            // Its destructor would panic on a terminal that has hung up.
            mem::forget(terminal);
            shown.and_then(|why| restored.map(|()| why))
        }
        Err(error) => Err(error),
    };
    drop::<Sender<()>>(end);
    match shown {
        Ok(None) => Exit::Success,
        Ok(Some(why)) => {
            super::say(why);
            Exit::Success
        }
        Err(_) if leave::is_terminal_gone() => Exit::Success,
        Err(error) => super::refuse(format!("the terminal: {error}")),
    }
}

/// Event that changes the screen.
enum Update {
    /// Input or another event of the terminal.
    Event(Event),
    /// A view of the fabric, or the reason why there is none.
    Look(Result<Box<Glance>, Missed>),
}

/// Reads keys until the process ends. Crossterm loops for ever on a terminal that has hung up, so keys have a separate
/// thread.
fn read_keys(updates: &SyncSender<Update>) {
    while let Ok(event) = event::read() {
        if updates.send(Update::Event(event)).is_err() {
            return;
        }
    }
}

/// Polls the fabric once per period.
fn look(watcher: &Watcher, every: Duration, updates: &SyncSender<Update>, ended: &Receiver<()>) {
    let mut before: Option<Box<View>> = None;
    loop {
        let looked = watcher.look();
        let is_over = matches!(looked, Err(Missed::Ended(_)));
        let seen = match looked {
            Ok(view) => {
                let glance = before.as_deref().map(|before| Glance::between(before, &view));
                before = Some(view);
                glance.map(Box::new).map(Ok)
            }
            Err(missed) => Some(Err(missed)),
        };
        if seen.is_some_and(|seen| updates.send(Update::Look(seen)).is_err()) || is_over {
            return;
        }
        if ended.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

/// Shows the fabric until a key, a signal or the fabric's end. Returns the reason if the fabric ended.
fn show(
    terminal: &mut DefaultTerminal,
    screen: &mut Screen,
    seen: &Receiver<Update>,
    every: Duration,
    interrupted: &AtomicBool,
) -> io::Result<Option<String>> {
    let late = (every * PERIODS).max(LATE);
    let mut heard = now();
    terminal.draw(|frame| draw::draw(frame, screen))?;
    while !interrupted.load(Ordering::Relaxed) {
        match seen.recv_timeout(MOMENT) {
            Ok(Update::Look(Ok(glance))) => {
                heard = now();
                screen.show(*glance);
            }
            Ok(Update::Look(Err(Missed::Late(why)))) => screen.miss(why),
            Ok(Update::Look(Err(Missed::Ended(why)))) => return Ok(Some(why)),
            Ok(Update::Event(Event::Key(key))) if key.kind != KeyEventKind::Release => {
                if screen.press(key) == Wish::Quit {
                    return Ok(None);
                }
            }
            // For example a resize of the terminal.
            Ok(Update::Event(_)) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) if now() - heard > late => {
                let seconds = (now() - heard).as_secs();
                screen.miss(format!("the supervisor has not answered for {seconds} s"));
            }
            Err(RecvTimeoutError::Timeout) => continue,
        }
        terminal.draw(|frame| draw::draw(frame, screen))?;
    }
    Ok(None)
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long nobody has answered, never what is shown of a fabric"
)]
fn now() -> Instant {
    Instant::now()
}
