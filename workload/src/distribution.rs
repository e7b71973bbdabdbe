//! Distributions of flow sizes: cumulative tables, with draws by inverse transform.
//!
//! A file has a line for each point, `size probability`: bytes, and the probability of flows up to this size, as a
//! fraction of 1 or in per cent; `#` starts a comment. Tables of ns-2 have a third column between the two, which its
//! random variables do not use; their sizes are mostly packets. Between two points sizes are uniform, as in the traffic
//! generator of the HPCC simulator, and like there a drawn size is rounded down to whole bytes and is at least one. A
//! first point above probability 0 is a step at its size.

use std::ops::Range;

use units::Bytes;

use super::decimal;
use super::random::RandomStream;

/// Probability one, in the unit of `Point::cumulative`.
pub const CERTAIN: u64 = 1_000_000_000_000;
/// Maximum size in a table: a terabyte, a minute and a half at 100 Gbit/s.
pub const MAX_SIZE: u64 = 1_000_000_000_000;

/// An error in a file and its place. Title and help do not quote the file, because it may be the wrong one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFault {
    /// Bytes of the text.
    pub span: Range<usize>,
    /// Description of the error.
    pub title: String,
    /// Advice.
    pub help: String,
}

/// A distribution of flow sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeDistribution {
    /// Points in ascending order; the first is at probability 0, the last at [`CERTAIN`].
    points: Vec<Point>,
}

/// A point of a cumulative table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    bytes: u64,
    /// Probability of sizes up to `bytes`, in 10^-12.
    cumulative: u64,
}

/// A point as a file gives it.
struct Line {
    span: Range<usize>,
    bytes: u64,
    /// Probability in 10^-18 of the file's unit.
    probability: u128,
}

/// Probability one in a file, as [`decimal::parse`] reads it; a file in per cent ends at a hundred.
const ONE: u128 = decimal::ONE;

impl SizeDistribution {
    /// Parses a table of sizes in bytes; digits of probabilities beyond 10^-12 are dropped.
    pub fn parse(text: &str) -> Result<Self, FileFault> {
        Self::parse_in(text, None)
    }

    /// Parses a table of sizes in a `unit`, which tables of three columns require; `None`: bytes.
    pub fn parse_in(text: &str, unit: Option<Bytes>) -> Result<Self, FileFault> {
        let lines = read_lines(text, unit)?;
        let fault = |span: &Range<usize>, title: String, help: &str| {
            Err(FileFault { span: span.clone(), title, help: help.into() })
        };
        for pair in lines.windows(2) {
            let (last, line) = (&pair[0], &pair[1]);
            if line.bytes < last.bytes {
                let title = format!("sizes go down, from {} to {}", last.bytes, line.bytes);
                return fault(&line.span, title, "each line has a larger size than the one before");
            }
            if line.probability < last.probability {
                let show = decimal::display;
                let (from, to) = (show(last.probability), show(line.probability));
                let title = format!("cumulative probabilities go down, from {from} to {to}");
                let help = "each line counts the flows of all lines before it, too";
                return fault(&line.span, title, help);
            }
        }
        let Some(last) = lines.last() else {
            let help = "write a line for each point: a size in bytes and a cumulative probability";
            return fault(&(text.len()..text.len()), "a distribution without points".into(), help);
        };
        let unit = match last.probability {
            ONE => ONE,
            percent if percent == 100 * ONE => percent,
            other => {
                let title = format!("the distribution ends at {}", decimal::display(other));
                let help = "the last cumulative probability is 1, or 100 in per cent";
                return fault(&last.span, title, help);
            }
        };
        if last.bytes == 0 {
            let help = "the last line has the size of the largest flows";
            return fault(&last.span, "a distribution of flows of no bytes".into(), help);
        }
        let point = |line: &Line| Point {
            bytes: line.bytes,
            cumulative: (line.probability / (unit / u128::from(CERTAIN)))
                .try_into()
                .expect("at most certain"),
        };
        let first = Point { cumulative: 0, ..point(&lines[0]) };
        let mut points: Vec<Point> =
            std::iter::once(first).chain(lines.iter().map(point)).collect();
        points.dedup();
        Ok(Self { points })
    }

    /// Returns the mean in bytes with 16 fractional bits, of sizes before they are rounded to whole bytes.
    pub fn mean_q16(&self) -> u128 {
        let twice: u128 = self
            .points
            .windows(2)
            .map(|pair| {
                let weight = pair[1].cumulative - pair[0].cumulative;
                u128::from(pair[0].bytes + pair[1].bytes) * u128::from(weight)
            })
            .sum();
        (twice << 16) / u128::from(2 * CERTAIN)
    }

    /// Draws a size.
    pub fn draw(&self, stream: &mut RandomStream) -> Bytes {
        // Place in 10^-12, with 20 fractional bits.
        let place = (u128::from(stream.bits()) * u128::from(CERTAIN)) >> 44;
        let place = u64::try_from(place).expect("below certainty, which takes 60 bits");
        let at = |point: &Point| point.cumulative << 20;
        let above = self.points.partition_point(|point| at(point) <= place);
        let (low, high) = (self.points[above - 1], self.points[above]);
        let width = u128::from(high.bytes - low.bytes);
        let part = width * u128::from(place - at(&low)) / u128::from(at(&high) - at(&low));
        let part = u64::try_from(part).expect("less than the width");
        Bytes((low.bytes + part).max(1))
    }
}

