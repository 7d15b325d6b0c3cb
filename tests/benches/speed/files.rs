//! From a file to a file, against reading and writing the files alone.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Instant;

use serde_json::{Value, json};
use thalweg::bytemuck;
use thalweg::prelude::*;

use crate::measure::{Data, Effort, quantile};
use crate::pipelines::{StepAuto, stepped};

/// 1 GiB.
const LEN: usize = 1 << 28;
/// What the others read and write at a time.
const PIECE: usize = 4 << 20;

/// In the folder that `FILES` names, or where temporary files are.
pub fn files(device: &Device, effort: Effort) -> thalweg::Result<Value> {
    let folder = std::env::var_os("FILES").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(&folder).expect("a folder for files");
    let (from, to) = (folder.path().join("in.f32"), folder.path().join("out.f32"));
    let data = Data::new(device, LEN, true)?;
    fs::write(&from, bytemuck::cast_slice::<f32, u8>(&data.pageable_x)).expect("the file is written");
    let mut step = StepAuto::new(device)?;

    type Turn<'a> = Box<dyn FnMut(&Path, &Path) + 'a>;
    let mut contenders: Vec<(&str, bool, Turn<'_>)> = vec![
        ("read alone", false, Box::new(|from, _| read(from, |_| {}))),
        ("write alone", false, Box::new(|_, to| write(to))),
        ("read, then write, a piece at a time", false, Box::new(in_turn)),
        ("read and write at once", false, Box::new(at_once)),
    ];
    contenders.push((
        "Thalweg: read, compute, write",
        true,
        Box::new(move |from, to| {
            let open = |file: std::io::Result<File>| file.expect("the file can be opened");
            let (from, to) = (source::read(open(File::open(from))), sink::write(open(File::create(to))));
            step.run(1, from, to).expect("a run");
        }),
    ));
    let mut seconds = vec![Vec::new(); contenders.len()];
    let runs = effort.runs.min(7);
    for turn in 0..runs + 1 {
        for ((name, checked, contender), seconds) in contenders.iter_mut().zip(&mut seconds) {
            // What is there already need not be found room for.
            let _ = fs::remove_file(&to);
            let start = Instant::now();
            contender(&from, &to);
            if turn > 0 {
                seconds.push(start.elapsed().as_secs_f64());
            }
            if *checked {
                let bytes = fs::read(&to).expect("the file is there");
                let results: &[f32] = bytemuck::cast_slice(&bytes);
                let right = |(x, z): (&f32, &f32)| z.to_bits() == stepped(*x, 1).to_bits();
                assert!(results.len() == LEN && data.pageable_x.iter().zip(results).all(right), "{name}");
            }
        }
    }
    println!("\n1 GiB from a file, 1 GiB to a file");
    println!("{:<40} {:>9} {:>9}", "", "ms", "GB/s");
    let mut rows = Vec::new();
    for ((name, ..), seconds) in contenders.iter().zip(seconds) {
        let median = quantile(seconds.iter().copied(), 0.5);
        println!("{name:<40} {:>9.1} {:>9.2}", median * 1e3, (4 * LEN) as f64 / median / 1e9);
        rows.push(json!({ "name": name, "median_seconds": median, "seconds": seconds }));
    }
    Ok(json!({ "bytes": 4 * LEN, "rows": rows }))
}

/// Hands on a file's bytes, piece by piece.
fn read(from: &Path, mut take: impl FnMut(&[u8])) {
    let (mut file, mut piece) = (File::open(from).expect("the file is there"), vec![0; PIECE]);
    loop {
        match file.read(&mut piece).expect("it can be read") {
            0 => return,
            bytes => take(&piece[..bytes]),
        }
    }
}

fn write(to: &Path) {
    let (mut file, piece) = (File::create(to).expect("a file"), vec![7; PIECE]);
    (0..4 * LEN / PIECE).for_each(|_| file.write_all(&piece).expect("there is room"));
}

fn in_turn(from: &Path, to: &Path) {
    let mut file = File::create(to).expect("a file");
    read(from, |piece| file.write_all(piece).expect("there is room"));
}

/// A thread reads, the other one writes.
fn at_once(from: &Path, to: &Path) {
    let (mut input, mut output) =
        (File::open(from).expect("the file is there"), File::create(to).expect("a file"));
    let (full, filled) = mpsc::sync_channel::<(Vec<u8>, usize)>(4);
    let (empty, emptied) = mpsc::channel();
    (0..4).for_each(|_| empty.send(vec![0; PIECE]).expect("it is there"));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while let Ok(mut piece) = emptied.recv() {
                match input.read(&mut piece).expect("it can be read") {
                    0 => return,
                    bytes => full.send((piece, bytes)).expect("it is there"),
                }
            }
        });
        for (piece, bytes) in filled {
            output.write_all(&piece[..bytes]).expect("there is room");
            let _ = empty.send(piece);
        }
    });
}
