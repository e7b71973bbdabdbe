//! Live fabrics. Each has a supervisor, a background process that runs the fabric ([`supervisor`]), a folder by which
//! it is found ([`folder`]), and a socket for commands ([`client`], [`protocol`]). [`watcher`] and [`glance`] are for
//! commands that poll a fabric.

#![forbid(unsafe_code)]

pub mod changes;
pub mod client;
pub mod clients;
pub mod commands;
pub mod folder;
pub mod glance;
pub mod metrics;
pub mod protocol;
pub mod rates;
pub mod report;
pub mod scrape;
pub mod screen;
pub mod supervisor;
pub mod watcher;
