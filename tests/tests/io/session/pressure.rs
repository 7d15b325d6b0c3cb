//! A slow caller holds the others back, and nothing grows with the number of chunks.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use thalweg::prelude::*;
use thalweg::session::{self, Pulled, Pushed, Session};
use thalweg_tests::built_in_mode;
use thalweg_tests::kernels::add_to;
use thalweg_tests::numbers;
use thalweg_tests::test_name;
use thalweg_tests::waiting::{everywhere, in_time};

use super::{Next, next, rest};

/// While nobody pulls, there is room for as many chunks as the ring has slots and two more.
#[test]
fn nobody_pulls() {
    everywhere(|device, graph| {
        for depth in [1, 2, 5] {
            let mut pipeline = built_in_mode!(Next, device, graph, depth(depth));
            let (mut frames, x) = session::input();
            let (z, mut results) = session::output();
            let job = thalweg::job::spawn(move || pipeline.run(x, z)).unwrap();
            let x = numbers(1000);
            let mut pushed = 0;
            // Waits until nothing has gone for a while.
            let mut idle = 0;
            while idle < 20 {
                match frames.try_push(&x[pushed..]).unwrap() {
                    0 => {
                        idle += 1;
                        thread::sleep(Duration::from_millis(5));
                    }
                    more => (pushed, idle) = (pushed + more, 0),
                }
            }
            assert!((5 * depth..=5 * (depth + 2)).contains(&pushed), "{depth}: {pushed}");
            // A caller that pulls makes room.
            let mut z = vec![0.0; pushed];
            let pulled = results.pull_some(&mut z[..3]).unwrap();
            assert!(pulled > 0);
            assert_eq!(results.pull(&mut z[pulled..]).unwrap(), pushed - pulled);
            assert_eq!(z, next(&x[..pushed]));
            let mut left = &x[pushed..];
            thread::scope(|scope| {
                let z = scope.spawn(|| rest(&mut results, 7).unwrap());
                while !left.is_empty() {
                    left = &left[frames.try_push(left).unwrap()..];
                    thread::yield_now();
                }
                drop(frames);
                assert_eq!(z.join().unwrap(), next(&x[pushed..]));
            });
            assert_eq!(job.wait().unwrap().items, 1000);
        }
    });
}

/// The thread at the other end is slow.
#[test]
fn a_puller_that_is_slow() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Next, device, graph);
        let (mut frames, mut results, job) = Session::start(move |x, z| pipeline.run(x, z)).unwrap().split();
        let (pushed, furthest) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let x = numbers(300);
        thread::scope(|scope| {
            scope.spawn(|| {
                for frame in x.chunks(5) {
                    frames.push(frame).unwrap();
                    pushed.fetch_add(5, Ordering::SeqCst);
                }
                frames.end();
            });
            let mut frame = [0.0; 5];
            for (index, expected) in next(&x).chunks(5).enumerate() {
                if index % 16 == 0 {
                    thread::sleep(Duration::from_millis(10));
                }
                let ahead = pushed.load(Ordering::SeqCst).saturating_sub(5 * index);
                furthest.fetch_max(ahead, Ordering::SeqCst);
                assert_eq!(results.pull(&mut frame).unwrap(), 5);
                assert_eq!(frame, expected);
            }
        });
        let furthest = furthest.into_inner();
        assert!((5..=25).contains(&furthest), "{furthest}");
        job.wait().unwrap();
    });
}

/// In one thread nothing is held back: finished results are put aside.
#[test]
fn one_thread_that_pushes_everything_first() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Next, device, graph);
        let mut session = Session::start(move |x, z| pipeline.run(x, z)).unwrap();
        let (x, mut z) = (numbers(2003), vec![0.0; 2003]);
        session.push(&x[..1000]).unwrap();
        assert_eq!(session.pull(&mut z[..333]).unwrap(), 333);
        session.push(&x[1000..]).unwrap();
        assert_eq!(session.try_pull(&mut z[333..340]).unwrap(), Some(7));
        // The results that were put aside go with the puller.
        let (frames, mut results, job) = session.split();
        drop(frames);
        assert_eq!(results.pull(&mut z[340..]).unwrap(), 1663);
        assert_eq!(results.pull(&mut [0.0]).unwrap(), 0);
        assert_eq!(results.try_pull(&mut [0.0]).unwrap(), None);
        assert_eq!(z, next(&x));
        assert_eq!(job.wait().unwrap().items, 2003);
    });
}

