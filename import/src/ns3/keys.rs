//! The keys of config files.

/// A key and the kind of its values.
pub type Key = (&'static str, Kind);

/// Kind of a key's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A path.
    Path,
    /// 0 or 1.
    Flag,
    /// A whole number.
    Whole,
    /// A number.
    Decimal,
    /// A rate such as `50Mb/s`.
    Rate,
    /// A rate or zero.
    Increase,
    /// A time and two nodes.
    LinkDown,
    /// A count, then this many pairs of a rate in bit/s and a whole number.
    Sizes,
    /// A count, then this many pairs of a rate in bit/s and a probability.
    Probabilities,
}

/// Keys that configs of all simulators have.
pub const EVERYWHERE: &[Key] = &[
    ("ENABLE_QCN", Kind::Flag),
    ("USE_DYNAMIC_PFC_THRESHOLD", Kind::Flag),
    ("CLAMP_TARGET_RATE", Kind::Flag),
    ("PAUSE_TIME", Kind::Decimal),
    ("DATA_RATE", Kind::Rate),
    ("LINK_DELAY", Kind::Path),
    ("PACKET_PAYLOAD_SIZE", Kind::Whole),
    ("L2_CHUNK_SIZE", Kind::Whole),
    ("L2_ACK_INTERVAL", Kind::Whole),
    ("L2_BACK_TO_ZERO", Kind::Flag),
    ("TOPOLOGY_FILE", Kind::Path),
    ("FLOW_FILE", Kind::Path),
    ("ALPHA_RESUME_INTERVAL", Kind::Decimal),
    ("RP_TIMER", Kind::Decimal),
    ("EWMA_GAIN", Kind::Decimal),
    ("FAST_RECOVERY_TIMES", Kind::Whole),
    ("RATE_AI", Kind::Increase),
    ("RATE_HAI", Kind::Increase),
    ("ERROR_RATE_PER_LINK", Kind::Decimal),
    ("CC_MODE", Kind::Whole),
    ("RATE_DECREASE_INTERVAL", Kind::Decimal),
    ("MIN_RATE", Kind::Rate),
    ("FCT_OUTPUT_FILE", Kind::Path),
    ("HAS_WIN", Kind::Flag),
    ("GLOBAL_T", Kind::Flag),
    ("MI_THRESH", Kind::Whole),
    ("VAR_WIN", Kind::Flag),
    ("FAST_REACT", Kind::Flag),
    ("U_TARGET", Kind::Decimal),
    ("INT_MULTI", Kind::Decimal),
    ("RATE_BOUND", Kind::Flag),
    ("DCTCP_RATE_AI", Kind::Increase),
    ("PFC_OUTPUT_FILE", Kind::Path),
    ("LINK_DOWN", Kind::LinkDown),
    ("KMAX_MAP", Kind::Sizes),
    ("KMIN_MAP", Kind::Sizes),
    ("PMAX_MAP", Kind::Probabilities),
    ("BUFFER_SIZE", Kind::Whole),
    ("QLEN_MON_FILE", Kind::Path),
    ("MULTI_RATE", Kind::Flag),
    ("SAMPLE_FEEDBACK", Kind::Flag),
];

/// Keys of HPCC's simulator and of ns3-datacenter.
pub const HPCC_AND_DATACENTER: &[Key] = &[
    ("TRACE_FILE", Kind::Path),
    ("TRACE_OUTPUT_FILE", Kind::Path),
    ("SIMULATOR_STOP_TIME", Kind::Decimal),
    ("ACK_HIGH_PRIO", Kind::Flag),
    ("ENABLE_TRACE", Kind::Flag),
    ("QLEN_MON_START", Kind::Whole),
    ("QLEN_MON_END", Kind::Whole),
    ("PINT_LOG_BASE", Kind::Decimal),
    ("PINT_PROB", Kind::Decimal),
];

/// Keys of `ConWeave`'s simulator.
pub const CONWEAVE: &[Key] = &[
    ("LB_MODE", Kind::Whole),
    ("ENABLE_PFC", Kind::Flag),
    ("ENABLE_IRN", Kind::Flag),
    ("FLOWGEN_START_TIME", Kind::Decimal),
    ("FLOWGEN_STOP_TIME", Kind::Decimal),
    ("RANDOM_SEED", Kind::Whole),
    ("LOAD", Kind::Decimal),
    ("FLOW_INPUT_FILE", Kind::Path),
    ("CNP_OUTPUT_FILE", Kind::Path),
    ("VOQ_MON_FILE", Kind::Path),
    ("VOQ_MON_DETAIL_FILE", Kind::Path),
    ("UPLINK_MON_FILE", Kind::Path),
    ("CONN_MON_FILE", Kind::Path),
    ("EST_ERROR_MON_FILE", Kind::Path),
    ("QLEN_MON_START", Kind::Decimal),
    ("QLEN_MON_END", Kind::Decimal),
    ("SW_MONITORING_INTERVAL", Kind::Whole),
    ("CONWEAVE_TX_EXPIRY_TIME", Kind::Whole),
    ("CONWEAVE_REPLY_TIMEOUT_EXTRA", Kind::Whole),
    ("CONWEAVE_PATH_PAUSE_TIME", Kind::Whole),
    ("CONWEAVE_EXTRA_VOQ_FLUSH_TIME", Kind::Whole),
    ("CONWEAVE_DEFAULT_VOQ_WAITING_TIME", Kind::Whole),
];
