//! Takes frames of a camera as they come, and finds what has changed since the frame before and how long
//! after the frame that is known.
//!
//! ```text
//! cargo run --release --example frames [frames.png]
//! ```
//!
//! It is a session, as in `session.rs`. There, frames are shorter than a chunk and independent of each other;
//! here a frame is a chunk, each frame is compared with the one before, which is still on the device, and
//! latency is measured. The camera is a view that moves over a photograph.

use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use image::imageops::crop_imm;
use image::{Rgb, RgbImage};
use thalweg::prelude::*;
use thalweg::session::Session;
use thalweg_kernels::{grayscale, luma};

/// `changed = |now - before|`, and then `before = now`.
#[kernel]
fn difference(i: Index, now: &[u8], before: &mut Own<[u8]>, changed: &mut Out<[u8]>) {
    let Some(before) = before.get_mut(i) else { return };
    let Some(changed) = changed.get_mut(i) else { return };
    *changed = now[i].abs_diff(*before);
    *before = now[i];
}

stream_pipeline! {
    /// An item is a frame.
    pipeline Motion {
        input frames: [u8; 3 * PIXELS];
        output changes: [u8; PIXELS];
        carry before: [u8; PIXELS] = 0;
        device gray: [u8; PIXELS];
        device changed: [u8; PIXELS];

        // A chunk goes through when it is full, so a frame waits for no other.
        chunk c = 1;

        stage load { copy frames -> rgb; }
        stage compare {
            grayscale<<<blocks(PIXELS, 256), 256>>>(&rgb, out gray);
            difference<<<blocks(PIXELS, 256), 256>>>(&gray, &mut before, out changed);
        }
        stage store { copy changed -> changes; }
    }
}

const WIDTH: u32 = 256;
const HEIGHT: u32 = 144;
const PIXELS: usize = (WIDTH * HEIGHT) as usize;
const FRAMES: usize = 240;
/// The time from one frame to the next.
const PERIOD: Duration = Duration::from_nanos(1_000_000_000 / 240);
/// The camera's movements, each for a quarter of the frames, and how many pixels a frame it moves to the
/// right and down.
const PHASES: [(&str, u32, u32); 4] =
    [("stands still", 0, 0), ("pans", 1, 0), ("tilts", 0, 3), ("stands still", 0, 0)];

/// Eileen Collins, a photograph by NASA, in the public domain (see `data/README.md`).
const PHOTOGRAPH: &[u8] = include_bytes!("../data/astronaut.png");

/// The changes in each frame, and the time from the frame to its result.
type Results = Vec<(Vec<u8>, Duration)>;

/// Takes the frames as they come. The next frame is pushed without waiting for a frame's result.
fn watch(device: &Device, frames: &[RgbImage]) -> thalweg::Result<(Results, Report)> {
    let mut pipeline = Motion::new(device)?;
    let session = Session::start(move |frames, changes| pipeline.run(frames, changes, &mut vec![0; PIXELS]))?;
    let (mut pusher, mut puller, run) = session.split();
    let (taken, times) = mpsc::channel::<Instant>();
    let results = thread::scope(|scope| {
        let results = scope.spawn(move || -> thalweg::Result<Results> {
            let (mut results, mut changes) = (Vec::new(), vec![0; PIXELS]);
            while puller.pull(&mut changes)? == PIXELS {
                let latency = times.recv().expect("a frame is announced before it is pushed").elapsed();
                results.push((changes.clone(), latency));
            }
            Ok(results)
        });
        let start = Instant::now();
        for (number, frame) in (0..).zip(frames) {
            thread::sleep((start + number * PERIOD).saturating_duration_since(Instant::now()));
            // The receiver may be gone: then the run has failed, and so does the push.
            let _ = taken.send(Instant::now());
            pusher.push(frame)?;
        }
        pusher.end();
        results.join().expect("no panic")
    })?;
    Ok((results, run.wait()?))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let output = std::env::args_os().nth(1).map_or_else(|| "frames.png".into(), PathBuf::from);
    let photograph = image::load_from_memory(PHOTOGRAPH)?.into_rgb8();
    let (mut x, mut y) = (70, 0);
    let frames: Vec<RgbImage> = (0..FRAMES)
        .map(|number| {
            let (_, right, down) = PHASES[number * PHASES.len() / FRAMES];
            (x, y) = (x + right, y + down);
            crop_imm(&photograph, x, y, WIDTH, HEIGHT).to_image()
        })
        .collect();

    let device = Device::open()?;
    let (results, report) = watch(&device, &frames)?;
    println!("{} frames of {WIDTH} x {HEIGHT} in {} chunks, {}", report.items, report.chunks, device.name());

    if results.len() != FRAMES {
        return Err(format!("{} results of {FRAMES} frames", results.len()).into());
    }
    // Plain loops compute the same; the first frame is compared with black.
    let (mut before, mut wrong) = (vec![0; PIXELS], 0);
    for (frame, (changes, _)) in frames.iter().zip(&results) {
        let gray: Vec<u8> = frame.pixels().map(|pixel| luma(pixel.0)).collect();
        let right = changes.iter().zip(gray.iter().zip(&before)).all(|(&got, (&a, &b))| got == a.abs_diff(b));
        wrong += usize::from(!right);
        before = gray;
    }
    let mut sheet = RgbImage::new(PHASES.len() as u32 * WIDTH, 2 * HEIGHT);
    println!("the camera       frames   pixels that changed");
    for (phase, (does, ..)) in PHASES.iter().enumerate() {
        let first = (phase * FRAMES / PHASES.len()).max(1);
        let last = (phase + 1) * FRAMES / PHASES.len() - 1;
        let changed = |(changes, _): &(Vec<u8>, _)| changes.iter().filter(|&&change| change >= 16).count();
        let count: usize = results[first..=last].iter().map(changed).sum();
        let share = 100.0 * count as f64 / ((last - first + 1) * PIXELS) as f64;
        println!("{does:12} {first:4} to {last:3} {share:19.1} %");
        // The phase's last frame, and below it the changes.
        let changes = &results[last].0;
        let changes = RgbImage::from_fn(WIDTH, HEIGHT, |x, y| {
            Rgb([changes[(y * WIDTH + x) as usize].saturating_mul(4); 3])
        });
        let left = i64::from(phase as u32 * WIDTH);
        image::imageops::replace(&mut sheet, &frames[last], left, 0);
        image::imageops::replace(&mut sheet, &changes, left, i64::from(HEIGHT));
    }
    sheet.save(&output)?;
    println!("written to {}; {wrong} frames differ from the plain loop's", output.display());

    // A session copies from page-locked memory, and to it.
    let frame = PinnedBuf::from_slice(&device, frames[0].as_raw())?;
    let (mut changes, mut before) =
        (PinnedBuf::zeroed(&device, PIXELS)?, PinnedBuf::zeroed(&device, PIXELS)?);
    let alone = Motion::new(&device)?.predict(&frame, &mut changes, &mut before)?;
    println!("by the device's model, a frame by itself takes {:.1} us", alone.time().as_secs_f64() * 1e6);
    let mut latencies: Vec<Duration> = results.iter().map(|(_, latency)| *latency).collect();
    latencies.sort();
    let [p50, p99, max] = [50, 99, 100].map(|p| latencies[(latencies.len() * p).div_ceil(100) - 1]);
    println!("latency p50 {p50:.1?}, p99 {p99:.1?}, max {max:.1?} by this machine's clock");
    if wrong == 0 { Ok(()) } else { Err("frames differ from the plain loop's".into()) }
}
