//! Readers of `fct.txt` and `pfc.txt`, as xoff, the HPCC simulator and its forks write them.
//!
//! ConWeave's simulator writes node ids in place of addresses, and counts ports by the sender and by the receiver.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::str::FromStr;

use units::{Bytes, Nanos};

use super::{DOCUMENTATION, host_address};
use crate::table_reader::TableError;

/// Max length of a line, in bytes.
const LONGEST: u64 = 4096;
/// Largest instant of a file: instants are signed once an offset is subtracted.
const LAST: Nanos = Nanos(i64::MAX as u64);

/// A completed flow: a line of `fct.txt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FctLine {
    /// Number of the line, from 1.
    pub line: u64,
    /// Id of the sender.
    pub source: u32,
    /// Id of the receiver.
    pub destination: u32,
    /// UDP ports of the source and of the destination. `None` if the file has node ids: its ports do not count by pairs
    /// of hosts.
    pub ports: Option<[u16; 2]>,
    /// Payload.
    pub bytes: Bytes,
    /// Start of the flow.
    pub start: Nanos,
    /// Completion time of the flow.
    pub fct: Nanos,
    /// Completion time without other traffic.
    pub standalone: Nanos,
}

/// A pause or its end at a paused port: a line of `pfc.txt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfcLine {
    /// Arrival of the PFC frame.
    pub time: Nanos,
    /// Id of the paused node.
    pub node: u32,
    /// Paused interface of the node.
    pub interface: u32,
    /// True for a PAUSE, false for a RESUME.
    pub pauses: bool,
}

/// Reads the flows of an `fct.txt`, which is empty if no flow completed. Each ends by the largest instant, 2^63 - 1 ns.
pub fn read_fct(path: &Path) -> Result<Vec<FctLine>, TableError> {
    let mut flows = Vec::new();
    lines::<8>(path, 0, |line| {
        let [source, destination] = [line.host(0)?, line.host(1)?];
        let ports = [line.number(2)?, line.number(3)?];
        let [start, fct] = [line.number(5)?, line.number(6)?].map(Nanos);
        line.check_instant(start.0.checked_add(fct.0))?;
        flows.push(FctLine {
            line: line.number,
            source: source.id,
            destination: destination.id,
            ports: (source.is_address && destination.is_address).then_some(ports),
            bytes: Bytes(line.number(4)?),
            start,
            fct,
            standalone: Nanos(line.number(7)?),
        });
        Ok(())
    })?;
    Ok(flows)
}

/// Reads the pauses of a `pfc.txt`, which may be empty.
pub fn read_pfc(path: &Path) -> Result<Vec<PfcLine>, TableError> {
    let mut pauses = Vec::new();
    lines::<5>(path, 1, |line| {
        let _node_type: u8 = line.number(2)?;
        let time = line.number(0)?;
        line.check_instant(Some(time))?;
        pauses.push(PfcLine {
            time: Nanos(time),
            node: line.number(1)?,
            interface: line.number(3)?,
            pauses: match line.words[4] {
                "1" => true,
                "0" => false,
                _ => return Err(line.not_a_number(4)),
            },
        });
        Ok(())
    })?;
    Ok(pauses)
}

/// A line with all its fields.
struct Line<'a, const N: usize> {
    path: &'a Path,
    number: u64,
    /// Place of the file in [`DOCUMENTATION`].
    file: usize,
    words: [&'a str; N],
}

/// A host as a line names it.
struct Host {
    id: u32,
    is_address: bool,
}

