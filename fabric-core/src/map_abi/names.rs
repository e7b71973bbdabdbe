//! Names of the maps, for both sides.

/// [`super::Clock`].
pub const CLOCK: &str = "CLOCK";
/// [`super::SwitchConfig`].
pub const CONFIG: &str = "CONFIG";
/// [`super::SwitchState`].
pub const SWITCH: &str = "SWITCH";
/// [`super::Port`].
pub const PORTS: &str = "PORTS";
/// [`super::IngressQueue`].
pub const INGRESS_QUEUES: &str = "INGRESS_QUEUES";
/// [`super::EgressQueue`].
pub const EGRESS_QUEUES: &str = "EGRESS_QUEUES";
/// [`super::EgressClass`].
pub const EGRESS_CLASSES: &str = "EGRESS_CLASSES";
/// [`super::Storm`].
pub const STORMS: &str = "STORMS";
/// [`super::Route`].
pub const ROUTES: &str = "ROUTES";
/// [`super::NextHop`].
pub const NEXT_HOPS: &str = "NEXT_HOPS";
/// [`super::PolicyRoute`].
pub const POLICY_ROUTES: &str = "POLICY_ROUTES";
/// [`super::Descriptor`].
pub const DESCRIPTORS: &str = "DESCRIPTORS";
/// Numbers of free descriptors.
pub const FREE_SLOTS: &str = "FREE_SLOTS";
/// Frames dropped, by reason.
pub const DROPS: &str = "DROPS";
/// Lines of the buffer management.
pub const LOSSY_LINES: &str = "LOSSY_LINES";
/// [`super::SchemeLine`].
pub const SCHEME_LINES: &str = "SCHEME_LINES";
/// [`super::SchemeBlock`].
pub const SCHEME_BLOCKS: &str = "SCHEME_BLOCKS";
/// The ring of records.
pub const EVENTS: &str = "EVENTS";
/// The `.rodata` constant that selects the schemes.
pub const POLICY: &str = "POLICY";
/// Sockets of a host's NIC, by receive queue.
pub const SOCKETS: &str = "SOCKETS";
/// The `.rodata` constant that is not 0 in a standalone switch.
pub const STANDALONE: &str = "STANDALONE";
/// [`super::Turn`].
pub const TURN: &str = "TURN";
/// Numbers of ports.
pub const PORT_NUMBERS: &str = "PORT_NUMBERS";
/// Rows of routes.
pub const PREFIXES: &str = "PREFIXES";
