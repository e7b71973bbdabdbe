//! A switch's buffer over time in bounded memory, with its peaks kept.

use units::{Bytes, Nanos};

/// Bytes that a switch holds: at an instant, or the peaks of a span (each part's own).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferLevel {
    /// All bytes.
    pub total: Bytes,
    /// The part of them in headroom.
    pub headroom: Bytes,
}

impl BufferLevel {
    fn max(self, other: Self) -> Self {
        Self { total: self.total.max(other.total), headroom: self.headroom.max(other.headroom) }
    }
}

/// Levels as a step function of time: a level holds until the next sample.
///
/// Time is cut into spans of equal length, each with its peak; when they are used up, their length
/// doubles. So no peak is lost, and it is placed within 1/[`BufferSeries::SPANS`] of the time
/// covered, times two.
#[derive(Clone, Debug)]
pub struct BufferSeries {
    span_ns: u64,
    peaks: Vec<BufferLevel>,
    level: BufferLevel,
}

impl Default for BufferSeries {
    fn default() -> Self {
        Self { span_ns: 1, peaks: Vec::new(), level: BufferLevel::default() }
    }
}

impl BufferSeries {
    /// Spans kept at most: 30 for each column of the widest chart, in 64 KiB.
    pub const SPANS: usize = 4096;

    /// Adds a sample. Samples come in time order; an earlier one counts into the last span.
    pub fn record(&mut self, time: Nanos, level: BufferLevel) {
        self.hold_until(time);
        self.level = level;
        let last = self.peaks.last_mut().expect("holding a level makes its span");
        *last = last.max(level);
    }

    /// At some instant between two samples the level was `peak`; which instant it was is not known, so all of the time
    /// between them has it. Comes before the later sample.
    pub fn raise(&mut self, since: Nanos, now: Nanos, peak: BufferLevel) {
        self.hold_until(now);
        let first = usize::try_from(since.0 / self.span_ns).expect("fewer than all spans");
        for span in self.peaks.iter_mut().skip(first) {
            *span = span.max(peak);
        }
    }

    /// The highest levels seen.
    pub fn peak(&self) -> BufferLevel {
        self.peaks.iter().copied().fold(BufferLevel::default(), BufferLevel::max)
    }

    /// Part of the peak below which a tail is not drawn: less than an eighth of a row.
    const LOWEST: u64 = 80;

    /// The busy part as `columns` equal pieces with their peaks, or `None` if the buffer was always
    /// empty.
    pub fn chart(mut self, end: Nanos, columns: usize) -> Option<BufferChart> {
        self.hold_until(end);
        let busy = |peak: &BufferLevel| peak.total.0 > 0;
        let first = self.peaks.iter().position(busy)?;
        // A tail that is lower than any bar would squeeze the rest, unless bytes stay in the buffer.
        let is_empty_at_end = self.peaks.last().is_none_or(|it| it.total.0 == 0);
        let lowest = if is_empty_at_end { self.peak().total.0 / Self::LOWEST } else { 0 };
        let last = self.peaks.iter().rposition(|it| it.total.0 > lowest)?;
        let (from, to) = (first as u64 * self.span_ns, (last as u64 + 1) * self.span_ns);
        let spans = last - first + 1;
        let pieces = (0..columns).map(|column| {
            let start = first + column * spans / columns;
            let stop = first + ((column + 1) * spans).div_ceil(columns);
            self.peaks[start..stop].iter().copied().fold(BufferLevel::default(), BufferLevel::max)
        });
        Some(BufferChart { from: Nanos(from), to: Nanos(to), columns: pieces.collect() })
    }

    /// Extends the present level so that the last span holds `time`.
    fn hold_until(&mut self, time: Nanos) {
        while time.0 / self.span_ns >= Self::SPANS as u64 {
            self.double();
        }
        let span = usize::try_from(time.0 / self.span_ns).expect("fewer than all spans");
        if span >= self.peaks.len() {
            self.peaks.resize(span + 1, self.level);
        }
    }

    fn double(&mut self) {
        self.span_ns *= 2;
        self.peaks = self
            .peaks
            .chunks(2)
            .map(|pair| pair.iter().copied().fold(BufferLevel::default(), BufferLevel::max))
            .collect();
    }
}

