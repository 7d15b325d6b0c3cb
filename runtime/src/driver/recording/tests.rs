//! Recordings.

use super::*;

const TAG: Tag = Tag { pipeline: 0, operation: 0, chunk: 0 };

fn copy(bytes: usize) -> Work {
    Work::CopyToDevice { to: DevicePtr(256), from: 64, bytes }
}

/// Hands `body` a launch with these parameters, which may touch so many bytes.
fn launched<R>(number: u32, pair: (u64, u64), bytes: usize, body: impl FnOnce(&New<'_>) -> R) -> R {
    let function = RawFunction::plain(7, 1, 0);
    let pair = [pair.0, pair.1];
    let mut params = [(&raw const number).cast_mut().cast(), (&raw const pair).cast_mut().cast()];
    body(&New::Launch(&RawLaunch {
        function,
        grid: [1; 3],
        block: [1; 3],
        shared: 0,
        params: &mut params,
        sizes: &[4, 16],
        accesses: &[Access { ptr: DevicePtr(0), bytes, write: true, anew: false }],
        host: &|| Box::new(|| {}),
    }))
}

fn launch(recording: &mut Recording, number: u32, pair: (u64, u64)) -> Work {
    // SAFETY: the parameters are alive and of their sizes.
    launched(number, pair, 0, |new| unsafe { recording.work(new) })
}

/// A copy, a fill and a launch that comes after both.
fn recorded(bytes: usize, pattern: &[u8], number: u32, pair: (u64, u64)) -> Recording {
    let mut recording = Recording::default();
    let a = recording.push(TAG, &[], copy(bytes));
    let fill = recording.fill(DevicePtr(512), pattern, 3);
    let b = recording.push(TAG, &[], fill);
    let launch = launch(&mut recording, number, pair);
    recording.push(TAG, &[a, b], launch);
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
    let a = chained.push(TAG, &[], copy(10));
    let fill = chained.fill(DevicePtr(512), &[1, 2], 3);
    let b = chained.push(TAG, &[a], fill);
    assert_eq!(first.changes(&chained), None);
    let launch = launch(&mut chained, 3, (4, 5));
    chained.push(TAG, &[b], launch);
    assert_eq!(first.changes(&chained), None);
}

#[test]
fn what_is_the_same_is_known_from_an_operation() {
    let recording = recorded(10, &[1, 2], 3, (4, 5));
    // SAFETY: these are no launches.
    let has = |index, tag, after: &[u32], new: New<'_>| unsafe { recording.has(index, tag, after, &new) };
    assert!(has(0, TAG, &[], New::Work(copy(10))));
    assert!(!has(0, Tag { chunk: 1, ..TAG }, &[], New::Work(copy(10))));
    assert!(!has(0, TAG, &[0], New::Work(copy(10))));
    assert!(!has(0, TAG, &[], New::Work(copy(11))));
    assert!(!has(1, TAG, &[], New::Work(copy(10))) && !has(3, TAG, &[], New::Work(copy(10))));
    let fill = |to, pattern, count| New::Fill { to: DevicePtr(to), pattern, count };
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
    nothing.push(TAG, &[], Work::Nothing);
    // SAFETY: this is no launch.
    assert!(unsafe { nothing.has(0, TAG, &[], &fill(512, &[1, 2], 0)) });
}

#[test]
fn parameters_of_a_word_each_are_compared() {
    let (number, pair, address) = (3_u32, [4_u8; 2], 5_u64);
    let mut recording = Recording::default();
    let mut launch = |number: u32, pair: [u8; 2], address: u64, sizes: &[usize], add: bool| {
        let mut params = [
            (&raw const number).cast_mut().cast(),
            (&raw const pair).cast_mut().cast(),
            (&raw const address).cast_mut().cast(),
        ];
        let new = New::Launch(&RawLaunch {
            function: RawFunction::plain(7, 1, 0),
            grid: [1; 3],
            block: [1; 3],
            shared: 0,
            params: &mut params,
            sizes,
            accesses: &[],
            host: &|| Box::new(|| {}),
        });
        // SAFETY: the parameters are alive and of at least these sizes.
        unsafe {
            if add {
                let work = recording.work(&new);
                recording.push(TAG, &[], work);
            }
            recording.has(0, TAG, &[], &new)
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
        let fill = whole.fill(DevicePtr(64), &[7], 1);
        whole.push(TAG, &[2], fill);
        let launch = launch(&mut whole, 6, (7, 8));
        whole.push(TAG, &[2, 3], launch);
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
            let work = match index {
                0 => copy(10),
                1 => recording.fill(DevicePtr(512), &[1, 2], 3),
                2 => launch(&mut recording, 3, (4, 5)),
                3 => recording.fill(DevicePtr(64), &[7], 1),
                _ => launch(&mut recording, 6, (7, 8)),
            };
            recording.push(TAG, other.after(node), work);
        }
        assert_eq!(recording.changes(&other), Some(Vec::new()));
        assert_eq!(lengths(&recording), lengths(&other));
    }
}

#[test]
fn parameters_are_copied() {
    let recording = recorded(10, &[1, 2], 3, (4, 5));
    let node = recording.nodes()[2];
    assert_eq!(recording.after(&node), [0, 1]);
    let Work::Launch { kernel } = node.work else { panic!("{node:?}") };
    let pointers = recording.param_pointers(recording.kernel(kernel));
    // SAFETY: they point to values of these types.
    let values = unsafe { (*pointers[0].cast::<u32>(), *pointers[1].cast::<[u64; 2]>()) };
    assert_eq!(values, (3, [4, 5]));
}
