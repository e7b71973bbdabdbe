//! `switch.lossy`.

mod errors;

use fabric_core::lossy::congestion::Congestion;
use fabric_core::lossy::{
    CoDel, FairDropping, FairShares, FlowTable, Kind, Prioritisation, Ratio, Settings,
};
use fabric_core::priority::Priority;
use topology::SwitchId;
use units::{Bytes, Nanos};

use super::{SMALL, parse};
use crate::Scenario;

/// Marks packets of first round trips.
const MARKS: &str = "[host]\ntransport = { kind = \"roce-rc\", first_rtt_marks = \"auto\" }\n";

fn with(keys: &str) -> String {
    format!("[switch]\n{keys}\n{SMALL}")
}

fn good(keys: &str) -> Scenario {
    let scenario = parse(&with(keys)).unwrap_or_else(|error| panic!("{error}"));
    let written = scenario.to_toml();
    let again = parse(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(again, scenario, "{written}");
    scenario
}

const fn ratio(numerator: u32, denominator: u32) -> Ratio {
    Ratio { numerator, denominator }
}

const NINE_TENTHS: Congestion = Congestion::OfThreshold(ratio(9, 10));

#[test]
fn defaults_are_dt_with_alpha_1_in_the_shared_pool() {
    let plain = parse(SMALL).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(plain.lossy_settings(), Settings::default());
    assert_eq!(good("lossy = { kind = \"dt\" }"), plain);
    assert_eq!(plain.buffer_pools(SwitchId(0)).lossy, Bytes(0));
    assert_eq!(plain.lossy_period(), None);
    let cs = good("lossy = { kind = \"cs\" }");
    assert_eq!(
        cs.lossy_settings(),
        Settings { kind: Kind::CompleteSharing, ..Settings::default() }
    );
}

/// Both ways over two links, 1 us each, with 1098 B on the wire at 80 ps per byte: 4 x 1.08784 us, rounded up.
#[test]
fn abm_and_bshare_count_once_in_the_longest_round_trip() {
    let period = Some(Nanos(4352));
    let abm = Settings { kind: Kind::Active(NINE_TENTHS), period, ..Settings::default() };
    assert_eq!(good("lossy = { kind = \"abm\" }").lossy_settings(), abm);
    let kind = Kind::Bshare { congestion: NINE_TENTHS, least_bytes: Bytes(0) };
    let bshare = Settings { kind, period, ..Settings::default() };
    assert_eq!(good("lossy = { kind = \"bshare\" }").lossy_settings(), bshare);
}

#[test]
fn every_key_is_heard() {
    let keys = "lossless = [5]\nlossy = { kind = \"bshare\", alpha = \"1/2\", alphas = [{ priority = 4, alpha = \"1/8\" }], \
                first_rtt_alpha = 1024, min_bytes = \"3kB\", congested = { of_buffer = \"4/5\" }, period = \"80us\", \
                pool = \"2MB\" }";
    let scenario = good(&format!("{keys}\n{MARKS}"));
    let of = scenario.lossy_settings();
    let congestion = Congestion::OfBuffer(ratio(4, 5));
    assert_eq!(of.kind, Kind::Bshare { congestion, least_bytes: Bytes(3000) });
    let mut alphas = [ratio(1, 2); 8];
    alphas[4] = ratio(1, 8);
    assert_eq!(of.alphas, alphas);
    assert_eq!(of.first_alphas, [ratio(1024, 1); 8]);
    assert_eq!(of.period, Some(Nanos(80_000)));
    let (own, plain) = (scenario.buffer_pools(SwitchId(0)), good("").buffer_pools(SwitchId(0)));
    assert_eq!((own.lossy, own.of_lossy()), (Bytes(2_000_000), Bytes(2_000_000)));
    assert_eq!(own.shared, Bytes(plain.shared.0 - 2_000_000));
    assert_eq!(plain.of_lossy(), plain.shared);

    let keys = "lossy = { kind = \"abm\", congested = { bytes = \"28kB\" }, alphas = [{ priority = 0, alpha = 2 }] }";
    let of = good(keys).lossy_settings();
    assert_eq!(of.kind, Kind::Active(Congestion::Bytes(28_000)));
    assert_eq!(of.first_alphas, of.alphas);
    assert_eq!((of.alphas[0], of.alphas[1]), (ratio(2, 1), Ratio::ONE));
}

#[test]
fn fab_and_ib_have_the_simulators_parameters_and_all_kinds_may_have_codel() {
    let fab = good("lossy = { kind = \"fab\" }").lossy_settings();
    let (short_bytes, flows) = (Bytes(21_000), FlowTable::DEFAULT);
    assert_eq!(fab.kind, Kind::FlowAware { short_bytes, flows });
    assert_eq!((fab.alphas, fab.first_alphas), ([Ratio::ONE; 8], [ratio(1024, 1); 8]));
    let keys = "lossy = { kind = \"fab\", short_alpha = 8, short_bytes = \"1kB\", flow_table = { flows = 8, idle = \"1ms\" } }";
    let (short_bytes, flows) = (Bytes(1000), FlowTable { flows: 8, idle: Nanos(1_000_000) });
    assert_eq!(good(keys).lossy_settings().kind, Kind::FlowAware { short_bytes, flows });

    let of = |fair_dropping, prioritisation| Kind::Intelligent {
        fair_dropping,
        prioritisation,
        flows: FlowTable::DEFAULT,
    };
    let ib = |keys: &str| good(&format!("lossy = {{ kind = \"ib\", {keys} }}")).lossy_settings();
    assert_eq!(ib("alpha = 1").kind, of(Some(FairDropping::DEFAULT), None));
    let keys = "fair_dropping = { shares = \"elephants\", elephant_bytes = \"1MB\", window = \"1us\", windows = 2, \
                first_share = \"3B\", desired = \"4B\", fall = 5, rise = 6, min_bytes = \"7B\" }";
    let fair = FairDropping {
        shares: FairShares::Elephants(Bytes(1_000_000)),
        window: Nanos(1000),
        windows: 2,
        first_share: Bytes(3),
        desired: Bytes(4),
        fall: ratio(5, 1),
        rise: ratio(6, 1),
        least_bytes: Bytes(7),
    };
    assert_eq!(ib(keys).kind, of(Some(fair), None));
    let keys = "fair_dropping = { shares = \"off\" }, prioritisation = { priority = 5 }";
    let first = Prioritisation { packets: 72, priority: Priority::new(5) };
    assert_eq!(ib(keys).kind, of(None, Some(first)));

    let rfc = CoDel { target: Nanos(5_000_000), interval: Nanos(100_000_000) };
    for kind in ["dt", "cs", "abm", "bshare", "fab", "ib"] {
        let with =
            |codel| good(&format!("lossy = {{ kind = \"{kind}\"{codel} }}")).lossy_settings();
        assert_eq!((with("").codel, with(", codel = {}").codel), (None, Some(rfc)), "{kind}");
    }
    let keys = "lossy = { kind = \"cs\", codel = { target = \"10us\", interval = \"80us\" } }";
    let own = CoDel { target: Nanos(10_000), interval: Nanos(80_000) };
    assert_eq!(good(keys).lossy_settings().codel, Some(own));
}

/// Switches count at most once per microsecond.
#[test]
fn a_period_is_a_microsecond_at_least() {
    let fast = "[switch]\nlossy = { kind = \"abm\" }\n[host]\npayload = \"64B\"\n[topology]\nkind = \"star\"\nhosts = 2
host_link = { rate = \"8Tbps\", delay = \"1ns\" }\n[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"";
    let scenario = parse(fast).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.lossy_settings().period, Some(Nanos(1000)));
}

/// Hosts of a live fabric, or around a standalone switch, may mark any packets.
#[test]
fn first_round_trips_need_marks_only_where_hosts_are_known() {
    let keys = with("lossy = { kind = \"abm\", first_rtt_alpha = 64 }");
    let live = Scenario::parse_live(&keys, std::path::Path::new("live.toml"), &[]);
    assert!(live.is_ok());
    assert!(parse(&keys).is_err());
}

#[test]
fn settings_that_do_nothing_are_reported() {
    let warnings = |keys: &str| good(keys).warnings_of_lossy();
    assert_eq!(warnings("lossless = [3]"), [""; 0]);
    let reported = warnings("lossy = { kind = \"cs\" }");
    assert!(
        reported.len() == 1 && reported[0].contains("no flow has a lossy priority"),
        "{reported:?}"
    );
    let reported = warnings("lossless = [0, 1, 2, 3, 4, 5, 6, 7]\nlossy = { kind = \"cs\" }");
    assert!(
        reported.len() == 1 && reported[0].contains("every priority is lossless"),
        "{reported:?}"
    );
    assert_eq!(warnings("lossless = []\nlossy = { kind = \"cs\" }"), [""; 0]);
}
