//! Rows of `pauses.csv`: each pause has its end, and they add up to `pause_time.csv` and `summary.json`.

use std::collections::BTreeMap;

use super::{Run, Runner};

/// An incast of each of two lossless priorities and flows back, over two switches; then a NIC storms.
const BASE: &str = r#"
name = "rows"
duration = "3ms"
[topology]
kind = "dumbbell"
left = 4
right = 4
host_link = { rate = "40Gbps", delay = "200ns" }
bottleneck = { rate = "80Gbps", delay = "1us" }
[switch]
lossless = [3, 4]
[host]
transport = { kind = "roce-rc", congestion_control = "none" }
retransmission_timeout = "500us"
[[flows]]
kind = "incast"
senders = ["h0", "h1", "h2"]
receiver = "h4"
bytes = "300kB"
[[flows]]
kind = "incast"
senders = ["h1", "h2", "h3", "h6"]
receiver = "h5"
bytes = "300kB"
priority = 4
[[flows]]
kind = "incast"
senders = ["h4", "h5", "h6"]
receiver = "h0"
bytes = "200kB"
"#;

const STORM: &str = "[[storms]]\nhost = \"h4\"\nat = \"20us\"\nfor = \"400us\"\n";
const WATCHDOG: &str = "switch.watchdog={ action = \"drop\", detection_time = \"100us\", restoration_time = \"200us\", \
                        poll_interval = \"20us\" }";

/// Time paused by level, added up as docs/reference describes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    pauses: u64,
    total: u64,
    by_level: BTreeMap<String, u64>,
}

/// Adds up the pauses of a run, each (switch, port, priority) and level by itself.
fn sums(run: &Run) -> BTreeMap<[String; 3], Sums> {
    let mut all = BTreeMap::<[String; 3], Sums>::new();
    let mut open = BTreeMap::<[String; 3], (String, u64)>::new();
    for row in run.pauses().rows() {
        let (at, event, level) = (row.number("time_ns"), row.text("event"), row.text("level"));
        let place = ["peer", "node", "priority"].map(|column| row.text(column).to_owned());
        let sums = all.entry(place.clone()).or_default();
        sums.pauses += u64::from(event == "xoff");
        let about = format!("{event} at {at} of {place:?}");
        match (event, open.remove(&place)) {
            ("xon", Some((opened, since))) => {
                assert_eq!(opened, level, "{about}: another level has paused it");
                sums.add(level, at - since);
            }
            ("xoff" | "xoff-refresh", None) => {
                assert!(event == "xoff" || sums.pauses > 0, "{about}: it was never paused");
                open.insert(place, (level.to_owned(), at));
            }
            ("xoff-refresh", Some(before)) => {
                assert_eq!(before.0, level, "{about}: another level has paused it");
                open.insert(place, before);
            }
            (_, before) => panic!("{about}: {before:?}"),
        }
    }
    for (place, (level, since)) in open {
        let sums = all.get_mut(&place).expect("it was paused");
        sums.add(&level, run.summary.emulated_ns - since);
    }
    all
}

impl Sums {
    fn add(&mut self, level: &str, ns: u64) {
        self.total += ns;
        *self.by_level.entry(level.to_owned()).or_default() += ns;
    }
}

/// Every scheme, with and without a watchdog that drops.
pub fn rows_of_pauses_add_up(run: Runner) {
    let fixed = "switch.threshold={ kind = \"static\", xoff = \"40kB\", xon = \"30kB\" }";
    for (about, settings) in [
        ("sih", vec!["switch.headroom={ kind = \"sih\" }"]),
        ("oversubscribed", vec!["switch.scheme={ kind = \"oversubscribed\", ratio = \"2\" }"]),
        ("dsh", vec!["switch.scheme={ kind = \"dsh\" }"]),
        (
            "dsh, departure",
            vec!["switch.scheme={ kind = \"dsh\" }", "switch.resume_test=departure"],
        ),
        ("spfc", vec!["switch.threshold={ kind = \"spfc\", alpha = 2 }"]),
        (
            "capfc",
            vec![fixed, "switch.scheme={ kind = \"capfc\", xlow = \"35kB\", xegress = \"20kB\" }"],
        ),
        ("gfc", vec![fixed, "switch.scheme={ kind = \"gfc\", b1 = \"20kB\", bm = \"38kB\" }"]),
        ("bfc", vec!["switch.scheme={ kind = \"bfc\" }"]),
        ("ofc", vec![fixed, "switch.scheme={ kind = \"ofc\" }"]),
    ] {
        for watched in [false, true] {
            let mut all = settings.clone();
            all.push(if watched { "switch.buffer=400kB" } else { "switch.buffer=500kB" });
            let mut text = BASE.to_owned();
            if watched {
                all.push(WATCHDOG);
                text += STORM;
            }
            let run = run(&text, &all);
            let about = format!("{about}, watchdog: {watched}");
            let sums = sums(&run);
            let of_table = |column: &str| -> BTreeMap<[String; 3], u64> {
                let table = run.table("pause_time.csv");
                let place = |row: &super::results::Row| {
                    ["node", "by", "priority"].map(|column| row.text(column).to_owned())
                };
                let rows = table.rows().iter().map(|row| (place(row), row.number(column)));
                rows.filter(|(_, number)| *number > 0).collect()
            };
            let positive = |of: fn(&Sums) -> u64| -> BTreeMap<[String; 3], u64> {
                let all = sums.iter().map(|(place, sums)| (place.clone(), of(sums)));
                all.filter(|(_, number)| *number > 0).collect()
            };
            assert_eq!(positive(|sums| sums.total), of_table("ordered_ns"), "{about}");
            assert_eq!(positive(|sums| sums.pauses), of_table("ordered_pauses"), "{about}");
            let total: u64 = sums.values().map(|sums| sums.total).sum();
            assert_eq!(total, run.summary.pause_ordered_ns, "{about}");
            let by_level = |level: &str| -> u64 {
                sums.values().filter_map(|sums| sums.by_level.get(level)).sum()
            };
            let said = run.summary.pause_ordered_by_level;
            assert_eq!(
                (by_level("queue"), by_level("port")),
                (said.queue_ns, said.port_ns),
                "{about}"
            );
            assert!(total > 0 || about == "gfc, watchdog: false", "{about}");
            assert!(said.port_ns == 0 || about.starts_with("dsh"), "{about}");
        }
    }
}
