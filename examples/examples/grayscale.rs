//! Turns a photograph into a grayscale PNG, 64 rows at a time.
//!
//! ```text
//! cargo run --release --example grayscale [photograph [output.png]]
//! ```

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use image::{GrayImage, RgbImage};
use thalweg::prelude::*;
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
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let photograph = match arguments.next() {
        Some(path) => image::open(path)?,
        None => image::load_from_memory(PHOTOGRAPH)?,
    };
    let output = arguments.next().unwrap_or_else(|| "grayscale.png".into());
    let photograph: RgbImage = photograph.into_rgb8();
    let (width, height) = photograph.dimensions();

    let device = Device::open()?;
    println!("device: {device}\n");
    println!("{}", Grayscale::PLAN);
    let mut gray = vec![0; width as usize * height as usize];
    let report = Grayscale::new(&device)?.run(width as usize, photograph.as_raw(), &mut gray)?;
    println!("{report}\n");

    let expected = photograph.pixels().map(|pixel| luma(pixel.0));
    let wrong = gray.iter().zip(expected).filter(|&(&gray, expected)| gray != expected).count();
    let picture = GrayImage::from_raw(width, height, gray).ok_or("the picture does not fit its size")?;
    picture.save(&output)?;
    println!("grayscale: {width} x {height} pixels, {wrong} wrong, {}", device.name());
    println!("written to {}", output.display());
    Ok(wrong)
}
