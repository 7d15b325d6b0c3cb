//! Kernels made of CUTLASS's parts, in the three ways that the book describes. `bash .ci/cutlass` fetches
//! CUTLASS and a compiler, builds the kernels that are built beforehand, and runs this. Run the tests that
//! need a GPU with `-- --ignored`.

use std::ffi::{CStr, c_char, c_void};
use std::process::Command;
use std::ptr::with_exposed_provenance_mut;
use std::sync::OnceLock;

use half::f16;
use libloading::{Library, Symbol};
use rayon::prelude::*;
use thalweg::__private::{Detail, Kernel, KernelSource, compilations, compile_for, kernels_in};
use thalweg::Error;
use thalweg::kernel::{DeviceSlice, DeviceSliceOut};
use thalweg::prelude::*;
use thalweg::routine::Enqueue;
use thalweg_tests::{Case, built, on_every_device, read, written};

// ANCHOR: declaration
/// Bytes of dynamic shared memory that a block of `cutlass_sgemm` needs.
const SGEMM_SHARED: u32 = 32 << 10;

#[kernels(
    "../cu/cutlass/gemm.cu",
    include("../../target/cutlass-4.2.0/include"),
    options("-std=c++17", "-default-device", "-DNDEBUG")
)]
unsafe extern "CUDA" {
    /// `c = alpha * a * b + beta * c`, all row-major: `a` is `m` x `k`, `b` is `k` x `n`. Blocks of 256
    /// threads, one for each 128 rows (x) and 128 columns (y). Where `beta` is 0, `c` is not read.
    #[host(sgemm_on_host)]
    #[requires(0 < n && 0 < k && m.max(n).max(k) <= i32::MAX as u32 - 128)]
    #[requires(m as usize * k as usize <= a.len() && m as usize * n as usize <= c.len())]
    #[requires(k as usize * n as usize <= b.len())]
    safe fn cutlass_sgemm(m: u32, n: u32, k: u32, alpha: f32, a: &[f32], b: &[f32], beta: f32, c: &mut [f32]);

    /// `y = max(x * w + bias, 0)`, on tensor cores. Blocks of 128 threads, for 128 rows (x) and columns (y).
    #[host(linear_on_host)]
    #[requires(0 < n && 0 < k && m.max(n).max(k) <= i32::MAX as u32 - 128)]
    #[requires(n.is_multiple_of(8) && k.is_multiple_of(8))] // loads are 16 bytes wide
    #[requires(m as usize * k as usize <= x.len() && m as usize * n as usize == y.len())]
    #[requires(k as usize * n as usize <= w.len() && n as usize <= bias.len())]
    safe fn cutlass_linear(m: u32, n: u32, k: u32, x: &[f16], w: &[f16], bias: &[f32], y: Out<[f32]>);
}
// ANCHOR_END: declaration

// ANCHOR: host
/// Calls `set` with every sum `Σ a[i][l] * b[l][j]` for which a launch has a block, and with its place.
fn products(
    grid: Grid,
    shape: [u32; 3],
    a: impl Fn(usize) -> f32 + Sync,
    b: impl Fn(usize) -> f32 + Sync,
    c: &mut [f32],
    set: impl Fn(usize, f32, &mut f32) + Sync,
) {
    let [m, n, k] = shape.map(|size| size as usize);
    let [rows, columns] = [m.min(128 * grid.grid_dim[0] as usize), n.min(128 * grid.grid_dim[1] as usize)];
    c.par_chunks_mut(n.max(1)).take(rows).enumerate().for_each(|(i, row)| {
        let mut sums = vec![0.0; columns];
        for l in 0..k {
            let a = a(i * k + l);
            sums.iter_mut().enumerate().for_each(|(j, sum)| *sum += a * b(l * n + j));
        }
        row.iter_mut().zip(sums).enumerate().for_each(|(j, (c, sum))| set(j, sum, c));
    });
}

#[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
fn sgemm_on_host(
    grid: Grid,
    m: u32,
    n: u32,
    k: u32,
    alpha: f32,
    a: &[f32],
    b: &[f32],
    beta: f32,
    c: &mut [f32],
) {
    products(
        grid,
        [m, n, k],
        |i| a[i],
        |i| b[i],
        c,
        |_, sum, c| {
            *c = if beta == 0.0 { alpha * sum } else { alpha * sum + beta * *c };
        },
    );
}

