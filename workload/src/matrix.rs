//! Traffic matrices: CSV files of weights between hosts.
//!
//! Row `i`, column `j` (from 0) is the weight of flows from host `i` to host `j`, a number from 0
//! up, with up to six places after the point. Lines that are empty or start with `#` are skipped.

use std::ops::Range;

use topology::HostId;

use super::decimal;
use super::distribution::FileFault;
use super::random::RandomStream;

/// Weights between hosts, at least one above zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairMatrix {
    /// For each sender, receivers in ascending order with cumulative weights.
    rows: Vec<Vec<(HostId, u64)>>,
}

/// Unit of weights, a millionth.
const WEIGHT_UNIT: u128 = decimal::ONE / 1_000_000;
/// Maximum weight, so that rows of 4096 still fit into 64 bits.
const MAX_WEIGHT: u64 = 1_000_000_000;

impl PairMatrix {
    /// Parses a matrix for `hosts` hosts.
    pub fn parse(text: &str, hosts: u32) -> Result<Self, FileFault> {
        let mut rows = Vec::with_capacity(hosts as usize);
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let content = line.trim();
            if !content.is_empty() && !content.starts_with('#') {
                let from = start + (content.as_ptr().addr() - line.as_ptr().addr());
                rows.push(parse_row(content, from, HostId::at(rows.len()), hosts)?);
            }
            start += line.len();
        }
        let end = text.len()..text.len();
        let help = format!("write a row for each of the {hosts} hosts, with as many columns");
        if rows.len() != hosts as usize {
            let title = format!("a matrix of {} rows for {hosts} hosts", rows.len());
            return Err(FileFault { span: end, title, help });
        }
        if rows.iter().all(Vec::is_empty) {
            let title = "a matrix without a weight above zero".into();
            let help = "a weight says how many of the flows are from the row's host to the \
                        column's";
            return Err(FileFault { span: end, title, help: help.into() });
        }
        Ok(Self { rows })
    }

    /// Returns a sender's receivers with their weights, in millionths.
    pub fn row(&self, sender: HostId) -> impl Iterator<Item = (HostId, u64)> {
        let mut before = 0;
        self.rows[sender.0 as usize].iter().map(move |&(receiver, sum)| {
            let weight = sum - before;
            before = sum;
            (receiver, weight)
        })
    }

    /// Returns true if the weight from one host to another is above zero.
    pub fn has_pair(&self, from: HostId, to: HostId) -> bool {
        let row = self.rows.get(from.0 as usize);
        row.is_some_and(|row| row.binary_search_by_key(&to, |(receiver, _)| *receiver).is_ok())
    }

    /// Returns the sum of a sender's weights.
    pub fn row_sum(&self, sender: HostId) -> u64 {
        self.rows[sender.0 as usize].last().map_or(0, |(_, sum)| *sum)
    }

    /// Returns the senders with a weight above zero.
    pub fn senders(&self) -> impl Iterator<Item = HostId> {
        (0..self.rows.len()).map(HostId::at).filter(|&sender| self.row_sum(sender) > 0)
    }

    /// Draws a receiver for a sender of [`Self::senders`].
    pub fn draw(&self, sender: HostId, random: &mut RandomStream) -> HostId {
        let place = random.below(self.row_sum(sender));
        let row = &self.rows[sender.0 as usize];
        row[row.partition_point(|(_, sum)| *sum <= place)].0
    }
}

fn parse_row(
    line: &str,
    start: usize,
    sender: HostId,
    hosts: u32,
) -> Result<Vec<(HostId, u64)>, FileFault> {
    let columns = line.split(',').count();
    if columns != hosts as usize || sender.0 >= hosts {
        let span = start..start + line.len();
        let title = if columns == hosts as usize {
            format!("row {} for {hosts} hosts", sender.0 + 1)
        } else {
            format!("a row of {columns} weights for {hosts} hosts")
        };
        let help = format!("write a row for each of the {hosts} hosts, with as many columns");
        return Err(FileFault { span, title, help });
    }
    let mut row = Vec::new();
    let mut sum = 0;
    for (receiver, field) in (0..).map(HostId).zip(line.split(',')) {
        let field = field.trim();
        let from = start + (field.as_ptr().addr() - line.as_ptr().addr());
        let span: Range<usize> = from..from + field.len();
        let weight = decimal::parse(field)
            .filter(|weight| weight.is_multiple_of(WEIGHT_UNIT))
            .map(|weight| weight / WEIGHT_UNIT)
            .filter(|weight| *weight <= u128::from(MAX_WEIGHT) * 1_000_000);
        let Some(weight) = weight else {
            let title = "not a weight".into();
            let help = format!("write a number from 0 to {MAX_WEIGHT}, with up to six places");
            return Err(FileFault { span, title, help });
        };
        if weight > 0 && receiver == sender {
            let title = format!("a weight of {field} from host {} to itself", sender.0);
            let help = "write 0 on the diagonal".into();
            return Err(FileFault { span, title, help });
        }
        if weight > 0 {
            sum += u64::try_from(weight).expect("checked to be at most 10^15");
            row.push((receiver, sum));
        }
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (String, &str) {
        let fault = PairMatrix::parse(text, 3).unwrap_err();
        (fault.title, &text[fault.span])
    }

    #[test]
    fn matrices_of_the_wrong_shape_say_why_and_where() {
        let short = "a row of 2 weights for 3 hosts";
        assert_eq!(fault("0,1,1\n1,0\n"), (short.into(), "1,0"));
        assert_eq!(fault("0,1,1\n"), ("a matrix of 1 rows for 3 hosts".into(), ""));
        let long = "0,1,1\n1,0,1\n1,1,0\n1,1,1\n";
        assert_eq!(fault(long), ("row 4 for 3 hosts".into(), "1,1,1"));
        assert_eq!(fault("0,x,1\n"), ("not a weight".into(), "x"));
        assert_eq!(fault("0,1,1\n1, 2,0"), ("a weight of 2 from host 1 to itself".into(), "2"));
        let none = "a matrix without a weight above zero";
        assert_eq!(fault("0,0,0\n0,0,0\n0,0,0\n"), (none.into(), ""));
    }

    #[test]
    fn receivers_are_drawn_by_weight() {
        let matrix = PairMatrix::parse("# a\n0,3,1\n0,0,0\n0.5,0,0\n", 3).unwrap();
        assert_eq!(matrix.senders().collect::<Vec<_>>(), [HostId(0), HostId(2)]);
        let weights: Vec<_> = matrix.row(HostId(0)).collect();
        assert_eq!(weights, [(HostId(1), 3_000_000), (HostId(2), 1_000_000)]);
        let mut random = RandomStream::new(1, 0, 0);
        let drawn = (0..10_000).filter(|_| matrix.draw(HostId(0), &mut random) == HostId(1));
        assert!((7300..7700).contains(&drawn.count()));
    }
}
