//! Writes the edges of a folder of photographs as PNGs. Decoding, the device and encoding are at work at the
//! same time.
//!
//! ```text
//! cargo run --release --example image_batch [photographs [edges]]
//! ```
//!
//! With `-- --devices all` behind it, all GPUs share the chunks.
//!
//! Both are folders; the second is made if it is not there. Edges are Sobel's of the photograph's luma, after
//! a Gaussian blur that keeps the grain of the picture from being edges.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use image::{ColorType, GrayImage, ImageBuffer, Luma};
use thalweg::prelude::*;
use thalweg_examples::Arguments;
use thalweg_kernels::{blur_columns_u8, blur_rows_u8, gaussian, grayscale, luma, sobel_u8};

stream_pipeline! {
    /// An item is a photograph, since a blur looks in all directions, up to the border. All photographs of a
    /// run have one size.
    pipeline Edges {
        param rows: u32;
        param columns: u32;
        resident weights: [f32];
        input photographs: [u8; 3 * rows as usize * columns as usize];
        output edges: [u8; rows as usize * columns as usize];
        device gray: [u8; rows as usize * columns as usize];
        device half_blurred: [f32; rows as usize * columns as usize];
        device blurred: [u8; rows as usize * columns as usize];
        device d_edges: [u8; rows as usize * columns as usize];

        // A photograph has work for the whole device. With more of them in a chunk, it would wait for all to
        // be decoded.
        chunk c = 1;

        stage load { copy photographs -> rgb; }
        stage blur {
            grayscale<<<blocks(rows as usize * columns as usize, 256), 256>>>(&rgb, out gray);
            blur_rows_u8<<<(blocks(columns as usize, 32), blocks(rows as usize, 8)), (32, 8)>>>(
                rows, columns, RADIUS, &weights, &gray, out half_blurred as [c.len, rows as usize, columns as usize]);
            blur_columns_u8<<<(blocks(columns as usize, 32), blocks(rows as usize, 32)), 256>>>(
                rows, columns, RADIUS, &weights, &half_blurred, out blurred as [c.len, rows as usize, columns as usize]);
        }
        stage find {
            sobel_u8<<<(blocks(columns as usize, 32), blocks(rows as usize, 8)), (32, 8)>>>(
                rows, columns, &blurred, out d_edges as [c.len, rows as usize, columns as usize]);
        }
        stage store { copy d_edges -> edges; }
    }
}

/// The blur's deviation, in pixels. A radius of three deviations leaves out next to nothing of the bell.
const SIGMA: f32 = 1.4;
const RADIUS: u32 = 4;
/// From this value on, the table counts a pixel as part of an edge.
const STEEP: u8 = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read()?;
    let mut paths = arguments.paths();
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/data/photographs");
    let folder = paths.next().unwrap_or_else(|| default.into());
    let output = paths.next().unwrap_or_else(|| "edges".into());
    fs::create_dir_all(&output)?;

    // Photographs of different sizes have buffers of different sizes. A camera's photographs have about two
    // sizes, so it suffices to group them by size, which reads only the head of each file.
    let mut sizes = BTreeMap::<(u32, u32), Vec<PathBuf>>::new();
    let mut unread = 0;
    for entry in fs::read_dir(&folder).map_err(|error| of(&folder, error))? {
        let path = entry?.path();
        let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
        let known = extension.is_some_and(|extension| ["png", "jpg", "jpeg"].iter().any(|e| extension == *e));
        if !known || !path.is_file() {
            continue;
        }
        match image::image_dimensions(&path) {
            Ok((columns, rows)) if columns.checked_mul(rows).is_some() => {
                sizes.entry((columns, rows)).or_default().push(path);
            }
            // The other photographs need not wait until this one is mended.
            other => {
                let reason = other.err().map_or("too many pixels".to_owned(), |error| error.to_string());
                eprintln!("{}", of(&path, reason));
                unread += 1;
            }
        }
    }

    let mut pipeline = Edges::new(&arguments.devices()?)?;
    let weights = gaussian(RADIUS, SIGMA);
    println!("photograph            columns     rows  steep pixels  wrong pixels");
    let mut all_wrong = 0;
    for (&(columns, rows), photographs) in &mut sizes {
        photographs.sort();
        // Both are called on threads of their own, while the device works on another photograph.
        let decoded = source::from_fn(|c, slot: &mut [u8]| {
            let Some(photograph) = photographs.get(c.start) else { return Ok(0) };
            let pixels = image::open(photograph).map_err(|error| of(photograph, error))?.into_rgb8();
            slot.copy_from_slice(&pixels);
            Ok(slot.len())
        });
        let encoded = sink::for_each(|c, edges: &[u8]| {
            let png = png_of(&photographs[c.start], &output);
            image::save_buffer(&png, edges, columns, rows, ColorType::L8).map_err(|error| of(&png, error))
        });
        pipeline.run(rows, columns, &weights, decoded, encoded)?;

        for photograph in &*photographs {
            let png = png_of(photograph, &output);
            let edges = image::open(&png).map_err(|error| of(&png, error))?.into_luma8();
            let expected = expected(photograph, &weights)?;
            let wrong = edges.iter().zip(expected.iter()).filter(|(got, expected)| got != expected).count();
            let steep = edges.iter().filter(|&&edge| edge >= STEEP).count();
            let name = photograph.file_name().unwrap_or_default().to_string_lossy();
            let share = 100.0 * steep as f64 / edges.len() as f64;
            println!("{name:20} {columns:8} {rows:8} {share:11.1} % {wrong:13}");
            all_wrong += wrong;
        }
    }
    let (count, runs) = (sizes.values().map(Vec::len).sum::<usize>(), sizes.len());
    println!("{count} photographs in {runs} runs, the edges in {}", output.display());
    match (all_wrong, unread) {
        (0, 0) => Ok(()),
        (0, unread) => Err(format!("{unread} of the files cannot be read").into()),
        _ => Err("pixels differ from the plain loop's".into()),
    }
}

