//! Filters of images: the simulated device is compared with plain loops, and a GPU with the simulated device.
//! All of them give the same bits everywhere.

use proptest::prelude::*;
use thalweg::prelude::*;
use thalweg_kernels::{
    blur_columns_f32, blur_columns_u8, blur_rows_f32, blur_rows_u8, box_columns_u8, box_rows_u8, gaussian,
    sobel_f32, sobel_u8,
};
use thalweg_tests::compare::{Tolerance, assert_close, on_gpu_and_simulated};
use thalweg_tests::is;
use thalweg_tests::launches::Dim3;
use thalweg_tests::random::Random;

stream_pipeline! {
    /// Every filter. An item is an image.
    pipeline Filters {
        /// Of the kernels with a thread for each pixel.
        param block: Dim3;
        /// Of those whose blocks have tiles: any does all of the work.
        param grid: Dim3;
        param rows: u32;
        param columns: u32;
        param radius: u32;
        resident weights: [f32];
        input x: [f32; (rows * columns) as usize];
        input b: [u8; (rows * columns) as usize];
        output blurred: [f32; (rows * columns) as usize];
        output edges: [f32; (rows * columns) as usize];
        output b_blurred: [u8; (rows * columns) as usize];
        output b_boxed: [u8; (rows * columns) as usize];
        output b_edges: [u8; (rows * columns) as usize];
        device t: [f32; (rows * columns) as usize];
        device bt: [f32; (rows * columns) as usize];
        device sums: [u32; (rows * columns) as usize];
        device d_blurred: [f32; (rows * columns) as usize];
        device d_edges: [f32; (rows * columns) as usize];
        device d_b_blurred: [u8; (rows * columns) as usize];
        device d_b_boxed: [u8; (rows * columns) as usize];
        device d_b_edges: [u8; (rows * columns) as usize];
        chunk c = 3;
        stage load { copy x -> dx; copy b -> db; }
        stage floats {
            blur_rows_f32<<<covering([c.len as u32, rows, columns], block), block>>>(
                rows, columns, radius, &weights, &dx, out t as [c.len, rows as usize, columns as usize]);
            blur_columns_f32<<<grid, 256>>>(
                rows, columns, radius, &weights, &t, out d_blurred as [c.len, rows as usize, columns as usize]);
            sobel_f32<<<covering([c.len as u32, rows, columns], block), block>>>(
                rows, columns, &dx, out d_edges as [c.len, rows as usize, columns as usize]);
        }
        stage bytes {
            blur_rows_u8<<<covering([c.len as u32, rows, columns], block), block>>>(
                rows, columns, radius, &weights, &db, out bt as [c.len, rows as usize, columns as usize]);
            blur_columns_u8<<<grid, 256>>>(
                rows, columns, radius, &weights, &bt, out d_b_blurred as [c.len, rows as usize, columns as usize]);
            box_rows_u8<<<grid, 256>>>(
                rows, columns, radius, &db, out sums as [c.len, rows as usize, columns as usize]);
            box_columns_u8<<<grid, 128>>>(
                rows, columns, radius, &sums, out d_b_boxed as [c.len, rows as usize, columns as usize]);
            sobel_u8<<<covering([c.len as u32, rows, columns], block), block>>>(
                rows, columns, &db, out d_b_edges as [c.len, rows as usize, columns as usize]);
        }
        stage store {
            copy d_blurred -> blurred;
            copy d_edges -> edges;
            copy d_b_blurred -> b_blurred;
            copy d_b_boxed -> b_boxed;
            copy d_b_edges -> b_edges;
        }
    }
}

/// A grid with a thread for each pixel.
fn covering([images, rows, columns]: [u32; 3], (x, y, z): Dim3) -> Dim3 {
    (columns.div_ceil(x), rows.div_ceil(y), images.div_ceil(z))
}

/// A grid with fewer blocks than there are tiles, or with more, as many as a block of pixels is large.
fn any_grid((x, y, z): Dim3) -> Dim3 {
    (z.min(3), y.min(2), x.min(4))
}

/// Blocks of one, two and three axes.
const BLOCKS: [Dim3; 6] = [(32, 8, 1), (1, 1, 1), (16, 4, 4), (33, 1, 1), (5, 13, 3), (1, 1, 64)];

/// Images and a filter of them.
struct Images {
    /// Images, rows, columns.
    shape: [u32; 3],
    radius: u32,
    weights: Vec<f32>,
    x: Vec<f32>,
    b: Vec<u8>,
}

/// The results of the filters.
struct Filtered {
    blurred: Vec<f32>,
    edges: Vec<f32>,
    b_blurred: Vec<u8>,
    b_boxed: Vec<u8>,
    b_edges: Vec<u8>,
}

