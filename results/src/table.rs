//! Every table that a run may write.

use super::column::Column;
use super::counter::CounterRow;
use super::deadlock::DeadlockRow;
use super::drop::DropRow;
use super::egress_queue::EgressQueueRow;
use super::fault::FaultRow;
use super::fct_by_size::FctBySizeRow;
use super::flow::FlowRow;
use super::flow_pause::FlowPauseRow;
use super::flow_queue::FlowQueuesRow;
use super::flow_trace::FlowTraceRow;
use super::held_flow::HeldFlowRow;
use super::link::LinkRow;
use super::link_delay::LinkDelayRow;
use super::link_priority::LinkPriorityRow;
use super::lossy_queue::LossyQueueRow;
use super::measurements::DistributionRow;
use super::occupancy::OccupancyRow;
use super::pause::PauseRow;
use super::pause_time::PauseTimeRow;
use super::port_state::PortStateRow;
use super::queue::QueueRow;
use super::queue_pause::QueuePauseRow;
use super::rate::RateRow;
use super::row::Row;
use super::throughput::ThroughputRow;
use super::watchdog::WatchdogRow;

/// A table that a run may write.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Name of the file.
    pub file: &'static str,
    /// Meaning of a row, in one sentence.
    pub about: &'static str,
    /// The columns from left to right.
    pub columns: &'static [Column<'static>],
}

impl Table {
    const fn of<R: Row>() -> Self {
        Self { file: R::FILE, about: R::ABOUT, columns: R::COLUMNS }
    }
}

/// All tables.
pub const TABLES: &[Table] = &[
    Table::of::<FlowRow>(),
    Table::of::<FctBySizeRow>(),
    Table::of::<ThroughputRow>(),
    Table::of::<FlowTraceRow>(),
    Table::of::<PauseRow>(),
    Table::of::<PauseTimeRow>(),
    Table::of::<PortStateRow>(),
    Table::of::<QueueRow>(),
    Table::of::<EgressQueueRow>(),
    Table::of::<FlowQueuesRow>(),
    Table::of::<LossyQueueRow>(),
    Table::of::<HeldFlowRow>(),
    Table::of::<QueuePauseRow>(),
    Table::of::<FlowPauseRow>(),
    Table::of::<RateRow>(),
    Table::of::<LinkRow>(),
    Table::of::<LinkPriorityRow>(),
    Table::of::<CounterRow>(),
    Table::of::<OccupancyRow>(),
    Table::of::<LinkDelayRow>(),
    Table::of::<DropRow>(),
    Table::of::<WatchdogRow>(),
    Table::of::<FaultRow>(),
    Table::of::<DeadlockRow>(),
    Table::of::<DistributionRow>(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_columns_are_what_readers_rely_on() {
        fn header<R: Row>() -> String {
            R::COLUMNS.iter().map(|column| column.name).collect::<Vec<_>>().join(",")
        }
        assert!(
            header::<FlowRow>().starts_with(
                "flow,label,src,dst,priority,bytes,start_ns,fct_ns,ideal_ns,slowdown,"
            )
        );
        assert_eq!(
            header::<PauseRow>(),
            "time_ns,node,port,peer,priority,event,\
             occupancy_bytes,threshold_bytes,shared_free_bytes,level,state"
        );
        assert_eq!(
            header::<FctBySizeRow>(),
            "label,above_bytes,up_to_bytes,flows,completed,slowdown_mean,slowdown_p50,\
             slowdown_p95,slowdown_p99,slowdown_max,fct_mean_ns,fct_p99_ns"
        );
        assert_eq!(header::<ThroughputRow>(), "start_ns,flow,bytes,bits_per_second");
        assert_eq!(
            header::<FlowTraceRow>(),
            "time_ns,flow,rate_bps,window_bytes,rtt_ns,congestion,outstanding_bytes"
        );
        assert_eq!(
            header::<PauseTimeRow>(),
            "node,port,priority,by,pauses,paused_ns,share,longest_ns,ordered_pauses,ordered_ns"
        );
        assert_eq!(
            header::<OccupancyRow>(),
            "node,kind,mean_bytes,p50_bytes,p90_bytes,p99_bytes,p999_bytes,max_bytes"
        );
        assert_eq!(header::<QueueRow>(), "time_ns,node,kind,port,priority,bytes");
        assert_eq!(header::<EgressQueueRow>(), "time_ns,node,port,priority,queue,bytes");
        assert_eq!(
            header::<FlowQueuesRow>(),
            "time_ns,node,port,flows,queues,paused,pausing,activations,collisions"
        );
        assert_eq!(
            header::<LossyQueueRow>(),
            "time_ns,node,port,priority,queue,bytes,threshold_bytes,longest_wait_ns,congested"
        );
        assert_eq!(
            header::<LinkRow>(),
            "wire,from,to,rate_bps,frames,bytes,wire_bytes,utilisation,lost,damaged"
        );
        assert_eq!(header::<CounterRow>(), "node,port,peer,priority,counter,value");
        assert_eq!(header::<PortStateRow>(), "time_ns,node,port,priority,state,cause");
        assert_eq!(header::<HeldFlowRow>(), "time_ns,node,port,by,queue,flow");
        assert_eq!(
            header::<LinkDelayRow>(),
            "time_ns,node,port,peer,link_delay_ns,response_ns,headroom_bytes"
        );
        assert_eq!(header::<DropRow>(), "time_ns,node,port,priority,reason,class,bytes");
        assert_eq!(header::<FaultRow>(), "fault,kind,wire,seen,frames,added_ns,most_added_ns");
        assert_eq!(
            header::<WatchdogRow>(),
            "detected_ns,restored_ns,node,port,peer,priority,action,waiting_packets,waiting_bytes,\
             egress_dropped_packets,egress_dropped_bytes,ingress_dropped_packets,\
             ingress_dropped_bytes,forwarded_packets,forwarded_bytes"
        );
        assert_eq!(
            header::<DeadlockRow>(),
            "circle,onset_ns,confirmed_ns,end_ns,queues,priorities,levels,survives_refresh"
        );
        assert_eq!(header::<DistributionRow>(), "measure,value,weight,cumulative");
    }
}
