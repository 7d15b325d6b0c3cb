//! What enqueuing a chunk costs the host, without a GPU: a stub of CUDA's driver does nothing in its place.
//!
//! ```text
//! cargo bench --bench enqueue
//! ```
//!
//! Prints nanoseconds a chunk, the median of 20 runs. A chunk is two copies in, a kernel and a copy out: on
//! streams, as a graph, and staged from and to ordinary memory. Chunks have 16 elements, so that the bytes
//! take no time.

use std::path::{Path, PathBuf};
use std::process::Command;

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

const CHUNK: usize = 16;
const CHUNKS: usize = 128;
const RUNS: usize = 20;
const WARM_UP: usize = 5;

/// Set in the process that has the stubs.
const CHILD: &str = "THALWEG_STUB_CHILD";

stream_pipeline! {
    pipeline Streams {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = CHUNK;
        depth = 3;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

/// Builds stubs of the driver and of NVRTC that record nothing.
fn stubs() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("thalweg-enqueue-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the stubs");
    for library in ["libcuda", "libnvrtc"] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("stubs/{library}.c"));
        let to = folder.join(format!("{library}.so"));
        let flags = ["-O2", "-shared", "-fPIC", "-pthread", "-DTHALWEG_SILENT", "-o"];
        let status = Command::new("cc").args(flags).args([&to, &source]).status();
        assert!(status.expect("a C compiler").success());
    }
    folder
}

/// Nanoseconds of the host for a chunk, each time.
fn per_chunk(mut run: impl FnMut() -> thalweg::Result<Report>) -> thalweg::Result<f64> {
    let mut times = Vec::with_capacity(RUNS);
    for number in 0..WARM_UP + RUNS {
        let report = run()?;
        assert_eq!(report.chunks, CHUNKS);
        if number >= WARM_UP {
            times.push(report.enqueuing.as_nanos() as f64 / CHUNKS as f64);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[RUNS / 2])
}

fn measure() -> thalweg::Result<()> {
    let device = Device::open()?;
    let numbers: Vec<f32> = (0..CHUNK * CHUNKS).map(|i| (i as f32 * 0.37).sin()).collect();
    let x = PinnedBuf::from_slice(&device, &numbers)?;
    let mut y = PinnedBuf::from_slice(&device, &numbers)?;

    let mut streams = Streams::new(&device)?;
    println!("streams {:.1}", per_chunk(|| streams.run(3.0, &x, &mut y))?);

    // Another parameter each time, so that the graphs are recorded and not launched again as they are.
    let (mut graph, mut a) = (Streams::options(&device).graph().build()?, 0.0);
    println!(
        "graph {:.1}",
        per_chunk(|| {
            a += 1.0;
            graph.run(a, &x, &mut y)
        })?
    );

    let mut ordinary = numbers.clone();
    println!("staged {:.1}", per_chunk(|| streams.run(3.0, &numbers, &mut ordinary))?);
    Ok(())
}

fn main() -> thalweg::Result<()> {
    if std::env::var_os(CHILD).is_some() {
        return measure();
    }
    let folder = stubs();
    let status = Command::new(std::env::current_exe().expect("the program's own path"))
        .env("THALWEG_CACHE", "off")
        .env("THALWEG_CALIBRATION", "off")
        .env("THALWEG_DEVICE", "cuda:0")
        .env("LD_LIBRARY_PATH", &folder)
        .env(CHILD, "1")
        .status();
    let _ = std::fs::remove_dir_all(folder);
    assert!(status.expect("the program runs again").success());
    Ok(())
}