/// A run ends though nobody pulls, and the results that are left can be pulled afterwards.
#[test]
fn results_outlive_the_run() {
    everywhere(|device, graph| {
        for (len, taken) in [(19, 0), (20, 3), (18, 5), (2, 1), (0, 0)] {
            let mut pipeline = built_in_mode!(Next, device, graph);
            let (mut frames, mut results, job) =
                Session::start(move |x, z| Ok((pipeline.run(x, z)?, pipeline))).unwrap().split();
            let (x, mut z) = (numbers(len), vec![0.0; taken]);
            thread::scope(|scope| {
                scope.spawn(|| {
                    frames.push(&x).unwrap();
                    frames.end();
                });
                assert_eq!(results.pull(&mut z).unwrap(), taken);
            });
            let (report, pipeline) = job.wait().unwrap();
            assert_eq!(report.items, len);
            drop(pipeline);
            z.extend(rest(&mut results, 4).unwrap());
            assert_eq!(z, next(&x));
            assert_eq!(results.pull(&mut [0.0]).unwrap(), 0);
        }
    });
}

/// The resident memory of this process in bytes.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

stream_pipeline! {
    /// Like [`Next`], with other work from chunk to chunk of a slot.
    pipeline NextInTurns {
        input x: [f32];
        output z: [f32];
        chunk c = auto;
        depth = 3;
        stage load { copy x -> d; }
        stage next {
            if c.index % 4 == 0 { fill _other = 1.0; }
            add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, 1.0, &mut d);
        }
        stage store { copy d -> z; }
        device _other: [f32];
    }
}

/// This number of chunks, and a few more, make no difference.
#[cfg(target_os = "linux")]
#[test]
fn memory_is_bounded() {
    // The test runs in a process of its own, in which nobody else allocates.
    const ALONE: &str = "THALWEG_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let exe = std::env::current_exe().unwrap();
        let status = std::process::Command::new(exe)
            .args(["--exact", &test_name(module_path!(), "memory_is_bounded"), "--nocapture"])
            .env(ALONE, "1")
            .status();
        assert!(status.unwrap().success());
        return;
    }
    in_time(|| {
        for (graph, in_turns) in [(false, false), (true, false), (true, true)] {
            let device = Device::simulated(Simulation::default());
            let mut pipeline = built_in_mode!(Next, &device, graph, chunk(2));
            let mut other = built_in_mode!(NextInTurns, &device, graph, chunk(2));
            let run = move |x: Pushed<f32>, z: Pulled<f32>| {
                if in_turns { other.run(x, z) } else { pipeline.run(x, z) }
            };
            let mut session = Session::start(run).unwrap();
            let mut frames = |count: usize| {
                for index in 0..count {
                    let mut z = [0.0; 2];
                    let frame = [index as f32, 1.0];
                    // One chunk in four is short.
                    let len = if index % 4 == 0 { 1 } else { 2 };
                    session.push(&frame[..len]).unwrap();
                    assert_eq!(session.pull(&mut z[..len]).unwrap(), len);
                    assert_eq!(z[0], index as f32 + 1.0);
                }
            };
            frames(5_000);
            let before = resident();
            let chunks = if in_turns { 20_000 } else { 200_000 };
            frames(chunks);
            let after = resident();
            assert!(
                after < before + (400 << 10),
                "{graph}, {in_turns}: {before} bytes before, {after} after"
            );
            assert_eq!(session.close().unwrap().chunks, 5_000 + chunks);
        }
    });
}
