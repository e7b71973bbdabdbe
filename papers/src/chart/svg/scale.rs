//! Scales of axes and their labelled numbers.

/// A scale from numbers to pixels.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    log: bool,
    /// Pixels of both ends.
    pixels: (f64, f64),
}

impl Scale {
    /// Makes a scale for values. A linear scale includes zero; a logarithmic one needs a positive value.
    pub fn new(values: &[f64], log: bool, pixels: (f64, f64)) -> Self {
        let positive = values.iter().copied().filter(|it| *it > 0.0);
        let high = values.iter().copied().fold(0.0, f64::max);
        let lowest_positive = positive.fold(f64::INFINITY, f64::min);
        if log && lowest_positive.is_finite() {
            return Self { low: lowest_positive / 1.15, high: high * 1.15, log, pixels };
        }
        let low = values.iter().copied().fold(0.0, f64::min);
        let room = ((high - low) * 0.05).max(1e-9);
        let low = if low < 0.0 { low - room } else { low };
        Self { low, high: high + room, log: false, pixels }
    }

    /// Makes a scale that ends near the values, for places along x.
    pub fn around(values: &[f64], log: bool, pixels: (f64, f64)) -> Self {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if log && low > 0.0 {
            return Self { low: low / 1.1, high: high * 1.1, log, pixels };
        }
        let room = ((high - low) * 0.05).max(1e-9);
        Self { low: low - room, high: high + room, log: false, pixels }
    }

    /// Returns the pixel of a number. A logarithmic scale has zero at its low end.
    pub fn place(&self, value: f64) -> f64 {
        let part = if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.pixels.0 + part * (self.pixels.1 - self.pixels.0)
    }

    /// Returns round numbers within the scale, about `count` of them on a linear scale.
    pub fn ticks(&self, count: f64) -> Vec<f64> {
        if self.log {
            return self.log_ticks();
        }
        let rough = (self.high - self.low) / count;
        let decade = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|it| it * decade);
        let step = step.into_iter().find(|step| *step >= rough).unwrap_or(10.0 * decade);
        let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
        (0..=(last - first).max(0.0) as usize).map(|place| (first + place as f64) * step).collect()
    }

    fn log_ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = if decades < 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let all = (first..=last).flat_map(|it| steps.iter().map(move |step| step * 10f64.powi(it)));
        all.filter(|tick| (self.low..=self.high).contains(tick)).collect()
    }
}

/// Formats a number of an axis.
pub fn tick(value: f64) -> String {
    let short = |value: f64, suffix: &str| {
        let text = format!("{value:.2}");
        format!("{}{suffix}", text.trim_end_matches('0').trim_end_matches('.'))
    };
    match value.abs() {
        1e6.. => short(value / 1e6, " M"),
        1e4.. => short(value / 1e3, " k"),
        ..0.01 if value != 0.0 => format!("{value:.4}").trim_end_matches('0').to_owned(),
        _ => short(value, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let linear = Scale::new(&[3.0, 77.0], false, (0.0, 100.0));
        assert_eq!(linear.ticks(5.0), [0.0, 20.0, 40.0, 60.0, 80.0]);
        let log = Scale::new(&[0.3, 40.0], true, (0.0, 100.0));
        assert_eq!(log.ticks(5.0), [0.5, 1.0, 2.0, 5.0, 10.0, 20.0]);
        let negative = Scale::new(&[-20.0, 30.0], false, (0.0, 100.0));
        assert_eq!(negative.ticks(5.0), [-20.0, 0.0, 20.0]);
        assert_eq!(
            [0.0, 0.005, 0.25, 1500.0, 12_000.0, 2.5e6].map(tick),
            ["0", "0.005", "0.25", "1500", "12 k", "2.5 M"]
        );
    }
}