#[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
fn linear_on_host(grid: Grid, m: u32, n: u32, k: u32, x: &[f16], w: &[f16], bias: &[f32], y: &mut [f32]) {
    products(
        grid,
        [m, n, k],
        |i| x[i].to_f32(),
        |i| w[i].to_f32(),
        y,
        |j, sum, y| *y = (sum + bias[j]).max(0.0),
    );
}
// ANCHOR_END: host

// ANCHOR: pipeline
stream_pipeline! {
    /// `c <- alpha * a * b + beta * c`, as many rows at a time as a chunk has.
    pipeline Sgemm {
        param n: u32;
        param k: u32;
        param alpha: f32;
        param beta: f32;
        input a: [f32; k as usize];
        resident b: [f32];
        inout c: [f32; n as usize];

        chunk rows = 512;
        stream up: high;
        stream math;
        stream down: low;

        stage load on up { copy a -> da; copy c -> dc; }
        stage gemm on math {
            cutlass_sgemm<<<(blocks(rows.len, 128), blocks(n as usize, 128)), 256, SGEMM_SHARED>>>(
                rows.len as u32, n, k, alpha, &da, &b, beta, &mut dc
            );
        }
        stage store on down { copy dc -> c; }
    }
}
// ANCHOR_END: pipeline

stream_pipeline! {
    /// A layer of a network, with its activation, for as many samples at a time as a chunk has.
    pipeline Linear {
        param n: u32;
        param k: u32;
        input x: [f16; k as usize];
        resident w: [f16];
        resident bias: [f32];
        output y: [f32; n as usize];
        device dy: [f32; n as usize];
        chunk rows = 512;
        stage load { copy x -> dx; }
        stage layer {
            cutlass_linear<<<(blocks(rows.len, 128), blocks(n as usize, 128)), 128, 65536>>>(
                rows.len as u32, n, k, &dx, &w, &bias, out dy
            );
        }
        stage store { copy dy -> y; }
    }
}

/// `c <- a * b + c` by the `cutlass_sgemm` that is declared in the calling module.
macro_rules! sgemm {
    () => {
        stream_pipeline! {
            pub pipeline Sgemm {
                param n: u32;
                param k: u32;
                input a: [f32; k as usize];
                resident b: [f32];
                inout c: [f32; n as usize];
                chunk rows = 512;
                stage load { copy a -> da; copy c -> dc; }
                stage gemm {
                    cutlass_sgemm<<<(blocks(rows.len, 128), blocks(n as usize, 128)), 256, SGEMM_SHARED>>>(
                        rows.len as u32, n, k, 1.0, &da, &b, 1.0, &mut dc
                    );
                }
                stage store { copy dc -> c; }
            }
        }
    };
}

/// The same kernel, compiled by nvcc to PTX, which the driver compiles for the GPU at hand.
mod from_ptx {
    use super::*;

    // ANCHOR: ptx
    #[kernels("../../target/cutlass-4.2.0/gemm.ptx")]
    unsafe extern "CUDA" {
        /// The same kernel as from the source.
        #[host(sgemm_on_host)]
        #[requires(0 < n && 0 < k && m.max(n).max(k) <= i32::MAX as u32 - 128)]
        #[requires(m as usize * k as usize <= a.len() && m as usize * n as usize <= c.len())]
        #[requires(k as usize * n as usize <= b.len())]
        safe fn cutlass_sgemm(
            m: u32,
            n: u32,
            k: u32,
            alpha: f32,
            a: &[f32],
            b: &[f32],
            beta: f32,
            c: &mut [f32],
        );
    }
    // ANCHOR_END: ptx

    sgemm!();
}

/// The same kernel, compiled by nvcc for Hopper alone.
mod from_cubin {
    use super::*;

    #[kernels("../../target/cutlass-4.2.0/gemm.sm_90.cubin")]
    unsafe extern "CUDA" {
        #[host(sgemm_on_host)]
        #[requires(0 < n && 0 < k && m.max(n).max(k) <= i32::MAX as u32 - 128)]
        #[requires(m as usize * k as usize <= a.len() && m as usize * n as usize <= c.len())]
        #[requires(k as usize * n as usize <= b.len())]
        safe fn cutlass_sgemm(
            m: u32,
            n: u32,
            k: u32,
            alpha: f32,
            a: &[f32],
            b: &[f32],
            beta: f32,
            c: &mut [f32],
        );
    }

