//! Whole fabrics in network namespaces, and their clean-up. Needs root.

mod capture;
mod cli_cleanup;
mod cli_foreign;
mod cli_killed;
mod cli_sweep;
mod fabric_drawn;
mod fabric_exactness;
mod fabric_faults;
mod fabric_headroom;
mod fabric_hooks;
mod fabric_pfc;
mod fabric_rings;
mod fabric_storm;
mod fabric_tcp;
mod fabric_telemetry;
mod live;
mod live_captures;
mod live_clock;
mod live_ends;
mod live_faults;
mod live_hang_up;
mod live_interrupted;
mod live_look;
mod live_programs;
mod live_storm;
mod live_victims;
mod netns;
mod selftest;
mod selftest_faults;
mod standalone;
mod standalone_ends;

/// The scenario tests of both rungs.
mod fabric {
    tests::scenario_tests!(tests::fabric::on_both);
}
