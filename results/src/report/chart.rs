//! A buffer over time as a bar chart: bytes in pools at the bottom, headroom on top.

use std::fmt::{self, Write};

use units::Bytes;

use super::super::buffer_series::{BufferChart, BufferLevel};
use super::quantity;
use super::style::Style;

/// Columns of a chart.
pub const COLUMNS: usize = 84;
/// Rows of a chart at most.
const ROWS: u64 = 10;
/// Labels of the vertical axis at most, zero not counted.
const TICKS: u64 = 5;
/// Widest label of the vertical axis.
const LABEL: usize = 10;
const HEADROOM: char = '▒';
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The chart with both axes and a legend.
pub fn render(out: &mut String, chart: &BufferChart, style: Style) -> fmt::Result {
    let totals = chart.columns.iter().map(|level| level.total.0);
    let highest = totals.max().unwrap_or(0).max(1);
    let step = tick_step(highest);
    let ticks = highest.div_ceil(step);
    let rows_per_tick = ROWS / ticks;
    let rows = ticks * rows_per_tick;
    let top = ticks.saturating_mul(step);
    let bars: Vec<Bar> = chart.columns.iter().map(|&level| Bar::new(level, top, rows)).collect();
    for row in (0..rows).rev() {
        let tick = (row + 1) / rows_per_tick * step;
        if (row + 1).is_multiple_of(rows_per_tick) {
            write!(out, "{:>LABEL$} ┤", quantity::bytes(Bytes(tick)))?;
        } else {
            write!(out, "{:LABEL$} │", "")?;
        }
        writeln!(out, "{}", cells(&bars, row, style))?;
    }
    writeln!(out, "{:>LABEL$} └{}", "0 B", "─".repeat(chart.columns.len()))?;
    writeln!(out, "{}", time_axis(chart))?;
    let headroom = style.headroom("▒");
    writeln!(out, "{:LABEL$}  █ private and shared   {headroom} headroom", "")
}

/// A column's height in eighths of a row: without headroom, and with it.
#[derive(Clone, Copy, Debug)]
struct Bar {
    pools: u64,
    total: u64,
}

impl Bar {
    fn new(level: BufferLevel, top: u64, rows: u64) -> Self {
        let whole = |eighths: u128| u64::try_from(eighths).expect("a chart has few rows");
        let eighths = |bytes: u64| (u128::from(bytes) * u128::from(rows) * 8, u128::from(top));
        let (number, divisor) = eighths(level.total.0);
        let total = whole(number.div_ceil(divisor));
        if level.headroom.0 == 0 {
            return Self { pools: total, total };
        }
        let (number, divisor) = eighths(level.total.0.saturating_sub(level.headroom.0));
        // However little headroom is in use, it is seen.
        Self { pools: whole(number / divisor).min(total.saturating_sub(1)), total }
    }

    fn cell(self, row: u64) -> char {
        let part = |height: u64| height.saturating_sub(row * 8).min(8);
        let (pools, total) = (part(self.pools), part(self.total));
        let ends_here = self.total <= row * 8 + 8;
        if total > pools && (ends_here || total - pools >= pools) {
            HEADROOM
        } else {
            EIGHTHS[usize::try_from(total).expect("at most 8")]
        }
    }
}

fn cells(bars: &[Bar], row: u64, style: Style) -> String {
    let line: String = bars.iter().map(|bar| bar.cell(row)).collect();
    let line = line.trim_end();
    let mut text = String::new();
    for run in line.split_inclusive(|cell| cell != HEADROOM) {
        let pools = run.trim_start_matches(HEADROOM);
        text += &style.headroom(&run[..run.len() - pools.len()]);
        text += pools;
    }
    text
}

/// Round instants within the chart, each below its column.
fn time_axis(chart: &BufferChart) -> String {
    let (from, to) = (chart.from.0, chart.to.0);
    let span = to.saturating_sub(from).max(1);
    let step = tick_step(span);
    let columns = u64::try_from(chart.columns.len()).unwrap_or(u64::MAX);
    let mut line = String::new();
    let mut time = from.div_ceil(step).saturating_mul(step);
    while time <= to {
        let column =
            u128::from(time - from) * u128::from(columns.saturating_sub(1)) / u128::from(span);
        let label = instant(time);
        let indent = LABEL + 2 + usize::try_from(column).unwrap_or(usize::MAX);
        // A label that would touch the previous one is left out.
        let used = line.chars().count();
        if line.is_empty() || used + 2 <= indent {
            line = format!("{line:<indent$}{label}");
        }
        time = time.saturating_add(step);
    }
    line
}

/// A round instant in the largest unit in which it is a whole number.
fn instant(nanos: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let whole = |(scale, _): &&(u64, &str)| nanos > 0 && nanos.is_multiple_of(*scale);
    let (scale, unit) = UNITS.iter().find(whole).copied().unwrap_or((1, "ns"));
    format!("{} {unit}", nanos / scale)
}

