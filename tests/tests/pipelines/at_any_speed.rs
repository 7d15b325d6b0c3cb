//! Virtual time does not depend on how long sources and sinks really take.

use std::thread::sleep;
use std::time::Duration;

use thalweg::Report;
use thalweg::io::{sink, source};
use thalweg::plan::Chunk;
use thalweg::prelude::*;
use thalweg::sim::MachineModel;
use thalweg_tests::kernels::add_to;
use thalweg_tests::numbers;

stream_pipeline! {
    /// `z = x + 1`.
    pipeline Plus {
        input x: [f32];
        output z: [f32];
        chunk c = 1000;
        stage up { copy x -> dx; }
        stage math { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, 1.0, &mut dx); }
        stage down { copy dx -> z; }
    }
}

const CHUNKS: usize = 12;

/// What is really slow.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Slow {
    Nothing,
    Source,
    Sink,
    Both,
}

/// A run whose source or sink takes a few milliseconds for some chunks.
fn report(devices: usize, depth: usize, graph: bool, slow: Slow) -> Report {
    let devices = Device::simulated_machine(MachineModel::h200(devices));
    let options = Plus::options(&devices).depth(depth);
    let mut plus = if graph { options.graph() } else { options }.build().expect("a pipeline");
    let take_time = |is_slow: bool, chunk: usize| {
        if is_slow && chunk % 4 != 1 {
            sleep(Duration::from_millis(1 + chunk as u64 % 3));
        }
    };
    let data = numbers(CHUNKS * 1000);
    let from = source::from_fn(|c: Chunk, part: &mut [f32]| {
        take_time(matches!(slow, Slow::Source | Slow::Both), c.index);
        let items = data.len().saturating_sub(c.start).min(part.len());
        part[..items].copy_from_slice(&data[c.start..][..items]);
        Ok(items)
    });
    let mut z = Vec::new();
    let to = sink::for_each(|c: Chunk, part: &[f32]| {
        take_time(matches!(slow, Slow::Sink | Slow::Both), c.index);
        z.extend_from_slice(part);
        Ok(())
    });
    let report = plus.run(from, to).expect("a run");
    assert!(z.len() == data.len() && z.iter().zip(&data).all(|(z, x)| *z == x + 1.0));
    report
}

/// What most of five runs report. A thread that has to share its core with other programs may be late by more than the
/// 20 ms after which a simulated device goes on.
fn usual(devices: usize, depth: usize, graph: bool, slow: Slow) -> Report {
    let reports: Vec<_> = (0..5).map(|_| report(devices, depth, graph, slow)).collect();
    let is_usual = |of_run: &&Report| reports.iter().filter(|other| other == of_run).count() >= 3;
    let usual = reports.iter().find(is_usual);
    let differ = || panic!("{devices} devices, depth {depth}, graph: {graph}, {slow:?}: {reports:#?}");
    usual.cloned().unwrap_or_else(differ)
}

#[test]
fn sources_and_sinks_that_take_real_time_do_not_change_virtual_time() {
    for devices in 1..=3 {
        for (depth, graph) in [(1, false), (2, false), (3, false), (2, true)] {
            let expected = usual(devices, depth, graph, Slow::Nothing);
            for slow in [Slow::Source, Slow::Sink, Slow::Both] {
                let of_run = usual(devices, depth, graph, slow);
                assert_eq!(of_run, expected, "{devices} devices, depth {depth}, graph: {graph}, {slow:?}");
            }
        }
    }
}
