//! The binary `xoff` as a person calls it, without privilege.

mod bad_input;
mod commands;
mod import;
mod import_kin;
mod killed;
mod report;
mod reproduce;
mod sweep;
