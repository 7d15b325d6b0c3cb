//! Counts the brightness of a photograph, 64 rows at a time. The counts are carried from chunk to chunk on
//! the device.
//!
//! ```text
//! cargo run --release --example histogram [photograph]
//! ```
//!
//! With `-- --devices all` behind it, all GPUs share the chunks.

use std::error::Error;

use image::RgbImage;
use thalweg::prelude::*;
use thalweg_examples::Arguments;
use thalweg_kernels::{grayscale, histogram_u8, luma};

stream_pipeline! {
    /// How many pixels there are of each luma.
    pub pipeline Brightness {
        param width: usize;
        input rgb: [u8; 3];
        // Zeros before the first chunk on each device; after the last one, the counts of all are added up.
        carry counts: [u32; 256] = 0 combine u32::wrapping_add;
        device d_luma: [u8];

        chunk c = 64 * width;

        stage load { copy rgb -> d_rgb; }
        stage convert { grayscale<<<blocks(c.len, 256), 256>>>(&d_rgb, out d_luma); }
        // Two blocks for each of an H200's 132 multiprocessors: each block goes on to more pixels, so any
        // number will do.
        stage count { histogram_u8<<<264, 256>>>(c.len as u32, &d_luma, &mut counts); }
    }
}

/// Eileen Collins, a photograph by NASA, in the public domain (see `data/README.md`).
const PHOTOGRAPH: &[u8] = include_bytes!("../data/astronaut.png");
/// Lumas that share a bar.
const IN_BAR: usize = 8;
/// Characters of the longest bar.
const LONGEST: u64 = 60;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read()?;
    let photograph = match arguments.paths().next() {
        Some(path) => image::open(path)?,
        None => image::load_from_memory(PHOTOGRAPH)?,
    };
    let photograph: RgbImage = photograph.into_rgb8();
    let (width, height) = photograph.dimensions();

    let devices = arguments.devices()?;
    println!("{}", Brightness::PLAN);
    let mut counts = [0; 256];
    let report = Brightness::new(&devices)?.run(width as usize, photograph.as_raw(), &mut counts)?;
    println!("{report}\n");

    print(&counts);
    let pixels: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    println!("\n{width} x {height} pixels, half of them of luma {} or less", median(&counts));

    let mut expected = [0; 256];
    for pixel in photograph.pixels() {
        expected[usize::from(luma(pixel.0))] += 1;
    }
    let wrong = counts.iter().zip(expected).filter(|&(&count, expected)| count != expected).count();
    println!("{wrong} of 256 counts differ from a plain loop's");
    if wrong == 0 && pixels == u64::from(width) * u64::from(height) {
        Ok(())
    } else {
        Err("a count is wrong".into())
    }
}

/// A bar for each few lumas, dark ones first.
fn print(counts: &[u32; 256]) {
    let bars: Vec<u64> =
        counts.chunks(IN_BAR).map(|counts| counts.iter().map(|&count| u64::from(count)).sum()).collect();
    let most = bars.iter().copied().max().unwrap_or(0).max(1);
    println!("   luma  pixels");
    for (bar, pixels) in bars.into_iter().enumerate() {
        // The length is in halves of a character.
        let halves = (pixels * LONGEST * 2).div_ceil(most) as usize;
        let line = "█".repeat(halves / 2) + if halves % 2 == 1 { "▌" } else { "" };
        println!("{:>3}-{:<3} {pixels:>7}  {line}", bar * IN_BAR, bar * IN_BAR + IN_BAR - 1);
    }
}

/// The least luma that at least half of the pixels do not exceed.
fn median(counts: &[u32; 256]) -> usize {
    let half = counts.iter().map(|&count| u64::from(count)).sum::<u64>().div_ceil(2);
    let mut so_far = 0;
    let reached = |&count: &u32| {
        so_far += u64::from(count);
        so_far >= half
    };
    counts.iter().position(reached).unwrap_or(0)
}
