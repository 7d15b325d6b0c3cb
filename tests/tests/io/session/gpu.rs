//! The same on a GPU, which the host polls.

use std::thread;

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::session::{self, Session};
use thalweg_kernels::saxpy;
use thalweg_tests::built_in_mode;
use thalweg_tests::numbers;
use thalweg_tests::random::Random;
use thalweg_tests::waiting::in_time;

use super::{Through, rest};

stream_pipeline! {
    /// `z <- y + a*x`.
    pipeline Saxpy {
        param a: f32;
        input x: [f32];
        input y: [f32];
        output z: [f32];
        chunk c = 1000;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store { copy dy -> z; }
    }
}

/// Frames of any length, one at a time and many at once.
#[test]
#[ignore = "needs a CUDA device"]
fn frames_on_a_gpu() {
    in_time(|| {
        let device = Device::cuda(0).unwrap();
        let mut random = Random::new(3);
        for (graph, depth) in [(false, 1), (false, 3), (true, 1), (true, 3)] {
            let mut pipeline = built_in_mode!(Through<u32>, &device, graph, chunk(4096), depth(depth));
            let mut session = Session::start(move |x, z| pipeline.run(1, x, z)).unwrap();
            let (mut sent, mut seen) = (0, 0);
            for _ in 0..300 {
                let frame: Vec<u32> = (sent..sent + random.below(9000) as u32).collect();
                session.push(&frame).unwrap();
                sent += frame.len() as u32;
                if random.below(3) == 0 {
                    session.flush().unwrap();
                }
                let mut some = vec![0; random.below(u64::from(sent - seen) + 1) as usize];
                assert_eq!(session.pull(&mut some).unwrap(), some.len());
                assert!(some.iter().copied().eq(seen..seen + some.len() as u32));
                seen += some.len() as u32;
            }
            let mut some = vec![0; (sent - seen) as usize + 1];
            assert_eq!(session.pull(&mut some).unwrap(), (sent - seen) as usize);
            assert_eq!(session.close().unwrap().items, sent as usize);
        }
    });
}

/// Three threads and a run.
#[test]
#[ignore = "needs a CUDA device"]
fn two_inputs_on_a_gpu() {
    in_time(|| {
        let device = Device::cuda(0).unwrap();
        let (x, y) = (numbers(1_234_567), numbers(2_345_678).split_off(1_111_111));
        let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| y + 2.0 * x).collect();
        for graph in [false, true] {
            let mut pipeline = built_in_mode!(Saxpy, &device, graph);
            let ((mut left, x_end), (mut right, y_end)) = (session::input(), session::input());
            let (z, mut results) = session::output();
            let job = thalweg::job::spawn(move || pipeline.run(2.0, x_end, y_end, z)).unwrap();
            let (x, y) = (&x, &y);
            let z = thread::scope(|scope| {
                scope.spawn(move || x.chunks(777).for_each(|some| left.push(some).unwrap()));
                scope.spawn(move || y.chunks(5432).for_each(|some| right.push(some).unwrap()));
                rest(&mut results, 10_000).unwrap()
            });
            assert_eq!(z, expected);
            assert_eq!(job.wait().unwrap().items, x.len());
        }
    });
}

/// Ends that go away while the device is at work.
#[test]
#[ignore = "needs a CUDA device"]
fn ends_that_go_on_a_gpu() {
    in_time(|| {
        let device = Device::cuda(0).unwrap();
        for (graph, case) in [false, true].into_iter().flat_map(|graph| (0..4).map(move |case| (graph, case)))
        {
            let mut pipeline = built_in_mode!(Through<u32>, &device, graph, chunk(1 << 16));
            let (mut data, mut results, job) =
                Session::start(move |x, z| pipeline.run(1, x, z)).unwrap().split();
            let x: Vec<u32> = (0..100_000).collect();
            data.push(&x).unwrap();
            let mut z = vec![0; 10_000];
            assert_eq!(results.pull(&mut z).unwrap(), 10_000);
            assert_eq!(z, x[..10_000]);
            match case {
                0 => {
                    drop(data);
                    assert_eq!(rest(&mut results, 1 << 10).unwrap(), x[10_000..]);
                    assert_eq!(job.wait().unwrap().items, 100_000);
                }
                1 => {
                    drop(results);
                    data.push(&vec![1; 2_000_000]).unwrap();
                    drop(data);
                    assert_eq!(job.wait().unwrap().items, 2_100_000);
                }
                2 => {
                    job.cancel();
                    assert!(matches!(job.wait().unwrap_err().detail(), Detail::Cancelled));
                    assert!(data.push(&x).is_err());
                }
                _ => {
                    std::mem::forget((data, results));
                    job.cancel();
                    assert!(matches!(job.wait().unwrap_err().detail(), Detail::Cancelled));
                }
            }
        }
    });
}
