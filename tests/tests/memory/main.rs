//! Whole fabrics on the memory datapath.

mod backpressure;
mod captured_drops;
mod closed_loops;
mod collisions;
mod dialect;
mod dissection;
mod distributions;
mod drawn;
mod exactness;
mod explain;
mod faults;
mod flow_trace;
mod headroom;
mod headroom_schemes;
mod limits;
mod line_rate;
mod link_delay;
mod lossy;
mod measures;
mod multipath;
mod pfc;
mod pfc_family;
mod queueing;
mod reference;
mod rings;
mod shapes;
mod spfc;
mod storm;
mod tcp;
mod telemetry;
mod transport;
mod varied;

/// The scenario tests of both rungs.
mod fabric {
    tests::scenario_tests!(tests::fabric::in_memory);
}
