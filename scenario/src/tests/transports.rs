//! Invalid transports.

use insta::assert_snapshot;

use super::{SMALL, report, with};

#[test]
fn a_short_timeout_above_the_long_one() {
    let text = format!(
        "{SMALL}[host]\nretransmission_timeout = \"50us\"\n\
         transport = {{ kind = \"roce-rc\", reliability = \"selective-repeat\" }}\n"
    );
    assert_snapshot!(report(&text), @r#"
    error: an `rto_low` of 100us above the retransmission timeout of 50us
      --> bad.toml:14:13
       |
    14 | transport = { kind = "roce-rc", reliability = "selective-repeat" }
       |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: write at most `host.retransmission_timeout`; IRN has 100us and 320us (`host.transport.rto_low` is not set)
    "#);
    assert!(with("host.retransmission_timeout=\"50us\"").is_ok(), "go-back-N has one timeout");
}

#[test]
fn a_short_timeout_of_no_time() {
    let text = format!("{SMALL}[host]\ntransport = {{ kind = \"roce-rc\", rto_low = \"0s\" }}\n");
    assert_snapshot!(report(&text), @r#"
    error: a timeout of no time
      --> bad.toml:13:43
       |
    13 | transport = { kind = "roce-rc", rto_low = "0s" }
       |                                           ^^^^
       |
       = help: write a time above the round trip, such as "100us"
    "#);
}

const TCP_FLOW: &str = "[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"\n";

#[test]
fn an_algorithm_that_cannot_drive_its_transport() {
    let text = format!(
        "{SMALL}{TCP_FLOW}priority = 1\ntransport = {{ kind = \"tcp\", congestion_control = \"dcqcn\" }}\n"
    );
    assert_snapshot!(report(&text), @r#"
    error: dcqcn cannot drive TCP: it waits for CNPs, which RoCEv2 has
      --> bad.toml:18:50
       |
    18 | transport = { kind = "tcp", congestion_control = "dcqcn" }
       |                                                  ^^^^^^^
       |
       = help: write "cubic", "dctcp", "hpcc", "powertcp", "rtt-target", "theta-powertcp", "timely", or "none"
    "#);
    let cubic = "host.transport={kind=\"roce-rc\",congestion_control=\"cubic\"}";
    let error = with(cubic).unwrap_err().to_string();
    assert!(error.contains("cubic cannot drive RoCEv2"), "{error}");
}

#[test]
fn tcp_that_waits_for_losses_in_a_lossless_priority() {
    let text = format!("{SMALL}{TCP_FLOW}transport = {{ kind = \"tcp\" }}\n");
    assert_snapshot!(report(&text), @r"
    error: cubic slows down for losses, and priority 3 is lossless
      --> bad.toml:12:1
       |
    12 | [[flows]]
       | ^^^^^^^^^
       |
       = help: give the flows a priority that `switch.lossless` leaves out, or write cubic = { ecn = true } and `switch.ecn`
    ");
    for settings in [
        "flows.0.transport={kind=\"tcp\",cubic={ecn=true}}",
        "flows.0.transport={kind=\"tcp\",congestion_control=\"dctcp\"}",
    ] {
        assert!(with(settings).is_ok(), "{settings}");
    }
}

#[test]
fn timeouts_of_tcp_that_contradict_each_other() {
    let tcp = |keys: &str| {
        let set = format!("flows.0.transport={{kind=\"tcp\",congestion_control=\"dctcp\",{keys}}}");
        with(&set).unwrap_err().to_string()
    };
    for (keys, part) in [
        ("minimum_rto=\"0s\"", "a timeout of no time"),
        ("minimum_rto=\"2s\",maximum_rto=\"1s\"", "`minimum_rto` of 2s above `maximum_rto` of 1s"),
        ("maximum_rto=\"1ms\"", "of 10ms above `maximum_rto` of 1ms"),
        ("initial_rto=\"1ms\"", "an `initial_rto` of 1ms below the `minimum_rto` of 10ms"),
        ("delayed_ack=\"10ms\"", "ACKs that wait 10ms, and a `minimum_rto` of 10ms"),
        ("loss_threshold=0", "a loss behind which nothing has arrived"),
        ("cubic={beta=0}", "a part of 0"),
        ("dctcp={initial_window=\"0B\"}", "a size of no bytes"),
        ("first_rtt_marks=\"0B\"", "a first round trip of no bytes"),
        ("first_rtt_marks=\"on\"", "no limit of the first round trip is called `on`"),
        ("first_rtt_acks=true", "marks on ACKs, and none on data"),
        ("reliability=\"go-back-n\"", "unknown key `reliability`"),
    ] {
        let error = tcp(keys);
        assert!(error.contains(part), "{error}");
    }
}
