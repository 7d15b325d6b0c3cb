//! Turns a photograph into a grayscale PNG, 64 rows at a time.
//!
//! ```text
//! cargo run --release --example grayscale [photograph [output.png]]
//! ```
//!
//! With `-- --devices all` behind it, all GPUs share the chunks.

use std::error::Error;
use std::process::ExitCode;

use image::{GrayImage, RgbImage};
use thalweg::prelude::*;
use thalweg_examples::Arguments;
use thalweg_kernels::{grayscale, luma};

stream_pipeline! {
    /// One byte of luma for each RGB pixel.
    pub pipeline Grayscale {
        param width: usize;
        input rgb: [u8; 3];
        output gray: [u8];

        chunk c = 64 * width;

        stage load { copy rgb -> d_rgb; }
        stage convert { grayscale<<<blocks(c.len, 256), 256>>>(&d_rgb, out d_gray); }
        stage store { copy d_gray -> gray; }

        device d_gray: [u8];
    }
}

/// Eileen Collins, a photograph by NASA, in the public domain (see `data/README.md`).
const PHOTOGRAPH: &[u8] = include_bytes!("../data/astronaut.png");

fn main() -> ExitCode {
    match convert() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(wrong) => {
            eprintln!("error: {wrong} pixels differ from the plain loop's");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The number of pixels that came out wrong.
fn convert() -> Result<usize, Box<dyn Error>> {
    let arguments = Arguments::read()?;
    let mut paths = arguments.paths();
    let photograph = match paths.next() {
        Some(path) => image::open(path)?,
        None => image::load_from_memory(PHOTOGRAPH)?,
    };
    let output = paths.next().unwrap_or_else(|| "grayscale.png".into());
    let photograph: RgbImage = photograph.into_rgb8();
    let (width, height) = photograph.dimensions();

    let devices = arguments.devices()?;
    devices.iter().for_each(|device| println!("device: {device}"));
    println!();
    println!("{}", Grayscale::PLAN);
    let mut gray = vec![0; width as usize * height as usize];
    let report = Grayscale::new(&devices)?.run(width as usize, photograph.as_raw(), &mut gray)?;
    println!("{report}\n");

    let expected = photograph.pixels().map(|pixel| luma(pixel.0));
    let wrong = gray.iter().zip(expected).filter(|&(&gray, expected)| gray != expected).count();
    let picture = GrayImage::from_raw(width, height, gray).ok_or("the picture does not fit its size")?;
    picture.save(&output)?;
    println!("grayscale: {width} x {height} pixels, {wrong} wrong");
    println!("written to {}", output.display());
    Ok(wrong)
}