impl<const N: usize> Line<'_, N> {
    fn number<T: FromStr>(&self, field: usize) -> Result<T, TableError> {
        self.words[field].parse().map_err(|_| self.not_a_number(field))
    }

    /// Parses an address, which has eight hexadecimal digits, or the id of a node.
    fn host(&self, field: usize) -> Result<Host, TableError> {
        let word = self.words[field];
        if word.len() != 8 || !word.starts_with("0b") {
            return Ok(Host { id: self.number(field)?, is_address: false });
        }
        let value = u32::from_str_radix(word, 16).map_err(|_| self.not_a_number(field))?;
        let id = value.checked_sub(host_address(0)).map(|it| it >> 8);
        match id.filter(|&id| host_address(id) == value) {
            Some(id) => Ok(Host { id, is_address: true }),
            None => Err(self.wrong(format!("{word} is not the address of a node, 11.x.y.1"))),
        }
    }

    /// Refuses an instant after [`LAST`]. `None` is the sum of times that overflowed.
    fn check_instant(&self, time_ns: Option<u64>) -> Result<(), TableError> {
        match time_ns {
            Some(time) if time <= LAST.0 => Ok(()),
            _ => Err(self.wrong(format!("its time is later than {} ns", LAST.0))),
        }
    }

    fn not_a_number(&self, field: usize) -> TableError {
        TableError::Number {
            path: self.path.to_owned(),
            place: place(self.number),
            column: DOCUMENTATION[self.file].2[field].name,
            text: self.words[field].to_owned(),
        }
    }

    fn wrong(&self, why: String) -> TableError {
        TableError::Row { path: self.path.to_owned(), place: place(self.number), why }
    }
}

fn place(number: u64) -> String {
    format!("line {number}")
}

