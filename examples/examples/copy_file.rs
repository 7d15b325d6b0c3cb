//! Two recordings mixed into a third, from disk to disk: none of them is in memory as a whole.
//!
//! ```text
//! cargo run --release --example copy_file [-- VOICE MUSIC MIX]
//! ```
//!
//! The files hold samples, `f32` in this machine's byte order. Without arguments they are made up.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use thalweg::bytemuck;
// ANCHOR: program
use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    /// `mix <- music + volume * voice`.
    pipeline Mix {
        param volume: f32;
        input voice: [f32];
        input music: [f32];
        output mix: [f32];

        chunk c = 1 << 16;

        stage load { copy voice -> d_voice; copy music -> d_music; }
        stage add { saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, volume, &d_voice, &mut d_music); }
        stage store { copy d_music -> mix; }
    }
}

/// Mixes two files into a third.
fn mix(
    device: &Device,
    [voice, music, mix]: [&Path; 3],
) -> std::result::Result<Report, Box<dyn std::error::Error>> {
    let (voice, music) = (source::read(File::open(voice)?), source::read(File::open(music)?));
    let report = Mix::new(device)?.run(0.5, voice, music, sink::write(File::create(mix)?))?;
    Ok(report)
}
// ANCHOR_END: program

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let device = Device::open()?;
    let folder = tempfile::tempdir()?;
    let given: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let files = match <[PathBuf; 3]>::try_from(given) {
        Ok(files) => files,
        Err(_) => made_up(folder.path())?,
    };
    let report = mix(&device, files.each_ref().map(PathBuf::as_path))?;
    println!("{report}");

    let samples = |path: &Path| fs::read(path).map(|bytes| bytemuck::pod_collect_to_vec::<u8, f32>(&bytes));
    let [voice, music, mix] = [samples(&files[0])?, samples(&files[1])?, samples(&files[2])?];
    let right =
        mix.iter().zip(music.iter().zip(&voice)).all(|(mix, (music, voice))| *mix == music + 0.5 * voice);
    println!("{} samples mixed, {}", mix.len(), if right { "each of them right" } else { "and not right" });
    if right { Ok(()) } else { Err("a sample is not what it should be".into()) }
}

/// Half a minute of each, and the name of a file for the mix.
fn made_up(folder: &Path) -> std::io::Result<[PathBuf; 3]> {
    let files = ["voice.f32", "music.f32", "mix.f32"].map(|name| folder.join(name));
    for (file, period) in files.iter().zip([441_u16, 100]) {
        let samples = (0..30 * 44_100_u32).map(|i| f32::from((i % u32::from(period)) as u16) / 512.0);
        fs::write(file, bytemuck::cast_slice(&samples.collect::<Vec<f32>>()))?;
    }
    Ok(files)
}
