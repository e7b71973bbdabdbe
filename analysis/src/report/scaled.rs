//! Axes with a range and ticks.

use super::chart::{Axis, Chart, Scale, Unit};
use super::text;
use super::ticks::{self, Tick};

/// An axis with its range.
pub struct Scaled<'a> {
    axis: &'a Axis,
    is_log: bool,
    /// First value of the axis.
    pub low: f64,
    /// Last value of the axis.
    pub high: f64,
}

impl<'a> Scaled<'a> {
    /// Makes the horizontal axis of a chart.
    pub fn x(chart: &'a Chart) -> Self {
        let points = chart.series.iter().flat_map(|it| it.points.iter().map(|point| point.0));
        let points = points.chain(chart.x.ticks.iter().map(|tick| tick.0));
        let ends = match chart.y.scale {
            Scale::Names(_) => intervals(chart),
            _ => Vec::new(),
        };
        // A time axis ends at the end of the run. An axis with given ticks ends at the last of them.
        let is_exact = !chart.x.ticks.is_empty() || chart.x.unit == Unit::Nanoseconds;
        Self::new(&chart.x, &points.collect::<Vec<f64>>(), &ends, is_exact)
    }

    /// Makes the vertical axis of a chart.
    pub fn y(chart: &'a Chart) -> Self {
        let points = chart.series.iter().flat_map(|it| it.points.iter().map(|point| point.1));
        let ends = match chart.y.scale {
            Scale::Names(_) => Vec::new(),
            _ => intervals(chart),
        };
        Self::new(&chart.y, &points.collect::<Vec<f64>>(), &ends, false)
    }

    fn new(axis: &'a Axis, points: &[f64], ends: &[f64], is_exact: bool) -> Self {
        if let Scale::Names(names) = &axis.scale {
            return Self { axis, is_log: false, low: -0.5, high: names.len().max(1) as f64 - 0.5 };
        }
        let least = points.iter().copied().fold(f64::INFINITY, f64::min);
        let most = points.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let is_log = axis.scale == Scale::Log && least > 0.0 && most.is_finite();
        // An interval of few seeds may be many times as long as the axis of all means. It ends at the plot's edge.
        let low_ends =
            ends.iter().copied().filter(|&low| low > if is_log { least / 3.0 } else { 0.0 });
        let mut low = low_ends.fold(least, f64::min);
        let high_ends = ends.iter().map(|&high| high.min(most.max(0.0) * 2.0));
        let mut high = high_ends.fold(most, f64::max);
        if is_log {
            (low, high) = if is_exact {
                let room = (high / low).powf(0.04).max(1.05);
                (low / room, high * room)
            } else {
                ticks::log_ends(low, high)
            };
        } else if !axis.ticks.is_empty() {
            let room = if high > low { (high - low) * 0.04 } else { (low.abs() * 0.05).max(0.5) };
            (low, high) = (low - room, high + room);
        } else {
            (low, high) = (low.min(0.0), high.max(0.0));
            high = if high > low { high } else { low + 1.0 };
            if !is_exact {
                (low, high) = ticks::linear_ends(low, high, 5, axis.unit);
            }
        }
        Self { axis, is_log, low, high }
    }

    /// Returns the place of a value: 0 at the beginning of the axis, 1 at its end.
    pub fn part(&self, value: f64) -> f64 {
        let part = if self.is_log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        part.clamp(0.0, 1.0)
    }

    /// Returns at most about `most` ticks, without the texts' common unit.
    pub fn ticks(&self, most: usize) -> Vec<Tick> {
        let range = self.low..=self.high;
        match &self.axis.scale {
            Scale::Names(names) => (0..).map(f64::from).zip(names.iter().cloned()).collect(),
            _ if !self.axis.ticks.is_empty() => self.axis.ticks.clone(),
            _ if self.is_log => ticks::log(range, self.axis.unit),
            _ => ticks::linear(range, most, self.axis.unit).0,
        }
    }

    /// Returns the ticks of a horizontal axis `length` pixels long, so that their texts do not touch.
    pub fn spaced_ticks(&self, length: f64) -> Vec<Tick> {
        let ticks =
            (2..=6).rev().map(|most| self.ticks(most)).find(|ticks| self.fits(ticks, length));
        let ticks = ticks.unwrap_or_else(|| self.ticks(2));
        let strides = 1..=ticks.len().max(1);
        let every = |stride: usize| ticks.iter().step_by(stride).cloned().collect::<Vec<Tick>>();
        strides.map(every).find(|ticks| self.fits(ticks, length)).unwrap_or_default()
    }

    fn fits(&self, ticks: &[Tick], length: f64) -> bool {
        let half = |tick: &Tick| text::width(&tick.1) / 2.0;
        let place = |tick: &Tick| self.part(tick.0) * length;
        ticks.is_sorted_by(|a, b| place(a) + half(a) + 8.0 <= place(b) - half(b))
    }

    /// Returns the label with the unit of its ticks.
    pub fn label(&self) -> String {
        let label = &self.axis.label;
        let is_round = self.axis.ticks.is_empty() && !matches!(self.axis.scale, Scale::Names(_));
        // Ticks of a logarithmic axis have units of their own.
        let unit = if is_round && !self.is_log {
            self.axis.unit.multiple(self.low.abs().max(self.high.abs())).1
        } else {
            ""
        };
        match unit {
            "" if self.is_log => format!("{label} (log)"),
            "" => label.clone(),
            "k" => format!("{label}, thousands"),
            "M" => format!("{label}, millions"),
            "G" => format!("{label}, billions"),
            unit => format!("{label}, {unit}"),
        }
    }

    /// Returns true if each value has a name.
    pub const fn has_names(&self) -> bool {
        matches!(self.axis.scale, Scale::Names(_))
    }
}

fn intervals(chart: &Chart) -> Vec<f64> {
    let all = chart.series.iter().flat_map(|series| series.intervals.iter().flatten());
    all.flat_map(|&(low, high)| [low, high]).collect()
}
