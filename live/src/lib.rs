//! Live fabrics: each has a supervisor, a process in the background that keeps it up ([`supervisor`]), a folder in which
//! it is found ([`folder`]), and a socket through which commands reach it ([`client`], [`protocol`]). [`watcher`] and [`glance`] are for those who look
//! again and again.

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
