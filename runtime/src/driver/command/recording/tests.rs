//! Tests of recordings.

use super::*;
use crate::driver::{RawEvent, RawGraph, Rows, RowsBetween};

const TAG: Tag = Tag { pipeline: 0, operation: 0, chunk: 0 };

fn copy(bytes: usize) -> Command<'static> {
    Command::CopyToDevice { to: DevicePtr(256), from: ptr::without_provenance(64), bytes }
}

fn fill(to: u64, pattern: &[u8], count: usize) -> Command<'_> {
    Command::Fill { to: DevicePtr(to), pattern, count }
}

/// Adds a command that is no launch.
fn push(recording: &mut Recording, after: &[u32], command: &Command<'_>) -> u32 {
    // SAFETY: there are no parameters.
    unsafe { recording.push(TAG, after, command) }.unwrap()
}

/// Calls `body` with a launch of these parameters, which accesses `bytes` bytes.
fn launched<R>(number: u32, pair: (u64, u64), bytes: usize, body: impl FnOnce(&Command<'_>) -> R) -> R {
    let function = RawFunction::plain(7, 1, 0);
    let pair = [pair.0, pair.1];
    let params = [(&raw const number).cast_mut().cast(), (&raw const pair).cast_mut().cast()];
    body(&Command::Launch(&RawLaunch {
        function,
        grid: [1; 3],
        block: [1; 3],
        shared: 0,
        params: &params,
        sizes: &[4, 16],
        accesses: &[Access { ptr: DevicePtr(0), bytes, write: true, anew: false }],
        bodies: HostBodies::OfGraph,
    }))
}

fn launch(recording: &mut Recording, after: &[u32], number: u32, pair: (u64, u64)) -> u32 {
    // SAFETY: the parameters are alive and of their sizes.
    launched(number, pair, 0, |launch| unsafe { recording.push(TAG, after, launch) }).unwrap()
}

/// A copy, a fill and a launch that comes after both.
fn recorded(bytes: usize, pattern: &[u8], number: u32, pair: (u64, u64)) -> Recording {
    let mut recording = Recording::default();
    let a = push(&mut recording, &[], &copy(bytes));
    let b = push(&mut recording, &[], &fill(512, pattern, 3));
    launch(&mut recording, &[a, b], number, pair);
    recording
}

fn changes(new: &Recording, old: &Recording) -> Vec<u32> {
    new.changes(old).expect("the same topology")
}

#[test]
fn memory_that_copies_and_fills_use() {
    let recording = recorded(10, &[1, 2], 3, (4, 5));
    for (range, uses) in
        [(0..64, false), (64..65, true), (200..257, true), (300..512, false), (512..513, true)]
    {
        assert_eq!(recording.uses_any(std::slice::from_ref(&range)), uses, "{range:?}");
    }
    assert!(!recording.uses_any(&[]));
}

#[test]
fn a_fill_of_several_words_is_not_changed() {
    let first = recorded(10, &[1, 2], 3, (4, 5));
    let can = |first: &Recording, second: Recording| second.can_replace(first, &changes(&second, first));
    assert!(can(&first, recorded(11, &[1, 3], 4, (5, 4))));
    assert!(!can(&first, recorded(10, &[1, 2, 3], 3, (4, 5))));
    assert!(!can(&recorded(10, &[1; 6], 3, (4, 5)), recorded(10, &[2; 6], 3, (4, 5))));
}

#[test]
fn what_differs_is_found() {
    let first = recorded(10, &[1, 2], 3, (4, 5));
    let differing = |second: Recording| {
        assert_eq!(first.changes(&second), second.changes(&first));
        changes(&second, &first)
    };
    assert_eq!(differing(recorded(10, &[1, 2], 3, (4, 5))), []);
    assert_eq!(differing(recorded(11, &[1, 2], 3, (4, 5))), [0]);
    assert_eq!(differing(recorded(10, &[1, 2, 3, 4], 3, (4, 5))), [1]);
    assert_eq!(differing(recorded(10, &[1, 2], 4, (4, 5))), [2]);
    assert_eq!(differing(recorded(10, &[1, 2], 3, (4, 6))), [2]);
    assert_eq!(differing(recorded(9, &[3], 4, (0, 0))), [0, 1, 2]);
}

#[test]
fn another_order_or_kind_is_another_topology() {
    let first = recorded(10, &[1, 2], 3, (4, 5));
    // A fill of nothing has nothing to do.
    assert_eq!(first.changes(&recorded(10, &[], 3, (4, 5))), None);
    let mut chained = Recording::default();
    let a = push(&mut chained, &[], &copy(10));
    let b = push(&mut chained, &[a], &fill(512, &[1, 2], 3));
    assert_eq!(first.changes(&chained), None);
    launch(&mut chained, &[b], 3, (4, 5));
    assert_eq!(first.changes(&chained), None);
}

#[test]
fn what_is_the_same_is_known_from_a_command() {
    let recording = recorded(10, &[1, 2], 3, (4, 5));
    // SAFETY: these are no launches.
    let has = |index, tag, after: &[u32], new: Command<'_>| unsafe { recording.has(index, tag, after, &new) };
    assert!(has(0, TAG, &[], copy(10)));
    assert!(!has(0, Tag { chunk: 1, ..TAG }, &[], copy(10)));
    assert!(!has(0, TAG, &[0], copy(10)));
    assert!(!has(0, TAG, &[], copy(11)));
    assert!(!has(1, TAG, &[], copy(10)) && !has(3, TAG, &[], copy(10)));
    assert!(has(1, TAG, &[], fill(512, &[1, 2], 3)));
    for other in [fill(511, &[1, 2], 3), fill(512, &[1, 3], 3), fill(512, &[1, 2], 4), fill(512, &[], 3)] {
        assert!(!has(1, TAG, &[], other));
    }
    let has_launch = |number, pair, bytes, after: &[u32]| {
        // SAFETY: the parameters are alive and of their sizes.
        launched(number, pair, bytes, |new| unsafe { recording.has(2, TAG, after, new) })
    };
    assert!(has_launch(3, (4, 5), 0, &[0, 1]));
    assert!(!has_launch(3, (4, 5), 0, &[0]) && !has_launch(3, (4, 5), 0, &[1, 0]));
    assert!(!has_launch(2, (4, 5), 0, &[0, 1]) && !has_launch(3, (4, 6), 0, &[0, 1]));
    assert!(!has_launch(3, (4, 5), 1, &[0, 1]));
    // A fill of nothing has nothing to do.
    let mut nothing = Recording::default();
    push(&mut nothing, &[], &copy(0));
    // SAFETY: this is no launch.
    assert!(unsafe { nothing.has(0, TAG, &[], &fill(512, &[1, 2], 0)) });
    assert!(nothing.is_nothing() && !recording.is_nothing());
}

#[test]
fn parameters_of_a_word_each_are_compared() {
    let (number, pair, address) = (3_u32, [4_u8; 2], 5_u64);
    let mut recording = Recording::default();
    let mut launch = |number: u32, pair: [u8; 2], address: u64, sizes: &[usize], add: bool| {
        let params = [
            (&raw const number).cast_mut().cast(),
            (&raw const pair).cast_mut().cast(),
            (&raw const address).cast_mut().cast(),
        ];
        let launch = RawLaunch {
            function: RawFunction::plain(7, 1, 0),
            grid: [1; 3],
            block: [1; 3],
            shared: 0,
            params: &params,
            sizes,
            accesses: &[],
            bodies: HostBodies::OfGraph,
        };
        let launch = Command::Launch(&launch);
        // SAFETY: the parameters are alive and of at least these sizes.
        unsafe {
            if add {
                recording.push(TAG, &[], &launch).unwrap();
            }
            recording.has(0, TAG, &[], &launch)
        }
    };
    let sizes = [4, 2, 8];
    assert!(launch(number, pair, address, &sizes, true));
    assert!(launch(number, pair, address, &sizes, false));
    assert!(!launch(2, pair, address, &sizes, false));
    assert!(!launch(number, [4, 5], address, &sizes, false));
    assert!(!launch(number, pair, 6, &sizes, false));
    assert!(!launch(number, pair, address, &[4, 2, 4], false));
}

#[test]
fn a_recording_begins_as_another_one() {
    let whole = || {
        let mut whole = recorded(10, &[1, 2], 3, (4, 5));
        push(&mut whole, &[2], &fill(64, &[7], 1));
        launch(&mut whole, &[2, 3], 6, (7, 8));
        whole
    };
    let other = whole();
    let lengths = |recording: &Recording| {
        let Recording { nodes, after, kernels, patterns, sizes, words, accesses } = recording;
        let parameters = (sizes.len(), words.len(), accesses.len());
        (nodes.len(), after.len(), kernels.len(), patterns.len(), parameters)
    };
    let expected = [
        (0, 0, 0, 0, (0, 0, 0)),
        (1, 0, 0, 0, (0, 0, 0)),
        (2, 0, 0, 2, (0, 0, 0)),
        (3, 2, 1, 2, (2, 2, 1)),
        (4, 3, 1, 3, (2, 2, 1)),
        (5, 5, 2, 3, (4, 4, 2)),
    ];
    for (len, expected) in expected.into_iter().enumerate() {
        let mut recording = recorded(1, &[9; 4], 1, (1, 1));
        recording.begin_as(&other, len);
        assert_eq!(lengths(&recording), expected);
        for (index, node) in other.nodes.iter().enumerate().skip(len) {
            let after = other.after(node);
            match index {
                0 => push(&mut recording, after, &copy(10)),
                1 => push(&mut recording, after, &fill(512, &[1, 2], 3)),
                2 => launch(&mut recording, after, 3, (4, 5)),
                3 => push(&mut recording, after, &fill(64, &[7], 1)),
                _ => launch(&mut recording, after, 6, (7, 8)),
            };
        }
        assert_eq!(recording.changes(&other), Some(Vec::new()));
        assert_eq!(lengths(&recording), lengths(&other));
    }
}

/// The commands that come back are those that were recorded, with parameters of their own.
#[test]
fn commands_are_given_back() {
    let mut recording = recorded(10, &[1, 2], 3, (4, 5));
    push(&mut recording, &[2], &copy(0));
    let node = recording.nodes()[2];
    assert_eq!(recording.after(&node), [0, 1]);
    let mut params = Vec::new();
    let mut given = |index: usize| {
        recording.command(&recording.nodes()[index], &mut params, |command| match command {
            Some(Command::CopyToDevice { to, from, bytes }) => format!("{} {} {bytes}", to.0, from.addr()),
            Some(Command::Fill { to, pattern, count }) => format!("{} {pattern:?} {count}", to.0),
            Some(Command::Launch(launch)) => {
                assert_eq!((launch.sizes, launch.accesses.len()), (&[4, 16][..], 1));
                // SAFETY: they point to values of these types.
                let values =
                    unsafe { (*launch.params[0].cast::<u32>(), *launch.params[1].cast::<[u64; 2]>()) };
                format!("{values:?}")
            }
            Some(other) => panic!("{} was not recorded", other.call()),
            None => "nothing".to_owned(),
        })
    };
    assert_eq!([0, 1, 2, 3].map(&mut given), ["256 64 10", "512 [1, 2] 3", "(3, [4, 5])", "nothing"]);
}

/// The list of commands that no graph can contain. They leave a recording as it was.
#[test]
fn what_no_graph_can_have_is_refused() {
    let mut recording = recorded(10, &[1, 2], 3, (4, 5));
    let rows = RowsBetween::OnDevice { to: DevicePtr(0), from: DevicePtr(256) };
    let nodes = Recording::default();
    for command in [
        Command::CopyRows(Rows { between: rows, width: 1, height: 1, from_pitch: 1, to_pitch: 1 }),
        Command::Host { job: Box::new(|| {}), accesses: &[] },
        Command::Signal(Box::new(|| {})),
        Command::Record(RawEvent(1)),
        Command::Wait(RawEvent(1)),
        Command::Graph { graph: &RawGraph::default(), nodes: &nodes, bodies: Vec::new() },
    ] {
        // SAFETY: it is no launch.
        let refused = unsafe { recording.push(TAG, &[], &command) };
        assert!(refused.is_err(), "{}", command.call());
        // SAFETY: as above.
        assert!(!unsafe { recording.has(0, TAG, &[], &command) }, "{}", command.call());
    }
    assert_eq!(recording.changes(&recorded(10, &[1, 2], 3, (4, 5))), Some(Vec::new()));
}
