//! The calls of runs in graph mode that are like the one before, or not.

use std::sync::atomic::{AtomicU32, Ordering};

use thalweg::prelude::*;

fn recorded(test: &str, variables: &[(&str, &str)], body: fn(&Device)) -> Option<String> {
    super::recorded(&format!("repeated::{test}"), variables, body)
}

/// Returns another value each time.
fn next() -> f32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed) as f32
}

stream_pipeline! {
    pipeline Counting {
        output floats: [f32];
        chunk c = 100;
        mode = graph;
        stage all { fill d_floats = next(); copy d_floats -> floats; }
        device d_floats: [f32];
    }
}

stream_pipeline! {
    pipeline Odd {
        param value: f32;
        output floats: [f32];
        chunk c = 100;
        mode = graph;
        stage all {
            fill d_floats = value;
            if c.len.is_multiple_of(2) || value > 2.0 { copy d_floats -> floats; }
        }
        device d_floats: [f32];
    }
}

#[test]
fn what_a_function_says_is_asked_in_every_run() {
    let record = recorded("what_a_function_says_is_asked_in_every_run", &[], |device| {
        let mut counting = Counting::new(device).expect("the pipeline");
        let mut floats = PinnedBuf::zeroed(device, 50).expect("pinned memory");
        for expected in 1..4 {
            counting.run(&mut floats).expect("a run");
            assert!(floats.iter().all(|value| *value == expected as f32), "{expected}: {floats:?}");
        }
    });
    let Some(record) = record else { return };
    assert_eq!(record.lines().filter(|line| line.starts_with("cuGraphExecMemsetNodeSetParams")).count(), 2);
}

/// Each difference from the run before, in any order.
#[test]
fn a_run_that_is_not_like_the_one_before_does_what_it_is_to_do() {
    recorded("a_run_that_is_not_like_the_one_before_does_what_it_is_to_do", &[], |device| {
        let mut odd = Odd::new(device).expect("the pipeline");
        let mut all = PinnedBuf::<f32>::zeroed(device, 400).expect("pinned memory");
        let mut numbers = 1_u32;
        let mut below = |n: u32| {
            numbers = numbers.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (numbers >> 16) % n
        };
        for round in 0..300 {
            let value = [1.0, 3.0, 0.0, -0.0][below(4) as usize];
            let (start, len) =
                ([0, 0, 150][below(3) as usize], [100, 100, 101, 99, 200, 0][below(6) as usize]);
            all.fill(7.0);
            let part = all.slice_mut(start..start + len).expect("within");
            odd.run(value, part).expect("a run");
            for (index, got) in all.iter().enumerate() {
                let chunk =
                    index.checked_sub(start).filter(|at| *at < len).map(|at| (len - at / 100 * 100).min(100));
                let written = chunk.is_some_and(|chunk| chunk % 2 == 0 || value > 2.0);
                let expected: f32 = if written { value } else { 7.0 };
                assert_eq!(
                    got.to_bits(),
                    expected.to_bits(),
                    "round {round}: {value} to {start}, {len}: element {index}"
                );
            }
        }
    });
}

#[test]
fn a_repeated_graph_that_cannot_be_launched_is_not_used_again() {
    let refused = [("THALWEG_FAIL", "cuGraphLaunch:700:3")];
    let record = recorded("a_repeated_graph_that_cannot_be_launched_is_not_used_again", &refused, |device| {
        let mut odd = Odd::new(device).expect("the pipeline");
        let mut floats = PinnedBuf::<f32>::zeroed(device, 100).expect("pinned memory");
        for _ in 0..2 {
            odd.run(3.0, &mut floats).expect("a run");
        }
        floats.fill(0.0);
        let error = odd.run(3.0, &mut floats).expect_err("the launch failed");
        assert!(error.to_string().contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{error}");
        assert_eq!(error.place().pipeline, Some("Odd"));
        odd.run(3.0, &mut floats).expect("a run");
        assert!(floats.iter().all(|value| *value == 3.0));
    });
    let Some(record) = record else { return };
    let calls = record
        .lines()
        .filter(|line| line.starts_with("cuGraphLaunch") || line.starts_with("cuGraphExecDestroy"));
    assert_eq!(
        calls.collect::<Vec<_>>(),
        [
            "cuGraphLaunch x1 s2",
            "cuGraphLaunch x1 s2",
            "cuGraphLaunch x1 s2 -> 700",
            "cuGraphExecDestroy x1",
            "cuGraphLaunch x2 s2",
            "cuGraphExecDestroy x2",
        ]
    );
}
