//! Graph mode on a GPU, compared with plain mode.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;
use thalweg_tests::{graphs, numbers, pinned};

fn gpu() -> Device {
    Device::cuda(0).expect("a GPU")
}

#[test]
#[ignore = "needs a CUDA device"]
fn every_operation_at_every_length_and_depth() {
    graphs::every_operation(&gpu());
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_kind_of_memory_changes_from_run_to_run() {
    graphs::either_memory(&gpu());
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_is_carried_goes_from_graph_to_graph() {
    graphs::carried(&gpu());
}

#[test]
#[ignore = "needs a CUDA device"]
fn resident_data_of_any_length() {
    graphs::resident(&gpu());
}

#[test]
#[ignore = "needs a CUDA device"]
fn events_by_hand() {
    graphs::by_hand(&gpu());
}

#[test]
#[ignore = "needs a CUDA device"]
fn data_that_goes_there_and_back_within_a_chunk() {
    graphs::there_and_back(&gpu());
}

#[test]
#[ignore = "needs a CUDA device"]
fn copies_of_bytes_at_any_place() {
    graphs::bytes(&gpu());
}

#[test]
#[ignore = "needs a CUDA device"]
fn fills_that_change() {
    graphs::fills(&gpu());
}

stream_pipeline! {
    pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = 1000;
        stream up: high;
        stream math;
        stream down: low;
        stage load on up { copy x -> dx; copy y -> dy; }
        stage axpy on math { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store on down { copy dy -> y; }
    }
}

/// A run has more nodes than one graph, and is repeated with other parameters and other memory.
#[test]
#[ignore = "needs a CUDA device"]
fn a_long_run_is_several_graphs() {
    let device = gpu();
    let mut pipeline = Saxpy::options(&device).chunk(64).graph().build().unwrap();
    let len = 64 * 12_000 + 5;
    let data = numbers(len);
    let inputs = [pinned(&device, &data), pinned(&device, &data)];
    for (round, a) in [2.0, 2.0, 3.0, 3.0].into_iter().enumerate() {
        let mut y = pinned(&device, &vec![round as f32; len]);
        pipeline.run(a, &inputs[round / 3], &mut y).unwrap();
        assert!(y.iter().zip(&data).all(|(y, x)| *y == round as f32 + a * x), "round {round}");
    }
}

/// Chunks of several megabytes, staged and not staged, whose copies really overlap.
#[test]
#[ignore = "needs a CUDA device"]
fn large_chunks() {
    let device = gpu();
    let len = (64 << 20) + 3;
    let mut pipeline = Saxpy::options(&device).chunk(1 << 20).graph().build().unwrap();
    let data = numbers(len);
    let x = pinned(&device, &data);
    for round in 0..3 {
        let mut y = vec![1.0; len];
        pipeline.run(round as f32, &data, &mut y).unwrap();
        assert!(y.iter().zip(&data).all(|(y, x)| *y == 1.0 + round as f32 * x), "round {round}");
        let mut y = pinned(&device, &vec![1.0; len]);
        pipeline.run(round as f32, &x, &mut y).unwrap();
        assert!(y.iter().zip(&data).all(|(y, x)| *y == 1.0 + round as f32 * x), "round {round}");
    }
}