impl Images {
    /// The weights have both signs, so that some sums are below 0 and some above 255.
    fn random(random: &mut Random, shape: [u32; 3], radius: u32) -> Self {
        let len = shape.iter().product::<u32>() as usize;
        let weights = random.floats(2 * radius as usize + 1, -1.0, 1.5);
        Self { shape, radius, weights, x: random.any_floats(len), b: random.bytes(len) }
    }

    fn filtered(&self, device: &Device, block: Dim3) -> thalweg::Result<Filtered> {
        let Self { shape: [_, rows, columns], radius, weights, x, b } = self;
        let mut filtered = Filtered {
            blurred: vec![7.0; x.len()],
            edges: vec![7.0; x.len()],
            b_blurred: vec![7; x.len()],
            b_boxed: vec![7; x.len()],
            b_edges: vec![7; x.len()],
        };
        let Filtered { blurred, edges, b_blurred, b_boxed, b_edges } = &mut filtered;
        Filters::new(device)?.run(
            block,
            any_grid(block),
            *rows,
            *columns,
            *radius,
            weights,
            x,
            b,
            blurred,
            edges,
            b_blurred,
            b_boxed,
            b_edges,
        )?;
        Ok(filtered)
    }

    /// The same results, computed pixel by pixel.
    fn by_loops(&self) -> Filtered {
        let [images, rows, columns] = self.shape.map(|n| n as i64);
        let radius = i64::from(self.radius);
        let place = |image: i64, row: i64, column: i64| {
            ((image * rows + row.clamp(0, rows - 1)) * columns + column.clamp(0, columns - 1)) as usize
        };
        let each = |of: &dyn Fn(i64, i64, i64) -> f32| -> Vec<f32> {
            let rows_of = |image| (0..rows).map(move |row| (image, row));
            let pixels = |(image, row)| (0..columns).map(move |column| (image, row, column));
            (0..images).flat_map(rows_of).flat_map(pixels).map(|(i, r, c)| of(i, r, c)).collect()
        };
        let blur = |x: &[f32]| {
            let sum = |products: &mut dyn Iterator<Item = f32>| {
                let mut sum = 0.0;
                for product in products {
                    sum += product;
                }
                sum
            };
            let taps = || self.weights.iter().zip(-radius..=radius);
            let t = each(&|i, r, c| sum(&mut taps().map(|(w, d)| w * x[place(i, r, c + d)])));
            each(&|i, r, c| sum(&mut taps().map(|(w, d)| w * t[place(i, r + d, c)])))
        };
        let edges = |x: &[f32]| {
            each(&|i, r, c| {
                let at = |dr: i64, dc: i64| x[place(i, r + dr, c + dc)];
                let right = (at(-1, 1) + 2.0 * at(0, 1)) + at(1, 1);
                let left = (at(-1, -1) + 2.0 * at(0, -1)) + at(1, -1);
                let below = (at(1, -1) + 2.0 * at(1, 0)) + at(1, 1);
                let above = (at(-1, -1) + 2.0 * at(-1, 0)) + at(-1, 1);
                ((right - left) * (right - left) + (below - above) * (below - above)).sqrt()
            })
        };
        let boxed = each(&|i, r, c| {
            let line = |d| (-radius..=radius).map(move |e| u64::from(self.b[place(i, r + d, c + e)]));
            let sum: u64 = (-radius..=radius).flat_map(line).sum();
            let area = (2 * radius as u64 + 1).pow(2);
            ((2 * sum + area) / (2 * area)) as f32
        });
        let floats: Vec<f32> = self.b.iter().map(|&b| b.into()).collect();
        let bytes =
            |x: Vec<f32>| x.into_iter().map(|x| x.clamp(0.0, 255.0).round_ties_even() as u8).collect();
        Filtered {
            blurred: blur(&self.x),
            edges: edges(&self.x),
            b_blurred: bytes(blur(&floats)),
            b_boxed: bytes(boxed),
            b_edges: bytes(edges(&floats)),
        }
    }
}

