//! Network namespaces, links, addresses and permanent neighbours, made and removed in batches.
//!
//! A [`Plan`] says what a fabric consists of; [`deploy`] makes it and returns the [`Deployment`]
//! that owns it. Dropping the deployment removes everything. What a killed process left behind is
//! found by [`list`] and removed by [`destroy_abandoned`].
//!
//! - `plan`, `plan_check`: namespaces, links and their ends as plain values, and what can be wrong
//!   with them, found before anything is made.
//! - `deployment`: the order in which a plan becomes real.
//! - `request`, `route_socket`: netlink requests, sent many to a system call.
//! - `namespace`, `run_directory`, `privilege`: namespaces, their names under `/run/netns`, how to
//!   enter them, and what a process needs for that.
//! - `tap`: links of tap devices, and interfaces of stacks, whose owner carries the frames.
//! - `offload`, `settings`: what an interface and a namespace are told through ioctl and sysctl.
//! - `link_state`: what the kernel says of an interface.
//! - `fabric`, `inventory`: which fabric is whose, and which have lost their owner.
//!
//! Invariants: the namespace of a calling thread never changes, because everything that enters one
//! runs on a thread of its own; no request is ever sent in the caller's namespace; no process is
//! spawned; nothing is known of switches, hosts or any other crate.

mod deployment;
mod error;
mod fabric;
mod inventory;
mod link_state;
mod namespace;
mod offload;
mod plan;
mod plan_check;
mod privilege;
mod process;
mod request;
mod route_socket;
mod run_directory;
mod settings;
mod tap;

pub use deployment::{Deployment, deploy};
pub use error::Error;
pub use fabric::FabricId;
pub use inventory::{FabricStatus, Owner, Report, destroy, destroy_abandoned, list};
pub use link_state::{LinkCounters, LinkState, XdpAttachment};
pub use namespace::Namespace;
pub use plan::{EndSpec, LinkKind, LinkSpec, NamespaceSpec, Plan, RouteSpec, StackSpec};
pub use plan_check::PlanError;
pub use process::Process;
pub use tap::{Tap, TapError};