/// An error with the file that it is about.
fn of(path: &Path, error: impl Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

/// The file for the edges of a photograph. The name is kept whole: a `cat.jpg` and a `cat.png` may both be
/// there.
fn png_of(photograph: &Path, folder: &Path) -> PathBuf {
    let mut name = photograph.file_name().unwrap_or_default().to_owned();
    name.push(".png");
    folder.join(name)
}

/// Computes the edges by plain loops over the pixels.
fn expected(photograph: &Path, weights: &[f32]) -> Result<GrayImage, Box<dyn Error>> {
    let rgb = image::open(photograph).map_err(|error| of(photograph, error))?.into_rgb8();
    let (columns, rows) = rgb.dimensions();
    // Beyond the border lies the border's own pixel.
    let near =
        |at: u32, offset: u32, back: u32, length: u32| (at + offset).saturating_sub(back).min(length - 1);
    let weighted = |values: &mut dyn Iterator<Item = f32>| {
        values.zip(weights).fold(0.0, |sum, (value, weight)| sum + weight * value)
    };
    let taps = 0..=2 * RADIUS;
    let gray = GrayImage::from_fn(columns, rows, |x, y| [luma(rgb[(x, y)].0)].into());
    // Along rows and then along columns: 18 products a pixel, where both at once would take 81.
    let half_blurred = ImageBuffer::from_fn(columns, rows, |x, y| {
        let pixel = |j| gray[(near(x, j, RADIUS, columns), y)][0].into();
        Luma([weighted(&mut taps.clone().map(pixel))])
    });
    let blurred = GrayImage::from_fn(columns, rows, |x, y| {
        let pixel = |j| half_blurred[(x, near(y, j, RADIUS, rows))][0];
        let sum = weighted(&mut taps.clone().map(pixel));
        [sum.round_ties_even() as u8].into()
    });
    Ok(GrayImage::from_fn(columns, rows, |x, y| {
        let at = |i, j| f32::from(blurred[(near(x, i, 1, columns), near(y, j, 1, rows))][0]);
        let dx = at(2, 0) + 2.0 * at(2, 1) + at(2, 2) - at(0, 0) - 2.0 * at(0, 1) - at(0, 2);
        let dy = at(0, 2) + 2.0 * at(1, 2) + at(2, 2) - at(0, 0) - 2.0 * at(1, 0) - at(2, 0);
        [dx.hypot(dy).round_ties_even() as u8].into()
    }))
}
