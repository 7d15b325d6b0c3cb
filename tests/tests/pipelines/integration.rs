//! Pipelines of every form against plain loops, at every border of a chunk, in order of time and in
//! adversarial ones.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;
use thalweg_tests::kernels::{
    Offset, Point, add_to, axpy_each, count_up, double_all, halve, invert, paint, shift, sum_pairs, sum_rows,
    through_shared, widen, with_square,
};
use thalweg_tests::{Case, everywhere, numbers, read, written};

stream_pipeline! {
    /// Three streams, as in the README.
    pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];

        chunk c = auto;
        depth = 3;

        stream up: high;
        stream math;
        stream down: low;

        stage load on up { copy x -> dx; copy y -> dy; }
        stage axpy on math { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store on down { copy dy -> y; }
    }
}

stream_pipeline! {
    /// One stream for each ring slot.
    pipeline PerSlot {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        stream work per slot;
        stage load on work { copy x -> dx; copy y -> dy; }
        stage axpy on work { axpy_each<<<blocks(c.len, 32), 32>>>(c.len as u32, a, &dx, &mut dy); }
        stage store on work { copy dy -> y; }
    }
}

stream_pipeline! {
    /// Everything in one stream.
    pipeline OneStream {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        stream only: priority(-2);
        stage all on only {
            copy x -> dx;
            copy y -> dy;
            saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy);
            copy dy -> y;
        }
    }
}

