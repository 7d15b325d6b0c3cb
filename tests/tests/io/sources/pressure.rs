//! Reading ahead is bounded, whichever side is slow.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use thalweg::prelude::*;
use thalweg_tests::built_in_mode;
use thalweg_tests::numbers;
use thalweg_tests::waiting::{everywhere, in_time};

use super::{Axpy, Through, axpy, samples};

/// While a sink keeps a chunk, a source is read as far as there are slots, and two chunks more.
#[test]
fn a_source_is_not_read_far_ahead_of_a_sink() {
    everywhere(|device, graph| {
        for depth in [1, 2, 5] {
            let mut pipeline = built_in_mode!(Through<u8>, device, graph, chunk(10), depth(depth));
            let (read, furthest) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let x = samples::<u8>(300);
            let source = source::from_fn(|c, slot: &mut [u8]| {
                read.fetch_max(c.index + 1, Ordering::SeqCst);
                let len = slot.len().min(x.len() - c.start);
                slot[..len].copy_from_slice(&x[c.start..][..len]);
                Ok(len)
            });
            let mut z = Vec::new();
            let slow = sink::for_each(|c, data: &[u8]| {
                thread::sleep(Duration::from_millis(if c.index % 8 == 0 { 20 } else { 0 }));
                let ahead = read.load(Ordering::SeqCst) - c.index;
                furthest.fetch_max(ahead, Ordering::SeqCst);
                z.extend_from_slice(data);
                Ok(())
            });
            pipeline.run(1, source, slow).unwrap();
            assert_eq!(z, x);
            let furthest = furthest.into_inner();
            assert!(furthest <= depth + 2, "{furthest} chunks ahead with {depth} slots");
        }
    });
}

/// Without a sink the run waits for the device.
#[test]
fn a_source_is_not_read_far_ahead_of_the_run() {
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    fn begins(index: usize) -> f32 {
        BEGUN.store(index, Ordering::SeqCst);
        thread::sleep(Duration::from_micros(200));
        0.0
    }
    stream_pipeline! {
        pipeline Watched {
            input x: [f32];
            output z: [f32];
            chunk c = 4;
            depth = 3;
            stage load { copy x -> dx; }
            stage add { thalweg_tests::kernels::add_to<<<1, 32>>>(c.len as u32, begins(c.index), &mut dx); }
            stage store { copy dx -> z; }
        }
    }
    everywhere(|device, graph| {
        BEGUN.store(0, Ordering::SeqCst);
        let (x, mut z) = (numbers(200), vec![0.0; 200]);
        let mut most = 0;
        let source = source::from_fn(|c, slot: &mut [f32]| {
            most = most.max(c.index.saturating_sub(BEGUN.load(Ordering::SeqCst)));
            slot.copy_from_slice(&x[c.start..][..slot.len()]);
            Ok(slot.len())
        });
        built_in_mode!(Watched, device, graph).run(source, &mut z).unwrap();
        assert_eq!(z, x);
        assert!(most <= 3, "{most}");
    });
}

/// A sender waits for each result before it sends more: a chunk reaches the sink even if the next chunk is
/// not there.
#[test]
fn answers_come_while_the_source_waits() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Axpy, device, graph, depth(3));
        let (to, questions) = mpsc::channel::<Vec<f32>>();
        let (answer, answers) = mpsc::channel::<Vec<f32>>();
        let y = numbers(40);
        thread::scope(|scope| {
            let user = scope.spawn(move || {
                for round in 0..10 {
                    let x = vec![round as f32; 4];
                    to.send(x.clone()).unwrap();
                    assert_eq!(answers.recv().unwrap(), axpy(2.0, &x, &numbers(40)[4 * round..]));
                }
            });
            pipeline
                .run(2.0, source::channel(questions), source::batches([&y]), sink::channel(answer))
                .unwrap();
            user.join().unwrap();
        });
    });
}

/// Reading and writing overlap.
#[test]
fn sources_and_sinks_are_slow_at_the_same_time() {
    in_time(|| {
        let device = Device::simulated(Simulation::default());
        let mut pipeline = built_in_mode!(Through<u8>, &device, false, chunk(10), depth(3));
        let (napping, at_once) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let nap = || {
            at_once.fetch_max(1 + napping.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
            thread::sleep(Duration::from_millis(4));
            napping.fetch_sub(1, Ordering::SeqCst);
        };
        let source = source::from_fn(|c, slot: &mut [u8]| {
            nap();
            slot.fill(c.index as u8);
            Ok(if c.index < 29 { slot.len() } else { slot.len() - 1 })
        });
        let mut z = Vec::new();
        let sink = sink::for_each(|_, data: &[u8]| {
            nap();
            z.extend_from_slice(data);
            Ok(())
        });
        pipeline.run(1, source, sink).unwrap();
        assert_eq!(z, (0..299).map(|i| (i / 10) as u8).collect::<Vec<_>>());
        assert_eq!(at_once.into_inner(), 2, "they take turns");
    });
}

/// The order on the device is any that its events allow, and the results are the same.
#[test]
fn explored() {
    in_time(|| {
        let (x, y) = (numbers(50), numbers(100).split_off(50));
        let explored = thalweg::explore::explore(11, 150, |device| {
            let mut z = Vec::new();
            let mut pipeline = Axpy::options(device).depth(3).build()?;
            pipeline.run(
                1.5,
                source::batches(x.chunks(7)),
                source::iter(y.iter().copied()),
                sink::extend(&mut z),
            )?;
            assert_eq!(z, axpy(1.5, &x, &y));
            let mut z = vec![0.0; 50];
            pipeline.run(1.5, source::batches(x.chunks(9)), &y, &mut z)?;
            assert_eq!(z, axpy(1.5, &x, &y));
            Ok(())
        })
        .unwrap();
        assert!(explored.orders > 20, "{explored}");
    });
}

/// On the simulated device time is virtual, and the same each time.
#[test]
fn virtual_time_is_the_same_each_time() {
    in_time(|| {
        let time = || {
            let device = Device::simulated(Simulation::default());
            let mut pipeline = built_in_mode!(Through<u8>, &device, false, chunk(1000), depth(3));
            let x = samples::<u8>(100_000);
            let mut z = Vec::new();
            pipeline.run(1, source::read(&x[..]), sink::extend(&mut z)).unwrap().time
        };
        let first = time();
        assert!(!first.is_zero());
        (0..10).for_each(|_| assert_eq!(time(), first));
    });
}