fn read_lines(text: &str, unit: Option<Bytes>) -> Result<Vec<Line>, FileFault> {
    let mut lines = Vec::new();
    let mut start = 0;
    for whole in text.split_inclusive('\n') {
        let kept = whole.split('#').next().unwrap_or_default().trim();
        if !kept.is_empty() {
            let from = start + (kept.as_ptr().addr() - whole.as_ptr().addr());
            lines.push(read_line(kept, from, unit)?);
        }
        start += whole.len();
    }
    Ok(lines)
}

fn read_line(line: &str, start: usize, unit: Option<Bytes>) -> Result<Line, FileFault> {
    let span = start..start + line.len();
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (size, probability) = match (fields.as_slice(), unit) {
        (&[size, probability], _) | (&[size, _, probability], Some(_)) => (size, probability),
        (&[_, _, _], None) => {
            let title = "a line of 3 numbers, as in ns-2, and no unit of its sizes".into();
            let help = "say what a size of 1 is, beside `file`: unit = \"1460B\" for packets, unit = \"1B\"";
            return Err(FileFault { span, title, help: help.into() });
        }
        _ => {
            let title = format!("a line of {} numbers", fields.len());
            let help = "write two: a size in bytes and a cumulative probability".into();
            return Err(FileFault { span, title, help });
        }
    };
    let unit = u128::from(unit.map_or(1, |unit| unit.0));
    let at = |field: &str, title: String, help: String| {
        let from = start + (field.as_ptr().addr() - line.as_ptr().addr());
        FileFault { span: from..from + field.len(), title, help }
    };
    let bytes = decimal::parse(size)
        .and_then(|size| size.checked_mul(unit))
        .filter(|bytes| bytes.is_multiple_of(decimal::ONE))
        .and_then(|bytes| u64::try_from(bytes / decimal::ONE).ok())
        .filter(|bytes| *bytes <= MAX_SIZE)
        .ok_or_else(|| {
            let help = format!("write a whole number of bytes from 0 to {MAX_SIZE}");
            at(size, "not a size".into(), help)
        })?;
    let probability = decimal::parse(probability).ok_or_else(|| {
        let title = "not a cumulative probability".into();
        at(probability, title, "write a number from 0 to 1, or to 100 in per cent".into())
    })?;
    Ok(Line { span, bytes, probability })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (String, &str) {
        let fault = SizeDistribution::parse(text).unwrap_err();
        (fault.title, &text[fault.span])
    }

    /// ns-2's table of two sizes, in packets of 1460 B.
    #[test]
    fn the_third_column_of_ns2_is_passed_over_and_sizes_have_a_unit() {
        let packets = "1 1 0\n6 1 0.5\n13.5 1 1\n";
        let read = |text, unit| SizeDistribution::parse_in(text, Some(Bytes(unit)));
        let bytes = SizeDistribution::parse("1460 0\n8760 0.5\n19710 1\n");
        assert_eq!(read(packets, 1460), bytes);
        assert_eq!(read("1460 0\n8760 0.5\n19710 1\n", 1), bytes);
        assert_eq!(read(packets, 1).unwrap_err().title, "not a size");
        assert_eq!(read("1000000000 1 1", 1460).unwrap_err().title, "not a size");
    }

    #[test]
    fn malformed_tables_say_why_and_where() {
        assert_eq!(fault("0 0\n10 0.5\n5 1\n"), ("sizes go down, from 10 to 5".into(), "5 1"));
        let down = "cumulative probabilities go down, from 0.5 to 0.25";
        assert_eq!(fault("0 0\n10 0.5\n20 0.25\n30 1"), (down.into(), "20 0.25"));
        assert_eq!(fault("0 0\n10 0.99\n"), ("the distribution ends at 0.99".into(), "10 0.99"));
        assert_eq!(fault("0 0\n10 99.9"), ("the distribution ends at 99.9".into(), "10 99.9"));
        assert_eq!(fault("# none\n"), ("a distribution without points".into(), ""));
        assert_eq!(fault("0 1 # all\n"), ("a distribution of flows of no bytes".into(), "0 1"));
        let ns2 = "a line of 3 numbers, as in ns-2, and no unit of its sizes";
        assert_eq!(fault("0 0 0\n"), (ns2.into(), "0 0 0"));
        assert_eq!(fault("0 0 0 0\n"), ("a line of 4 numbers".into(), "0 0 0 0"));
        assert_eq!(fault(" 1.5 0"), ("not a size".into(), "1.5"));
        assert_eq!(fault("1 -1"), ("not a cumulative probability".into(), "-1"));
    }

    #[test]
    fn per_cent_and_parts_of_one_are_the_same() {
        let parts = SizeDistribution::parse("0 0\n4095 1e-05\r\n4096 0.3\n8192 1\n").unwrap();
        let percent = SizeDistribution::parse("0 0\n4095 0.001\n4096 30.0\n8192 100\n").unwrap();
        assert_eq!(parts, percent);
    }

    #[test]
    fn a_step_has_its_whole_weight() {
        let steps = SizeDistribution::parse("100 0.25\n1000 0.25\n1000 1\n").unwrap();
        assert_eq!(steps.mean_q16() >> 16, 775);
        let mut stream = RandomStream::new(1, 1, 1);
        let draws: Vec<Bytes> = (0..10_000).map(|_| steps.draw(&mut stream)).collect();
        let small = draws.iter().filter(|bytes| bytes.0 == 100).count();
        assert!((2300..2700).contains(&small));
        assert_eq!(draws.iter().filter(|bytes| bytes.0 == 1000).count(), 10_000 - small);
    }
}
