//! `xoff top`: a live fabric on a terminal.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use emulation::live::view::View;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use super::watch::Period;
use super::{Exit, interrupt};
use crate::live::glance::Glance;
use crate::live::screen::{Screen, Wish, draw};
use crate::live::watcher::{Missed, Watcher};

/// How long a key or a look is waited for before the other is looked for.
const MOMENT: Duration = Duration::from_millis(50);
/// Periods after which somebody who does not answer is late, and a time, for short periods.
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
    let watcher = match Watcher::of(&arguments.name) {
        Ok(watcher) => watcher,
        Err(message) => return super::refuse(message),
    };
    let interrupted = interrupt::watch();
    let mut screen = Screen::new(watcher.description());
    let every = arguments.period.every;
    let (looks, seen) = mpsc::sync_channel(1);
    // It ends when nobody wants to see any more, or with the process.
    let (end, ended) = mpsc::channel();
    thread::spawn(move || look(&watcher, every, &looks, &ended));
    // From here on a panic restores the terminal before it says why.
    let shown = match ratatui::try_init() {
        Ok(mut terminal) => {
            let shown = show(&mut terminal, &mut screen, &seen, every, interrupted);
            ratatui::restore();
            shown
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
        Err(error) => super::refuse(format!("the terminal: {error}")),
    }
}

/// Looks at the fabric again and again.
fn look(
    watcher: &Watcher,
    every: Duration,
    looks: &mpsc::SyncSender<Result<Glance, Missed>>,
    ended: &Receiver<()>,
) {
    let mut before: Option<Box<View>> = None;
    loop {
        let looked = watcher.look();
        let is_over = matches!(looked, Err(Missed::Ended(_)));
        let seen = match looked {
            Ok(view) => {
                let glance = before.as_deref().map(|before| Glance::between(before, &view));
                before = Some(view);
                glance.map(Ok)
            }
            Err(missed) => Some(Err(missed)),
        };
        if seen.is_some_and(|seen| looks.send(seen).is_err()) || is_over {
            return;
        }
        if ended.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

/// Shows what is seen until a key, a signal or the fabric ends it. Returns why, if the fabric did.
fn show(
    terminal: &mut DefaultTerminal,
    screen: &mut Screen,
    seen: &Receiver<Result<Glance, Missed>>,
    every: Duration,
    interrupted: &AtomicBool,
) -> io::Result<Option<String>> {
    let late = (every * PERIODS).max(LATE);
    let mut heard = now();
    let mut has_changed = true;
    while !interrupted.load(Ordering::Relaxed) {
        match seen.try_recv() {
            Ok(Ok(glance)) => {
                (heard, has_changed) = (now(), true);
                screen.show(glance);
            }
            Ok(Err(Missed::Late(why))) => {
                has_changed = true;
                screen.miss(why);
            }
            Ok(Err(Missed::Ended(why))) => return Ok(Some(why)),
            Err(TryRecvError::Disconnected) => return Ok(None),
            Err(TryRecvError::Empty) if now() - heard > late => {
                let seconds = (now() - heard).as_secs();
                screen.miss(format!("the supervisor has not answered for {seconds} s"));
                has_changed = true;
            }
            Err(TryRecvError::Empty) => {}
        }
        if has_changed {
            terminal.draw(|frame| draw::draw(frame, screen))?;
            has_changed = false;
        }
        if event::poll(MOMENT)? {
            has_changed = true;
            if let Event::Key(key) = event::read()?
                && key.kind != KeyEventKind::Release
                && screen.press(key) == Wish::Quit
            {
                return Ok(None);
            }
        }
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
