//! Whole fabrics in network namespaces, and what is left of them. Needs root.

mod capture;
mod cli_cleanup;
mod cli_foreign;
mod cli_killed;
mod cli_sweep;
mod fabric_backpressure;
mod fabric_deadlock;
mod fabric_distributions;
mod fabric_drawn;
mod fabric_exactness;
mod fabric_flow_queues;
mod fabric_flow_trace;
mod fabric_headroom;
mod fabric_measures;
mod fabric_multipath;
mod fabric_pfc;
mod fabric_selective_repeat;
mod fabric_shapes;
mod fabric_simulator_files;
mod fabric_static_routes;
mod fabric_tcp;
mod fabric_telemetry;
mod fabric_transport;
mod fabric_window;
mod live;
mod netns;
