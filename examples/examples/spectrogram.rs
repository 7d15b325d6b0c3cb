//! Writes the spectrogram of a WAV file of 16 bits as a PNG, with overlapping windows by a halo and Fourier
//! transforms by cuFFT.
//!
//! ```text
//! cargo run --release --example spectrogram [sound.wav [spectrogram.png]]
//! ```
//!
//! With `-- --devices all` behind it, all GPUs share the chunks.

use std::error::Error;
use std::f64::consts::TAU;

use hound::{SampleFormat, WavSpec};
use image::{Rgb, RgbImage};
use thalweg::prelude::*;
use thalweg_examples::Arguments;
use thalweg_libraries::cufft::{self, Complex, Fft};

/// Frames of as many samples as the window, each `hop` samples after the one before: they overlap, so that
/// most samples are in several. Each sample is scaled to -1 .. 1 and weighted by the window.
#[kernel]
fn cut_frames(at: Index<2>, hop: usize, samples: &[i16], window: &[f32], frames: &mut Out<[f32]>) {
    let [frame, i] = at.get();
    let Some(sample) = frames.get_mut(at) else { return };
    *sample = window[i] * (f32::from(samples[frame * hop + i]) / 32768.0);
}

/// The power of each number, in dB of `unit`, and at least -140 dB.
#[kernel]
fn to_decibels(i: Index, unit: f32, spectra: &[Complex<f32>], decibels: &mut Out<[f32]>) {
    let Some(decibels) = decibels.get_mut(i) else { return };
    let z = spectra[i];
    *decibels = 10.0 * ((z.re * z.re + z.im * z.im) / unit).max(1e-14).log10();
}

/// A frame is a hop and this many more on either side.
const HALO: usize = 4;
const HOPS: usize = 2 * HALO + 1;

// ANCHOR: pipeline
stream_pipeline! {
    /// Each item is `hop` samples. Chunks see their neighbours' samples too, so that frames go on across
    /// their borders.
    pipeline Spectrogram {
        param hop: usize;
        param unit: f32;
        resident window: [f32];
        input samples: [i16; hop] halo HALO = zero;
        output decibels: [f32; HOPS * hop / 2 + 1];
        device frames: [f32; HOPS * hop];
        device spectra: [Complex<f32>; HOPS * hop / 2 + 1];
        device d_decibels: [f32; HOPS * hop / 2 + 1];

        chunk c = 128;

        stage load { copy samples -> d_samples; }
        stage transform {
            cut_frames<<<(blocks(HOPS * hop, 256), c.len as u32), 256>>>(
                hop, &d_samples, &window, out frames as [c.len, HOPS * hop]);
            call cufft::forward(Fft::r2c(HOPS * hop).batch(c.len), &frames, out spectra);
            to_decibels<<<blocks(c.len * (HOPS * hop / 2 + 1), 256), 256>>>(unit, &spectra, out d_decibels);
        }
        stage store { copy d_decibels -> decibels; }
    }
}
// ANCHOR_END: pipeline

