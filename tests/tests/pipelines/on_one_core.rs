//! On a CPU with several threads, a host body that takes a `Thread` runs on one core. A program that spends long there
//! is told so, with the cure.

use std::process::Command;
use std::thread;
use std::time::Duration;

use thalweg::CpuOptions;
use thalweg::prelude::*;
use thalweg_tests::test_name;

mod by_thread {
    use super::*;

    #[kernels("../../cu/square.cu")]
    unsafe extern "CUDA" {
        #[host(on_host)]
        pub safe fn square(n: u32, x: &[f32], y: Out<[f32]>);
    }

    fn on_host(t: Thread, n: u32, x: &[f32], y: &mut [f32]) {
        let i = t.global_x();
        if i == 0 {
            thread::sleep(Duration::from_millis(550));
        }
        if i < n as usize {
            y[i] = x[i] * x[i];
        }
    }
}

mod by_grid {
    use super::*;

    #[kernels("../../cu/square.cu")]
    unsafe extern "CUDA" {
        #[host(on_host)]
        pub safe fn square(n: u32, x: &[f32], y: Out<[f32]>);
    }

    fn on_host(_: Grid, n: u32, x: &[f32], y: &mut [f32]) {
        thread::sleep(Duration::from_millis(1100));
        y.iter_mut().zip(&x[..n as usize]).for_each(|(y, x)| *y = x * x);
    }
}

stream_pipeline! {
    pipeline ByThread {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = 50;
        stage square {
            copy x -> dx;
            by_thread::square<<<1, 64>>>(c.len as u32, &dx, out dy);
            copy dy -> y;
        }
    }
}

stream_pipeline! {
    pipeline ByGrid {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = 50;
        stage square {
            copy x -> dx;
            by_grid::square<<<1, 64>>>(c.len as u32, &dx, out dy);
            copy dy -> y;
        }
    }
}

/// A second passes in the second chunk, and is told of once.
#[test]
#[ignore = "run by the other test, which reads what it says"]
fn child() {
    let x = [3.0; 100];
    let squared = |y: [f32; 100]| assert_eq!(y, [9.0; 100]);
    for threads in [1, 2] {
        let device = Device::cpu_with(CpuOptions::default().threads(threads)).unwrap();
        let (mut y, mut z) = ([0.0; 100], [0.0; 100]);
        let mut by_thread = ByThread::new(&device).unwrap();
        by_thread.run(&x, &mut y).unwrap();
        by_thread.run(&x, &mut y).unwrap();
        ByGrid::new(&device).unwrap().run(&x, &mut z).unwrap();
        squared(y);
        squared(z);
    }
}

#[test]
fn a_host_body_that_runs_on_one_core_is_told_of_with_the_cure() {
    let name = test_name(module_path!(), "child");
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", &name, "--include-ignored", "--nocapture"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let lines: Vec<_> = said.lines().skip_while(|line| !line.starts_with("thalweg: ")).take(3).collect();
    if cfg!(debug_assertions) {
        let [first, help, ..] = lines[..] else { panic!("{said}") };
        let expected = "thalweg: `ByThread` has spent 1.1 s in the host body of `by_thread::square<<<..>>>`, which takes a \
                        `Thread`, so that it is called for one thread after another on one core";
        assert_eq!(first, expected);
        let cure = "  help: let it take a `Grid` and split its slices among the cores, or write the kernel in Rust with \
                    `#[kernel]`";
        assert_eq!(help, cure);
        assert_eq!(said.matches("thalweg: ").count(), 1, "{said}");
    } else {
        assert!(lines.is_empty(), "{said}");
    }
}
