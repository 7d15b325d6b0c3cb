//! Mixes two recordings into a third, from disk to disk. None of them is in memory as a whole.
//!
//! ```text
//! cargo run --release --example copy_file [-- VOICE MUSIC MIX | -- --samples N] [--peak]
//! ```
//!
//! With `-- --devices all` behind it, all GPUs share the chunks.
//!
//! The files hold samples, `f32` in this machine's byte order. Without names they are made up, half a minute
//! long or `N` samples. With `--peak` the program ends by printing how much memory it took.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use lexopt::ValueExt;
use thalweg::bytemuck;
use thalweg_examples::Arguments;
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
        stage add { saxpy<<<blocks(c.len, 256), 256>>>(volume, &d_voice, &mut d_music); }
        stage store { copy d_music -> mix; }
    }
}

/// Mixes two files into a third.
fn mix(devices: &[Device], [voice, music, mix]: [&Path; 3]) -> Result<Report, Box<dyn std::error::Error>> {
    let (voice, music) = (source::read(File::open(voice)?), source::read(File::open(music)?));
    let report = Mix::new(devices)?.run(0.5, voice, music, sink::write(File::create(mix)?))?;
    Ok(report)
}
// ANCHOR_END: program

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut samples, mut peak, mut given) = (30 * 44_100, false, Vec::new());
    let arguments = Arguments::read()?;
    let mut parser = lexopt::Parser::from_args(arguments.own.clone());
    while let Some(argument) = parser.next()? {
        match argument {
            lexopt::Arg::Long("samples") => samples = parser.value()?.parse_with(str::parse)?,
            lexopt::Arg::Long("peak") => peak = true,
            lexopt::Arg::Value(path) => given.push(PathBuf::from(path)),
            other => return Err(other.unexpected().into()),
        }
    }
    let devices = arguments.devices()?;
    let folder = tempfile::tempdir()?;
    let files = match <[PathBuf; 3]>::try_from(given) {
        Ok(files) => files,
        Err(none) if none.is_empty() => made_up(folder.path(), samples)?,
        Err(_) => return Err("expected three files, or none".into()),
    };
    let files = files.each_ref().map(PathBuf::as_path);
    let report = mix(&devices, files)?;
    println!("{report}");

    let (samples, right) = compared(files)?;
    println!("{samples} samples mixed, {}", if right { "each of them right" } else { "and not right" });
    if peak {
        // Linux counts the memory in use at once (`VmHWM`) and the addresses that there were (`VmPeak`).
        for line in fs::read_to_string("/proc/self/status")?.lines() {
            if line.starts_with("VmHWM") || line.starts_with("VmPeak") {
                println!("{line}");
            }
        }
    }
    if right { Ok(()) } else { Err("a sample is not what it should be".into()) }
}

/// How many samples the mix has, and whether each is right.
fn compared([voice, music, mix]: [&Path; 3]) -> io::Result<(usize, bool)> {
    let mut files = [File::open(voice)?, File::open(music)?, File::open(mix)?];
    let mut pieces = [(); 3].map(|()| vec![0.0_f32; 1 << 14]);
    let (mut samples, mut right) = (0, true);
    loop {
        let mut lens = [0; 3];
        for ((len, file), piece) in lens.iter_mut().zip(&mut files).zip(&mut pieces) {
            *len = read(file, piece)?;
        }
        let len = lens[2];
        right &= lens == [len; 3] && (0..len).all(|i| pieces[2][i] == pieces[1][i] + 0.5 * pieces[0][i]);
        samples += len;
        if len == 0 || !right {
            return Ok((samples, right));
        }
    }
}

/// Fills the samples as far as the file goes.
fn read(file: &mut File, samples: &mut [f32]) -> io::Result<usize> {
    let mut bytes = bytemuck::cast_slice_mut::<f32, u8>(samples);
    let room = bytes.len() as u64;
    Ok(io::copy(&mut file.take(room), &mut bytes)? as usize / size_of::<f32>())
}

/// Makes this many samples of each recording, and a name for the mix's file.
fn made_up(folder: &Path, samples: usize) -> io::Result<[PathBuf; 3]> {
    let files = ["voice.f32", "music.f32", "mix.f32"].map(|name| folder.join(name));
    for (file, period) in files.iter().zip([441_u16, 100]) {
        let mut file = io::BufWriter::new(File::create(file)?);
        let tone: Vec<f32> = (0..period).map(|i| f32::from(i) / 512.0).collect();
        for left in (1..=samples).rev().step_by(tone.len()) {
            file.write_all(bytemuck::cast_slice(&tone[..left.min(tone.len())]))?;
        }
        file.flush()?;
    }
    Ok(files)
}
