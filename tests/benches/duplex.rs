//! How near pipelines come to the link: one GiB in and one out, against the bare copies, in one run.
//!
//! ```text
//! cargo bench --bench duplex [-- --json FILE]
//! ```
//!
//! Needs a CUDA device. Every timed run uses random data and its result is checked; medians of alternating runs.

use std::time::Instant;

use cudarc::driver::{result, sys};
use rayon::prelude::*;
use thalweg::prelude::*;
use thalweg_kernels::saxpy;

#[kernels("../cu/affine.cu")]
unsafe extern "CUDA" {
    /// `z[i] = a * x[i] + b` for `i < n`, one thread an element.
    #[host(affine_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= z.len())]
    safe fn affine(n: u32, a: f32, b: f32, x: &[f32], z: Out<[f32]>);
}

fn affine_on_host(_: Grid, n: u32, a: f32, b: f32, x: &[f32], z: &mut [f32]) {
    let n = n as usize;
    z[..n].par_iter_mut().zip(&x[..n]).for_each(|(z, x)| *z = a * x + b);
}

stream_pipeline! {
    /// `z <- a * x + b`: as many bytes in as out, and a kernel that takes no time beside them.
    pipeline Affine {
        param a: f32;
        param b: f32;
        input x: [f32];
        output z: [f32];
        device dz: [f32];
        chunk c = auto;
        stream up: high;
        stream math;
        stream down: low;
        stage load on up { copy x -> dx; }
        stage map on math { affine<<<blocks(c.len, 256), 256>>>(c.len as u32, a, b, &dx, out dz); }
        stage store on down { copy dz -> z; }
    }
}

stream_pipeline! {
    /// The quickstart's pipeline.
    pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        depth = 3;
        stream up: high;
        stream math;
        stream down: low;
        stage load on up { copy x -> dx; copy y -> dy; }
        stage axpy on math { saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &dx, &mut dy); }
        stage store on down { copy dy -> y; }
    }
}

const ELEMENTS: usize = 1 << 28;
const BYTES: usize = ELEMENTS * 4;
const WARM_UP: usize = 2;
const RUNS: usize = 11;
const A: f32 = 3.0;
const B: f32 = 0.5;

/// The bare copies: device memory as large as the host's, one stream each way, no chunks.
struct Bare {
    device: [u64; 3],
    streams: [sys::CUstream; 2],
}

impl Bare {
    fn new() -> Self {
        let alloc = || {
            // SAFETY: the primary context is current: the caller's device made it so.
            unsafe { result::malloc_sync(BYTES) }.expect("device memory for the bare copies")
        };
        let stream = || result::stream::create(result::stream::StreamKind::NonBlocking).expect("a stream");
        Self { device: [alloc(), alloc(), alloc()], streams: [stream(), stream()] }
    }

    /// Seconds for `ups` arrays in and one out at the same time.
    fn duplex(&self, ups: &[&PinnedBuf<f32>], down: &mut PinnedBuf<f32>) -> f64 {
        let start = Instant::now();
        // SAFETY: all host memory is pinned, all device memory is as large, and both streams are waited for below.
        unsafe {
            for (&to, from) in self.device.iter().zip(ups) {
                result::memcpy_htod_async(to, from, self.streams[0]).expect("a copy in");
            }
            result::memcpy_dtoh_async(down, self.device[2], self.streams[1]).expect("a copy out");
            for stream in self.streams {
                result::stream::synchronize(stream).expect("the copies");
            }
        }
        start.elapsed().as_secs_f64()
    }
}

struct Row {
    name: &'static str,
    /// Index of the row that is its limit.
    limit: usize,
    seconds: Vec<f64>,
}

