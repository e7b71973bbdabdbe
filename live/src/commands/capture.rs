//! `xoff capture`: frames on the wires of a live fabric, as pcapng.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::poll::PollFlags;
use results::{Capture, CaptureWire, ResultsError};
use scenario::CaptureFilter;
use scenario::whole_number::at_least;
use units::{BitsPerSecond, Nanos};

use super::{Exit, leave};
use crate::client::{self, Client};
use crate::protocol::{Answer, Request};

/// Time between two checks for an interrupt, while no frames arrive or the output is blocked.
const MOMENT: Duration = Duration::from_millis(100);

/// Arguments of `xoff capture`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The live fabric.
    name: String,
    /// Wires, such as "h0->leaf0"; `*` matches any text and `?` one character. Default: all.
    wires: Vec<String>,
    /// File to write; `-` is standard output, for `| wireshark -k -i -`.
    #[arg(short, long, value_name = "FILE")]
    write: PathBuf,
    /// Frames to capture.
    #[arg(long, value_name = "FRAMES", default_value = "all")]
    filter: Filter,
    /// Ends after N frames.
    #[arg(short, long, value_name = "N", value_parser = at_least(1u64), allow_hyphen_values = true)]
    count: Option<u64>,
    /// Prints the final counts as JSON on standard error, because standard output may be the capture.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Filter {
    /// All frames
    All,
    /// PAUSE and RESUME
    Pfc,
    /// Hop control frames other than PFC
    HopControl,
    /// Congestion notification packets
    Cnp,
    /// Data packets of RoCE and TCP flows
    Data,
    /// Frames dropped at the ends of the wires or lost on them; the packet comment gives the reason
    Drops,
}

impl From<Filter> for CaptureFilter {
    fn from(filter: Filter) -> Self {
        match filter {
            Filter::All => Self::All,
            Filter::Pfc => Self::Pfc,
            Filter::HopControl => Self::HopControl,
            Filter::Cnp => Self::Cnp,
            Filter::Data => Self::Data,
            Filter::Drops => Self::Drops,
        }
    }
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    super::json_errors::answer_in_json(arguments.json);
    match capture(arguments, leave::watch(Exit::BadInput, false)) {
        Ok(()) => Exit::Success,
        Err(message) => super::refuse(message),
    }
}

fn capture(arguments: &Arguments, interrupted: &'static AtomicBool) -> Result<(), String> {
    let Arguments { name, wires, write, filter, count, json } = arguments;
    let wires = if wires.is_empty() { vec!["*".to_owned()] } else { wires.clone() };
    let mut client = Client::connect(name)?;
    let request = Request::Capture { wires, filter: (*filter).into() };
    let Answer::Capturing { wires } = client.ask_once(&request)? else {
        return Err("the supervisor answered something else; is it of another version?".to_owned());
    };
    let wire = |wire: crate::protocol::Wire| CaptureWire {
        name: wire.name,
        rate: BitsPerSecond(wire.rate_bps),
    };
    let wires: Vec<CaptureWire> = wires.into_iter().map(wire).collect();
    let output = Output { file: open(write)?, interrupted };
    // The capture owns the other descriptor of the file.
    let reader = output.file.try_clone().map_err(|error| error.to_string())?;
    let application = concat!("xoff ", env!("CARGO_PKG_VERSION"));
    let mut file =
        Capture::new(output, write, application, &wires, 0).map_err(|it| it.to_string())?;
    let (mut frames, mut all_lost) = (0, 0);
    let ended = loop {
        if Some(frames) == *count {
            break Ok(());
        }
        // Programs that follow the file see each frame at once.
        if !client.has_more()
            && let Err(error) = file.flush()
        {
            break ending(error);
        }
        if interrupted.load(Ordering::Relaxed) {
            break Ok(());
        }
        if !client.await_answer(MOMENT) {
            // While no frames arrive nothing is written, so a closed reader is noticed only here.
            if client::is_read(&reader) {
                continue;
            }
            break Ok(());
        }
        match client.answer() {
            Ok(Answer::Lost { frames }) => all_lost = frames,
            Ok(Answer::Frame { wire, time_ns, bytes, dropped, lost }) => {
                let bytes = parse_digits(&bytes).filter(|_| (wire as usize) < wires.len());
                let bytes =
                    bytes.ok_or("the supervisor sent no frame; is it of another version?")?;
                all_lost = lost;
                frames += 1;
                let comment = dropped.map(|reason| format!("dropped: {reason}"));
                if let Err(error) = file.frame(wire, Nanos(time_ns), &bytes, comment.as_deref()) {
                    break ending(error);
                }
            }
            Ok(_) => break Ok(()),
            Err(message) => break Err(message),
        }
    };
    let ended = ended.and(file.finish().or_else(ending));
    if ended.is_ok() {
        leave::end_stuck_with(Exit::Success);
    }
    if *json {
        super::say(serde_json::json!({ "frames": frames, "lost": all_lost }));
    } else {
        super::say(summary(frames, all_lost));
    }
    ended
}

