//! No congestion control: line rate always, and receivers send no CNP.

use super::{CongestionControl, CongestionFeedback};

/// Both ends; neither does anything.
#[derive(Clone, Copy, Debug)]
pub struct LineRate;

impl CongestionControl for LineRate {}

impl CongestionFeedback for LineRate {}
