//! Rows of a switch's tables as plain values: read, compared, printed and written.

use fabric_core::map_abi::{
    AuditCounters, Descriptor, EgressQueue, IngressQueue, PauseState, Port, Storm, SwitchState,
};
use fabric_core::scheme::bfc::state::FlowEntry;
use fabric_core::scheme::dsh::state::{PortLine, QueueLine};
use fabric_core::scheme::spfc::state::StateLine;

/// Declares the plain value of each row. The pattern in `of` names every field of the row, so that a
/// field that the map ABI gains does not compile until it is compared.
macro_rules! rows {
    ($($row:ident = $table:ident { $($field:ident: $type:ty),+ $(,)? })+) => {$(
        #[doc = concat!("[`", stringify!($table), "`] as a plain value.")]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $row {
            $(
                #[doc = concat!("See [`", stringify!($table), "::", stringify!($field), "`].")]
                pub $field: $type,
            )+
        }

        impl $row {
            /// Present values of the row.
            pub fn new(row: &$table) -> Self {
                let $table { $($field),+ } = row;
                Self { $($field: $field.load()),+ }
            }

            /// Replaces the row's values.
            pub fn store(&self, row: &$table) {
                $(row.$field.store(self.$field);)+
            }
        }
    )+};
}

rows! {
    SpfcRow = StateLine {
        period_ns: u64,
        victim_bytes: u64,
        period_ends_ns: u64,
        departed_bytes: u64,
        overhead_bytes: u32,
        paused_classes: u32,
        victim: u32,
        victim_before_pause: u32,
    }
    SwitchRow = SwitchState {
        private_bytes: u64,
        shared_bytes: u64,
        headroom_bytes: u64,
        lossy_bytes: u64,
        buffer_max_bytes: u64,
        headroom_max_bytes: u64,
        random: u64,
        slots_taken: u64,
        slots_limit: u64,
        ecn_marked: u64,
        received_frames: u64,
        admitted_bytes: u64,
        departed_bytes: u64,
        zero_source_pfc: u64,
        lossy_pauses_ignored: u64,
    }
    PortRow = Port {
        headroom_bytes: u64,
        address: u64,
        peer_address: u64,
        received_frames: u64,
        received_pfc: u64,
        alpha_numerator: u32,
        alpha_denominator: u32,
        ecn_kmin_bytes: u32,
        ecn_kmax_bytes: u32,
        ecn_slope_q48: u64,
        rate_bps: u64,
        response_ns: u64,
        quantum_ps: u64,
    }
    IngressQueueRow = IngressQueue {
        private_bytes: u64,
        shared_bytes: u64,
        headroom_bytes: u64,
        stored_threshold_bytes: u64,
        off: u32,
        pauses: u32,
    }
    DshPortRow = PortLine {
        shared_bytes: u64,
        insurance_bytes: u64,
        single_queue_since_ns: u64,
        last_queue: u32,
        single_queue: u32,
        off: u32,
        pauses: u32,
    }
    DshQueueRow = QueueLine {
        measured_ns: u64,
        measured_bytes: u32,
        gradient_average: u32,
        gradient_deviation: u32,
        tau_bytes: u32,
    }
    BfcFlowRow = FlowEntry { seen_ns: u64, packets: u32, member: u32 }
    EgressQueueRow = EgressQueue { bytes: u64 }
    PauseRow = PauseState {
        binds_ns: u64,
        until_ns: u64,
        previous_binds_ns: u64,
        previous_until_ns: u64,
    }
    StormRow = Storm {
        active: u64,
        egress_packets: u64,
        egress_bytes: u64,
        ingress_packets: u64,
        ingress_bytes: u64,
    }
    DescriptorRow = Descriptor {
        arrival_ns: u64,
        length: u32,
        ingress_port: u32,
        egress_port: u32,
        queue: u32,
        note: u32,
        flags: u32,
    }
    AuditRow = AuditCounters { frames: u64, bytes: u64, violations: u64, mac_control_frames: u64 }
}
