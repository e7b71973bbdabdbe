//! Victims of SPFC, Fig. 9: the model of the paper's Appendix in comparison with a switch's decisions.

use std::path::Path;

use results::Number;
use results::query::rows;
use sweep::RunResult;

/// K_spfc.
const K: u64 = 5;
/// Port of h0 in `model.toml`; the burst's ports come next.
const P0: u64 = 2;

/// Position of a run on the surface.
struct Point {
    /// N, the number of burst ports.
    bursts: u64,
    /// Flows of P0 into the burst, and all flows of P0; their quotient is epsilon.
    congested: u64,
    all: u64,
}

impl Point {
    /// Computes the position from the flows of a run.
    fn new(folder: &Path) -> Option<Self> {
        let mut labels = Vec::new();
        rows(folder, "flows.csv", ["label"], |row| {
            labels.push(row.text(0).to_owned());
            Ok(())
        })
        .ok()?;
        let labelled = |label: &str| labels.iter().filter(|it| *it == label).count() as u64;
        let congested = labelled("F2");
        let point = Self { bursts: labelled("burst"), congested, all: congested + labelled("F1") };
        (point.all > 0 && point.bursts > 0).then_some(point)
    }

    /// Returns true if `(1 - epsilon) C + C / (N + 1)` is above C / K (Eq. 6 and 7).
    const fn is_victim(&self) -> bool {
        let shares = self.bursts + 1;
        K * ((self.all - self.congested) * shares + self.all) > self.all * shares
    }

    /// Returns true if `C / (N + 1)` is above C / K (Eq. 5 and 7).
    const fn bursts_are_victims(&self) -> bool {
        K > self.bursts + 1
    }
}

pub fn modelled_victim(_: &RunResult, folder: &Path) -> Option<Number> {
    Some(Number::whole(Point::new(folder)?.is_victim().into()))
}

pub fn modelled_bursts(_: &RunResult, folder: &Path) -> Option<Number> {
    Some(Number::whole(Point::new(folder)?.bursts_are_victims().into()))
}

pub fn victim(run: &RunResult, folder: &Path) -> Option<Number> {
    victims(run, folder, P0, 1)
}

pub fn bursts(run: &RunResult, folder: &Path) -> Option<Number> {
    victims(run, folder, P0 + 1, Point::new(folder)?.bursts)
}

pub fn agreement(run: &RunResult, folder: &Path) -> Option<Number> {
    let point = Point::new(folder)?;
    let as_it_says = |share: Number, says: bool| {
        if says { share } else { Number(Number::ONE.0 - share.0) }
    };
    let p0 = as_it_says(victim(run, folder)?, point.is_victim());
    let bursts = as_it_says(bursts(run, folder)?, point.bursts_are_victims());
    let ports = i128::from(point.bursts);
    Some(Number((p0.0 + bursts.0 * ports) / (ports + 1)))
}

/// Returns the share of `count` ports from `first` on that are victims at the end of the window.
pub fn victims(run: &RunResult, folder: &Path, first: u64, count: u64) -> Option<Number> {
    let end = run.metrics.value("window.to_ns")?;
    let mut is_victim = vec![false; usize::try_from(count).ok()?];
    rows(folder, "port_states.csv", ["time_ns", "port", "state"], |row| {
        let offset = row.exact::<u64>(1)?.checked_sub(first);
        let place = offset.and_then(|offset| is_victim.get_mut(usize::try_from(offset).ok()?));
        if let Some(place) = place
            && Number::ratio(row.exact(0)?, 1) < end
        {
            *place = row.text(2) == "victim";
        }
        Ok(())
    })
    .ok()?;
    let sum = is_victim.iter().filter(|it| **it).count();
    Some(Number::ratio(sum as i128, count.max(1).into()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use sweep::made_up::run_with;

    use super::*;

    #[test]
    fn the_surface_is_that_of_the_appendix() {
        let victim = |bursts, congested, all| Point { bursts, congested, all }.is_victim();
        // epsilon < 0.8 + 1 / (N + 1).
        assert!(victim(29, 83, 100) && !victim(29, 84, 100));
        assert!(victim(4, 99, 100) && !victim(4, 100, 100));
        let of_bursts = |bursts| Point { bursts, congested: 1, all: 2 }.bursts_are_victims();
        assert_eq!([1, 3, 4, 5].map(of_bursts), [true, true, false, false]);
    }

    /// Three burst ports, one of them a victim at the window's end; P0 becomes normal only after it.
    #[test]
    fn states_are_those_at_the_end_of_the_window() {
        let folder = tempfile::tempdir().unwrap();
        let flow = |label: &str| format!("0,{label},h0,r1\n");
        let flows = ["F1", "F2", "F2", "F2", "burst", "burst", "burst"].map(flow).concat();
        fs::write(folder.path().join("flows.csv"), format!("flow,label,src,dst\n{flows}")).unwrap();
        let states = "time_ns,node,port,priority,state,cause\n\
                      10,s0,2,,victim,fast\n\
                      20,s0,3,,victim,fast\n\
                      30,s0,4,,victim,fast\n\
                      40,s0,3,,normal,slow\n\
                      100,s0,2,,normal,slow\n";
        fs::write(folder.path().join("port_states.csv"), states).unwrap();
        let run = run_with(&[("window.from_ns", 0), ("window.to_ns", 100)]);
        let read = |reader: crate::source::Reader| reader(&run, folder.path()).unwrap().0;
        assert_eq!((read(victim), read(modelled_victim)), (1_000_000, 1_000_000));
        assert_eq!((read(bursts), read(modelled_bursts)), (333_333, 1_000_000));
        assert_eq!(read(agreement), 499_999);
    }
}
