//! Histograms.

use proptest::prelude::*;
use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg_kernels::{histogram_f32, histogram_u8};
use thalweg_tests::compare::{Tolerance, assert_same_on_both, on_gpu_and_simulated};
use thalweg_tests::on_a_gpu_every;
use thalweg_tests::random::Random;

use super::{Dim3, LENGTHS, SHAPES, config, simulated};

stream_pipeline! {
    /// Histograms of the whole run, and of each chunk.
    pipeline Bytes {
        param grid: Dim3;
        param block: Dim3;
        input x: [u8];
        carry all: [u32; 256] = 0;
        output counts: [u32; 256] per chunk;
        device d_counts: [u32; 256] per chunk;
        chunk c = auto;
        stage load { copy x -> dx; }
        stage count {
            histogram_u8<<<grid, block>>>(c.len as u32, &dx, &mut all);
            fill d_counts = 0;
            histogram_u8<<<grid, block>>>(c.len as u32, &dx, &mut d_counts);
        }
        stage store { copy d_counts -> counts; }
    }
}

stream_pipeline! {
    /// Histograms of data on the device, so that chunks begin at any address.
    pipeline BytesInPlace {
        input x: device [u8];
        carry counts: [u32; 256] = 0;
        chunk c = 17;
        stage count { histogram_u8<<<2, 64>>>(c.len as u32, &x, &mut counts); }
    }
}

stream_pipeline! {
    pipeline Binned {
        param bins: u32;
        param low: f32;
        param high: f32;
        param shared: u32;
        param grid: Dim3;
        param block: Dim3;
        input x: [f32];
        output counts: [u32; bins as usize + 3] per chunk;
        device d_counts: [u32; bins as usize + 3] per chunk;
        chunk c = auto;
        stage count {
            copy x -> dx;
            fill d_counts = 0;
            histogram_f32<<<grid, block, shared>>>(c.len as u32, bins, low, high, &dx, &mut d_counts);
            copy d_counts -> counts;
        }
    }
}

/// All counts; those of the run come first.
fn bytes(device: &Device, chunk: usize, at: usize, x: &[u8]) -> thalweg::Result<Vec<u32>> {
    let (grid, block) = SHAPES[at];
    let (mut all, mut counts) = ([1; 256], vec![1; 256 * x.len().div_ceil(chunk)]);
    Bytes::options(device).chunk(chunk).build()?.run(grid, block, x, &mut all, &mut counts)?;
    Ok([&all[..], &counts].concat())
}

fn binned(
    device: &Device,
    (bins, low, high): (u32, f32, f32),
    shared: u32,
    at: usize,
    x: &[f32],
) -> thalweg::Result<Vec<u32>> {
    // The kernel is in blocks of one dimension.
    let [grid, block] = [SHAPES[at].0, SHAPES[at].1].map(|(x, y, z)| (x * y * z, 1, 1));
    let groups = bins as usize + 3;
    let mut counts = vec![1; 2 * groups];
    let mut pipeline = Binned::options(device).chunk(x.len().div_ceil(2).max(1)).build()?;
    let report = pipeline.run(bins, low, high, shared, grid, block, x, &mut counts)?;
    let mut sums = vec![0; groups];
    for (i, count) in counts[..report.chunks * groups].iter().enumerate() {
        sums[i % groups] += count;
    }
    Ok(sums)
}

fn count_bytes(x: &[u8]) -> Vec<u32> {
    (0..=255).map(|value| x.iter().filter(|&&x| x == value).count() as u32).collect()
}

/// Bytes; some values are much more frequent than others.
fn skewed(random: &mut Random, len: usize) -> Vec<u8> {
    let mut x = random.bytes(len);
    for x in &mut x {
        if random.below(3) == 0 {
            *x = 200;
        }
    }
    x
}

/// Sizes of dynamic shared memory around the size that `bins` bins need, in bytes.
fn rooms(bins: u32) -> [u32; 7] {
    let copy = 4 * (bins | 1);
    [0, (4 * bins).saturating_sub(4), 4 * bins, 2 * copy - 1, 2 * copy, 8 * copy, 40_000]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn histograms_of_bytes_are_loops(len in 0..3000_usize, chunk in 1..3000_usize, seed in any::<u64>()) {
        let x = skewed(&mut Random::new(seed), len);
        let chunk = chunk.max(len / 10);
        let found = bytes(&simulated(), chunk, seed as usize % SHAPES.len(), &x).unwrap();
        let expected: Vec<_> = [&x[..]].into_iter().chain(x.chunks(chunk)).flat_map(count_bytes).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn histograms_of_floats_are_loops(
        len in 0..3000_usize,
        bins in 0..300_u32,
        steps in 1..400_i16,
        start in -500..500_i16,
        shape in 0..SHAPES.len(),
        room in 0..7_usize,
        seed in any::<u64>(),
    ) {
        // Data and borders are on a coarse grid, where a float is without doubt in a bin or on its lower
        // edge: each bin is `steps` steps wide, and `1 / steps` is exact only if `steps` is a power of two.
        let steps = (steps as u16).next_power_of_two();
        let step = 1.0 / 64.0;
        let width = f32::from(steps) * step;
        let (low, high) = (f32::from(start) * step, f32::from(start) * step + bins.max(1) as f32 * width);
        let mut random = Random::new(seed);
        let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, low, high, low.next_down(), high.next_up()];
        let x: Vec<f32> = (0..len).map(|_| match random.below(20) {
            0 => special[random.below(special.len() as u64) as usize],
            _ => low + step * random.between(-20.0, f64::from(bins * u32::from(steps)) + 20.0).floor() as f32,
        }).collect();
        let mut expected = vec![0; bins as usize + 3];
        for bin in 0..bins {
            let edge = |bin: u32| low + bin as f32 * width;
            let is_in = |x: f32| edge(bin) <= x && (x < edge(bin + 1) || bin + 1 == bins && x == high);
            expected[bin as usize] = x.iter().filter(|&&x| is_in(x)).count() as u32;
        }
        // With 0 bins the width may be anything.
        let counts = binned(&simulated(), (bins, low, high), rooms(bins)[room], shape, &x).unwrap();
        prop_assert_eq!(counts, expected, "{} bins from {} to {}", bins, low, high);
    }
}

