//! Dropped frames, by cause.

use std::collections::BTreeMap;
use std::path::Path;

use results::count;

use results::query::rows_if_there;

use super::ReportError;
use super::run::Curve;
use super::time::micros;

/// Max number of rows of the table.
pub const SHOWN: usize = 20;
/// Class of control frames without effect, which do not count as losses.
const IGNORED: &str = "ignored";

/// Content of a run's `drops.csv`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drops {
    /// Causes, most frames first.
    pub causes: Vec<Cause>,
    /// Cumulative number of frames over time, by reason.
    pub over_time: BTreeMap<String, Curve>,
}

/// Drops for one reason at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// Name of the reason.
    reason: String,
    /// Class of the reason.
    class: String,
    /// Switch, host or wire.
    node: String,
    frames: u64,
    bytes: u64,
    /// First drop, in nanoseconds.
    first: u64,
    last: u64,
}

impl Drops {
    /// Reads a folder of results. `end` is the end of the run, in nanoseconds.
    pub fn read(folder: &Path, end: f64) -> Result<Self, ReportError> {
        let columns = ["time_ns", "node", "reason", "class", "bytes"];
        let mut causes: BTreeMap<[String; 3], Cause> = BTreeMap::new();
        let mut over_time: BTreeMap<String, Curve> = BTreeMap::new();
        rows_if_there(folder, "drops.csv", columns, |row| {
            let (instant, bytes) = (row.exact(0)?, row.exact::<u64>(4)?);
            let time: f64 = row.number(0)?;
            let [node, reason, class] = [1, 2, 3].map(|column| row.text(column).to_owned());
            if class == IGNORED {
                return Ok(());
            }
            let curve = over_time.entry(reason.clone()).or_insert_with(|| vec![(0.0, 0.0)]);
            match curve.last_mut() {
                Some((at, before)) if at.total_cmp(&time).is_eq() => *before += 1.0,
                last => {
                    let before = last.map_or(0.0, |&mut (_, before)| before);
                    curve.push((time, before + 1.0));
                }
            }
            let cause =
                causes.entry([reason.clone(), class.clone(), node.clone()]).or_insert_with(|| {
                    Cause {
                        reason,
                        class,
                        node,
                        frames: 0,
                        bytes: 0,
                        first: instant,
                        last: instant,
                    }
                });
            cause.frames += 1;
            cause.bytes += bytes;
            cause.last = instant;
            Ok(())
        })?;
        for curve in over_time.values_mut() {
            let last = curve.last().map_or(0.0, |&(_, frames)| frames);
            curve.push((end, last));
        }
        let mut causes: Vec<Cause> = causes.into_values().collect();
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.frames));
        Ok(Self { causes, over_time })
    }

    /// Returns the cells of a table.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let row = |cause: &Cause| {
            let Cause { reason, class, node, frames, bytes, first, last } = cause;
            vec![
                reason.clone(),
                class.clone(),
                node.clone(),
                count(*frames),
                count(*bytes),
                micros(*first),
                micros(*last),
            ]
        };
        self.causes.iter().take(SHOWN).map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_counted_by_cause_and_place() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join("drops.csv"),
            "time_ns,node,port,priority,reason,class,bytes\n\
             10,leaf0,4,3,lossy-threshold,policy,1000\n\
             20,h0->leaf0,,,loss,injected,60\n\
             20,leaf1,4,3,lossy-threshold,policy,500\n\
             20,leaf0,5,3,lossy-threshold,policy,100\n\
             30,leaf0,5,0,pause-without-pfc,ignored,60\n",
        )
        .unwrap();
        let drops = Drops::read(folder.path(), 40.0).unwrap();
        let rows: Vec<String> = drops.rows().iter().map(|row| row.join(" ")).collect();
        assert_eq!(
            rows,
            [
                "lossy-threshold policy leaf0 2 1,100 0.010 0.020",
                "loss injected h0->leaf0 1 60 0.020 0.020",
                "lossy-threshold policy leaf1 1 500 0.020 0.020",
            ]
        );
        assert_eq!(
            drops.over_time["lossy-threshold"],
            [(0.0, 0.0), (10.0, 1.0), (20.0, 3.0), (40.0, 3.0)]
        );
        assert_eq!(drops.over_time.len(), 2);
        let none = tempfile::tempdir().unwrap();
        assert_eq!(Drops::read(none.path(), 40.0).unwrap(), Drops::default());
    }
}
