//! Graph mode: the same results as without, for every kind of memory, and in every order that the graphs
//! leave open.

use thalweg::__private::Detail;
use thalweg::Options;
use thalweg::prelude::*;
use thalweg_tests::kernels::{REFUSED, axpy_each, refuses};
use thalweg_tests::{CHUNK, graphs, leaves_nothing, numbers, pinned, read, small, written};

/// Runs in the order of time, and in orders that only graphs and events restrain. The device reports any
/// race, and in the end all of its memory is free.
fn on_many_devices(check: impl Fn(&Device)) {
    for seed in 0..6 {
        let spec = if seed == 0 { Simulation::default() } else { Simulation::default().adversarial(seed) };
        let device = small(spec);
        leaves_nothing(&device, || check(&device));
    }
}

#[test]
fn every_operation_at_every_length_and_depth() {
    on_many_devices(graphs::every_operation);
}

#[test]
fn the_kind_of_memory_changes_from_run_to_run() {
    on_many_devices(graphs::either_memory);
}

#[test]
fn what_is_carried_goes_from_graph_to_graph() {
    on_many_devices(graphs::carried);
}

#[test]
fn resident_data_of_any_length() {
    on_many_devices(graphs::resident);
}

#[test]
fn events_by_hand() {
    on_many_devices(graphs::by_hand);
}

#[test]
fn data_that_goes_there_and_back_within_a_chunk() {
    on_many_devices(graphs::there_and_back);
}

#[test]
fn copies_of_bytes_at_any_place() {
    on_many_devices(graphs::bytes);
}

#[test]
fn fills_that_change() {
    on_many_devices(graphs::fills);
}

stream_pipeline! {
    /// A stream for each slot: only the slots order the chunks.
    pipeline PerSlot {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = CHUNK;
        stream s per slot;
        stage all on s {
            copy x -> dx;
            copy y -> dy;
            axpy_each<<<blocks(c.len, 32), 32>>>(c.len as u32, a, &dx, &mut dy);
            copy dy -> y;
        }
    }
}

/// The run has more nodes than one graph.
#[test]
fn a_long_run_is_several_graphs() {
    let device = Device::simulated(Simulation::default());
    let mut pipeline = PerSlot::options(&device).chunk(1).depth(4).graph().build().unwrap();
    let len = 12_000;
    let x = pinned(&device, &numbers(len));
    for round in 0..2 {
        let mut y = pinned(&device, &vec![round as f32; len]);
        pipeline.run(2.0, &x, &mut y).unwrap();
        assert!(y.iter().zip(numbers(len)).all(|(y, x)| *y == round as f32 + 2.0 * x));
    }
}

stream_pipeline! {
    /// One chunk is filled with another value, and one once more.
    pipeline Odd {
        param odd: usize;
        param value: u32;
        param twice: usize;
        output y: [u32];
        device dy: [u32];
        chunk c = CHUNK;
        stage work {
            fill dy = if c.index == odd { value } else { 7 };
            if c.index == twice { fill dy = 9; }
        }
        stage store { copy dy -> y; }
    }
}

/// The recorded commands are those of the run before up to some chunk, or all of them.
#[test]
fn runs_that_differ_in_the_middle() {
    const NONE: usize = 99;
    on_many_devices(|device| {
        let mut pipeline = Odd::options(device).graph().build().unwrap();
        let len = 4 * CHUNK + 3;
        let runs = [
            (NONE, 0, NONE),
            (NONE, 0, NONE),
            (2, 5, NONE),
            (2, 6, NONE),
            (2, 6, 1),
            (2, 6, 1),
            (4, 3, 3),
            (0, 8, 4),
            (NONE, 0, NONE),
        ];
        for staged in [false, true] {
            for (odd, value, twice) in runs {
                let expected: Vec<u32> = (0..len)
                    .map(|index| match index / CHUNK {
                        chunk if chunk == twice => 9,
                        chunk if chunk == odd => value,
                        _ => 7,
                    })
                    .collect();
                let y = if staged {
                    let mut y = vec![0; len];
                    pipeline.run(odd, value, twice, &mut y).unwrap();
                    y
                } else {
                    let mut y = pinned(device, &vec![0; len]);
                    pipeline.run(odd, value, twice, &mut y).unwrap();
                    y.to_vec()
                };
                assert_eq!(y, expected, "{staged} {odd} {value} {twice}");
            }
        }
    });
}

stream_pipeline! {
    /// Fails on request: at the launch if `n` is more than a chunk, on the device at [`REFUSED`].
    pipeline Fragile {
        param n: u32;
        input x: [i32];
        output y: [i32];
        device dy: [i32];
        chunk c = 10;
        depth = 2;
        stage load { copy x -> dx; }
        stage work { refuses<<<1, 32>>>(if c.index == 3 { n } else { c.len as u32 }, &dx, out dy); }
        stage store { copy dy -> y; }
    }
}

