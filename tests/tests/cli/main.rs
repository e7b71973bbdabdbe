//! The binary `xoff` as a person calls it, without privilege.

mod bad_input;
mod cluster;
mod commands;
mod compare;
mod expect;
mod explain;
mod first_hour;
mod formats;
mod import;
mod import_kin;
mod init;
mod json;
mod killed;
mod notebooks;
mod report;
mod reproduce;
mod sweep;
