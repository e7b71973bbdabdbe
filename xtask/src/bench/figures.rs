//! Parser of the benchmark's output, and comparison of two commits' figures.

use std::fmt;

use anyhow::{Result, bail};

/// A figure may be this much worse than another commit's.
pub const TOLERATED_PERCENT: f64 = 10.0;

/// One benchmark's figures, by their names, in the order in which they were printed.
pub struct Figures(Vec<Figure>);

/// One line: a name, the median of some rounds, and its unit.
struct Figure {
    name: String,
    median: f64,
    unit: Unit,
}

/// Unit of a figure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Packet-hops per second: more is better.
    Hops,
    /// Nanoseconds of the processor: less is better.
    Nanoseconds,
    /// Anything else: the machine's ceiling, wall time, memory, ratios. Shown, never checked.
    Other,
}

impl Figures {
    /// Reads lines such as `  name    1,234  (1,200 to 1,300) hops/s  aim ..`; others are headings.
    pub fn parse(printed: &str) -> Result<Self> {
        let figures: Vec<Figure> = printed.lines().filter_map(Figure::parse).collect();
        if figures.is_empty() {
            bail!("the benchmark printed no figure:\n{printed}");
        }
        Ok(Self(figures))
    }

    fn find(&self, name: &str) -> Option<&Figure> {
        self.0.iter().find(|figure| figure.name == name)
    }
}

impl Figure {
    fn parse(line: &str) -> Option<Self> {
        let (before, after) = line.rsplit_once(" (")?;
        let (spread, unit) = after.split_once(')')?;
        spread.split_once(" to ")?;
        let (name, median) = before.trim().rsplit_once(' ')?;
        let name = name.trim().to_owned();
        let unit = match unit.split_whitespace().next() {
            _ if name.contains("wall time") => Unit::Other,
            Some("hops/s") => Unit::Hops,
            Some("ns") => Unit::Nanoseconds,
            _ => Unit::Other,
        };
        Some(Self { name, median: median.replace(',', "").parse().ok()?, unit })
    }
}

/// Figures that two commits have in common.
#[derive(Default)]
pub struct Comparison {
    rows: Vec<Row>,
    /// Figures that only the earlier commit measures.
    lost: Vec<String>,
}

/// One figure of both: a value for each run.
struct Row {
    name: String,
    unit: Unit,
    before: Vec<f64>,
    now: Vec<f64>,
}

impl Comparison {
    /// Adds a run of each. What only `now` has cannot be compared.
    pub fn add(&mut self, before: &Figures, now: &Figures) {
        let lost = before.0.iter().filter(|figure| now.find(&figure.name).is_none());
        self.lost = lost.map(|figure| format!("{} (no longer measured)", figure.name)).collect();
        for figure in &now.0 {
            let Some(old) = before.find(&figure.name) else { continue };
            let position = self.rows.iter().position(|row| row.name == figure.name);
            let position = position.unwrap_or_else(|| {
                let Figure { ref name, unit, .. } = *figure;
                self.rows.push(Row { name: name.clone(), unit, before: vec![], now: vec![] });
                self.rows.len() - 1
            });
            self.rows[position].before.push(old.median);
            self.rows[position].now.push(figure.median);
        }
    }

    /// The figures of processor time that are worse than is tolerated, or that are gone.
    pub fn regressions(&self) -> Vec<String> {
        if !self.rows.iter().any(|row| row.unit != Unit::Other) {
            return vec!["nothing (the commits have no figure of processor time in common)".into()];
        }
        let worse = self.rows.iter().filter(|row| row.loss_percent() > TOLERATED_PERCENT);
        let worse = worse.map(|row| format!("{} ({:.1} %)", row.name, row.loss_percent()));
        worse.chain(self.lost.iter().cloned()).collect()
    }
}

impl Row {
    fn ratio(&self) -> f64 {
        median(&self.now) / median(&self.before)
    }