    sgemm!();
}

// ANCHOR: routine
/// `c = a * b` on Hopper's own instructions: `a` is `m` x `k`, `b` is `k` x `n`.
fn hopper_gemm(
    queue: &Enqueue<'_>,
    [m, n, k]: [usize; 3],
    a: DeviceSlice<'_, f16>,
    b: DeviceSlice<'_, f16>,
    c: DeviceSliceOut<'_, f32>,
) -> thalweg::Result<()> {
    let failed = |status: &str| Error::routine("hopper_gemm", status);
    let sizes = [m.checked_mul(k), k.checked_mul(n), m.checked_mul(n)];
    if sizes != [Some(a.len()), Some(b.len()), Some(c.len())] {
        return Err(failed("a matrix has another size"));
    }
    let Some(stream) = queue.cuda_stream() else {
        return queue.simulate((a, b, c), move |(a, b, c)| {
            let all = Grid { grid_dim: [u32::MAX; 3], block_dim: [1; 3], shared: 0 };
            let shape = [m, n, k].map(|size| size as u32);
            products(all, shape, |i| a[i].to_f32(), |i| b[i].to_f32(), c, |_, sum, c| *c = sum);
        });
    };
    let [Ok(m), Ok(n), Ok(k)] = [m, n, k].map(i32::try_from) else {
        return Err(failed("a matrix is too large"));
    };
    let launch = launcher().map_err(failed)?;
    let at = |address| with_exposed_provenance_mut::<c_void>(address as usize);
    let (a, b, c) = (at(a.address()), at(b.address()), at(c.address()));
    // SAFETY: the launcher reads and writes matrices of just these sizes, and enqueues on this stream alone.
    let status = unsafe { launch(m, n, k, a, b, c.cast(), stream) };
    if status.is_null() {
        return Ok(());
    }
    // SAFETY: the launcher returns null or a string constant.
    Err(failed(&unsafe { CStr::from_ptr(status) }.to_string_lossy()))
}
// ANCHOR_END: routine

/// `hopper_gemm` of `tests/cu/cutlass/hopper.cu`.
type Launcher =
    unsafe extern "C" fn(i32, i32, i32, *const c_void, *const c_void, *mut f32, *mut c_void) -> *const c_char;

/// The launcher, from the library that was built from it; or the reason why it cannot be loaded.
fn launcher() -> Result<Launcher, &'static str> {
    static LAUNCHER: OnceLock<Result<Launcher, String>> = OnceLock::new();
    let launcher = LAUNCHER.get_or_init(|| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/cutlass-4.2.0/libhopper.so");
        // SAFETY: the library is built from this repository's source. When it is loaded, it runs only CUDA's
        // own registration of kernels.
        let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
        // Its kernels are registered with CUDA as long as the process lives.
        let library: &'static Library = Box::leak(Box::new(library));
        // SAFETY: the type is that of the function in its source.
        let launcher: Symbol<'_, Launcher> =
            unsafe { library.get(b"hopper_gemm\0") }.map_err(|error| error.to_string())?;
        Ok(*launcher)
    });
    launcher.as_ref().copied().map_err(String::as_str)
}

stream_pipeline! {
    /// `c <- a * b`, as many rows at a time as a chunk has.
    pipeline Hopper {
        param n: usize;
        param k: usize;
        input a: [f16; k];
        resident b: [f16];
        output c: [f32; n];
        device dc: [f32; n];
        chunk rows = 512;
        stage load { copy a -> da; }
        // ANCHOR: call
        stage gemm { call hopper_gemm([rows.len, n, k], &da, &b, out dc); }
        // ANCHOR_END: call
        stage store { copy dc -> c; }
    }
}

/// Small whole numbers, so that sums of their products are exact in any order.
fn whole(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7919 + seed * 104_729) % 17) as f32 - 8.0).collect()
}

fn halves(numbers: &[f32]) -> Vec<f16> {
    numbers.iter().map(|&x| f16::from_f32(x)).collect()
}

/// `a * b` by its definition, in `f64`.
fn product([m, n, k]: [usize; 3], a: &[f32], b: &[f32]) -> Vec<f64> {
    let entry = |i: usize, j: usize| (0..k).map(|l| f64::from(a[i * k + l]) * f64::from(b[l * n + j])).sum();
    (0..m).flat_map(|i| (0..n).map(move |j| entry(i, j))).collect()
}

