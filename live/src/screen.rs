//! State of the screen of `xoff top`, changed by keys and views, and drawn by [`draw`]. It depends on neither clock nor
//! terminal.

pub mod draw;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::folder::Description;
use super::glance::{Glance, HostGlance, PortGlance, SwitchGlance};

/// See the module.
#[derive(Debug)]
pub struct Screen {
    name: String,
    shape: String,
    glance: Option<Glance>,
    /// Reason why no new view has arrived, while none does.
    late: Option<String>,
    sort: Sort,
    table: Table,
    /// Switch whose ports and neighbours are shown; `None` for all.
    switch: Option<String>,
    is_frozen: bool,
    shows_help: bool,
    /// Number of rows scrolled out at the top.
    scrolled: usize,
    /// Number of rows that fitted the table when it was last drawn.
    rows: usize,
}

/// Order of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Highest rate first.
    #[default]
    Rate,
    /// Most waiting bytes, or frames of programs, first.
    Queue,
    /// Longest paused first.
    Pauses,
    /// Most drops first, in the last period and then in total.
    Drops,
    /// Order of the scenario.
    Order,
}

/// Content of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Table {
    /// Ports of switches and hosts.
    #[default]
    Ports,
    /// Hosts, with their programs' frames.
    Hosts,
}

/// Effect of a key besides a change of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// No effect.
    Nothing,
    /// End of the command.
    Quit,
}

impl Sort {
    /// Returns the name in the title of a table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Queue => "queue",
            Self::Pauses => "pauses",
            Self::Drops => "drops",
            Self::Order => "order of the scenario",
        }
    }
}

impl Screen {
    /// Makes the screen of a fabric before its first view.
    pub fn new(description: &Description) -> Self {
        Self {
            name: description.name.clone(),
            shape: description.shape.clone(),
            glance: None,
            late: None,
            sort: Sort::default(),
            table: Table::default(),
            switch: None,
            is_frozen: false,
            shows_help: false,
            scrolled: 0,
            rows: 1,
        }
    }

    /// Shows a new glance. While the screen is frozen it is not shown.
    pub fn show(&mut self, glance: Glance) {
        self.late = None;
        if !self.is_frozen {
            self.glance = Some(glance);
        }
    }

    /// Notes that there is no new view; `why` is a sentence.
    pub fn miss(&mut self, why: String) {
        self.late = Some(why);
    }

