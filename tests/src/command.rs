//! The binary `xoff` as a test runs it.