/// `n` and `k` for a case: below, at and above a tile's size, if tiles matter.
fn columns(device: &Device, case: Case, granule: usize) -> [usize; 2] {
    let number = case.len + case.depth;
    let [n, k] = if device.is_simulated() || device.is_cpu() {
        [[1, 3, 5][number % 3], [1, 4, 7][number / 3 % 3]]
    } else {
        [[1, 127, 129, 300][number % 4], [1, 8, 33, 257][number / 4 % 4]]
    };
    [n, k].map(|size: usize| size.next_multiple_of(granule))
}

on_every_device! {
    fn a_product_from_the_source(device, case) {
        let mut sgemm = built!(Sgemm, device, case);
        let [n, k] = columns(device, case, 1);
        let (a, b, c) = (whole(case.len * k, 1), whole(k * n, 2), whole(case.len * n, 3));
        for (alpha, beta) in [(1.0, 1.0), (-2.0, 0.5), (3.0, 0.0)] {
            let (report, found) = written!(device, case.pinned_out, c.clone(), |c| {
                read!(device, case.pinned_in, a.clone(), |a| sgemm.run(n as u32, k as u32, alpha, beta, a, &b, c))
            });
            report?;
            let product = product([case.len, n, k], &a, &b);
            for ((found, product), c) in found.iter().zip(product).zip(&c) {
                assert_eq!(f64::from(*found), f64::from(alpha) * product + f64::from(beta * c), "{case:?}");
            }
        }
    }

    fn a_layer_on_tensor_cores(device, case) {
        let mut linear = built!(Linear, device, case);
        let [n, k] = columns(device, case, 8);
        let (x, w, bias) = (whole(case.len * k, 4), whole(k * n, 5), whole(n, 6));
        let (report, y) = written!(device, case.pinned_out, vec![f32::NAN; case.len * n], |y| {
            read!(device, case.pinned_in, halves(&x), |x| linear.run(n as u32, k as u32, x, &halves(&w), &bias, y))
        });
        report?;
        let sums = product([case.len, n, k], &x, &w);
        for (i, (y, sum)) in y.iter().zip(sums).enumerate() {
            assert_eq!(f64::from(*y), (sum + f64::from(bias[i % n])).max(0.0), "{case:?}, {i}");
        }
    }

    fn a_product_from_ptx(device, case) {
        let mut sgemm = built!(from_ptx::Sgemm, device, case);
        let [n, k] = columns(device, case, 1);
        let (a, b, mut c) = (whole(case.len * k, 7), whole(k * n, 8), whole(case.len * n, 9));
        let expected = product([case.len, n, k], &a, &b).into_iter().zip(&c).map(|(ab, c)| ab + f64::from(*c));
        let expected: Vec<_> = expected.collect();
        sgemm.run(n as u32, k as u32, &a, &b, &mut c)?;
        assert_eq!(c.iter().map(|&c| f64::from(c)).collect::<Vec<_>>(), expected, "{case:?}");
    }

    fn a_product_from_a_launcher(device, case) {
        let mut hopper = built!(Hopper, device, case);
        let [n, k] = columns(device, case, 8);
        let (a, b) = (whole(case.len * k, 10), whole(k * n, 11));
        let mut c = vec![f32::NAN; case.len * n];
        hopper.run(n, k, &halves(&a), &halves(&b), &mut c)?;
        let c: Vec<_> = c.into_iter().map(f64::from).collect();
        assert_eq!(c, product([case.len, n, k], &a, &b), "{case:?}");
    }
}

/// Numbers with fractions, whose sums depend on the order: the result must be as close as any order of `f32`
/// sums.
fn within_rounding(device: &Device) -> thalweg::Result<()> {
    let [m, n, k] = if device.is_simulated() || device.is_cpu() { [40, 24, 300] } else { [1000, 520, 2000] };
    let spread = |len, seed| whole(len, seed).into_iter().enumerate().map(|(i, x)| x / (1 + i % 7) as f32);
    let (a, b): (Vec<_>, Vec<_>) = (spread(m * k, 1).collect(), spread(k * n, 2).collect());
    let mut c = vec![f32::NAN; m * n];
    Sgemm::options(device).chunk(300).build()?.run(n as u32, k as u32, 1.0, 0.0, &a, &b, &mut c)?;
    let absolute = |x: &[f32]| x.iter().map(|x| x.abs()).collect::<Vec<_>>();
    let bounds = product([m, n, k], &absolute(&a), &absolute(&b));
    for ((c, exact), sum) in c.iter().zip(product([m, n, k], &a, &b)).zip(bounds) {
        // k roundings of products and k of sums, each of at most half of `f32::EPSILON`; `f64`'s do not
        // count.
        let bound = (k + 1) as f64 * f64::from(f32::EPSILON) * sum;
        assert!((f64::from(*c) - exact).abs() <= bound, "{c} is not {exact} within {bound}");
    }
    Ok(())
}

