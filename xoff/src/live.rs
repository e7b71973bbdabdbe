//! Live fabrics: each has a supervisor, a process in the background that keeps it up ([`supervisor`]), a folder in which
//! it is found ([`folder`]), and a socket through which commands reach it ([`client`], [`protocol`]).

pub mod client;
pub mod folder;
pub mod protocol;
pub mod report;
pub mod supervisor;
