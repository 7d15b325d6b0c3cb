//! Graph mode compared with plain mode, on any device.

use thalweg::prelude::*;

use crate::kernels::{add_to, axpy_each, count_up, double_all, gather};
use crate::{CHUNK, DEPTHS, LENGTHS, numbers, pinned, read, written};

#[kernels("../cu/fold.cu")]
unsafe extern "CUDA" {
    /// `total[0] = 31 * total[0] + x[i]` for all `i` in order, `total[1] += n`, by one thread.
    #[host(fold_on_host)]
    #[requires(n as usize <= x.len() && total.len() >= 2)]
    safe fn fold(n: u32, x: &[i64], total: &mut [i64]);
}

fn fold_on_host(_: Grid, n: u32, x: &[i64], total: &mut [i64]) {
    for x in &x[..n as usize] {
        total[0] = total[0].wrapping_mul(31).wrapping_add(*x);
    }
    total[1] += i64::from(n);
}

stream_pipeline! {
    /// Every kind of operation on streams of its own: `y = 2 * (y + a * x + b)`, `z = b, b + 1, …`.
    pipeline Mixed {
        param a: f32;
        param b: f32;
        input x: [f32];
        inout y: [f32];
        output z: [u64];
        device t: [f32];
        device count: [u64];
        chunk c = CHUNK;
        stream up: high;
        stream math;
        stream side;
        stream down: low;
        stage load on up { copy x -> dx; copy y -> dy; }
        stage prepare on side {
            fill t = b;
            count_up<<<blocks(c.len, 32), 32>>>(c.len as u32, b as u64 + c.start as u64, 1, out count);
        }
        stage work on math {
            axpy_each<<<blocks(c.len, 32), 32>>>(c.len as u32, a, &dx, &mut dy);
            axpy_each<<<blocks(c.len, 32), 32>>>(c.len as u32, 1.0, &t, &mut dy);
            copy dy -> result;
            double_all<<<blocks(c.len, 32), 32>>>(c.len as u32, &mut result);
        }
        stage store on down { copy result -> y; copy count -> z; }
    }
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

stream_pipeline! {
    /// Streams order the chunks.
    pipeline Hash {
        input x: [i64];
        carry total: [i64; 2];
        chunk c = CHUNK;
        stage load { copy x -> dx; }
        stage add { fold<<<1, 32>>>(c.len as u32, &dx, &mut total); }
    }
}

stream_pipeline! {
    /// Events order the chunks.
    pipeline HashPerSlot {
        input x: [i64];
        carry total: [i64; 2] = 100;
        chunk c = CHUNK;
        stream s per slot;
        stage all on s { copy x -> dx; fold<<<1, 32>>>(c.len as u32, &dx, &mut total); }
    }
}

stream_pipeline! {
    pipeline Gather {
        param entries: u32;
        resident table: [f32];
        input index: [u32];
        output y: [f32];
        device dy: [f32];
        chunk c = CHUNK;
        stage load { copy index -> d_index; }
        stage look_up { gather<<<blocks(c.len, 32), 32>>>(c.len as u32, entries, &d_index, &table, out dy); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    /// The events placed by hand.
    pipeline Manual {
        param a: f32;
        inout y: [f32];
        chunk c = CHUNK;
        sync = manual;
        stream up;
        stream math;
        stream down;
        stage load on up { wait stored @ reuse; copy y -> dy; record loaded; }
        stage work on math { wait loaded; add_to<<<1, 32>>>(c.len as u32, a, &mut dy); record worked; }
        stage store on down { wait worked; copy dy -> y; record stored; }
    }
}

stream_pipeline! {
    /// A chunk loads again what it has stored: the CPU is in between, if the data are pageable.
    pipeline There {
        inout y: [f32];
        chunk c = CHUNK;
        stage first { copy y -> a; double_all<<<blocks(c.len, 32), 32>>>(c.len as u32, &mut a); copy a -> y; }
        stage second { copy y -> b; double_all<<<blocks(c.len, 32), 32>>>(c.len as u32, &mut b); copy b -> y; }
    }
}

stream_pipeline! {
    /// Items of a byte, so that places have every alignment.
    pipeline Bytes {
        input x: [u8];
        output y: [u8];
        chunk c = CHUNK;
        stage all { copy x -> dx; copy dx -> y; }
    }
}

stream_pipeline! {
    /// Fills with one word over and over, and with several.
    pipeline Filled {
        param value: f32;
        output floats: [f32];
        output wide: [f64];
        output triples: [[u16; 3]];
        device d_floats: [f32];
        device d_wide: [f64];
        device d_triples: [[u16; 3]];
        chunk c = CHUNK;
        stage all {
            fill d_floats = value;
            fill d_wide = value as f64;
            fill d_triples = [1, 2, value as u16];
            copy d_floats -> floats;
            copy d_wide -> wide;
            copy d_triples -> triples;
        }
    }
}

/// Runs of one pipeline, each with another length or other parameters, compared with the same runs without
/// graphs.
fn compare_mixed(device: &Device, depth: usize, kind: usize) {
    let mut graph = Mixed::options(device).depth(depth).graph().build().unwrap();
    let mut plain = Mixed::options(device).depth(depth).build().unwrap();
    for len in LENGTHS {
        for (a, b) in [(1.0, 2.0), (1.0, 2.0), (3.0, 2.0), (3.0, 4.0)] {
            let (x, y) = (numbers(len), numbers(len));
            let (mut expected_y, mut expected_z) = (y.clone(), vec![0; len]);
            plain.run(a, b, &x, &mut expected_y, &mut expected_z).unwrap();
            let (mut result_y, mut result_z) = (y, vec![0; len]);
            let report = match kind {
                0 => graph.run(a, b, &x, &mut result_y, &mut result_z),
                1 => {
                    let x = pinned(device, &x);
                    graph.run(a, b, &x, &mut result_y, &mut result_z)
                }
                _ => {
                    let x = pinned(device, &x);
                    let (mut y, mut z) = (pinned(device, &result_y), pinned(device, &result_z));
                    let report = graph.run(a, b, &x, &mut y, &mut z);
                    result_y.copy_from_slice(&y);
                    result_z.copy_from_slice(&z);
                    report
                }
            };
            let report = report.unwrap_or_else(|error| panic!("{len} at depth {depth}: {error}"));
            assert_eq!((report.items, report.chunks), (len, len.div_ceil(CHUNK)));
            assert_eq!((result_y, result_z), (expected_y, expected_z), "{len} at depth {depth}");
            assert_eq!(report.bytes_to_device, 8 * len as u64);
        }
    }
}

/// Every kind of operation, at every length and depth.
pub fn every_operation(device: &Device) {
    for depth in DEPTHS {
        (0..3).for_each(|kind| compare_mixed(device, depth, kind));
    }
}

/// One pipeline object with data in either kind of memory, alternately: its graphs are of chunks and of runs.
pub fn either_memory(device: &Device) {
    let mut pipeline = PerSlot::options(device).depth(3).graph().build().unwrap();
    for (turn, len) in [100, 100, 40, 100, 17, 0, 100].into_iter().enumerate() {
        for is_pinned in [false, true, turn % 2 == 0] {
            let x = numbers(len);
            let (result, y) = read!(device, is_pinned, x.clone(), |x| {
                written!(device, is_pinned, vec![1.0; len], |y| pipeline.run(turn as f32, x, y))
            });
            result.unwrap();
            assert!(y.iter().zip(&x).all(|(y, x)| *y == 1.0 + turn as f32 * x), "{turn}");
        }
    }
}

fn hash(start: i64, x: &[i64]) -> i64 {
    x.iter().fold(start, |total, x| total.wrapping_mul(31).wrapping_add(*x))
}

/// A carry, which depends on the order of the chunks.
pub fn carried(device: &Device) {
    for depth in DEPTHS {
        let mut by_streams = Hash::options(device).depth(depth).graph().build().unwrap();
        let mut by_events = HashPerSlot::options(device).depth(depth).graph().build().unwrap();
        for len in LENGTHS {
            let x: Vec<i64> = (0..len as i64).map(|i| i * i - 50).collect();
            let buffer = pinned(device, &x);
            for is_pinned in [false, true] {
                let mut totals = [[7, 0], [0, 0]];
                let [first, second] = &mut totals;
                if is_pinned {
                    by_streams.run(&buffer, first).unwrap();
                    by_events.run(&buffer, second).unwrap();
                } else {
                    by_streams.run(&x, first).unwrap();
                    by_events.run(&x, second).unwrap();
                }
                let len = len as i64;
                assert_eq!(totals, [[hash(7, &x), len], [hash(100, &x), 100 + len]], "at depth {depth}");
            }
        }
    }
}

/// Resident data of any length.
pub fn resident(device: &Device) {
    let mut pipeline = Gather::options(device).graph().build().unwrap();
    for (entries, len) in [(1, 0), (1, 25), (3, 97), (1000, 500), (2, 11), (2, 11)] {
        let table: Vec<f32> = (0..entries).map(|i| i as f32 * 1.5).collect();
        let index: Vec<u32> = (0..len).map(|i| i * 7919).collect();
        for is_pinned in [false, true] {
            let (result, y) = read!(device, is_pinned, index.clone(), |index| {
                let start = vec![f32::NAN; len as usize];
                written!(device, is_pinned, start, |y| pipeline.run(entries, &table, index, y))
            });
            result.unwrap();
            assert!(y.iter().zip(&index).all(|(y, i)| *y == table[(i % entries) as usize]));
        }
    }
}

/// Events placed by hand.
pub fn by_hand(device: &Device) {
    for depth in DEPTHS {
        let mut pipeline = Manual::options(device).depth(depth).graph().build().unwrap();
        for len in LENGTHS {
            for is_pinned in [false, true, true] {
                let (result, y) = written!(device, is_pinned, numbers(len), |y| pipeline.run(2.5, y));
                result.unwrap();
                assert!(y.iter().zip(numbers(len)).all(|(y, old)| *y == old + 2.5), "{len} at {depth}");
            }
        }
    }
}

/// Data that is stored and loaded again within a chunk.
pub fn there_and_back(device: &Device) {
    for depth in DEPTHS {
        let mut pipeline = There::options(device).depth(depth).graph().build().unwrap();
        for len in LENGTHS {
            for is_pinned in [false, true] {
                let (result, y) = written!(device, is_pinned, numbers(len), |y| pipeline.run(y));
                result.unwrap();
                assert!(y.iter().zip(numbers(len)).all(|(y, old)| *y == 4.0 * old), "{len} at {depth}");
            }
        }
    }
}

/// Copies of many lengths, from and to places of every alignment, by kernels and by the driver.
pub fn bytes(device: &Device) {
    let all: Vec<u8> = (0..1_u32 << 20).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 13) as u8).collect();
    let cases =
        [(1, 40), (3, 100), (4, 100), (17, 300), (1001, 17_000), (65_535, 1 << 18), (65_540, 1 << 18)];
    for (chunk, most) in cases {
        let mut pipeline = Bytes::options(device).chunk(chunk).graph().build().unwrap();
        for len in [most, most - 1, most / 2 + 1] {
            for is_pinned in [false, true] {
                let x = all[len % 7..][..len].to_vec();
                let (result, y) = read!(device, is_pinned, x.clone(), |x| {
                    written!(device, is_pinned, vec![0; len], |y| pipeline.run(x, y))
                });
                result.unwrap();
                assert!(y == x, "{len} bytes in chunks of {chunk}");
            }
        }
    }
    // A copy of each length. No kernel stays for the last ones.
    let mut pipeline = Bytes::options(device).chunk(300_000).graph().build().unwrap();
    for len in (1..=70).chain([4095, 4096, 4097, 65_536, 65_537, 262_144, 262_145, 300_000]) {
        let mut y = vec![0; len];
        pipeline.run(&all[..len], &mut y).unwrap();
        assert!(y == all[..len], "{len} bytes");
    }
}

/// Fills whose values change from run to run, from several words to one and back.
pub fn fills(device: &Device) {
    let mut pipeline = Filled::options(device).depth(2).graph().build().unwrap();
    for (len, value) in [(100, 1.5), (100, 1.5), (100, 0.0), (100, 4.0), (0, 1.0), (7, 4.0), (7, 1.0)] {
        for is_pinned in [false, true] {
            let (results, triples) = written!(device, is_pinned, vec![[0; 3]; len], |triples| {
                let (results, wide) = written!(device, is_pinned, vec![0.0; len], |wide| {
                    written!(device, is_pinned, vec![0.0; len], |floats| {
                        pipeline.run(value, floats, wide, triples)
                    })
                });
                (results, wide)
            });
            let ((result, floats), wide) = results;
            result.unwrap();
            assert_eq!(floats, vec![value; len]);
            assert_eq!(wide, vec![f64::from(value); len]);
            assert_eq!(triples, vec![[1, 2, value as u16]; len]);
        }
    }
}
