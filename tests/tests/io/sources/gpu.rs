//! The same on a GPU, which the host polls.

use std::io;
use std::sync::mpsc;
use std::thread;

use thalweg::__private::Detail;
use thalweg::bytemuck;
use thalweg::prelude::*;
use thalweg_kernels::saxpy;
use thalweg_tests::numbers;

use super::adapters::each_adapter;
use thalweg_tests::built_in_mode;
use thalweg_tests::waiting::in_time;

use super::{Particle, Through, samples};

stream_pipeline! {
    pipeline Saxpy {
        param a: f32;
        input x: [f32];
        input y: [f32];
        output z: [f32];
        chunk c = auto;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store { copy dy -> z; }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn on_a_gpu() {
    in_time(|| {
        let device = Device::cuda(0).unwrap();
        for graph in [false, true] {
            let mut pipeline = built_in_mode!(Through<[f32; 3]>, &device, graph, chunk(5));
            for len in [0, 1, 4, 5, 6, 23, 400] {
                each_adapter(&mut pipeline, 1, &samples(len));
            }
            let mut pipeline = built_in_mode!(Through<Particle>, &device, graph, chunk(100));
            each_adapter(&mut pipeline, 3, &samples(3 * 1234));
            let mut pipeline = built_in_mode!(Through<u8>, &device, graph);
            each_adapter(&mut pipeline, 1, &samples((9 << 20) + 7));
        }
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn large_runs_on_a_gpu() {
    in_time(|| {
        let device = Device::cuda(0).unwrap();
        let (x, y) = (numbers(40_000_001), numbers(40_000_001));
        let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| y + 2.0 * x).collect();
        for graph in [false, true] {
            let mut pipeline = built_in_mode!(Saxpy, &device, graph);
            let bytes = bytemuck::cast_slice::<f32, u8>(&x);
            for round in 0..3 {
                let mut z = Vec::new();
                let report = pipeline.run(
                    2.0,
                    source::read(bytes),
                    source::batches(y.chunks(99_999)),
                    sink::extend(&mut z),
                );
                assert!(z == expected, "round {round}, graph: {graph}");
                println!("{}", report.unwrap());
                let mut z = vec![0.0; x.len()];
                pipeline.run(2.0, source::read(bytes), &y, &mut z).unwrap();
                assert!(z == expected, "round {round}, graph: {graph}");
                // A source that fails half-way leaves the results before that.
                let failing = source::from_fn(|c, slot: &mut [f32]| {
                    if c.start > 20_000_000 {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    slot.copy_from_slice(&y[c.start..][..slot.len()]);
                    Ok(slot.len())
                });
                let mut z = Vec::new();
                let error = pipeline.run(2.0, &x, failing, sink::extend(&mut z)).unwrap_err();
                assert!(matches!(error.detail(), Detail::Source { host: "y", .. }), "{error}");
                assert_eq!(z.len(), error.complete()[0].items);
                assert!(z.len() > 20_000_000 && z == expected[..z.len()]);
            }
        }
    });
}

/// An answer comes before the next question.
#[test]
#[ignore = "needs a CUDA device"]
fn answers_on_a_gpu() {
    in_time(|| {
        let device = Device::cuda(0).unwrap();
        for graph in [false, true] {
            let mut pipeline = built_in_mode!(Saxpy, &device, graph, chunk(64));
            let (to, questions) = mpsc::channel::<Vec<f32>>();
            let (answer, answers) = mpsc::channel::<Vec<f32>>();
            let y = vec![1.0; 64 * 200];
            thread::scope(|scope| {
                let user = scope.spawn(move || {
                    for round in 0..200_u8 {
                        to.send(vec![f32::from(round); 64]).unwrap();
                        assert_eq!(answers.recv().unwrap(), vec![1.0 + 2.0 * f32::from(round); 64]);
                    }
                });
                pipeline.run(2.0, source::channel(questions), &y, sink::channel(answer)).unwrap();
                user.join().unwrap();
            });
        }
    });
}
