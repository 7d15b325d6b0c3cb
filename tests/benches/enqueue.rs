//! What enqueuing a chunk costs the host, without a GPU: a stub of CUDA's driver does nothing in its place.
//!
//! ```text
//! cargo bench --bench enqueue [-- NAME…]
//! ```
//!
//! Prints nanoseconds a chunk, the median of 20 runs. A chunk is two copies in, a kernel and a copy out: on
//! streams, as a graph, and staged from and to ordinary memory; in place it is a kernel alone. Chunks have 16
//! elements, so that the bytes take no time.
//!
//! By hand, a chunk is ten operations on a stream for each stage: a copy in, a kernel and a copy out, and seven
//! records and waits; checked for races, and not. A run of one chunk on mapped memory is timed as a whole, as a frame is
//! that a program waits for. A frame of a session goes from the push to the end of the pull.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use thalweg::prelude::*;
use thalweg::session::Session;
use thalweg::streams::{Event, Stream};
use thalweg_kernels::saxpy;

const CHUNK: usize = 16;
const CHUNKS: usize = 128;
/// Chunks by hand: what is noted of the host's memory grows with them.
const CHUNKS_BY_HAND: usize = 4096;
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

stream_pipeline! {
    pipeline Frames {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = CHUNK;
        depth = 3;
        stage load { copy x -> dx; fill dy = 0.0; }
        stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(2.0, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    pipeline InPlace {
        input x: mapped [f32];
        inout y: mapped [f32];
        chunk c = CHUNK;
        depth = 4;
        stream s per slot;
        stage axpy on s { saxpy<<<blocks(c.len, 256), 256>>>(2.0, &x, &mut y); }
    }
}

stream_pipeline! {
    pipeline Mapped {
        input x: mapped [f32];
        inout y: mapped [f32];
        chunk c = usize::MAX;
        stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(2.0, &x, &mut y); }
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
    Ok(median(times))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A slot of a ring by hand, with the events that say how far it is.
struct Slot {
    x: DeviceBuf<f32>,
    y: DeviceBuf<f32>,
    loaded: Event,
    computed: Event,
    stored: Event,
}

/// Nanoseconds of the host for a chunk by hand.
fn by_hand(device: &Device, checked: bool) -> thalweg::Result<f64> {
    let stream = || {
        let stream = Stream::new(device)?;
        // SAFETY: the events order what the slots are used for, as the checked streams show.
        Ok(if checked { stream } else { unsafe { stream.unchecked() } })
    };
    let [up, math, down]: [thalweg::Result<Stream>; 3] = [stream(), stream(), stream()];
    let (up, math, down, kernel) = (up?, math?, down?, saxpy::load(device)?);
    let slot = || {
        let buffer = || DeviceBuf::zeroed(device, CHUNK);
        let [loaded, computed, stored] = [Event::new(device), Event::new(device), Event::new(device)];
        Ok(Slot { x: buffer()?, y: buffer()?, loaded: loaded?, computed: computed?, stored: stored? })
    };
    let mut slots = (0..3).map(|_| slot()).collect::<thalweg::Result<Vec<_>>>()?;
    let x = PinnedBuf::<f32>::zeroed(device, CHUNK * CHUNKS_BY_HAND)?;
    let mut y = PinnedBuf::<f32>::zeroed(device, CHUNK * CHUNKS_BY_HAND)?;
    let mut times = Vec::with_capacity(RUNS);
    for number in 0..WARM_UP + RUNS {
        let start = Instant::now();
        for chunk in 0..CHUNKS_BY_HAND {
            let part = chunk * CHUNK..(chunk + 1) * CHUNK;
            let Slot { x: dx, y: dy, loaded, computed, stored } = &mut slots[chunk % 3];
            up.wait(computed)?;
            up.upload(x.slice(part.clone())?, dx.slice_mut(..)?)?;
            up.record(loaded)?;
            math.wait(loaded)?;
            math.wait(stored)?;
            kernel.launch(math.config(1, 256, 0), 2.0, &*dx, &mut *dy)?;
            math.record(computed)?;
            down.wait(computed)?;
            down.download(dy.slice(..)?, y.slice_mut(part)?)?;
            down.record(stored)?;
        }
        if number >= WARM_UP {
            times.push(start.elapsed().as_nanos() as f64 / CHUNKS_BY_HAND as f64);
        }
        for stream in [&up, &math, &down] {
            stream.synchronize()?;
        }
    }
    Ok(median(times))
}

/// Nanoseconds of a run, from call to return, whose graph is launched again.
fn whole_run(device: &Device, graph: bool) -> thalweg::Result<f64> {
    let options = Mapped::options(device);
    let mut mapped = if graph { options.graph().build()? } else { options.build()? };
    let x = PinnedBuf::<f32>::zeroed(device, CHUNK)?;
    let mut y = PinnedBuf::<f32>::zeroed(device, CHUNK)?;
    let mut times = Vec::with_capacity(RUNS * CHUNKS);
    for number in 0..(WARM_UP + RUNS) * CHUNKS {
        let start = Instant::now();
        mapped.run(&x, &mut y)?;
        if number >= WARM_UP * CHUNKS {
            times.push(start.elapsed().as_nanos() as f64);
        }
    }
    Ok(median(times))
}

/// Nanoseconds from a push to the end of the pull.
fn session(device: &Device, graph: bool) -> thalweg::Result<f64> {
    let options = Frames::options(device);
    let mut frames = if graph { options.graph().build()? } else { options.build()? };
    let mut session = Session::start(move |x, y| frames.run(x, y))?;
    let (x, mut y) = ([1.0; CHUNK], [0.0; CHUNK]);
    let mut times = Vec::with_capacity(RUNS * CHUNKS);
    for number in 0..(WARM_UP + RUNS) * CHUNKS {
        let start = Instant::now();
        session.push(&x)?;
        session.pull(&mut y)?;
        if number >= WARM_UP * CHUNKS {
            times.push(start.elapsed().as_nanos() as f64);
        }
    }
    session.close()?;
    Ok(median(times))
}

fn measure() -> thalweg::Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let device = Device::open()?;
    let numbers: Vec<f32> = (0..CHUNK * CHUNKS).map(|i| (i as f32 * 0.37).sin()).collect();
    let x = PinnedBuf::from_slice(&device, &numbers)?;
    let mut y = PinnedBuf::from_slice(&device, &numbers)?;
    let (mut streams, mut graph) = (Streams::new(&device)?, Streams::options(&device).graph().build()?);
    let (mut ordinary, mut a) = (numbers.clone(), 0.0);
    let row = |name: &str, nanoseconds: &mut dyn FnMut() -> thalweg::Result<f64>| {
        if wanted.is_empty() || wanted.iter().any(|part| name.contains(part)) {
            println!("{name} {:.1}", nanoseconds()?);
        }
        Ok::<_, Error>(())
    };
    row("streams", &mut || per_chunk(|| streams.run(3.0, &x, &mut y)))?;
    // Another parameter each time, so that the graphs are recorded and not launched again as they are.
    row("graph", &mut || {
        per_chunk(|| {
            a += 1.0;
            graph.run(a, &x, &mut y)
        })
    })?;
    row("staged", &mut || per_chunk(|| streams.run(3.0, &numbers, &mut ordinary)))?;
    let mut in_place = InPlace::new(&device)?;
    row("in place", &mut || per_chunk(|| in_place.run(&x, &mut y)))?;
    row("by hand", &mut || by_hand(&device, true))?;
    row("by hand, unchecked", &mut || by_hand(&device, false))?;
    row("a run of one chunk, mapped", &mut || whole_run(&device, false))?;
    row("a run of one chunk, mapped, as a graph", &mut || whole_run(&device, true))?;
    row("session", &mut || session(&device, false))?;
    row("session, as graphs", &mut || session(&device, true))
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
        .args(std::env::args().skip(1))
        .status();
    let _ = std::fs::remove_dir_all(folder);
    assert!(status.expect("the program runs again").success());
    Ok(())
}