/// Reads the lines of a file, which is number `file` of [`DOCUMENTATION`] and has `N` fields a line.
fn lines<const N: usize>(
    path: &Path,
    file: usize,
    mut take: impl FnMut(&Line<'_, N>) -> Result<(), TableError>,
) -> Result<(), TableError> {
    let failed = |source| TableError::Open { path: path.to_owned(), source };
    // A device may be endless, and to open a named pipe waits for a writer.
    let kind = fs::metadata(path).map_err(failed)?.file_type();
    if !kind.is_file() {
        let why = if kind.is_fifo() { "a pipe: save its text as a file" } else { "not a file" };
        return Err(TableError::Broken { path: path.to_owned(), why: format!("it is {why}") });
    }
    let mut reader = BufReader::new(File::open(path).map_err(failed)?);
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        let read = reader.by_ref().take(LONGEST).read_until(b'\n', &mut bytes).map_err(failed)?;
        if read == 0 {
            break;
        }
        let row = |why: &str| {
            Err(TableError::Row {
                path: path.to_owned(),
                place: place(number),
                why: why.to_owned(),
            })
        };
        let Ok(text) = str::from_utf8(&bytes) else { return row("it is not text") };
        // Some editors mark text as UTF-8 at its beginning.
        let text = text.strip_prefix('\u{feff}').filter(|_| number == 1).unwrap_or(text);
        if text.is_empty() {
            break;
        }
        let (mut words, mut found) = ([""; N], 0);
        for word in text.split_ascii_whitespace() {
            if let Some(place) = words.get_mut(found) {
                *place = word;
            }
            found += 1;
        }
        if found != N {
            let columns = DOCUMENTATION[file].2.iter().map(|key| key.name);
            let columns = columns.collect::<Vec<_>>().join(" ");
            return row(&format!("fields: {found}, expected: {N} ({columns})"));
        }
        if !text.ends_with('\n') {
            return row("the file ends within this line: it was cut");
        }
        take(&Line { path, number, file, words })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it.txt");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn fct(text: impl AsRef<[u8]>) -> Result<Vec<FctLine>, String> {
        let (_folder, path) = file(text.as_ref());
        read_fct(&path).map_err(|error| error.to_string().replace(path.to_str().unwrap(), "fct"))
    }

    #[test]
    fn hosts_are_addresses_or_ids() {
        let expected = FctLine {
            line: 1,
            source: 1,
            destination: 300,
            ports: Some([10_001, 200]),
            bytes: Bytes(1_000_000),
            start: Nanos(2_000_010_000),
            fct: Nanos(135_001),
            standalone: Nanos(90_000),
        };
        let text = "0b000101 0b012c01 10001 200 1000000 2000010000 135001 90000\n";
        assert_eq!(fct(text), Ok(vec![expected]));
        let text = "1 300 10001 200 1000000 2000010000 135001 90000\r\n";
        let by_id = Ok(vec![FctLine { ports: None, ..expected }]);
        assert_eq!(fct(text), by_id);
        // A byte order mark begins the file, and no other line.
        assert_eq!(fct(format!("\u{feff}{text}")), by_id);
        assert_eq!(fct("\u{feff}"), Ok(Vec::new()));
        assert!(fct(format!("{text}\u{feff}{text}")).unwrap_err().starts_with("fct line 2: "));
    }

    #[test]
    fn a_line_that_is_wrong_has_its_place() {
        let good = "0b000101 0b012c01 10001 200 1000 2000010000 135001 90000\n";
        for (wrong, words) in [
            (
                "0b000101 0b012c01 10001 200 1000 2000010000 135001 9000",
                "fct line 2: the file ends within",
            ),
            (
                "0b000101 0b012c01 10001 200 1000 20",
                "fct line 2: fields: 6, expected: 8 (sip dip sport",
            ),
            ("flow,label,src\n", "fct line 2: fields: 1,"),
            ("\n", "fct line 2: fields: 0,"),
            ("0b000102 0b012c01 1 1 1 1 1 1\n", "fct line 2: 0b000102 is not the address"),
            ("0b000000 0b012c01 1 1 1 1 1 1\n", "fct line 2: 0b000000 is not the address"),
            ("0b0001zz 0b012c01 1 1 1 1 1 1\n", "fct line 2: \"0b0001zz\" is not a number (sip)"),
            ("1 2 70000 1 1 1 1 1\n", "fct line 2: \"70000\" is not a number (sport)"),
            ("1 2 1 1 1 1 -1 1\n", "fct line 2: \"-1\" is not a number (fct)"),
        ] {
            let said = fct(format!("{good}{wrong}")).unwrap_err();
            assert!(said.starts_with(words), "{said}");
        }
        assert_eq!(fct(""), Ok(Vec::new()));
        assert!(fct([0xff; 10_000]).unwrap_err().starts_with("fct line 1: it is not text"));
    }

    #[test]
    fn times_have_64_bits_with_a_sign() {
        let late =
            |line: u64| format!("line {line}: its time is later than 9223372036854775807 ns");
        let line = |start: u64, fct: u64| format!("1 2 1 1 1 {start} {fct} 1\n");
        let flows = fct(line(u64::MAX / 2 - 1, 1)).unwrap();
        assert_eq!(flows[0].start, Nanos(u64::MAX / 2 - 1));
        for wrong in [line(u64::MAX / 2, 1), line(1 << 63, 0), line(1, u64::MAX), line(1, 1 << 63)]
        {
            let said = fct(line(1, 1) + &wrong).unwrap_err();
            assert_eq!(said, format!("fct {}", late(2)));
        }
        let (_folder, path) = file(b"9223372036854775807 2 0 1 1\n9223372036854775808 2 0 1 0\n");
        assert!(read_pfc(&path).unwrap_err().to_string().ends_with(&late(2)));
    }

    /// Opening a pipe without a writer does not return.
    #[test]
    fn only_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for (path, why) in [
            (&*pipe, "is not a table: it is a pipe: save its text as a file"),
            (folder.path(), "is not a table: it is not a file"),
            (Path::new("/dev/zero"), "is not a table: it is not a file"),
        ] {
            let [fct, pfc] = [read_fct(path).map(|_| ()), read_pfc(path).map(|_| ())];
            for read in [fct, pfc] {
                let said = read.unwrap_err().to_string();
                assert!(said.ends_with(why), "{said}");
            }
        }
    }

    #[test]
    fn pauses_begin_and_end() {
        let (_folder, path) = file(b"2000060219 2 0 1 1\n2000060255 10 1 3 0\n");
        let line =
            |time, node, interface, pauses| PfcLine { time: Nanos(time), node, interface, pauses };
        let expected = [line(2_000_060_219, 2, 1, true), line(2_000_060_255, 10, 3, false)];
        assert_eq!(read_pfc(&path).unwrap(), expected);
        let (_folder, path) = file(b"");
        assert_eq!(read_pfc(&path).unwrap(), []);
        let (_folder, path) = file(b"2000060219 2 0 1 2\n");
        assert!(read_pfc(&path).unwrap_err().to_string().contains("line 1: \"2\" is not a number"));
    }
}
