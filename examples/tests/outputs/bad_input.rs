//! The errors of the examples for files that are not as they should be.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use hound::{SampleFormat, WavSpec, WavWriter};
use thalweg::kernel::Shaped;
use thalweg::prelude::*;
use thalweg::streams::Stream;

use super::{command, ended, output};

#[path = "../../examples/heat.rs"]
#[allow(dead_code, reason = "its `main` is the example's")]
mod heat;

const TEXT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");

fn temporary(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn as_str(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A sound without a sound.
fn silence(name: &str, sample_rate: u32, bits_per_sample: u16, sample_format: SampleFormat) -> PathBuf {
    let path = temporary(name);
    let spec = WavSpec { channels: 1, sample_rate, bits_per_sample, sample_format };
    let mut wav = WavWriter::create(&path, spec).expect("a file");
    for _ in 0..8000 {
        match sample_format {
            SampleFormat::Int => wav.write_sample(0),
            SampleFormat::Float => wav.write_sample(0.0_f32),
        }
        .expect("a sample is written");
    }
    wav.finalize().expect("the file is written");
    path
}

#[test]
fn other_sounds_are_refused() {
    let picture = temporary("refused.png");
    let _of_an_earlier_test = std::fs::remove_file(&picture);
    for (name, rate, bits, format, said) in [
        ("8-bit.wav", 8000, 8, SampleFormat::Int, "have 8"),
        ("24-bit.wav", 8000, 24, SampleFormat::Int, "have 24"),
        ("float.wav", 8000, 32, SampleFormat::Float, "have 32"),
        ("2-gigahertz.wav", 2_000_000_000, 16, SampleFormat::Int, "2000000000 samples a second"),
    ] {
        let sound = silence(name, rate, bits, format);
        let (code, text) = ended("spectrogram", &[as_str(&sound), as_str(&picture)]);
        assert!(code == Some(1) && text.contains(said), "{name}: {text}");
    }
    let (code, text) = ended("spectrogram", &[TEXT, as_str(&picture)]);
    assert!(code == Some(1) && text.starts_with("Error: "), "{text}");
    let (code, text) = ended("spectrogram", &["nowhere.wav", as_str(&picture)]);
    assert!(code == Some(1) && text.contains("nowhere.wav"), "{text}");
    assert!(!picture.exists());
}

#[test]
fn silence_is_dark() {
    let sound = silence("silence.wav", 8000, 16, SampleFormat::Int);
    let picture = temporary("silence.png");
    assert_eq!(ended("spectrogram", &[as_str(&sound), as_str(&picture)]).0, Some(0));
    let picture = image::open(picture).expect("the picture").into_rgb8();
    assert!(picture.iter().all(|&part| part <= 160), "silence is bright");
}

#[test]
fn a_folder_with_other_files() {
    let [folder, edges] = ["photographs", "photographs-edges"].map(temporary);
    for folder in [&folder, &edges] {
        // The folder of an earlier test.
        if folder.exists() {
            std::fs::remove_dir_all(folder).expect("the folder is removed");
        }
    }
    std::fs::create_dir_all(folder.join("folder.png")).expect("a folder");
    let paths = [as_str(&folder), as_str(&edges)];
    let none = format!("0 photographs in 0 runs, the edges in {}", edges.display());
    assert_eq!(ended("image_batch", &paths), (Some(0), none));

    let cat = concat!(env!("CARGO_MANIFEST_DIR"), "/data/photographs/cat.jpg");
    std::fs::copy(cat, folder.join("cat.jpg")).expect("a photograph");
    std::fs::copy(TEXT, folder.join("text.jpg")).expect("a text");
    let all = output("image_batch", &paths);
    let (text, errors) = (String::from_utf8_lossy(&all.stdout), String::from_utf8_lossy(&all.stderr));
    assert!(all.status.code() == Some(1) && errors.contains("/text.jpg: "), "{errors}");
    assert!(text.contains("1 photographs in 1 runs") && edges.join("cat.jpg.png").exists(), "{text}{errors}");

    // A photograph that ends in the middle.
    std::fs::remove_file(folder.join("text.jpg")).expect("the text is removed");
    let half = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/data/photographs/camera.png"));
    let half = half.expect("a photograph");
    std::fs::write(folder.join("half.png"), &half[..half.len() / 2]).expect("half a photograph");
    let all = output("image_batch", &paths);
    let errors = String::from_utf8_lossy(&all.stderr);
    assert!(all.status.code() == Some(1) && errors.contains("/half.png: "), "{errors}");
}

#[test]
fn a_phrase_without_a_known_word() {
    let all = output("tokens", &["xyzzy"]);
    let text = String::from_utf8_lossy(&all.stdout);
    assert!(
        all.status.success() && text.contains("xyzzy\n        none of its words is in the book\n"),
        "{text}"
    );
}

/// Paths need not be text.
#[cfg(unix)]
#[test]
fn paths_that_are_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let nowhere = temporary("nowhere").join(OsStr::from_bytes(b"\xff.png"));
    for example in ["black_scholes", "frames", "grayscale", "heat", "histogram", "image_batch", "spectrogram"]
    {
        let ended = command(example, &[]).arg(&nowhere).output().expect("the example");
        assert_eq!(ended.status.code(), Some(1), "{example}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}

/// Sizes whose product does not fit 64 bits are refused, and so are 0 columns.
#[test]
fn heat_refuses_sizes_that_do_not_fit() {
    let device = Device::simulated(Simulation::default());
    let stream = Stream::new(&device).expect("a stream");
    let conduct = heat::conduct::load(&device).expect("the kernel");
    let u = DeviceBuf::<f32>::zeroed(&device, 64).expect("memory");
    // This is as long as the right launch's slab, all of which that launch writes.
    let mut v = DeviceBuf::<f32>::zeroed(&device, 32).expect("memory");
    for (rows, columns, skip, right) in [
        (2, 1 << 63, usize::MAX, false),
        (4, 8, usize::MAX, false),
        (4, 8, 1 << 63, false),
        (2, 0, 0, false),
        (0, 1 << 63, 1 << 63, false),
        (4, 8, 2, true),
    ] {
        let v = Shaped::new(&mut v, [rows, columns]);
        let launched = conduct.launch(stream.config((1, 1), (32, 8), 0), columns, skip, 0, 4, 0.25, &u, v);
        assert_eq!(launched.is_ok(), right, "{rows} {columns} {skip}: {launched:?}");
    }
    stream.synchronize().expect("the launch that is right");
}