fn main() -> Result<()> {
    let json = std::env::args().skip_while(|arg| arg != "--json").nth(1);
    let device = Device::cuda(0)?;
    println!("{device}");
    let x = random_floats(1, ELEMENTS);
    let y = random_floats(2, ELEMENTS);
    let pinned_x = PinnedBuf::from_slice(&device, &x)?;
    let mut pinned_y = PinnedBuf::from_slice(&device, &y)?;
    let mut pinned_z = PinnedBuf::<f32>::zeroed(&device, ELEMENTS)?;
    let mut z = vec![0.0_f32; ELEMENTS];
    let mut vec_y = y.clone();

    let (mut affine, mut saxpy) = (Affine::new(&device)?, Saxpy::new(&device)?);
    let bare = Bare::new();
    let mut rows: Vec<Row> = [
        ("limit: 1 GiB in, 1 GiB out, bare copies", 0),
        ("affine, PinnedBuf", 0),
        ("affine, Vec", 0),
        ("limit: 2 GiB in, 1 GiB out, bare copies", 3),
        ("quickstart's saxpy, PinnedBuf", 3),
        ("quickstart's saxpy, Vec", 3),
    ]
    .map(|(name, limit)| Row { name, limit, seconds: Vec::new() })
    .into();

    for round in 0..WARM_UP + RUNS {
        let mut times = [0.0; 6];
        times[0] = bare.duplex(&[&pinned_x], &mut pinned_z);

        pinned_z.fill(f32::NAN);
        times[1] = timed(|| affine.run(A, B, &pinned_x, &mut pinned_z))?;
        check("affine", &pinned_z, |i| A * x[i] + B);

        z.par_iter_mut().for_each(|z| *z = f32::NAN);
        times[2] = timed(|| affine.run(A, B, &x, &mut z))?;
        check("affine", &z, |i| A * x[i] + B);

        times[3] = bare.duplex(&[&pinned_x, &pinned_y], &mut pinned_z);

        pinned_y.copy_from_slice(&y);
        times[4] = timed(|| saxpy.run(A, &pinned_x, &mut pinned_y))?;
        check("saxpy", &pinned_y, |i| A * x[i] + y[i]);

        vec_y.copy_from_slice(&y);
        times[5] = timed(|| saxpy.run(A, &x, &mut vec_y))?;
        check("saxpy", &vec_y, |i| A * x[i] + y[i]);

        if round >= WARM_UP {
            rows.iter_mut().zip(times).for_each(|(row, time)| row.seconds.push(time));
        }
    }

    let sweep = sweep(&device, &bare, &x, &pinned_x, &mut pinned_z)?;
    print(&rows, &sweep);
    if let Some(path) = json {
        std::fs::write(&path, to_json(&device, &rows, &sweep))
            .unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    Ok(())
}

/// Of each slot size the median of affine's share of the limit, measured alternately.
fn sweep(
    device: &Device,
    bare: &Bare,
    x: &[f32],
    pinned_x: &PinnedBuf<f32>,
    pinned_z: &mut PinnedBuf<f32>,
) -> Result<Vec<(usize, usize, f64)>> {
    let mut shares = Vec::new();
    for depth in [2, 3, 4] {
        for mib in [1_usize, 2, 4, 8, 16, 32] {
            let mut affine = Affine::options(device).chunk(mib << 18).depth(depth).build()?;
            let mut ratios = Vec::new();
            for round in 0..5 {
                let limit = bare.duplex(&[pinned_x], pinned_z);
                let time = timed(|| affine.run(A, B, pinned_x, &mut *pinned_z))?;
                if round > 0 {
                    ratios.push(limit / time);
                }
            }
            check("affine", pinned_z, |i| A * x[i] + B);
            shares.push((depth, mib, median(&ratios)));
        }
    }
    Ok(shares)
}

/// Pseudo-random numbers in -512..512 with 12 bits after the point: products with small whole numbers and their sums
/// are exact in `f32`, so that a GPU's fused multiply-add and the CPU's two roundings agree.
fn random_floats(seed: u64, len: usize) -> Vec<f32> {
    let number = |i: usize| {
        let mut bits = (i as u64).wrapping_add(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits >> 42) as i32 - (1 << 21)) as f32 / 4096.0
    };
    (0..len).into_par_iter().map(number).collect()
}

fn timed(run: impl FnOnce() -> Result<Report>) -> Result<f64> {
    let start = Instant::now();
    run()?;
    Ok(start.elapsed().as_secs_f64())
}

fn check(what: &str, got: &[f32], expected: impl Fn(usize) -> f32 + Sync) {
    let wrong = got.par_iter().enumerate().filter(|&(i, got)| *got != expected(i)).count();
    assert_eq!(wrong, 0, "{what}: wrong elements");
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn print(rows: &[Row], sweep: &[(usize, usize, f64)]) {
    println!("{:<42} {:>9} {:>9} {:>9} {:>15}", "", "median ms", "min ms", "max ms", "share of limit");
    for row in rows {
        let [least, most] =
            [f64::min, f64::max].map(|pick| row.seconds.iter().copied().reduce(pick).unwrap_or(0.0));
        let share = median(&rows[row.limit].seconds) / median(&row.seconds);
        println!(
            "{:<42} {:>9.3} {:>9.3} {:>9.3} {share:>15.3}",
            row.name,
            median(&row.seconds) * 1e3,
            least * 1e3,
            most * 1e3
        );
    }
    println!("\naffine, PinnedBuf, share of the limit by slot size");
    for (depth, mib, share) in sweep {
        println!("  depth {depth}, {mib:>2} MiB: {share:.3}");
    }
}

fn to_json(device: &Device, rows: &[Row], sweep: &[(usize, usize, f64)]) -> String {
    let rows = rows.iter().map(|row| {
        serde_json::json!({
            "name": row.name,
            "seconds": row.seconds,
            "median_seconds": median(&row.seconds),
            "share_of_limit": median(&rows[row.limit].seconds) / median(&row.seconds),
        })
    });
    let sweep = sweep.iter().map(
        |(depth, mib, share)| serde_json::json!({ "depth": depth, "slot_mib": mib, "share_of_limit": share }),
    );
    let all = serde_json::json!({
        "device": device.to_string(),
        "elements": ELEMENTS,
        "rows": rows.collect::<Vec<_>>(),
        "sweep": sweep.collect::<Vec<_>>(),
    });
    format!("{all:#}\n")
}