#[test]
fn a_launch_that_is_refused_in_the_middle() {
    on_many_devices(|device| {
        let mut pipeline = Fragile::options(device).graph().build().unwrap();
        let x: Vec<i32> = (0..60).collect();
        for is_pinned in [false, true] {
            let (result, mut y) = read!(device, is_pinned, x.clone(), |x| {
                written!(device, is_pinned, vec![-1; 60], |y| pipeline.run(11, x, y))
            });
            let error = result.unwrap_err();
            assert!(matches!(error.detail(), Detail::Requires { .. }), "{error}");
            assert_eq!((error.place().stage, error.place().chunk), (Some("work"), Some(3)));
            let complete = error.complete()[0].items;
            // In graphs of one chunk, the chunks before are complete; a graph of the whole run was not begun.
            assert_eq!(complete, if is_pinned { 0 } else { 30 });
            assert!(y[..complete].iter().zip(&x).all(|(y, x)| *y == x + 1));
            assert!(y[complete..].iter().all(|y| *y == -1));
            pipeline.run(10, &x, &mut y).unwrap();
            assert!(y.iter().zip(&x).all(|(y, x)| *y == x + 1));
        }
    });
}

#[test]
fn a_kernel_that_fails_in_the_middle() {
    on_many_devices(|device| {
        let mut pipeline = Fragile::options(device).graph().build().unwrap();
        let mut x: Vec<i32> = (0..60).collect();
        x[25] = REFUSED;
        for is_pinned in [false, true] {
            let (result, mut y) = read!(device, is_pinned, x.clone(), |x| {
                written!(device, is_pinned, vec![-1; 60], |y| pipeline.run(10, x, y))
            });
            let error = result.unwrap_err();
            assert!(matches!(error.detail(), Detail::HostBody { kernel: "refuses", .. }), "{error}");
            assert_eq!((error.place().stage, error.place().chunk), (Some("work"), Some(2)));
            let complete = error.complete()[0].items;
            assert!(complete <= 20 && y[..complete].iter().zip(&x).all(|(y, x)| *y == x + 1));
            let well: Vec<i32> = (0..60).collect();
            pipeline.run(10, &well, &mut y).unwrap();
            assert!(y.iter().zip(&well).all(|(y, x)| *y == x + 1));
        }
    });
}

/// If the data are page-locked, the second run is one call; otherwise each chunk is one.
#[test]
fn a_replay_costs_the_host_little() {
    let device = Device::simulated(Simulation::default());
    let len = 1000 * CHUNK;
    let x = pinned(&device, &numbers(len));
    let mut y = pinned(&device, &numbers(len));
    let mut graph = PerSlot::options(&device).graph().build().unwrap();
    let mut plain = PerSlot::new(&device).unwrap();
    graph.run(1.0, &x, &mut y).unwrap();
    let [replayed, single] =
        [graph.run(1.0, &x, &mut y), plain.run(1.0, &x, &mut y)].map(|report| report.unwrap());
    // The rest is the device's own time.
    assert!(replayed.time < single.time, "{replayed} against {single}");
    let [replayed, single] = [replayed, single].map(|report| report.enqueuing);
    assert!(20 * replayed < single, "{replayed:?} against {single:?}");
}

stream_pipeline! {
    pipeline Declared {
        inout x: [f32];
        chunk c = CHUNK;
        mode = graph;
        stage all { copy x -> d; copy d -> x; }
    }
}

stream_pipeline! {
    pipeline Undeclared {
        inout x: [f32];
        chunk c = CHUNK;
        stage all { copy x -> d; copy d -> x; }
    }
}

/// The last option overrides the declaration.
#[test]
fn options_choose_graphs_or_streams() {
    let device = Device::simulated(Simulation::default());
    let declared = |choose: fn(Options<Declared>) -> Options<Declared>| {
        let mut pipeline = choose(Declared::options(&device)).build().unwrap();
        pipeline.run(&mut numbers(3 * CHUNK)).unwrap().graph
    };
    let undeclared = |choose: fn(Options<Undeclared>) -> Options<Undeclared>| {
        let mut pipeline = choose(Undeclared::options(&device)).build().unwrap();
        pipeline.run(&mut numbers(3 * CHUNK)).unwrap().graph
    };
    assert_eq!([declared(|o| o), undeclared(|o| o)], [true, false]);
    assert_eq!([declared(|o| o.graph()), undeclared(|o| o.graph())], [true; 2]);
    assert_eq!([declared(|o| o.streams()), undeclared(|o| o.streams())], [false; 2]);
    assert_eq!([declared(|o| o.graph().streams()), undeclared(|o| o.graph().streams())], [false; 2]);
    assert_eq!([declared(|o| o.streams().graph()), undeclared(|o| o.streams().graph())], [true; 2]);
}