/// Returns the outcome of a capture that can no longer be written.
fn ending(error: ResultsError) -> Result<(), String> {
    let ResultsError::Write { path, source } = error else { return Err(error.to_string()) };
    let advice = match source.kind() {
        // The reader has closed the pipe (`| head`): not an error.
        io::ErrorKind::BrokenPipe => return Ok(()),
        io::ErrorKind::TimedOut => "",
        io::ErrorKind::FileTooLarge => {
            "; raise the limit on the size of files (`ulimit -f unlimited`)"
        }
        _ => "; free some space, or name another file with -w",
    };
    Err(format!("cannot write {}: {source}{advice}", path.display()))
}

fn summary(frames: u64, lost: u64) -> String {
    let frames = results::counted(frames, "frame");
    match lost {
        0 => frames,
        lost => format!(
            "{frames}; {lost} more were lost, because they came faster than they were written"
        ),
    }
}

fn open(path: &Path) -> Result<File, String> {
    if path != Path::new("-") {
        let file = File::create(path);
        return file.map_err(|error| format!("cannot write {}: {error}", path.display()));
    }
    if io::stdout().is_terminal() {
        return Err(
            "a capture is not for a terminal; pipe it into a program, or name a file".to_owned()
        );
    }
    let output = io::stdout().as_fd().try_clone_to_owned();
    output.map(File::from).map_err(|error| format!("cannot write to standard output: {error}"))
}

/// Bytes for which a writable pipe has room (`limits.h`).
const PIPE_BUF: usize = 4096;

/// Output of a capture. A signal ends the capture even if the reader has stopped reading.
struct Output {
    file: File,
    interrupted: &'static AtomicBool,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        while !client::is_ready(&self.file, PollFlags::POLLOUT, MOMENT) {
            if self.interrupted.load(Ordering::Relaxed) {
                let why = "interrupted while nobody reads the capture";
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
        }
        self.file.write(&bytes[..bytes.len().min(PIPE_BUF)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Decodes hexadecimal digits.
fn parse_digits(digits: &str) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| {
        let pair = str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    };
    digits.as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use nix::errno::Errno;

    use super::*;

    #[test]
    fn an_end_says_what_to_do_unless_the_reader_has_gone() {
        let end = |error: Errno| {
            let source = error.into();
            ending(ResultsError::Write { path: "a.pcapng".into(), source })
        };
        assert_eq!(end(Errno::EPIPE), Ok(()));
        let full = end(Errno::ENOSPC).expect_err("it is not all there");
        assert!(full.starts_with("cannot write a.pcapng: No space left"), "{full}");
        assert!(full.ends_with("; free some space, or name another file with -w"), "{full}");
        assert!(end(Errno::EFBIG).expect_err("nor is this").ends_with("`)"));
    }

    #[test]
    fn digits_are_bytes() {
        assert_eq!(parse_digits("00ff1a"), Some(vec![0, 255, 26]));
        assert_eq!(parse_digits(""), Some(Vec::new()));
        for wrong in ["0", "000", "zz", "\u{e9}\u{e9}"] {
            assert_eq!(parse_digits(wrong), None, "{wrong}");
        }
    }
}
