//! Odd pipelines that compile: each computes what its operations compute one after another, or returns an
//! error that says why not.

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg_tests::kernels::add_to;
use thalweg_tests::{everywhere, numbers, written};

/// The second copy of `y` reads the result of the first copy to it, in pageable memory as in page-locked
/// memory.
mod host_data_read_after_it_is_written {
    use super::*;

    stream_pipeline! {
        pipeline Again {
            inout y: [f32];
            chunk c = auto;
            stream s1;
            stream s2;
            stream s3;
            stage first on s1 { copy y -> d1; add_to<<<1, 1>>>(c.len as u32, 1.0, &mut d1); }
            stage back on s2 { copy d1 -> y; }
            stage second on s3 { copy y -> d2; add_to<<<1, 1>>>(c.len as u32, 10.0, &mut d2); }
            stage store on s2 { copy d2 -> y; }
            stage third on s1 { copy y -> d1; add_to<<<1, 1>>>(c.len as u32, 100.0, &mut d1); copy d1 -> y; }
        }
    }

    #[test]
    fn in_the_same_chunk() {
        everywhere(|device, case| {
            let mut pipeline = Again::options(device).chunk(case.chunk).depth(case.depth).build()?;
            let start = numbers(case.len);
            let (report, y) = written!(device, case.pinned_out, start.clone(), |y| pipeline.run(y));
            report?;
            assert_eq!(y, start.iter().map(|y| y + 1.0 + 10.0 + 100.0).collect::<Vec<_>>());
            Ok(())
        });
    }
}

/// A fragment that a `macro_rules` has matched as one expression is one, whatever stands next to it.
mod expressions_of_macros {
    use super::*;

    macro_rules! pipeline {
        ($sum:expr, $shape:expr) => {
            stream_pipeline! {
                pipeline Sums {
                    inout y: [f32; 2 * $shape];
                    chunk c = 1 + 2 * $shape;
                    depth = 2 * $shape;
                    stage load { copy y -> dy; }
                    stage add {
                        add_to<<<1, 1, 4 * $shape>>>(
                            c.len as u32 * 2 * $shape as u32, 3.0 * $sum + f32::max(2.0 * $sum, 0.0), &mut dy
                        );
                    }
                    stage store { copy dy -> y; }
                }
            }
        };
    }
    pipeline!(1.0 + 1.0, 1 + 1);

    #[test]
    fn keep_their_operands() {
        let device = Device::simulated(Simulation::default());
        let mut y = numbers(4 * 7);
        let report = Sums::new(&device).unwrap().run(&mut y).unwrap();
        assert_eq!((report.items, report.chunk, report.depth), (7, 5, 4));
        assert_eq!(y, numbers(4 * 7).iter().map(|y| y + 10.0).collect::<Vec<_>>());
    }
}

/// An attribute of the pipeline applies to everything that is made of it.
mod configured_out {
    use super::*;

    stream_pipeline! {
        #[cfg(any())]
        pub pipeline Absent {
            inout y: [f32];
            stage through { copy y -> dy; copy dy -> y; }
        }
    }

    // The name is free for the user.
    #[allow(dead_code, reason = "that it compiles is the point")]
    struct Absent;
}

/// The value that a host body panics with may panic itself when it is dropped, again and again.
mod a_panic_that_panics {
    use std::panic::panic_any;

    use super::*;

    struct Bomb(u32);

    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.0 > 0 {
                panic_any(Self(self.0 - 1));
            }
        }
    }

    #[kernels("../../cu/elements.cu")]
    unsafe extern "CUDA" {
        #[host(explode)]
        safe fn add_to(n: u32, a: f32, y: &mut [f32]);
    }

    fn explode(_: Grid, _: u32, _: f32, _: &mut [f32]) {
        panic_any(Bomb(3));
    }

    stream_pipeline! {
        pipeline Explodes {
            inout y: [f32];
            chunk c = auto;
            stage all { copy y -> dy; add_to<<<1, 1>>>(c.len as u32, 1.0, &mut dy); copy dy -> y; }
        }
    }

    #[test]
    fn is_an_error_like_another() {
        let device = Device::simulated(Simulation::default());
        let mut pipeline = Explodes::new(&device).unwrap();
        for _ in 0..2 {
            let mut y = numbers(9);
            let error = pipeline.run(&mut y).unwrap_err();
            assert!(matches!(error.detail(), Detail::HostBody { .. }), "{error}");
            assert_eq!(y, numbers(9));
        }
    }
}

/// A `return` in a condition must not skip the launch, and the kernel with it; not even one that a macro
/// hides.
#[test]
fn a_condition_that_returns_is_a_condition() {
    macro_rules! leave {
        () => {
            return true
        };
    }

    #[kernels("../../cu/bounded.cu")]
    unsafe extern "CUDA" {
        #[host(add_one)]
        #[requires(leave!())]
        safe fn bounded(n: u32, x: &[i32], y: Out<[i32]>);
    }

    fn add_one(_: Grid, n: u32, x: &[i32], y: &mut [i32]) {
        y[..n as usize].iter_mut().zip(x).for_each(|(y, x)| *y = x + 1);
    }

    stream_pipeline! {
        pipeline Plus {
            input x: [i32];
            output y: [i32];
            device dy: [i32];
            chunk c = 2;
            stage all { copy x -> dx; bounded<<<1, 32>>>(c.len as u32, &dx, out dy); copy dy -> y; }
        }
    }

    let mut y = [0; 5];
    Plus::new(&Device::simulated(Simulation::default())).unwrap().run(&[1, 2, 3, 4, 5], &mut y).unwrap();
    assert_eq!(y, [2, 3, 4, 5, 6]);
}

/// One chunk of everything, however much that is.
#[test]
fn a_chunk_of_all() {
    stream_pipeline! {
        pipeline Through {
            input x: [[f32; 100]];
            output y: [[f32; 100]];
            chunk c = usize::MAX;
            stage all { copy x -> d; copy d -> y; }
        }
    }
    let x: Vec<[f32; 100]> = (0..7).map(|i| [i as f32; 100]).collect();
    let mut y = vec![[0.0; 100]; 7];
    let report = Through::new(&Device::simulated(Simulation::default())).unwrap().run(&x, &mut y).unwrap();
    assert_eq!((y, report.chunks), (x, 1));
}
