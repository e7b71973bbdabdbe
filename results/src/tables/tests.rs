//! Headers and lines of tables.

use std::path::Path;

use units::{BitsPerSecond, Bytes, Nanos, Picos};

use super::*;
use crate::csv::{CsvTable, line};

#[test]
fn the_first_columns_are_what_readers_rely_on() {
    fn header<R: Row>() -> String {
        R::COLUMNS.iter().map(|column| column.name).collect::<Vec<_>>().join(",")
    }
    assert!(
        header::<FlowRow>()
            .starts_with("flow,label,src,dst,priority,bytes,start_ns,fct_ns,ideal_ns,slowdown,")
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

fn flow(fct: Option<Nanos>) -> FlowRow<'static> {
    FlowRow {
        flow: 3,
        label: "incast, first",
        src: "h1",
        dst: "h0",
        priority: 3,
        transport: "roce-rc",
        congestion_control: "dcqcn",
        bytes: Bytes(1_000_000),
        start: Nanos(10_000),
        fct,
        ideal: Nanos(90_000),
        retransmitted_packets: 0,
        cnps: 2,
        long_lived: false,
        path: "h1>s0>h0".to_owned(),
        congested: None,
    }
}

#[test]
fn flows_done_and_undone() {
    assert_eq!(
        line(&flow(Some(Nanos(135_001)))),
        "3,\"incast, first\",h1,h0,3,1000000,10000,135001,90000,1.5000,0,2,roce-rc,dcqcn,h1>s0>h0\n"
    );
    assert_eq!(
        line(&flow(None)),
        "3,\"incast, first\",h1,h0,3,1000000,10000,,90000,,0,2,roce-rc,dcqcn,h1>s0>h0\n"
    );
}

#[test]
fn the_rate_of_the_link_is_empty() {
    let row = |rate| RateRow {
        time: Nanos(7),
        node: "s0",
        port: 2,
        peer: "h1",
        priority: 3,
        rate,
        occupancy: Bytes(50_000),
        threshold: Bytes(49_000),
    };
    let half = BitsPerSecond(20_000_000_000);
    assert_eq!(line(&row(Some(half))), "7,s0,2,h1,3,20000000000,50000,49000\n");
    assert_eq!(line(&row(None)), "7,s0,2,h1,3,,50000,49000\n");
}

#[test]
fn what_is_not_limited_is_empty() {
    let (time, node, bytes) = (Nanos(1), "s0", Bytes(9));
    let row = LossyQueueRow {
        time,
        node,
        port: 2,
        priority: 3,
        queue: 4,
        bytes,
        threshold: Some(Bytes(10)),
        longest_wait: None,
        congested_thousandths: 0,
    };
    assert_eq!(line(&row), "1,s0,2,3,4,9,10,,0.000\n");
    let (threshold, longest_wait) = (None, Some(Nanos(11)));
    let row = LossyQueueRow { threshold, longest_wait, congested_thousandths: 12_034, ..row };
    assert_eq!(line(&row), "1,s0,2,3,4,9,,11,12.034\n");
}

#[test]
fn utilisation_is_of_the_whole_run() {
    let row = LinkRow {
        wire: "h0->leaf0".into(),
        from: "h0".into(),
        to: "leaf0".into(),
        rate: BitsPerSecond(100_000_000_000),
        frames: 2,
        bytes: 2116,
        wire_bytes: 2164,
        lost: 1,
        damaged: 0,
        end: Picos(1_000_000),
    };
    assert_eq!(line(&row), "h0->leaf0,h0,leaf0,100000000000,2,2116,2164,0.173120,1,0\n");
    let idle = LinkRow { wire_bytes: 0, end: Picos::ZERO, ..row };
    assert!(line(&idle).contains(",0.000000,"));
}

#[test]
fn frames_without_a_priority_have_an_empty_field() {
    let row = LinkPriorityRow {
        wire: "h0->leaf0".into(),
        from: "h0".into(),
        to: "leaf0".into(),
        priority: Some(3),
        rate: BitsPerSecond(100_000_000_000),
        frames: 2,
        bytes: 2116,
        wire_bytes: 2164,
        marked: 1,
        lost: 0,
        damaged: 0,
        dropped: 1,
        end: Picos(1_000_000),
    };
    assert_eq!(line(&row), "h0->leaf0,h0,leaf0,3,2,2116,2164,0.173120,1,0,0,1\n");
    let control = LinkPriorityRow { priority: None, ..row };
    assert!(line(&control).starts_with("h0->leaf0,h0,leaf0,,2,"));
}

#[test]
fn a_pause_says_who_whom_and_why() {
    let row = PauseRow {
        time: Nanos(12_345),
        node: "leaf0",
        port: 4,
        peer: "spine1",
        peer_port: 2,
        priority: 3,
        event: PauseEvent::Refresh,
        level: PauseLevel::Port,
        occupancy: Bytes(200_000),
        threshold: Bytes(190_000),
        shared_free: Bytes(380_000),
        state: Some(PortState::Victim),
    };
    let shown = "12345,leaf0,4,spine1,3,xoff-refresh,200000,190000,380000,port";
    assert_eq!(line(&row), format!("{shown},victim\n"));
    let mut out = Vec::new();
    let columns = PauseRow::columns(false).iter().copied();
    let mut table = CsvTable::new(&mut out, Path::new("pauses.csv"), columns).unwrap();
    table.row(&PauseRow { state: None, ..row }).unwrap();
    table.finish().unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().nth(1), Some(shown));
    let names = |has_states| PauseRow::columns(has_states).iter().map(|column| column.name);
    assert_eq!((names(true).next_back(), names(false).next_back()), (Some("state"), Some("level")));
}
