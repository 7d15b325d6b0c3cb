//! Runs that choose their streams: kernels on one stream for each slot, in any order that the events leave
//! open.

use std::time::Duration;

use thalweg::prelude::*;
use thalweg_tests::kernels::{add_to, axpy_each, double_all, gather, plus_one, summarise};
use thalweg_tests::random::Random;
use thalweg_tests::{leaves_nothing, numbers, pinned, read, small, written};

const ITEMS: usize = 4;

stream_pipeline! {
    /// Two stages with a stream for each slot, which hand a buffer to each other and share another.
    pipeline Chained {
        param a: f32;
        param again: bool;
        param turns: usize;
        input x: [f32];
        inout y: [f32];
        device t: [f32];
        chunk c = ITEMS;
        stage load { copy x -> dx; copy y -> dy; }
        stage first {
            plus_one<<<1, 32>>>(c.len as u32, &dx, out t);
            if c.index % 3 != 1 { axpy_each<<<1, 32>>>(c.len as u32, a, &t, &mut dy); }
        }
        stage second {
            repeat turns { add_to<<<1, 32>>>(c.len as u32, 1.0, &mut t); }
            if again { double_all<<<1, 32>>>(c.len as u32, &mut dy); }
            axpy_each<<<1, 32>>>(c.len as u32, 1.0, &t, &mut dy);
        }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    /// Only the results are copied: the kernels' data are on the device already.
    pipeline InPlace {
        param entries: u32;
        resident table: [f32];
        input index: device [u32];
        inout both: device [f32];
        output found: mapped [f32];
        output s: device [f32; 2] per chunk;
        output y: [f32];
        chunk c = ITEMS;
        stage look_up { gather<<<1, 32>>>(c.len as u32, entries, &index, &table, out found); }
        stage add {
            axpy_each<<<1, 32>>>(c.len as u32, 1.0, &found, &mut both);
            summarise<<<1, 1>>>(c.len as u32, &both, out s);
        }
        stage store { copy both -> y; }
    }
}

fn through_the_cpu(h: &mut [f32]) {
    h.iter_mut().for_each(|h| *h = -*h);
}

stream_pipeline! {
    /// The CPU works between the kernels, and chunks may leave out the copy back.
    pipeline Around {
        input x: [f32];
        output y: [f32];
        host h: [f32];
        device t: [f32];
        device u: [f32];
        chunk c = ITEMS;
        stage load { copy x -> dx; fill u = 3.0; }
        stage up { plus_one<<<1, 32>>>(c.len as u32, &dx, out t); }
        stage cpu { copy t -> h; host through_the_cpu(&mut h); copy h -> t; then |_| (); }
        stage down {
            axpy_each<<<1, 32>>>(c.len as u32, 2.0, &t, &mut u);
            double_all<<<1, 32>>>(c.len as u32, &mut u);
        }
        stage store { if c.index % 2 == 0 { copy u -> y; } else { copy t -> y; } }
    }
}

/// These devices wait for kernels, so all runs but the first have a stream for each slot.
fn on_slow_devices(check: impl Fn(&Device, usize)) {
    for seed in 0..12 {
        let mut spec = Simulation::default();
        spec.model.launch_latency = Duration::from_millis(1);
        let device = small(if seed == 0 { spec } else { spec.adversarial(seed) });
        for depth in [1, 2, 3, 20] {
            leaves_nothing(&device, || check(&device, depth));
        }
    }
}

/// Lengths of which a run can learn, and too short ones, with a rest and without.
fn lengths(depth: usize) -> [usize; 6] {
    let long = (2 * depth + 3) * ITEMS;
    [long, long, long + 1, 3, long, 0]
}

#[test]
fn stages_that_hand_buffers_on() {
    on_slow_devices(|device, depth| {
        let mut pipeline = Chained::options(device).depth(depth).build().unwrap();
        for (turns, len) in lengths(depth).into_iter().enumerate() {
            let x = numbers(len);
            let mut y = pinned(device, &x);
            let again = turns % 2 == 0;
            pipeline.run(2.0, again, turns, &pinned(device, &x), &mut y).unwrap();
            for (i, (x, y)) in x.iter().zip(y.iter()).enumerate() {
                let t = x + 1.0;
                let first = if i / ITEMS % 3 == 1 { *x } else { x + 2.0 * t };
                let second = if again { 2.0 * first } else { first };
                assert_eq!(*y, second + t + turns as f32, "item {i} at depth {depth}");
            }
        }
    });
}

#[test]
fn arguments_that_are_used_where_they_are() {
    on_slow_devices(|device, depth| {
        let mut pipeline = InPlace::options(device).depth(depth).build().unwrap();
        let table = numbers(7);
        for len in lengths(depth) {
            let index: Vec<u32> = (0..len as u32).map(|i| i * 5).collect();
            let d_index = DeviceBuf::from_slice(device, &index).unwrap();
            let mut both = DeviceBuf::from_slice(device, &vec![1.0; len]).unwrap();
            let mut found = PinnedBuf::zeroed(device, len).unwrap();
            let mut s = DeviceBuf::from_slice(device, &vec![0.0; 2 * len.div_ceil(ITEMS)]).unwrap();
            let mut y = PinnedBuf::zeroed(device, len).unwrap();
            pipeline.run(7, &table, &d_index, &mut both, &mut found, &mut s, &mut y).unwrap();
            let expected: Vec<f32> = index.iter().map(|i| 1.0 + table[*i as usize % 7]).collect();
            assert_eq!(*y, *expected);
            assert_eq!(both.to_vec().unwrap(), expected);
            let sums: Vec<f32> =
                expected.chunks(ITEMS).flat_map(|c| [c.iter().sum(), c.len() as f32]).collect();
            assert_eq!(s.to_vec().unwrap(), sums);
        }
    });
}

#[test]
fn the_cpu_between_kernels() {
    on_slow_devices(|device, depth| {
        let mut pipeline = Around::options(device).depth(depth).build().unwrap();
        for len in lengths(depth) {
            let x = numbers(len);
            let mut y = PinnedBuf::zeroed(device, len).unwrap();
            pipeline.run(&pinned(device, &x), &mut y).unwrap();
            for (i, (x, y)) in x.iter().zip(y.iter()).enumerate() {
                let t = -(x + 1.0);
                let expected = if (i / ITEMS).is_multiple_of(2) { 2.0 * (3.0 + 2.0 * t) } else { t };
                assert_eq!(*y, expected, "item {i} at depth {depth}");
            }
        }
    });
}

stream_pipeline! {
    /// Its runs differ in everything in which runs can differ.
    pipeline Varied {
        param a: f32;
        param value: f32;
        param turns: usize;
        param fails: usize;
        input x: [f32];
        inout y: [f32];
        inout d: device [f32];
        output s: device [f32; 2] per chunk;
        device t: [f32];
        device u: [f32];
        chunk c = ITEMS;
        stage load { copy x -> dx; copy y -> dy; fill u = value; }
        stage work {
            plus_one<<<1, 32>>>(if c.index == fails { 33 } else { c.len as u32 }, &dx, out t);
            if c.index % 3 != 1 { axpy_each<<<1, 32>>>(c.len as u32, a, &t, &mut dy); }
            repeat turns { axpy_each<<<1, 32>>>(c.len as u32, 1.0, &u, &mut d); }
        }
        stage sum { summarise<<<1, 1>>>(c.len as u32, &dy, out s); }
        stage store { copy dy -> y; }
    }
}

/// Streams, graphs and their order are kept from run to run: a run never uses another run's.
#[test]
fn runs_in_any_order() {
    const NONE: usize = usize::MAX;
    on_slow_devices(|device, depth| {
        for graph in [false, true] {
            let options = Varied::options(device).depth(depth);
            let mut pipeline = if graph { options.graph().build() } else { options.build() }.unwrap();
            let mut random = Random::new(depth as u64);
            let mut choose = |from: &[usize]| from[random.below(from.len() as u64) as usize];
            let long = (2 * depth + 3) * ITEMS;
            for round in 0..25 {
                let len = choose(&[long, long, long, long + 3, ITEMS, 1, 0]);
                let (a, value) = (choose(&[2, 2, 3]) as f32, choose(&[0, 1, 1]) as f32);
                let (turns, fails) = (choose(&[0, 1, 1, 3]), choose(&[NONE, NONE, NONE, 0, 2]));
                let is_pinned = choose(&[0, 1, 1]) == 1;
                let fails_here = fails < len.div_ceil(ITEMS);
                let x = numbers(len);
                // It is perhaps at the address of the memory of the round before.
                let mut d = DeviceBuf::from_slice(device, &x).unwrap();
                let mut s = DeviceBuf::from_slice(device, &vec![0.0; 2 * len.div_ceil(ITEMS)]).unwrap();
                let (result, y) = written!(device, is_pinned, x.clone(), |y| {
                    let s = &mut s;
                    read!(device, is_pinned, x.clone(), |x| {
                        pipeline.run(a, value, turns, fails, x, y, &mut d, s)
                    })
                });
                let what = format!("round {round}, depth {depth}, graph: {graph}");
                assert_eq!(result.is_err(), fails_here, "{what}: {result:?}");
                if fails_here {
                    continue;
                }
                let expected: Vec<f32> = x
                    .iter()
                    .enumerate()
                    .map(|(i, x)| if i / ITEMS % 3 == 1 { *x } else { x + a * (x + 1.0) })
                    .collect();
                assert_eq!(y, expected, "{what}");
                let added: Vec<f32> = x.iter().map(|x| x + turns as f32 * value).collect();
                assert_eq!(d.to_vec().unwrap(), added, "{what}");
                let sums: Vec<f32> =
                    expected.chunks(ITEMS).flat_map(|c| [c.iter().sum(), c.len() as f32]).collect();
                assert_eq!(s.to_vec().unwrap(), sums, "{what}");
            }
        }
    });
}

/// One frame follows another: with only one stream more slots would not let them overlap, so there is no
/// warning.
#[deny(deprecated)]
mod frames {
    use super::*;

    stream_pipeline! {
        pub pipeline Frame {
            inout y: [f32];
            chunk c = usize::MAX;
            depth = 1;
            stream s;
            stage all on s {
                copy y -> dy;
                double_all<<<1, 32>>>(c.len as u32, &mut dy);
                copy dy -> y;
            }
        }
    }
}

#[test]
fn one_slot_is_no_loss_where_there_is_one_stream() {
    let device = Device::simulated(Simulation::default());
    let mut y = [1.0; 32];
    let report = frames::Frame::new(&device).expect("a pipeline").run(&mut y).expect("a run");
    assert_eq!((report.depth, y), (1, [2.0; 32]));
}
