//! Gather.

use proptest::prelude::*;
use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg_kernels::{gather_f32, gather_u32};
use thalweg_tests::compare::{Tolerance, assert_same_on_both};
use thalweg_tests::random::Random;

use super::{LENGTHS, config, simulated};

stream_pipeline! {
    pipeline Gather {
        param width: u32;
        param rows: u32;
        resident table: [f32];
        resident words: [u32];
        input index: [u32];
        output y: [f32; width as usize];
        output z: [u32; width as usize];
        device dy: [f32; width as usize];
        device dz: [u32; width as usize];
        chunk c = auto;
        stage load { copy index -> d_index; }
        stage look_up {
            gather_f32<<<blocks(c.len * width as usize, 64), 64>>>(
                width, rows, &d_index, &table, out dy
            );
            gather_u32<<<blocks(c.len * width as usize, 192), 192>>>(
                width, rows, &d_index, &words, out dz
            );
        }
        stage store { copy dy -> y; copy dz -> z; }
    }
}

/// The gathered elements, as the bits of the floats and as words.
fn gathered(
    device: &Device,
    chunk: usize,
    width: u32,
    rows: u32,
    table: &[f32],
    index: &[u32],
) -> thalweg::Result<[Vec<u32>; 2]> {
    let words: Vec<u32> = table.iter().map(|x| !x.to_bits()).collect();
    let len = index.len() * width as usize;
    let (mut y, mut z) = (vec![7.0; len], vec![7; len]);
    let mut pipeline = Gather::options(device).chunk(chunk).build()?;
    pipeline.run(width, rows, table, &words, index, &mut y, &mut z)?;
    Ok([y.into_iter().map(f32::to_bits).collect(), z])
}

/// Indices; some are out of range, by one and by much.
fn indices(random: &mut Random, len: usize, rows: u32) -> Vec<u32> {
    (0..len)
        .map(|_| match random.below(10) {
            0 => rows,
            1 => u32::MAX - random.below(2) as u32,
            _ => random.below(u64::from(rows).max(1)) as u32,
        })
        .collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn gather_is_a_loop(
        len in 0..500_usize,
        width in 1..40_u32,
        rows in 0..50_u32,
        chunk in 1..500_usize,
        seed in any::<u64>(),
    ) {
        let mut random = Random::new(seed);
        // There is one element more than the rows need: it belongs to none.
        let table = random.any_floats((rows * width) as usize + 1);
        let index = indices(&mut random, len, rows);
        let [y, z] = gathered(&simulated(), chunk.max(len / 20), width, rows, &table, &index).unwrap();
        let row = |&row: &u32| (0..width).map(move |j| (row < rows).then(|| (row * width + j) as usize));
        let places: Vec<_> = index.iter().flat_map(row).collect();
        prop_assert_eq!(y, places.iter().map(|at| at.map_or(0, |at| table[at].to_bits())).collect::<Vec<_>>());
        prop_assert_eq!(z, places.iter().map(|at| at.map_or(0, |at| !table[at].to_bits())).collect::<Vec<_>>());
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn gather_is_the_same_on_a_gpu() {
    let mut random = Random::new(7);
    for len in LENGTHS {
        for (width, rows) in [(1, 1000), (3, 7), (64, 100), (1, 0), (129, 1)] {
            let len = len / width as usize;
            let table = random.any_floats((rows * width) as usize);
            let index = indices(&mut random, len, rows);
            let what = format!("{len} of {rows} rows of {width}");
            assert_same_on_both(what, Tolerance::Exact, |device| {
                Ok(gathered(device, len.div_ceil(3).max(1), width, rows, &table, &index)?.concat())
            });
        }
    }
}

#[test]
fn a_table_with_fewer_rows_is_refused() {
    let one = |rows| gathered(&simulated(), 1, 3, rows, &[1.0; 10], &[0]);
    one(3).unwrap();
    for rows in [4, u32::MAX] {
        let error = one(rows).unwrap_err();
        assert!(matches!(error.detail(), Detail::Requires { kernel: "gather::<f32>", .. }), "{error}");
    }
}
