//! The calls of `saxpy-expanded.rs`, which does by hand what the macro does in `saxpy.rs`.

use std::collections::BTreeMap;

use thalweg::prelude::*;

#[path = "../../../../examples/examples/saxpy-expanded.rs"]
#[allow(dead_code, reason = "its `main` is the example's")]
mod expanded;
use expanded::with_the_macro::Saxpy;

const BY_HAND: &str = "THALWEG_BY_HAND";

/// Two runs, by the pipeline or by hand, of five chunks and a part of one: slots are used again.
fn either(device: &Device) {
    let len = 5 * expanded::CHUNK + 1000;
    let x = PinnedBuf::from_slice(device, &vec![1.0; len]).expect("pinned memory");
    let mut y = PinnedBuf::from_slice(device, &vec![2.0; len]).expect("pinned memory");
    if std::env::var_os(BY_HAND).is_some_and(|by_hand| by_hand == "1") {
        let mut by_hand = expanded::ByHand::new(device).expect("memory");
        for _ in 0..2 {
            by_hand.run(3.0, &x, &mut y).expect("a run");
        }
    } else {
        let mut pipeline = Saxpy::options(device).chunk(expanded::CHUNK).build().expect("the pipeline");
        for _ in 0..2 {
            pipeline.run(3.0, &x, &mut y).expect("a run");
        }
    }
}

/// The calls of two runs: from the first copy to the last wait of the host. Each run has one wait for each
/// stream.
fn calls(record: &str) -> Vec<&str> {
    let mut waits = 0;
    let calls = record.lines().skip_while(|line| !line.starts_with("cuMemcpyHtoDAsync"));
    let calls = calls.take_while(|line| {
        let inside = waits < 2 * 3;
        waits += usize::from(line.starts_with("cuStreamSynchronize"));
        inside
    });
    calls.collect()
}

#[test]
fn the_expanded_example_makes_the_calls_of_the_pipeline() {
    let record = |by_hand| {
        let test = "by_hand::the_expanded_example_makes_the_calls_of_the_pipeline";
        super::recorded(test, &[(BY_HAND, by_hand)], either)
    };
    let Some(pipeline) = record("0") else { return };
    let Some(by_hand) = record("1") else { return };
    assert_eq!(calls(&pipeline), calls(&by_hand));
    let mut kinds = BTreeMap::new();
    for call in calls(&by_hand) {
        *kinds.entry(call.split(' ').next().unwrap_or_default()).or_insert(0) += 1;
    }
    // In each of the two runs of six chunks, the last three wait for the two operations that had their slots
    // before.
    let expected = [
        ("cuEventRecord", 2 * 18),
        ("cuLaunchKernel", 2 * 6),
        ("cuMemcpyDtoHAsync", 2 * 6),
        ("cuMemcpyHtoDAsync", 2 * 12),
        ("cuStreamSynchronize", 2 * 3),
        ("cuStreamWaitEvent", 2 * 18),
    ];
    assert_eq!(kinds, expected.into());
    let streams = |record: &str| -> Vec<String> {
        let created = record.lines().filter(|line| line.starts_with("cuStreamCreate"));
        created.take(3).map(str::to_owned).collect()
    };
    assert_eq!(streams(&pipeline), streams(&by_hand));
}