#[test]
fn fractions_are_within_rounding() {
    within_rounding(&Device::simulated(Simulation::default())).unwrap();
}

#[test]
#[ignore = "needs a CUDA device"]
fn fractions_are_within_rounding_on_a_gpu() {
    within_rounding(&Device::cuda(0).unwrap()).unwrap();
}

/// On a GPU of another architecture the cubin is refused when the pipeline is built, and the message names
/// both.
#[test]
#[ignore = "needs a CUDA device"]
fn a_product_from_a_cubin_on_a_gpu() {
    let device = Device::cuda(0).unwrap();
    let [m, n, k] = [1000, 300, 257];
    let (a, b, mut c) = (whole(m * k, 1), whole(k * n, 2), vec![0.0; m * n]);
    from_cubin::Sgemm::new(&device).unwrap().run(n as u32, k as u32, &a, &b, &mut c).unwrap();
    assert_eq!(c.into_iter().map(f64::from).collect::<Vec<_>>(), product([m, n, k], &a, &b));
}

#[test]
fn a_launch_beyond_a_matrix_is_refused() {
    let device = Device::simulated(Simulation::default());
    let (a, b, mut c) = (whole(8, 1), whole(5, 2), vec![0.0; 6]);
    let error = Sgemm::new(&device).unwrap().run(3, 4, 1.0, 0.0, &a, &b, &mut c).unwrap_err();
    assert!(matches!(error.detail(), Detail::Requires { .. }), "{error}");
    assert!(error.to_string().contains("k as usize * n as usize <= b.len()"), "{error}");
    let (x, mut y) = (halves(&a), vec![0.0; 6]);
    let error = Linear::new(&device).unwrap().run(3, 4, &x, &halves(&b), &b, &mut y).unwrap_err();
    assert!(error.to_string().contains("n.is_multiple_of(8)"), "{error}");
    let error = Hopper::new(&device).unwrap().run(3, 4, &x, &halves(&b), &mut y).unwrap_err();
    assert!(error.to_string().contains("`hopper_gemm` failed: a matrix has another size"), "{error}");
}

/// This runs in a process of its own, whose cache is not the user's.
#[test]
fn the_source_compiles_for_every_architecture_and_once() {
    const NAME: &str = "the_source_compiles_for_every_architecture_and_once";
    const WITHIN: &str = "THALWEG_WITHIN_A_TEST";
    if std::env::var_os(WITHIN).is_some() {
        return compiles_once();
    }
    let cache = tempfile::tempdir().unwrap();
    let mut itself = Command::new(std::env::current_exe().unwrap());
    let itself = itself.args(["--exact", NAME, "--nocapture"]);
    let output = itself.env(WITHIN, "1").env("THALWEG_CACHE", cache.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("CUTLASS compiled for sm_80, sm_90"), "{said}");
}

fn compiles_once() {
    let module = cutlass_sgemm::INFO.module;
    let KernelSource::Cuda(_) = module.source else { panic!("no source") };
    assert!(module.headers.len() > 200, "{} headers are embedded", module.headers.len());
    let architectures = ["sm_80", "sm_90"];
    for _ in 0..2 {
        for architecture in architectures {
            let compiled = compile_for(module, architecture).unwrap_or_else(|error| panic!("{error}"));
            let mut kernels = kernels_in(&compiled.image);
            kernels.sort();
            assert_eq!(kernels, ["cutlass_linear", "cutlass_sgemm"], "{architecture}");
        }
        assert_eq!(compilations(), architectures.len() as u64);
    }
    let error = compile_for(module, "sm_75").unwrap_err();
    let Detail::Compile { log, .. } = error.detail() else { panic!("{error}") };
    assert!(log.contains("these kernels need compute capability 8.0"), "{log}");
    println!("CUTLASS compiled for {}", architectures.join(", "));
}
