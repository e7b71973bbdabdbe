//! Events that a switch's program logs through aya-log, on standard error.

use aya_log::EbpfLogger;

use crate::program::{ProgramError, SwitchProgram};

/// The ring of a switch's log records.
pub struct EventLog(EbpfLogger<Lines>);

/// Writes each record as a line that names the switch.
struct Lines {
    switch: String,
}

impl log::Log for Lines {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        eprintln!("{}: {}", self.switch, record.args());
    }

    fn flush(&self) {}
}

impl EventLog {
    /// Opens the log of a loaded program.
    pub fn new(program: &mut SwitchProgram, switch: &str) -> Result<Self, ProgramError> {
        let lines = Lines { switch: switch.to_owned() };
        EbpfLogger::init_with_logger(program.ebpf(), lines)
            .map(Self)
            .map_err(|_| ProgramError::Missing("AYA_LOGS"))
    }

    /// Writes the records received so far.
    pub fn flush(&mut self) {
        self.0.flush();
    }
}