/// The smallest 1, 2 or 5 times a power of ten of which `TICKS` reach `highest`.
fn tick_step(highest: u64) -> u64 {
    let mut decade: u64 = 1;
    loop {
        for factor in [1, 2, 5] {
            let step = decade.saturating_mul(factor);
            if highest.div_ceil(step) <= TICKS {
                return step;
            }
        }
        decade = decade.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use units::Nanos;

    use super::*;

    fn level(total: u64, headroom: u64) -> BufferLevel {
        BufferLevel { total: Bytes(total), headroom: Bytes(headroom) }
    }

    fn text(chart: &BufferChart, style: Style) -> String {
        let mut text = String::new();
        render(&mut text, chart, style).unwrap();
        text
    }

    #[test]
    fn a_ramp_with_headroom_on_top() {
        let columns = (0..48)
            .map(|step| {
                let total = step * 30_000;
                level(total, total.saturating_sub(1_000_000))
            })
            .collect();
        let chart = BufferChart { from: Nanos(10_000), to: Nanos(812_345), columns };
        insta::assert_snapshot!(text(&chart, Style::plain()), @"
    1.5 MB ┤                                             ▒▒▒
           │                                       ▒▒▒▒▒▒▒▒▒
           │                                  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒
      1 MB ┤                            ▁▂▄▅▇███████████████
           │                       ▂▃▄▆▇████████████████████
           │                 ▁▂▄▅▇██████████████████████████
    500 kB ┤            ▂▃▅▆████████████████████████████████
           │      ▁▃▄▅▇█████████████████████████████████████
           │ ▂▃▅▆███████████████████████████████████████████
       0 B └────────────────────────────────────────────────
                       200 us     400 us      600 us      800 us
            █ private and shared   ▒ headroom
    ");
    }

    #[test]
    fn little_headroom_is_seen() {
        let bar = Bar::new(level(1_000_000, 1), 1_000_000, 10);
        assert_eq!(bar.cell(9), HEADROOM);
        assert_eq!(bar.cell(8), '█');
        let bar = Bar::new(level(1, 1), 1_000_000, 10);
        assert_eq!((bar.cell(0), bar.cell(1)), (HEADROOM, ' '));
    }

    #[test]
    fn steps_are_round() {
        for (highest, step) in [
            (1, 1),
            (5, 1),
            (6, 2),
            (1_000_000, 200_000),
            (1_234_567, 500_000),
            (2_600_000, 1_000_000),
        ] {
            assert_eq!(tick_step(highest), step);
        }
        assert!(u64::MAX.div_ceil(tick_step(u64::MAX)) <= TICKS);
    }

    #[test]
    fn colour_is_for_headroom_only() {
        let columns = vec![level(10, 5), level(10, 0)];
        let chart = BufferChart { from: Nanos(0), to: Nanos(2), columns };
        let text = text(&chart, Style::ansi());
        assert!(text.contains("\x1b[33m▒\x1b[0m█"));
    }

    /// A cell is headroom where the bar ends with some, or where at least half of the cell is.
    #[test]
    fn a_cell_is_of_headroom_or_of_pools() {
        let cells = |pools, total| {
            let bar = Bar { pools, total };
            [0, 1, 2].map(|row| bar.cell(row)).into_iter().collect::<String>()
        };
        assert_eq!(cells(0, 0), "   ");
        assert_eq!(cells(3, 3), "▃  ");
        assert_eq!(cells(8, 8), "█  ");
        assert_eq!(cells(6, 7), "▒  ");
        assert_eq!(cells(6, 8), "▒  ");
        assert_eq!(cells(6, 9), "█▒ ");
        assert_eq!(cells(5, 20), "█▒▒");
        assert_eq!(cells(4, 20), "▒▒▒");
        assert_eq!(cells(9, 12), "█▒ ");
        assert_eq!(cells(14, 16), "█▒ ");
        assert_eq!(cells(14, 17), "██▒");
        assert_eq!(cells(16, 20), "██▒");
        assert_eq!(cells(20, 20), "██▄");
        assert_eq!(cells(24, 32), "███");
    }

    #[test]
    fn a_bar_rounds_up_and_its_pools_down() {
        let bar = |total, headroom| {
            let Bar { pools, total } = Bar::new(level(total, headroom), 800, 10);
            (pools, total)
        };
        assert_eq!([bar(0, 0), bar(800, 0), bar(801, 0)], [(0, 0), (80, 80), (81, 81)]);
        assert_eq!([bar(11, 0), bar(20, 0)], [(2, 2), (2, 2)]);
        assert_eq!([bar(400, 100), bar(400, 101), bar(399, 1)], [(30, 40), (29, 40), (39, 40)]);
        assert_eq!([bar(400, 400), bar(400, 500)], [(0, 40), (0, 40)]);
    }
}
