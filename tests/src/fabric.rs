//! Scenarios as tests run them, on both datapaths.
