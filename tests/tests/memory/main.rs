//! Whole fabrics on the memory datapath.

mod closed_loops;
mod collisions;
mod deadlock;
mod dissection;
mod distributions;
mod drawn;
mod exactness;
mod flow_queues;
mod flow_trace;
mod headroom;
mod headroom_schemes;
mod limits;
mod line_rate;
mod link_delay;
mod measures;
mod multipath;
mod pfc;
mod queueing;
mod reference;
mod selective_repeat;
mod shapes;
mod simulator_files;
mod tcp;
mod telemetry;
mod transport;
mod window;
