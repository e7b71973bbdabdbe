//! Whole fabrics on the memory datapath.

mod collisions;
mod deadlock;
mod distributions;
mod exactness;
mod headroom;
mod headroom_schemes;
mod line_rate;
mod link_delay;
mod measures;
mod pfc;
mod queueing;
mod shapes;
mod simulator_files;
mod transport;