/// A buffer's peaks in equal pieces of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferChart {
    /// Start of the first column.
    pub from: Nanos,
    /// End of the last column.
    pub to: Nanos,
    /// Peaks from left to right.
    pub columns: Vec<BufferLevel>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(total: u64) -> BufferLevel {
        BufferLevel { total: Bytes(total), headroom: Bytes(total / 10) }
    }

    fn totals(chart: &BufferChart) -> Vec<u64> {
        chart.columns.iter().map(|level| level.total.0).collect()
    }

    #[test]
    fn a_level_holds_until_the_next_sample() {
        let mut series = BufferSeries::default();
        series.record(Nanos(2), level(10));
        series.record(Nanos(5), level(40));
        series.record(Nanos(6), level(0));
        let chart = series.chart(Nanos(12), 5).unwrap();
        assert_eq!((chart.from, chart.to), (Nanos(2), Nanos(7)));
        assert_eq!(totals(&chart), [10, 10, 10, 40, 40]);
    }

    /// A packet comes and goes every 3 ns, and only some samples, 10 ns apart, find one.
    #[test]
    fn a_constant_stream_is_a_line() {
        let mut series = BufferSeries::default();
        for sample in 1..=100 {
            let found = if sample % 3 == 0 { 9 } else { 0 };
            series.raise(Nanos(10 * sample - 10), Nanos(10 * sample), level(9));
            series.record(Nanos(10 * sample), level(found));
        }
        let chart = series.chart(Nanos(1000), 25).unwrap();
        assert_eq!(totals(&chart), [9; 25]);
        let mut late = BufferSeries::default();
        late.raise(Nanos(20), Nanos(30), level(9));
        let chart = late.chart(Nanos(40), 3).unwrap();
        assert_eq!((chart.from, chart.to), (Nanos(20), Nanos(31)));
    }

    #[test]
    fn peaks_survive_doubling() {
        let mut series = BufferSeries::default();
        for time in 0..1_000_000 {
            series.record(Nanos(time), level(if time == 777_777 { 999 } else { 20 + time % 7 }));
        }
        assert!(series.peaks.len() <= BufferSeries::SPANS);
        assert_eq!(series.peak(), level(999));
        let chart = series.chart(Nanos(1_000_000), 100).unwrap();
        let column = totals(&chart).iter().position(|&total| total == 999).unwrap();
        assert_eq!(column, 77);
        assert_eq!(chart.columns.len(), 100);
    }

    #[test]
    fn fewer_spans_than_columns_repeat() {
        let mut series = BufferSeries::default();
        series.record(Nanos(0), level(10));
        series.record(Nanos(1), level(20));
        series.record(Nanos(2), level(0));
        assert_eq!(totals(&series.chart(Nanos(2), 6).unwrap()), [10, 10, 20, 20, 20, 20]);
    }

    #[test]
    fn late_first_samples_cost_no_time_and_empty_buffers_have_no_chart() {
        let mut series = BufferSeries::default();
        series.record(Nanos(u64::MAX / 2), level(5));
        assert_eq!(series.peak(), level(5));
        assert_eq!(BufferSeries::default().chart(Nanos(1_000), 10), None);
    }

    /// Two pieces of an odd number of spans: both have the middle one. The level before a sample is part of
    /// the sample's span.
    #[test]
    fn a_piece_has_every_span_that_it_touches() {
        let shown = |samples: &[u64]| {
            let mut series = BufferSeries::default();
            for (time, total) in (10..).zip(samples) {
                series.record(Nanos(time), level(*total));
            }
            series.chart(Nanos(20), 2).map(|chart| (chart.from.0, chart.to.0, totals(&chart)))
        };
        assert_eq!(shown(&[1, 2, 9, 0]), Some((10, 14, vec![2, 9])));
        assert_eq!(shown(&[1, 2, 0]), Some((10, 13, vec![2, 2])));
        assert_eq!(shown(&[1, 2, 3, 4, 0]), Some((10, 15, vec![3, 4])));
        assert_eq!(shown(&[0, 4, 0]), Some((11, 13, vec![4, 4])));
        assert_eq!(shown(&[0, 0]), None);
    }

    /// The last span holds the instant of the last sample.
    #[test]
    fn spans_double_when_time_needs_it() {
        let mut series = BufferSeries::default();
        let last = BufferSeries::SPANS as u64 - 1;
        series.record(Nanos(last), level(10));
        assert_eq!((series.span_ns, series.peaks.len()), (1, BufferSeries::SPANS));
        series.record(Nanos(last + 1), level(20));
        assert_eq!((series.span_ns, series.peaks.len()), (2, BufferSeries::SPANS / 2 + 1));
        assert_eq!(
            series.peaks.iter().rev().take(3).map(|it| it.total.0).collect::<Vec<_>>(),
            [20, 10, 0]
        );
        series.record(Nanos(2 * (last + 1)), level(0));
        assert_eq!((series.span_ns, series.peaks.len()), (4, BufferSeries::SPANS / 2 + 1));
        assert_eq!(series.peak(), level(20));
    }
}