    /// Increase of processor time per unit of work, in percent; 0 for figures that are not checked.
    fn loss_percent(&self) -> f64 {
        let cost = match self.unit {
            Unit::Hops => 1.0 / self.ratio(),
            Unit::Nanoseconds => self.ratio(),
            Unit::Other => 1.0,
        };
        (cost - 1.0) * 100.0
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<44}{:>14}{:>14}{:>8}", "", "before", "now", "ratio")?;
        for row in &self.rows {
            let mut ratios: Vec<f64> =
                row.now.iter().zip(&row.before).map(|(now, before)| now / before).collect();
            ratios.sort_by(f64::total_cmp);
            let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
            let (before, now) = (median(&row.before), median(&row.now));
            writeln!(
                f,
                "{:<44}{before:>14.1}{now:>14.1}{:>8.3}  ({least:.3} to {most:.3})",
                row.name,
                row.ratio()
            )?;
        }
        Ok(())
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(hops: &str, nanoseconds: &str) -> Figures {
        Figures::parse(&format!(
            "kernel datapath: median of 5 rounds (lowest to highest)\n\
             packet-hops per second, 16 hosts (4 leaves)\n  \
             xoff, CPU time                 {hops}  (1 to 2) hops/s  aim >= 250,000: MISSED\n  \
             xoff, wall time                   2,000  (1 to 2) hops/s\n  \
             1000 bytes of data, DT (a note)     {nanoseconds}  (1 to 2) ns  aim <= 250: reached\n  \
             DSH / SIH                         1.500  (1 to 2)  aim <= 1.5: reached\n"
        ))
        .expect("figures")
    }

    fn comparison(before: (&str, &str), now: (&str, &str)) -> Comparison {
        let mut comparison = Comparison::default();
        comparison.add(&figures(before.0, before.1), &figures(now.0, now.1));
        comparison
    }

    #[test]
    fn figures_are_distinguished_from_headings() {
        let names: Vec<String> =
            figures("1,234", "5.5").0.into_iter().map(|figure| figure.name).collect();
        let expected =
            ["xoff, CPU time", "xoff, wall time", "1000 bytes of data, DT (a note)", "DSH / SIH"];
        assert_eq!(names, expected);
        assert!((figures("1,234", "5.5").0[0].median - 1234.0).abs() < f64::EPSILON);
        assert!(Figures::parse("a heading (of something) only\n").is_err());
    }

    #[test]
    fn more_than_a_tenth_more_time_is_a_regression() {
        assert!(comparison(("1,100", "100"), ("1,001", "109")).regressions().is_empty());
        assert_eq!(
            comparison(("1,110", "100"), ("1,000", "111")).regressions(),
            ["xoff, CPU time (11.0 %)", "1000 bytes of data, DT (a note) (11.0 %)"]
        );
    }

    #[test]
    fn the_ratio_is_of_medians_over_all_runs() {
        let mut comparison = comparison(("100", "1"), ("100", "1"));
        comparison.add(&figures("100", "1"), &figures("50", "1"));
        comparison.add(&figures("100", "1"), &figures("98", "1"));
        let printed = comparison.to_string();
        assert!(printed.contains("0.980  (0.500 to 1.000)"), "{printed}");
        assert!(comparison.regressions().is_empty());
    }

    #[test]
    fn a_new_figure_is_left_out_and_a_lost_one_is_reported() {
        let (all, mut fewer) = (figures("100", "1"), figures("100", "1"));
        fewer.0.remove(0);
        let mut comparison = Comparison::default();
        comparison.add(&fewer, &all);
        assert_eq!((comparison.rows.len(), comparison.regressions().len()), (3, 0));
        let mut comparison = Comparison::default();
        comparison.add(&all, &fewer);
        assert_eq!(comparison.regressions(), ["xoff, CPU time (no longer measured)"]);
    }

    #[test]
    fn nothing_in_common_is_no_success() {
        assert_eq!(Comparison::default().regressions().len(), 1);
    }
}