stream_pipeline! {
    /// Streams left out: each stage has its own.
    pipeline OwnStreams {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        stage load_x { copy x -> dx; }
        stage load_y { copy y -> dy; }
        stage axpy { axpy_each<<<blocks(c.len, 32), 32>>>(c.len as u32, a, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

/// Checks a pipeline that does `y <- a * x + y`.
macro_rules! check_saxpy {
    ($Pipeline:ident) => {
        everywhere(|device, Case { len, chunk, depth, pinned_in, pinned_out, .. }| {
            let mut pipeline = $Pipeline::options(device).chunk(chunk).depth(depth).build()?;
            let (a, x, start) = (3.0, numbers(len), numbers(2 * len).split_off(len));
            let (report, y) = read!(device, pinned_in, x.clone(), |x| {
                written!(device, pinned_out, start.clone(), |y| pipeline.run(a, x, y)?)
            });
            assert_eq!((report.items, report.chunks), (len, len.div_ceil(chunk)));
            let bytes = 4 * len as u64;
            assert_eq!((report.bytes_to_device, report.bytes_to_host), (2 * bytes, bytes));
            let staged = if pinned_in { 0 } else { bytes } + if pinned_out { 0 } else { 2 * bytes };
            assert_eq!(report.bytes_staged, staged);
            let expected: Vec<f32> = start.iter().zip(&x).map(|(y, x)| y + a * x).collect();
            assert_eq!(y, expected);
            Ok(())
        });
    };
}

#[test]
fn three_streams() {
    check_saxpy!(Saxpy);
}

#[test]
fn a_stream_per_slot() {
    check_saxpy!(PerSlot);
}

#[test]
fn one_stream() {
    check_saxpy!(OneStream);
}

#[test]
fn streams_left_out() {
    check_saxpy!(OwnStreams);
}

stream_pipeline! {
    /// Shapes and chunk depend on parameters.
    pipeline SumRows {
        param k: usize;
        input rows: [f32; k];
        output sums: [f32; k / 2 + 1];
        device d_sums: [f32; k / 2 + 1];
        chunk c = 64 / k + 1;
        stage load { copy rows -> d_rows; }
        stage sum {
            sum_rows<<<blocks(c.len, 32), 32>>>(c.len as u32, k as u32, k as u32 / 2 + 1, &d_rows, out d_sums);
        }
        stage store { copy d_sums -> sums; }
    }
}

fn sums_of_rows(rows: &[f32], k: usize) -> Vec<f32> {
    let copies = k / 2 + 1;
    rows.chunks(k).flat_map(|row| (0..copies).map(|j| row.iter().sum::<f32>() * j as f32)).collect()
}

#[test]
fn shapes_of_parameters() {
    everywhere(|device, Case { len, chunk, depth, pinned_in, pinned_out, .. }| {
        let mut pipeline = SumRows::options(device).chunk(chunk).depth(depth).build()?;
        // One pipeline, another shape each time: the ring has to follow.
        for k in [1, 5, 2] {
            let rows = numbers(len * k);
            let expected = sums_of_rows(&rows, k);
            let (_, sums) = read!(device, pinned_in, rows, |rows| {
                written!(device, pinned_out, vec![f32::NAN; expected.len()], |sums| pipeline
                    .run(k, rows, sums)?)
            });
            assert_eq!(sums, expected);
        }
        Ok(())
    });
}

#[test]
fn a_chunk_of_parameters() -> thalweg::Result<()> {
    let mut pipeline = SumRows::new(&Device::simulated(Simulation::default()))?;
    for (k, chunk) in [(1, 65), (3, 22), (65, 1)] {
        let rows = numbers(200 * k);
        let mut sums = vec![f32::NAN; 200 * (k / 2 + 1)];
        assert_eq!(pipeline.run(k, &rows, &mut sums)?.chunk, chunk);
        assert_eq!(sums, sums_of_rows(&rows, k));
    }
    Ok(())
}

stream_pipeline! {
    /// Device scratch from one kernel to the next.
    pipeline Scratch {
        input x: [i32];
        output z: [i64];
        device pairs: [i64; 2];
        device dz: [i64];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage pair { with_square<<<blocks(c.len, 32), 32>>>(c.len as u32, &dx, out pairs); }
        stage add { sum_pairs<<<blocks(c.len, 32), 32>>>(c.len as u32, &pairs, out dz); }
        stage store { copy dz -> z; }
    }
}

#[test]
fn device_scratch_between_kernels() {
    everywhere(|device, Case { len, chunk, depth, pinned_in, pinned_out, .. }| {
        let mut pipeline = Scratch::options(device).chunk(chunk).depth(depth).build()?;
        let x: Vec<i32> = (0..len as i32).map(|i| 7 * i - 300).collect();
        let expected: Vec<i64> = x.iter().map(|&x| i64::from(x) + i64::from(x) * i64::from(x)).collect();
        let (_, z) = read!(device, pinned_in, x, |x| {
            written!(device, pinned_out, vec![-1; len], |z| pipeline.run(x, z)?)
        });
        assert_eq!(z, expected);
        Ok(())
    });
}

stream_pipeline! {
    /// A copy on the device, one input copied to two buffers, and a buffer that a second input overwrites.
    pipeline Copies {
        input x: [f32];
        input w: [f32];
        output y: [f32];
        output z: [f32];
        chunk c = auto;
        stream up;
        stream math;
        stage load on up { copy x -> first; copy x -> second; }
        stage duplicate on math {
            copy first -> sum;
            axpy_each<<<blocks(c.len, 32), 32>>>(c.len as u32, 2.0, &second, &mut sum);
        }
        stage store { copy sum -> y; }
        stage reload on up { copy w -> first; }
        stage again on math {
            copy first -> sum;
            add_to<<<blocks(c.len, 32), 32>>>(c.len as u32, 1.0, &mut sum);
        }
        stage store_again { copy sum -> z; }
    }
}

#[test]
fn copies_on_the_device_and_buffers_used_twice() {
    everywhere(|device, Case { len, chunk, depth, pinned_in, pinned_out, .. }| {
        let mut pipeline = Copies::options(device).chunk(chunk).depth(depth).build()?;
        let (x, w) = (numbers(len), numbers(3 * len).split_off(2 * len));
        let mut y = vec![f32::NAN; len];
        let (_, z) = read!(device, pinned_in, x.clone(), |x| {
            written!(device, pinned_out, vec![f32::NAN; len], |z| pipeline.run(x, &w, &mut y, z)?)
        });
        assert_eq!(y, x.iter().map(|x| 3.0 * x).collect::<Vec<_>>());
        assert_eq!(z, w.iter().map(|w| w + 1.0).collect::<Vec<_>>());
        Ok(())
    });
}

stream_pipeline! {
    /// Host data that is read after it was written, and written twice, in one chunk.
    pipeline ThereAndBack {
        inout y: [f32];
        output z: [f32];
        chunk c = auto;
        stage load { copy y -> a; }
        stage double { double_all<<<blocks(c.len, 32), 32>>>(c.len as u32, &mut a); }
        stage store { copy a -> y; copy a -> z; }
        stage reload { copy y -> b; }
        stage add { add_to<<<blocks(c.len, 32), 32>>>(c.len as u32, 1.0, &mut b); }
        stage store_again { copy b -> z; }
    }
}

#[test]
fn host_data_used_twice() {
    everywhere(|device, Case { len, chunk, depth, pinned_in, pinned_out, .. }| {
        let mut pipeline = ThereAndBack::options(device).chunk(chunk).depth(depth).build()?;
        let ((_, z), y) = written!(device, pinned_in, numbers(len), |y| {
            written!(device, pinned_out, vec![f32::NAN; len], |z| pipeline.run(y, z)?)
        });
        assert_eq!(y, numbers(len).iter().map(|y| 2.0 * y).collect::<Vec<_>>());
        assert_eq!(z, numbers(len).iter().map(|y| 2.0 * y + 1.0).collect::<Vec<_>>());
        Ok(())
    });
}

stream_pipeline! {
    /// A launch with four values: shared memory, and a stream other than its stage's.
    pipeline FourValues {
        param threads: u32;
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = auto;
        stream copies;
        stream kernels: high;
        stage all on copies {
            copy x -> dx;
            through_shared<<<blocks(c.len, threads), threads, 4 * threads, kernels>>>(c.len as u32, &dx, out dy);
            copy dy -> y;
        }
    }
}

#[test]
fn launches_with_four_values() {
    assert_eq!(FourValues::PLAN.operations.iter().map(|o| o.stream).collect::<Vec<_>>(), [0, 1, 0]);
    everywhere(|device, Case { len, chunk, depth, pinned_in, pinned_out, .. }| {
        let mut pipeline = FourValues::options(device).chunk(chunk).depth(depth).build()?;
        let (_, y) = read!(device, pinned_in, numbers(len), |x| {
            written!(device, pinned_out, vec![f32::NAN; len], |y| pipeline.run(64, x, y)?)
        });
        assert_eq!(y, numbers(len));
        Ok(())
    });
}

/// Pixels in a row of [`Paint`].
const WIDTH: usize = 9;

stream_pipeline! {
    /// Outputs only, in two dimensions: an item is a row.
    pipeline Paint {
        output image: [u32; WIDTH];
        device pixels: [u32; WIDTH];
        chunk c = auto;
        stage draw {
            paint<<<(blocks(WIDTH, 4), blocks(c.len, 8)), (4, 8, 1)>>>(
                WIDTH as u32, c.start as u32, c.len as u32, out pixels
            );
        }
        stage store { copy pixels -> image; }
    }
}

#[test]
fn two_dimensions() {
    everywhere(|device, Case { len, chunk, depth, pinned_out, .. }| {
        let mut pipeline = Paint::options(device).chunk(chunk).depth(depth).build()?;
        let (_, image) =
            written!(device, pinned_out, vec![u32::MAX; len * WIDTH], |image| pipeline.run(image)?);
        let expected = (0..len as u32).flat_map(|row| (0..WIDTH as u32).map(move |col| 1000 * row + col));
        assert_eq!(image, expected.collect::<Vec<_>>());
        Ok(())
    });
}

stream_pipeline! {
    /// Outputs only; the chunk's start, length and index reach the kernel.
    pipeline CountUp {
        param first: u64;
        output z: [u64];
        output chunks: [u64];
        device dz: [u64];
        device d_chunks: [u64];
        chunk c = auto;
        stage count {
            count_up<<<blocks(c.len, 32), 32>>>(c.len as u32, first + c.start as u64, 1, out dz);
            count_up<<<blocks(c.len, 32), 32>>>(c.len as u32, c.index as u64, 0, out d_chunks);
        }
        stage store { copy dz -> z; copy d_chunks -> chunks; }
    }
}

#[test]
fn outputs_only() {
    everywhere(|device, Case { len, chunk, depth, pinned_out, .. }| {
        let mut pipeline = CountUp::options(device).chunk(chunk).depth(depth).build()?;
        let mut chunks = vec![u64::MAX; len];
        let (_, z) =
            written!(device, pinned_out, vec![u64::MAX; len], |z| pipeline.run(1000, z, &mut chunks)?);
        assert_eq!(z, (1000..1000 + len as u64).collect::<Vec<_>>());
        assert_eq!(chunks, (0..len).map(|i| (i / chunk) as u64).collect::<Vec<_>>());
        Ok(())
    });
}

stream_pipeline! {
    /// Several element types at once, a struct among them, and struct scalars.
    pipeline Elements {
        param by: Offset;
        input bytes: [u8];
        output inverted: [u8];
        input words: [u16];
        output wide: [i64];
        inout halves: [f64];
        inout points: [Point];
        device d_inverted: [u8];
        device d_wide: [i64];
        chunk c = auto;
        stage load { copy bytes -> d_bytes; copy words -> d_words; copy halves -> dh; copy points -> dp; }
        stage work {
            invert<<<blocks(c.len, 32), 32>>>(c.len as u32, &d_bytes, out d_inverted);
            widen<<<blocks(c.len, 32), 32>>>(c.len as u32, -3, &d_words, out d_wide);
            halve<<<blocks(c.len, 32), 32>>>(c.len as u32, &mut dh);
            shift<<<blocks(c.len, 32), 32>>>(c.len as u32, by, &mut dp);
        }
        stage store { copy d_inverted -> inverted; copy d_wide -> wide; copy dh -> halves; copy dp -> points; }
    }
}

#[test]
fn elements_of_every_type() {
    everywhere(|device, Case { len, chunk, depth, pinned_in, pinned_out, .. }| {
        let mut pipeline = Elements::options(device).chunk(chunk).depth(depth).build()?;
        let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
        let words: Vec<u16> = (0..len).map(|i| 60_000 - i as u16).collect();
        let point = |i: usize, moved: f32| {
            let (x, y) = (i as f32 + moved, -2.0 * moved);
            Point { x, y, tag: 40 + (moved > 0.0) as u32, unused: i as u32 }
        };
        let mut wide = vec![0; len];
        let mut halves: Vec<f64> = (0..len).map(|i| i as f64).collect();
        let mut points: Vec<Point> = (0..len).map(|i| point(i, 0.0)).collect();
        let by = Offset { x: 0.5, y: -1.0 };
        let (_, inverted) = read!(device, pinned_in, words.clone(), |words| {
            written!(device, pinned_out, vec![0; len], |inverted| pipeline.run(
                by,
                &bytes,
                inverted,
                words,
                &mut wide,
                &mut halves,
                &mut points
            )?)
        });
        assert_eq!(inverted, bytes.iter().map(|byte| !byte).collect::<Vec<_>>());
        assert_eq!(wide, words.iter().map(|&word| -3 * i64::from(word)).collect::<Vec<_>>());
        assert_eq!(halves, (0..len).map(|i| i as f64 / 2.0).collect::<Vec<_>>());
        assert_eq!(points, (0..len).map(|i| point(i, 0.5)).collect::<Vec<_>>());
        Ok(())
    });
}

stream_pipeline! {
    /// Three kernels in a row, on streams of their own, with host bodies for a grid and for a thread.
    pipeline Chained {
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        stage load { copy y -> dy; copy x -> dx; }
        stage add { add_to<<<blocks(c.len, 32), 32>>>(c.len as u32, 1.0, &mut dy); }
        stage double { double_all<<<blocks(c.len, 32), 32>>>(c.len as u32, &mut dy); }
        stage axpy { axpy_each<<<blocks(c.len, 32), 32>>>(c.len as u32, -1.0, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

#[test]
fn chained_kernels() {
    everywhere(|device, Case { len, chunk, depth, pinned_in, pinned_out, .. }| {
        let mut pipeline = Chained::options(device).chunk(chunk).depth(depth).build()?;
        let (_, y) = read!(device, pinned_in, numbers(len), |x| {
            written!(device, pinned_out, numbers(len), |y| pipeline.run(x, y)?)
        });
        assert_eq!(y, numbers(len).iter().map(|x| (x + 1.0) * 2.0 - x).collect::<Vec<_>>());
        Ok(())
    });
}

const SIDE: usize = 16;
const PLANE: (u32, i64) = (8, 4);

stream_pipeline! {
    #[allow(non_snake_case, reason = "a parameter may look like a constant")]
    /// Blocks by names: of whole numbers of several types, of tuples, and of a parameter in capitals.
    pipeline NamedConstants<const K: u32> {
        param N: u32;
        inout y: [f32];
        chunk c = 8;
        stage load { copy y -> dy; }
        stage add {
            add_to<<<blocks(c.len, 32), SIDE * 2>>>(c.len as u32, 1.0, &mut dy);
            add_to<<<(K, 1), (SIDE, 2)>>>(c.len as u32, 1.0, &mut dy);
            add_to<<<1, K>>>(c.len as u32, 1.0, &mut dy);
            add_to<<<N, PLANE>>>(c.len as u32, 1.0, &mut dy);
            add_to<<<1, N>>>(c.len as u32, 1.0, &mut dy);
        }
        stage store { copy dy -> y; }
    }
}

#[test]
fn constants_by_name() {
    let device = Device::simulated(Simulation::default());
    let mut y = vec![0.0; 20];
    NamedConstants::<8>::new(&device).unwrap().run(8, &mut y).unwrap();
    assert_eq!(y, [5.0; 20]);
}