/// Slides on a guitar, by Suva, in the public domain (see `data/README.md`).
const SOUND: &[u8] = include_bytes!("../data/guitar_slide.wav");
/// The range that is drawn, in dB below the loudest.
const RANGE: f32 = 80.0;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read()?;
    let mut paths = arguments.paths();
    let wav = match paths.next() {
        Some(path) => std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?,
        None => SOUND.to_vec(),
    };
    let output = paths.next().unwrap_or_else(|| "spectrogram.png".into());
    let mut reader = hound::WavReader::new(&wav[..])?;
    let WavSpec { channels, sample_rate: rate, bits_per_sample, sample_format } = reader.spec();
    // Fewer bits would also be read, without an error, and be too quiet.
    if (bits_per_sample, sample_format) != (16, SampleFormat::Int) {
        return Err(format!("samples are to be integers of 16 bits; here they have {bits_per_sample}").into());
    }
    if !(1..=384_000).contains(&rate) {
        return Err(format!("{rate} samples a second: from 1 to 384000 can be drawn").into());
    }
    // The first channel, to the end of the last hop of 8 ms.
    let samples = reader.samples::<i16>().step_by(usize::from(channels));
    let mut samples = samples.collect::<Result<Vec<i16>, _>>()?;
    let hop = (rate as usize * 8 / 1000).max(1);
    samples.resize(samples.len().next_multiple_of(hop), 0);
    let (columns, length) = (samples.len() / hop, HOPS * hop);
    let bins = length / 2 + 1;

    // Hann's window. The loudest possible sine has half the sum of the weights for its amplitude: 0 dB.
    let hann = |i: usize| 0.5 - 0.5 * (TAU * i as f64 / length as f64).cos();
    let window: Vec<f32> = (0..length).map(|i| hann(i) as f32).collect();
    let unit = (0.5 * window.iter().sum::<f32>()).powi(2);

    let devices = arguments.devices()?;
    let mut decibels = vec![0.0; columns * bins];
    let report = Spectrogram::new(&devices)?.run(hop, unit, &window, &samples, &mut decibels)?;
    println!("{report}\n");
    let loudest = decibels.iter().enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
    let (place, &loudest) = loudest.ok_or("there is no sound")?;
    let sound = Sound { rate: f64::from(rate), hop, loudest, spectra: decibels.chunks(bins).collect() };
    sound.draw().save(&output)?;
    sound.print_sketch();
    let (hertz, seconds) = (sound.hertz((place % bins) as f64), sound.seconds((place / bins) as f64 + 0.5));
    println!("the loudest: {hertz:.0} Hz after {seconds:.2} s, {loudest:.1} dB");
    println!("{columns} x {bins} points of time and frequency, written to {}", output.display());
    sound.check(&samples, &window, f64::from(unit))
}

/// The power in dB, with a spectrum for each hop.
struct Sound<'a> {
    rate: f64,
    hop: usize,
    loudest: f32,
    spectra: Vec<&'a [f32]>,
}

/// Nine colours of the map `inferno`, by N. Smith and S. van der Walt, in the public domain by CC0: equal
/// steps look equal.
const COLORS: [[u8; 3]; 9] = [
    [0, 0, 4],
    [31, 12, 72],
    [85, 15, 109],
    [136, 34, 106],
    [186, 54, 85],
    [227, 89, 51],
    [249, 140, 10],
    [249, 201, 50],
    [252, 255, 164],
];

