//! Images: blurs, edges, luma and normalization. Floats are rounded one by one, on both sides in the same
//! order.

use thalweg_kernels::{
    blur_columns_f32, blur_columns_u8, blur_rows_f32, blur_rows_u8, box_columns_u8, box_rows_u8, grayscale,
    normalize_chw, normalize_hwc, sobel_f32, sobel_u8,
};

use thalweg_tests::launches::Dim3;

use super::*;

/// Images, rows and columns.
const IMAGES: [[u32; 3]; 7] =
    [[0, 3, 3], [2, 0, 5], [1, 1, 1], [2, 5, 7], [3, 33, 2], [1, 70, 40], [1, 2, 300]];

/// Blocks of one, two and three axes.
const BLOCKS: [Dim3; 4] = [(32, 8, 1), (1, 1, 1), (5, 3, 2), (100, 1, 1)];

/// A launch with a thread for each pixel, and at least one.
fn covering_all([images, rows, columns]: [u32; 3], block: Dim3) -> Launch {
    let [x, y, z] =
        [(columns, block.0), (rows, block.1), (images, block.2)].map(|(of, by)| of.div_ceil(by).max(1));
    ((x, y, z), block, 0)
}

/// Launches of kernels whose blocks have tiles, of which any grid does all of the work.
const GRIDS: [Dim3; 4] = [(1, 1, 1), (2, 1, 1), (1, 3, 2), (4, 2, 3)];

#[test]
fn blurs() {
    let (mut rows_f32, mut rows_u8) = (Bench::of::<blur_rows_f32>(), Bench::of::<blur_rows_u8>());
    let (mut columns_f32, mut columns_u8) = (Bench::of::<blur_columns_f32>(), Bench::of::<blur_columns_u8>());
    for sizes in IMAGES {
        for ((block, grid), radius) in BLOCKS.into_iter().zip(GRIDS).zip([0, 1, 3, 50_u32]) {
            let (launch, shape) = (covering_all(sizes, block), sizes.map(|size| size as usize));
            let ([_, rows, columns], len) = (sizes, shape.iter().product());
            let of_tiles = (grid, (256, 1, 1), 0);
            let random = &mut rows_f32.random;
            let weights = random.floats(2 * radius as usize + 1, -0.5, 1.0);
            let (x, bytes) = (random.floats(len, -300.0, 600.0), random.bytes(len));
            let special = random.any_floats(len);
            let (old, old_bytes) = (vec![7.0; len], vec![7; len]);
            same!(rows_f32, blur_rows_f32, launch, Tolerance::Exact;
                rows = value(rows), columns = value(columns), radius = value(radius), weights = read(&weights),
                x = read(&special), y = formed((&old, shape)));
            same!(rows_u8, blur_rows_u8, launch, Tolerance::Exact;
                rows = value(rows), columns = value(columns), radius = value(radius), weights = read(&weights),
                x = read(&bytes), y = formed((&old, shape)));
            same!(columns_f32, blur_columns_f32, of_tiles, Tolerance::Exact;
                rows = value(rows), columns = value(columns), radius = value(radius), weights = read(&weights),
                x = read(&special), y = formed((&old, shape)));
            same!(columns_u8, blur_columns_u8, of_tiles, Tolerance::Exact;
                rows = value(rows), columns = value(columns), radius = value(radius), weights = read(&weights),
                x = read(&x), y = formed((&old_bytes, shape)));
        }
    }
    for bench in [rows_f32, rows_u8, columns_f32, columns_u8] {
        bench.finish(112, 120_000);
    }
}

