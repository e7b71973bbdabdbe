//! One RoCEv2 host.

pub mod af_xdp;