impl Sound<'_> {
    fn seconds(&self, column: f64) -> f64 {
        column * self.hop as f64 / self.rate
    }

    fn hertz(&self, bin: f64) -> f64 {
        bin * self.rate / (HOPS * self.hop) as f64
    }

    /// The brightness from 0, too quiet to be drawn, to 1, the loudest. Silence is dark, although nothing is
    /// louder.
    fn brightness(&self, decibels: f32) -> f32 {
        (1.0 + (decibels - self.loudest.max(-60.0)) / RANGE).clamp(0.0, 1.0)
    }

    /// Draws time to the right with a tick each second, and frequency upwards with a tick each kilohertz.
    fn draw(&self) -> RgbImage {
        const MARGIN: u32 = 8;
        let (columns, bins) = (self.spectra.len() as u32, self.spectra[0].len() as u32);
        let passes = |unit: f64, from: f64, to: f64| (from / unit).ceil() < (to / unit).ceil();
        let kilohertz = |bin: f64| passes(1000.0, self.hertz(bin - 0.5), self.hertz(bin + 0.5));
        let second = |column: f64| passes(1.0, self.seconds(column), self.seconds(column + 1.0));
        RgbImage::from_fn(columns + MARGIN, bins + MARGIN, |x, y| {
            match (x.checked_sub(MARGIN), (bins - 1).checked_sub(y)) {
                (Some(x), Some(y)) => color(self.brightness(self.spectra[x as usize][y as usize])),
                (None, Some(y)) if kilohertz(y.into()) => Rgb([160; 3]),
                (Some(x), None) if second(x.into()) => Rgb([160; 3]),
                _ => Rgb([32; 3]),
            }
        })
    }

    /// Prints the same in letters, each for the loudest of its part.
    fn print_sketch(&self) {
        const SHADES: &[u8] = b" .:-=+*#%@";
        let (width, height) = (self.spectra.len().min(68), 16);
        let bins = self.spectra[0].len();
        let part = |i: usize, of: usize, all: usize| i * all / of..((i + 1) * all / of).max(i * all / of + 1);
        for row in (0..height).rev() {
            let line = (0..width).map(|column| {
                let spectra = &self.spectra[part(column, width, self.spectra.len())];
                let cells = spectra.iter().flat_map(|spectrum| &spectrum[part(row, height, bins)]);
                let brightness = self.brightness(cells.copied().fold(f32::NEG_INFINITY, f32::max));
                char::from(SHADES[(brightness * (SHADES.len() - 1) as f32).round() as usize])
            });
            let kilohertz = self.hertz((row * bins) as f64 / height as f64) / 1000.0;
            println!("{kilohertz:>6.2} kHz |{}", line.collect::<String>().trim_end());
        }
        let end = format!("{:.1} s", self.seconds(self.spectra.len() as f64));
        println!("{:>14}{end:>width$}\n", "0 s", width = width.saturating_sub(2));
    }

    /// Checks that every frame's energy is that of its spectrum (Parseval), and that some spectra are those
    /// of the definition.
    fn check(&self, samples: &[i16], window: &[f32], unit: f64) -> Result<(), Box<dyn Error>> {
        let length = window.len();
        let roots: Vec<Complex<f64>> =
            (0..length).map(|i| Complex::cis(-TAU * i as f64 / length as f64)).collect();
        // A spectrum by the definition takes long, so a few are computed, however long the sound is.
        let every = self.spectra.len().div_ceil(28);
        let (mut energies, mut spectra, mut transformed) = (0, 0, 0);
        for (column, found) in self.spectra.iter().enumerate() {
            let sample = |i: usize| {
                let at = (column * self.hop + i).checked_sub(HALO * self.hop);
                f64::from(at.and_then(|at| samples.get(at)).copied().unwrap_or(0)) / 32768.0
            };
            let frame: Vec<f64> = (0..length).map(|i| sample(i) * f64::from(window[i])).collect();
            let power = |bin: usize| unit * 10_f64.powf(f64::from(found[bin]) / 10.0);
            // All bins but the first, and the middle one of an even length, stand for two.
            let twice = |bin: usize| if bin == 0 || 2 * bin == length { 1.0 } else { 2.0 };
            let energy = length as f64 * frame.iter().map(|x| x * x).sum::<f64>();
            let energy_found: f64 = (0..found.len()).map(|bin| twice(bin) * power(bin)).sum();
            energies += usize::from((energy_found - energy).abs() <= 1e-5 * energy + 1e-10 * unit);
            if column % every == 0 {
                transformed += 1;
                spectra += usize::from((0..found.len()).all(|bin| {
                    let terms = frame.iter().enumerate().map(|(i, x)| roots[i * bin % length] * x);
                    let amplitude = terms.sum::<Complex<f64>>().norm();
                    (power(bin).sqrt() - amplitude).abs() <= 1e-5 * amplitude + 1e-6 * unit.sqrt()
                }));
            }
        }
        println!("frames with the energy of their spectrum: {energies} of {}", self.spectra.len());
        println!("spectra that are those of the definition: {spectra} of {transformed} tried");
        if energies == self.spectra.len() && spectra == transformed {
            Ok(())
        } else {
            Err("a spectrum is wrong".into())
        }
    }
}

/// A colour between two of the map's.
fn color(brightness: f32) -> Rgb<u8> {
    let place = brightness * (COLORS.len() - 1) as f32;
    let at = (place as usize).min(COLORS.len() - 2);
    let mix = |i: usize| {
        let [from, to] = [COLORS[at][i], COLORS[at + 1][i]].map(f32::from);
        (from + (to - from) * (place - at as f32)).round() as u8
    };
    Rgb([mix(0), mix(1), mix(2)])
}
