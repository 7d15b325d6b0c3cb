//! Images: blurs, edges, luma and normalization. Floats are rounded one by one, on both sides in the same
//! order.

use thalweg_kernels::{
    blur_columns_f32, blur_columns_u8, blur_rows_f32, blur_rows_u8, box_columns_u8, box_rows_u8, grayscale,
    normalize_chw, normalize_hwc, sobel_f32, sobel_u8,
};

use super::*;

/// Images, rows and columns.
const IMAGES: [[u32; 3]; 7] =
    [[0, 3, 3], [2, 0, 5], [1, 1, 1], [2, 5, 7], [3, 33, 2], [1, 70, 40], [1, 2, 300]];

/// The kernels stride: any of these does all of the work.
const GRIDS: [Launch; 4] = [
    ((2, 3, 1), (32, 8, 1), 0),
    ((1, 1, 1), (1, 1, 1), 0),
    ((1, 2, 2), (5, 3, 2), 0),
    ((3, 1, 1), (100, 1, 1), 0),
];

#[test]
fn blurs() {
    let mut bench =
        Bench::new("filter.cu", &["blur_rows_f32", "blur_rows_u8", "blur_columns_f32", "blur_columns_u8"]);
    for [images, rows, columns] in IMAGES {
        for (launch, radius) in GRIDS.into_iter().zip([0, 1, 3, 50_u32]) {
            let len = (images * rows * columns) as usize;
            let weights = bench.random.floats(2 * radius as usize + 1, -0.5, 1.0);
            let (x, bytes) = (bench.random.floats(len, -300.0, 600.0), bench.random.bytes(len));
            let special = bench.random.any_floats(len);
            let (old, old_bytes) = (vec![7.0; len], vec![7; len]);
            let [images, rows, columns] = [images, rows, columns];
            same!(bench, blur_rows_f32 as "blur_rows_f32", launch, Tolerance::Exact;
                images = value(images), rows = value(rows), columns = value(columns), radius = value(radius),
                weights = read(&weights), x = read(&special), y = write(&old));
            same!(bench, blur_rows_u8 as "blur_rows_u8", launch, Tolerance::Exact;
                images = value(images), rows = value(rows), columns = value(columns), radius = value(radius),
                weights = read(&weights), x = read(&bytes), y = write(&old));
            same!(bench, blur_columns_f32 as "blur_columns_f32", launch, Tolerance::Exact;
                images = value(images), rows = value(rows), columns = value(columns), radius = value(radius),
                weights = read(&weights), x = read(&special), y = write(&old));
            same!(bench, blur_columns_u8 as "blur_columns_u8", launch, Tolerance::Exact;
                images = value(images), rows = value(rows), columns = value(columns), radius = value(radius),
                weights = read(&weights), x = read(&x), y = write(&old_bytes));
        }
    }
    bench.finish(448, 480_000);
}

#[test]
fn box_blurs_and_edges() {
    let mut bench = Bench::new("filter.cu", &["box_rows_u8", "box_columns_u8", "sobel_f32", "sobel_u8"]);
    for [images, rows, columns] in IMAGES {
        for (launch, radius) in GRIDS.into_iter().zip([0, 1, 3, 50_u32]) {
            let len = (images * rows * columns) as usize;
            let bytes = bench.random.bytes(len);
            let most = 255 * (2 * radius + 1);
            let sums: Vec<u32> = (0..len).map(|_| bench.random.below(u64::from(most) + 1) as u32).collect();
            let x = bench.random.any_floats(len);
            same!(bench, box_rows_u8 as "box_rows_u8", launch, Tolerance::Exact;
                images = value(images), rows = value(rows), columns = value(columns), radius = value(radius),
                x = read(&bytes), sums = write(&vec![7; len]));
            same!(bench, box_columns_u8 as "box_columns_u8", launch, Tolerance::Exact;
                images = value(images), rows = value(rows), columns = value(columns), radius = value(radius),
                sums = read(&sums), y = write(&vec![7; len]));
            same!(bench, sobel_f32 as "sobel_f32", launch, Tolerance::Exact;
                images = value(images), rows = value(rows), columns = value(columns), x = read(&x),
                y = write(&vec![7.0; len]));
            same!(bench, sobel_u8 as "sobel_u8", launch, Tolerance::Exact;
                images = value(images), rows = value(rows), columns = value(columns), x = read(&bytes),
                y = write(&vec![7; len]));
        }
    }
    bench.finish(448, 400_000);
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
    let mut bench = Bench::new("normalize.cu", &["normalize_hwc", "normalize_chw"]);
    for [images, pixels, channels] in
        [[0, 3, 3], [4, 0, 1], [1, 1, 1], [2, 100, 3], [3, 33, 4], [5, 7, 0], [2, 9, 20]]
    {
        for block in [1, 64, 1024] {
            let (len, of_channels) = ((images * pixels * channels) as usize, channels as usize);
            let (x, old) = (bench.random.bytes(len), vec![7.0; len]);
            let mean = bench.random.floats(of_channels, -1.0, 1.0);
            let mut deviation = bench.random.floats(of_channels, 0.1, 2.0);
            if let Some(first) = deviation.first_mut() {
                *first = 0.0;
            }
            same!(bench, normalize_hwc as "normalize_hwc", covering(len, block), Tolerance::Exact;
                pixels = value(images * pixels), channels = value(channels), mean = read(&mean),
                deviation = read(&deviation), x = read(&x), y = write(&old));
            let launch = covering((images * pixels) as usize, block);
            same!(bench, normalize_chw as "normalize_chw", launch, Tolerance::Exact;
                images = value(images), pixels = value(pixels), channels = value(channels),
                mean = read(&mean), deviation = read(&deviation), x = read(&x), y = write(&old));
        }
    }
    bench.finish(168, 50_000);
}