#[test]
fn box_blurs_and_edges() {
    let (mut box_rows, mut box_columns) = (Bench::of::<box_rows_u8>(), Bench::of::<box_columns_u8>());
    let (mut edges, mut edges_of_bytes) = (Bench::of::<sobel_f32>(), Bench::of::<sobel_u8>());
    for sizes in IMAGES {
        for ((block, grid), radius) in BLOCKS.into_iter().zip(GRIDS).zip([0, 1, 3, 50_u32]) {
            let (launch, shape) = (covering_all(sizes, block), sizes.map(|size| size as usize));
            let ([_, rows, columns], len) = (sizes, shape.iter().product());
            let random = &mut edges.random;
            let bytes = random.bytes(len);
            let most = 255 * (2 * radius + 1);
            let sums: Vec<u32> = (0..len).map(|_| random.below(u64::from(most) + 1) as u32).collect();
            let x = random.any_floats(len);
            same!(box_rows, box_rows_u8, (grid, (256, 1, 1), 0), Tolerance::Exact;
                rows = value(rows), columns = value(columns), radius = value(radius), x = read(&bytes),
                sums = formed((&vec![7; len], shape)));
            same!(box_columns, box_columns_u8, (grid, (128, 1, 1), 0), Tolerance::Exact;
                rows = value(rows), columns = value(columns), radius = value(radius), sums = read(&sums),
                y = formed((&vec![7; len], shape)));
            same!(edges, sobel_f32, launch, Tolerance::Exact;
                rows = value(rows), columns = value(columns), x = read(&x), y = formed((&vec![7.0; len], shape)));
            same!(edges_of_bytes, sobel_u8, launch, Tolerance::Exact;
                rows = value(rows), columns = value(columns), x = read(&bytes), y = formed((&vec![7; len], shape)));
        }
    }
    for bench in [box_rows, box_columns, edges, edges_of_bytes] {
        bench.finish(112, 100_000);
    }
}

#[test]
fn luma_of_pixels() {
    let mut bench = Bench::of::<grayscale>();
    for pixels in LENGTHS {
        for block in [1, 96, 1024] {
            let rgb = bench.random.bytes(3 * pixels);
            same!(bench, grayscale, covering(pixels, block), Tolerance::Exact;
                rgb = read_in_groups((&rgb, 3)), gray = write(&vec![7; pixels]));
        }
    }
    bench.finish(108, 100_000);
}

/// A kernel that rounds down is noticed.
#[test]
#[should_panic(expected = "grayscale of")]
fn luma_that_is_rounded_otherwise() {
    let mut bench = Bench::of_changed::<grayscale>(|text| text.replace("32768u", "32767u"));
    // 38470 * 52 + 7471 * 184 is 2^15 below a multiple of 2^16.
    let rgb = [0, 52, 184];
    same!(bench, grayscale, covering(1, 32), Tolerance::Exact;
        rgb = read_in_groups((&rgb, 3)), gray = write(&[7]));
}

#[test]
fn normalizations() {
    let (mut hwc, mut chw) = (Bench::of::<normalize_hwc>(), Bench::of::<normalize_chw>());
    for [images, pixels, channels] in
        [[0, 3, 3], [4, 0, 1], [1, 1, 1], [2, 100, 3], [3, 33, 4], [5, 7, 0], [2, 9, 20]]
    {
        for (block, grid) in [1, 64, 1024].into_iter().zip(GRIDS) {
            let (len, of_channels) = ((images * pixels * channels) as usize, channels as usize);
            let (x, old) = (hwc.random.bytes(len), vec![7.0; len]);
            let mean = hwc.random.floats(of_channels, -1.0, 1.0);
            let mut deviation = hwc.random.floats(of_channels, 0.1, 2.0);
            if let Some(first) = deviation.first_mut() {
                *first = 0.0;
            }
            same!(hwc, normalize_hwc, covering(len, block), Tolerance::Exact;
                channels = value(channels), mean = read(&mean), deviation = read(&deviation), x = read(&x),
                y = write(&old));
            let shape = [images, channels, pixels];
            same!(chw, normalize_chw, (grid, (256, 1, 1), 0), Tolerance::Exact;
                pixels = value(pixels), channels = value(channels), mean = read(&mean),
                deviation = read(&deviation), x = read(&x),
                y = formed((&old, shape.map(|axis| axis as usize))));
        }
    }
    for bench in [hwc, chw] {
        bench.finish(84, 25_000);
    }
}
