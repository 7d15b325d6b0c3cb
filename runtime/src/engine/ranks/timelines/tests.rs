//! What rank 0 reads of another rank's timeline, and what it does not.

use std::time::Duration;

use super::encoding::{read, write};
use crate::base::model::DeviceModel;
use crate::base::plan::{OperationKind, OperationPlan, Plan, Priority, StreamPlan};
use crate::base::report::Report;
use crate::observe::timeline::{Basis, Engine, Row, Span, Timeline};

const LOAD: OperationPlan = OperationPlan {
    stage: 0,
    stream: 0,
    text: "copy x -> dx",
    kind: OperationKind::Upload { host: 0, buffer: 0 },
    conditional: false,
    repeat: None,
    accesses: &[],
    line: 1,
    column: 1,
};

const PLAN: Plan = Plan {
    pipeline: "Train",
    file: "src/main.rs",
    line: 1,
    column: 1,
    streams: &[StreamPlan {
        name: "up",
        priority: Priority::Default,
        per_slot: false,
        null: false,
        placed: false,
    }],
    stages: &["load"],
    hosts: &[],
    buffers: &[],
    operations: &[LOAD, LOAD],
    events: &[],
    waits: &[],
};

fn timeline() -> Timeline {
    let row = |slot, device| Row { name: "up 3".to_owned(), stream: 0, slot, device, rank: None };
    let span = |operation, row, engine| Span {
        operation,
        chunk: 1 << 40,
        row,
        engine,
        bytes: 7,
        blocks: 8,
        staged: operation == 0,
        enqueued: Duration::from_nanos(9),
        start: Duration::from_nanos(10),
        end: Duration::from_nanos(u64::MAX),
        estimated: operation == 1,
    };
    Timeline {
        plan: &PLAN,
        report: Report {
            pipeline: "Train",
            device: "a GPU".to_owned(),
            items: 1000,
            chunks: 10,
            chunk: 100,
            depth: 3,
            bytes_staged: 5,
            time: Duration::from_millis(2),
            simulated: true,
            ..Report::of_nothing()
        },
        predicted: false,
        spec: DeviceModel::h200(),
        machine: None,
        rows: vec![row(None, None), row(Some(3), Some(1))],
        spans: vec![span(0, 0, Engine::ToDevice), span(1, 1, Engine::Network)],
        basis: Basis { streamed: vec![true, false], auto_depth: true, ..Basis::default() },
    }
}

#[test]
fn a_timeline_that_is_written_is_read() {
    let timeline = timeline();
    assert_eq!(read(&write(&timeline), &timeline), Some(timeline));
}

#[test]
fn nothing_else_is_read() {
    let own = timeline();
    let bytes = write(&own);
    for end in 0..bytes.len() {
        assert_eq!(read(&bytes[..end], &own), None, "{end} bytes");
    }
    assert_eq!(read(&[bytes.as_slice(), &[0]].concat(), &own), None, "a byte more");
    let broken = |change: fn(&mut Timeline)| {
        let mut timeline = timeline();
        change(&mut timeline);
        read(&write(&timeline), &own)
    };
    assert_eq!(broken(|timeline| timeline.spans[1].operation = 2), None);
    assert_eq!(broken(|timeline| timeline.spans[1].row = 2), None);
    assert_eq!(broken(|timeline| timeline.rows[1].stream = 1), None);
    let empty = broken(|timeline| timeline.report.chunk = 0).expect("it is read");
    assert_eq!(empty.report.chunk, 1, "no chunk has no items");
}

/// Whatever the bytes are, they are read or not, and what is read can be drawn.
#[test]
fn bytes_of_any_kind_do_no_harm() {
    let own = timeline();
    let bytes = write(&own);
    let mut drawn = 0;
    for at in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            let Some(read) = read(&bytes, &own) else { continue };
            let whole = Timeline::of_ranks(vec![own.clone(), read]).expect("there are two");
            let rank = whole.of_rank(1).expect("it is one of them");
            drawn += whole.svg().len() + whole.to_string().len() + whole.trace().len();
            drawn += whole.findings().len() + rank.findings().len() + rank.report.to_string().len();
        }
    }
    assert!(drawn > 0);
}

/// A count of more than there is reserves no memory.
#[test]
fn a_long_list_of_nothing_is_refused() {
    let own = Timeline { rows: Vec::new(), spans: Vec::new(), ..timeline() };
    let mut bytes = write(&own);
    let end = bytes.len();
    for count in [end - 8, end - 16] {
        bytes[count..count + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(read(&bytes, &own), None);
    }
}