#[track_caller]
fn assert_filtered(found: &Filtered, expected: &Filtered, what: &str) {
    assert_close(&found.blurred, &expected.blurred, Tolerance::Exact, format_args!("blur, {what}"));
    assert_close(&found.edges, &expected.edges, Tolerance::Exact, format_args!("edges, {what}"));
    assert_close(
        &found.b_blurred,
        &expected.b_blurred,
        Tolerance::Exact,
        format_args!("blur of bytes, {what}"),
    );
    assert_close(&found.b_boxed, &expected.b_boxed, Tolerance::Exact, format_args!("box of bytes, {what}"));
    assert_close(&found.b_edges, &expected.b_edges, Tolerance::Exact, format_args!("edges of bytes, {what}"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn filters_are_loops(
        images in 0..8_u32, rows in 1..20_u32, columns in 1..20_u32, radius in 0..12_u32,
        block in 0..BLOCKS.len(), seed in any::<u64>(),
    ) {
        let images = Images::random(&mut Random::new(seed), [images, rows, columns], radius);
        let found = images.filtered(&Device::simulated(Simulation::default()), BLOCKS[block]).unwrap();
        assert_filtered(&found, &images.by_loops(), &format!("{:?}, {radius}", images.shape));
    }

    #[test]
    fn weights_of_a_bell(radius in 0..50_u32, sigma in 0.3..20_f32) {
        let weights = gaussian(radius, sigma);
        assert_eq!(weights.len(), 2 * radius as usize + 1);
        assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        let centre = radius as usize;
        for d in 1..=centre {
            assert_eq!(weights[centre - d], weights[centre + d]);
            let (ratio, d) = (weights[centre + d] / weights[centre], d as f32);
            assert!((ratio - (-d * d / (2.0 * sigma * sigma)).exp()).abs() < 1e-5);
        }
    }
}

#[test]
fn a_blur_of_images_that_are_all_alike_leaves_them() {
    let device = Device::simulated(Simulation::default());
    for level in [0, 1, 77, 255] {
        let (shape, radius) = ([2, 9, 11], 4);
        let images = Images {
            shape,
            radius,
            weights: gaussian(radius, 1.5),
            x: vec![level.into(); 198],
            b: vec![level; 198],
        };
        let found = images.filtered(&device, BLOCKS[0]).unwrap();
        assert_close(&found.blurred, &images.x, Tolerance::Within { absolute: 0.0, relative: 1e-6 }, "blur");
        assert_eq!((&found.b_blurred, &found.b_boxed), (&images.b, &images.b));
        assert_eq!((found.edges, found.b_edges), (vec![0.0; 198], vec![0; 198]));
    }
}

/// The widest box: its sums come close to 2^32.
fn widest_box(device: &Device) {
    for (rows, columns) in [(1, 1), (3, 5000), (5000, 3)] {
        let len = (rows * columns) as usize;
        let weights = vec![0.0; 4095];
        let images =
            Images { shape: [1, rows, columns], radius: 2047, weights, x: vec![0.0; len], b: vec![255; len] };
        assert_eq!(images.filtered(device, BLOCKS[0]).unwrap().b_boxed, images.b);
    }
}

#[test]
fn the_widest_box_does_not_overflow() {
    widest_box(&Device::simulated(Simulation::default()));
}

#[test]
fn what_would_leave_the_slices_is_refused() {
    let device = Device::simulated(Simulation::default());
    let mut images = Images::random(&mut Random::new(1), [2, 3, 4], 5);
    images.weights.pop();
    let error = images.filtered(&device, BLOCKS[0]).err().unwrap();
    is!(
        error,
        Requires { kernel: "blur_rows::<f32>", condition: "(2 * radius as usize) < weights.len()", .. }
    );
    let mut images = Images::random(&mut Random::new(1), [2, 3, 4], 2047);
    images.radius = 2048;
    images.weights.extend([0.0; 2]);
    is!(images.filtered(&device, BLOCKS[0]).err().unwrap(), Requires { kernel: "box_rows_u8", .. });
}

#[test]
#[ignore = "needs a CUDA device"]
fn filters_are_the_same_on_a_gpu() {
    let shapes = [
        ([0, 3, 3], 1),
        ([1, 1, 1], 0),
        ([4, 32, 32], 2),
        ([5, 31, 33], 3),
        ([1, 100, 7], 50),
        ([2, 7, 100], 50),
        ([3, 400, 300], 5),
    ];
    let run = |device: &Device| {
        let (mut random, mut cases) = (Random::new(2), Vec::new());
        for (shape, radius) in shapes {
            for block in BLOCKS {
                let images = Images::random(&mut random, shape, radius);
                cases.push((format!("{shape:?}, {radius}, {block:?}"), images.filtered(device, block)?));
            }
        }
        Ok(cases)
    };
    let (gpu, simulated) = on_gpu_and_simulated(run);
    assert_eq!(gpu.len(), shapes.len() * BLOCKS.len());
    for ((what, gpu), (_, simulated)) in gpu.iter().zip(&simulated) {
        assert_filtered(gpu, simulated, what);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_widest_box_does_not_overflow_on_a_gpu() {
    widest_box(&Device::cuda(0).expect("a GPU"));
}
