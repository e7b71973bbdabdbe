//! Network namespaces, links, addresses and permanent neighbours, made and removed in batches.
//!
//! A [`Plan`] describes a fabric; [`deploy`] creates it and returns the [`Deployment`] that owns
//! it. Dropping the deployment removes everything. [`list`] finds fabrics of killed processes, and
//! [`destroy_abandoned`] removes them.
//!
//! - `plan`, `plan_check`: namespaces, links and their ends as plain values, and checks before
//!   anything is created.
//! - `deployment`: creation of a plan in the right order.
//! - `request`, `route_socket`: netlink requests, sent many to a system call.
//! - `namespace`, `run_directory`, `privilege`: namespaces, their names under `/run/netns`,
//!   entering them, and the capabilities that it needs.
//! - `offload`, `settings`: settings of interfaces by ioctl and of namespaces by sysctl.
//! - `link_state`: state of an interface in the kernel.
//! - `fabric`, `inventory`: owners of fabrics, and abandoned fabrics.
//!
//! Invariants: the namespace of a calling thread never changes, because all code that enters a
//! namespace runs on a separate thread. No request is sent in the caller's namespace. The crate
//! starts no processes, and does not know switches or hosts.

#![forbid(unsafe_code)]

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

pub use deployment::{Deployment, deploy};
pub use error::Error;
pub use fabric::FabricId;
pub use inventory::{FabricStatus, Owner, Report, destroy, destroy_abandoned, list};
pub use link_state::{LinkCounters, LinkState, XdpAttachment};
pub use linux::tap::Tap;
pub use namespace::Namespace;
pub use plan::{EndSpec, LinkKind, LinkSpec, NamespaceSpec, Plan, RouteSpec, StackSpec};
pub use plan_check::PlanError;
pub use process::Process;