/// A warp has a piece of the numbers under way, and what is in no piece is left over.
#[test]
fn each_number_is_counted_once_whatever_the_length() {
    let mut random = Random::new(5);
    // A chunk is half of the data, and a piece has 256 numbers.
    let borders = [256, 512, 256 * 257].into_iter().flat_map(|border| border - 1..=border + 1);
    for half in borders.chain([50_000]) {
        let x: Vec<f32> = (0..2 * half).map(|_| random.below(64) as f32 / 64.0).collect();
        let expected = (0..16_u8).map(|bin| x.iter().filter(|&&x| (16.0 * x) as u8 == bin).count() as u32);
        let expected: Vec<_> = expected.chain([0; 3]).collect();
        for room in [0, 4 * 16, 8 * 4 * 17] {
            let counts = binned(&simulated(), (16, 0.0, 1.0), room, 3, &x).unwrap();
            assert_eq!(counts, expected, "{half} numbers, {room} bytes of shared memory");
        }
    }
}

/// As many bins as one copy of them in the largest shared memory has room for: 16 bits hold the number of each.
#[test]
fn shared_memory_may_be_full_of_bins() {
    let bins = (227 << 10) / 4;
    let x: Vec<f32> = (0..=bins).map(|bin| bin as f32).collect();
    let counts = binned(&simulated(), (bins, 0.0, bins as f32), 4 * bins, 3, &x).unwrap();
    // The upper border is in the last bin, too.
    let expected: Vec<_> = (0..bins).map(|bin| if bin + 1 == bins { 2 } else { 1 }).chain([0; 3]).collect();
    assert_eq!(counts, expected);
}

#[test]
fn what_has_no_bins_is_refused() {
    let one = |bins, low, high| {
        let (mut counts, mut pipeline) = (vec![0; bins as usize + 3], Binned::new(&simulated()).unwrap());
        pipeline.run(bins, low, high, 0, (1, 1, 1), (32, 1, 1), &[0.5], &mut counts)
    };
    one(1, 0.0, 1.0).unwrap();
    for (bins, low, high) in [
        (4, 1.0, 0.0),
        (4, 1.0, 1.0),
        (4, f32::NAN, 1.0),
        (4, 0.0, f32::NAN),
        (4, 0.0, f32::INFINITY),
        (4, f32::MIN, f32::MAX),
        (4, 0.0, f32::from_bits(1)),
        ((1 << 24) + 1, 0.0, 1.0),
    ] {
        let error = one(bins, low, high).unwrap_err();
        assert!(matches!(error.detail(), Detail::Requires { kernel: "histogram_f32", .. }), "{error}");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn histograms_of_bytes_are_the_same_on_a_gpu() {
    let mut random = Random::new(3);
    for len in LENGTHS {
        for (at, shape) in SHAPES.iter().enumerate() {
            let x = if at % 2 == 0 { skewed(&mut random, len) } else { vec![7; len] };
            let what = format!("{len} bytes, {shape:?}");
            assert_same_on_both(what, Tolerance::Exact, |device| {
                bytes(device, len.div_ceil(3).max(1), at, &x)
            });
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn histograms_of_bytes_at_any_address_are_the_same_on_a_gpu() {
    let x = Random::new(4).bytes(1000);
    assert_same_on_both("in place", Tolerance::Exact, |device| {
        let mut counts = [0; 256];
        let x = DeviceBuf::from_slice(device, &x)?;
        BytesInPlace::new(device)?.run(&x, &mut counts)?;
        Ok(counts.to_vec())
    });
    let (gpu, _) = on_gpu_and_simulated(|device| {
        let mut counts = [0; 256];
        BytesInPlace::new(device)?.run(&DeviceBuf::from_slice(device, &x)?, &mut counts)?;
        Ok(counts.to_vec())
    });
    assert_eq!(gpu, count_bytes(&x));
}

#[test]
#[ignore = "needs a CUDA device"]
fn histograms_of_floats_are_the_same_on_a_gpu() {
    let mut random = Random::new(5);
    let sizes = [0, 1, 33, 1025, 1_000_000].into_iter();
    let sizes = sizes.flat_map(|len| [0, 1, 2, 31, 32, 100, 1000].map(|bins| (len, bins)));
    let limits = [(-1.0, 1.0), (0.0, 0.3), (-1e30, 1e30), (0.0, 1e-30)];
    let all = sizes.flat_map(|size| limits.map(|limits| (size, limits)));
    let all = all.flat_map(|(size, limits)| rooms(size.1).map(|shared| (size, limits, shared)));
    for (number, ((len, bins), (low, high), shared)) in on_a_gpu_every(all.enumerate()) {
        let mut x = random.any_floats(len / 2);
        x.extend(random.floats(len - len / 2, 1.1 * low, 1.1 * high));
        let at = number % SHAPES.len();
        let shape = SHAPES[at];
        let what = format!("{len} floats, {bins} bins from {low} to {high}, {shared} bytes, {shape:?}");
        assert_same_on_both(what, Tolerance::Exact, |device| {
            binned(device, (bins, low, high), shared, at, &x)
        });
    }
}