    /// Handles a key press.
    pub fn press(&mut self, key: KeyEvent) -> Wish {
        let controls = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if controls => return Wish::Quit,
            _ if controls => {}
            KeyCode::Esc if self.shows_help => self.shows_help = false,
            KeyCode::Char('q') | KeyCode::Esc => return Wish::Quit,
            KeyCode::Char('?' | 'h') => self.shows_help = !self.shows_help,
            KeyCode::Char('r') => self.sort_by(Sort::Rate),
            KeyCode::Char('u') => self.sort_by(Sort::Queue),
            KeyCode::Char('p') => self.sort_by(Sort::Pauses),
            KeyCode::Char('d') => self.sort_by(Sort::Drops),
            KeyCode::Char('o') => self.sort_by(Sort::Order),
            KeyCode::Char('t') => {
                self.table = if self.table == Table::Ports { Table::Hosts } else { Table::Ports };
                self.scrolled = 0;
            }
            KeyCode::Char('s') | KeyCode::Tab => self.pick(true),
            KeyCode::Char('S') | KeyCode::BackTab => self.pick(false),
            KeyCode::Char('a') => {
                self.switch = None;
                self.scrolled = 0;
            }
            KeyCode::Char(' ' | 'f') => self.is_frozen = !self.is_frozen,
            KeyCode::Up | KeyCode::Char('k') => self.scroll(-1),
            KeyCode::Down | KeyCode::Char('j') => self.scroll(1),
            KeyCode::PageUp => self.scroll(-self.page()),
            KeyCode::PageDown => self.scroll(self.page()),
            KeyCode::Home => self.scrolled = 0,
            KeyCode::End => self.scrolled = usize::MAX,
            _ => {}
        }
        Wish::Nothing
    }

    fn sort_by(&mut self, sort: Sort) {
        self.sort = sort;
        self.scrolled = 0;
    }

    fn page(&self) -> isize {
        isize::try_from(self.rows).unwrap_or(isize::MAX).max(1)
    }

    fn scroll(&mut self, rows: isize) {
        self.scrolled = self.scrolled.saturating_add_signed(rows);
    }

    /// Selects the next switch, or the previous one; after the last one all are shown.
    fn pick(&mut self, next: bool) {
        let Some(glance) = &self.glance else { return };
        let names = glance.switches.iter().map(|switch| switch.name.as_str());
        let choices: Vec<Option<&str>> = std::iter::once(None).chain(names.map(Some)).collect();
        let picked = self.switch.as_deref();
        let place = choices.iter().position(|&choice| choice == picked).unwrap_or(0);
        let step = if next { 1 } else { choices.len() - 1 };
        self.switch = choices[(place + step) % choices.len()].map(str::to_owned);
        self.scrolled = 0;
    }

    /// Returns true if a node whose neighbour is `peer` is shown.
    fn is_picked(&self, node: &str, peer: &str) -> bool {
        self.switch.as_deref().is_none_or(|switch| switch == node || switch == peer)
    }

    /// Returns the shown ports, sorted.
    fn ports<'a>(&self, glance: &'a Glance) -> Vec<&'a PortGlance> {
        let picked = glance.ports.iter().filter(|port| self.is_picked(&port.node, &port.peer));
        let mut ports: Vec<&PortGlance> = picked.collect();
        let dropped = |port: &PortGlance| {
            let switch = glance.switches.iter().find(|switch| switch.name == port.node);
            switch.map(SwitchGlance::dropped).unwrap_or_default()
        };
        match self.sort {
            Sort::Rate => ports.sort_by_key(|port| Reverse(port.out_bps + port.in_bps)),
            Sort::Queue => ports.sort_by_key(|port| Reverse(port.queued_bytes.iter().sum::<u64>())),
            Sort::Pauses => ports.sort_by_key(|port| Reverse(pauses(port))),
            Sort::Drops => ports.sort_by_cached_key(|port| {
                let count = dropped(port);
                Reverse((count.period, count.all))
            }),
            Sort::Order => {}
        }
        ports
    }

    /// Returns the shown hosts with their ports, sorted.
    fn hosts<'a>(&self, glance: &'a Glance) -> Vec<(&'a HostGlance, &'a PortGlance)> {
        let ports = &glance.ports[glance.ports.len() - glance.hosts.len()..];
        let hosts = glance.hosts.iter().zip(ports);
        let mut hosts: Vec<_> =
            hosts.filter(|(_, port)| self.is_picked(&port.node, &port.peer)).collect();
        match self.sort {
            Sort::Rate => hosts.sort_by_key(|(_, port)| Reverse(port.out_bps + port.in_bps)),
            Sort::Queue => hosts.sort_by_key(|(host, _)| Reverse(host.programs_waiting)),
            Sort::Pauses => hosts.sort_by_key(|(_, port)| Reverse(pauses(port))),
            Sort::Drops => hosts.sort_by_key(|(host, _)| {
                Reverse((host.programs_dropped.period, host.programs_dropped.all))
            }),
            Sort::Order => {}
        }
        hosts
    }
}

/// Returns the key for sorting by pauses: time of the longest-paused priority, true if paused now, number of PAUSE frames.
fn pauses(port: &PortGlance) -> (u64, bool, u64) {
    let longest = port.paused_ns.iter().max().copied().unwrap_or(0);
    (longest, !port.paused.is_empty(), port.pause_frames.iter().sum())
}
