//! Kernel sources of every kind through `#[kernels]` and a pipeline: included files, templates, symbols, half
//! precision, clusters and cooperative launches, PTX and cubins.

use half::{bf16, f16};
use thalweg::bytemuck::{NoUninit, Pod, Zeroable};
use thalweg::prelude::*;

/// `Range` of `params.cuh`.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
#[repr(C)]
struct Range {
    first: u32,
    count: u32,
}

/// `Mode` of `params.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, NoUninit)]
#[bytemuck(crate = "thalweg::bytemuck")]
#[repr(u32)]
enum Mode {
    Add,
    Multiply,
}

/// `Step` of `params.cuh`.
#[derive(Debug, Clone, Copy, NoUninit)]
#[bytemuck(crate = "thalweg::bytemuck")]
#[repr(C)]
struct Step {
    range: Range,
    mode: Mode,
    unused: u32,
    offset: f64,
    factors: [f32; 3],
    end: u32,
}

// ANCHOR: included
#[kernels(
    "../../cu/sources/steps.cu",
    include("../../cu/sources/include"),
    options("-DSCALE=2.0f", "--use_fast_math")
)]
// ANCHOR_END: included
unsafe extern "CUDA" {
    #[host(step_on_host)]
    #[requires((step.range.first + step.range.count) as usize <= x.len().min(y.len()))]
    safe fn step(step: Step, x: &[f32], y: &mut [f32]);

    // ANCHOR: symbols
    #[host(weigh_on_host)]
    #[requires(taps as usize <= weights.len() && n as usize <= x.len().min(y.len()))]
    safe fn weigh(n: u32, taps: u32, #[symbol] weights: &[f32], x: &[f32], y: Out<[f32]>);

    #[host(count_on_host)]
    #[requires(areas.len() == 4 && n as usize <= y.len())]
    safe fn count_ranges(n: u32, y: &mut [f32], #[symbol("ranges")] areas: &[Range]);
    // ANCHOR_END: symbols
}

fn step_on_host(_: Grid, step: Step, x: &[f32], y: &mut [f32]) {
    let range = step.range.first as usize..(step.range.first + step.range.count) as usize;
    for i in range {
        y[i] = 2.0
            * match step.mode {
                Mode::Add => x[i] + step.offset as f32,
                Mode::Multiply => x[i] * step.factors.iter().product::<f32>(),
            };
    }
}

fn weigh_on_host(thread: Thread, n: u32, taps: u32, weights: &[f32], x: &[f32], y: &mut [f32]) {
    let (i, n) = (thread.global_x(), n as usize);
    if i < n {
        y[i] = (0..taps as usize).map(|k| weights[k] * x[(i + k) % n]).sum();
    }
}

fn count_on_host(_: Grid, n: u32, y: &mut [f32], ranges: &[Range]) {
    for range in ranges {
        let end = (range.first + range.count).min(n) as usize;
        y[(range.first as usize).min(end)..end].iter_mut().for_each(|y| *y += 1.0);
    }
}

stream_pipeline! {
    pipeline Steps {
        param step: Step;
        input x: [f32];
        inout y: [f32];
        resident taps: [f32];
        resident areas: [Range];
        device t: [f32];
        chunk c = 16;
        depth = 2;
        stage load { copy x -> dx; copy y -> dy; }
        stage work {
            step<<<1, 32>>>(step, &dx, &mut dy);
            weigh<<<1, 32>>>(c.len as u32, 3, &taps, &dy, out t);
            count_ranges<<<1, 32>>>(c.len as u32, &mut t, &areas);
        }
        stage store { copy t -> y; }
    }
}

fn steps(device: &Device) -> thalweg::Result<()> {
    const LEN: usize = 48;
    let x: Vec<f32> = (0..LEN).map(|i| i as f32).collect();
    let range = Range { first: 2, count: 8 };
    let factors = [0.5, 2.0, 3.0];
    let taps = [1.0, 0.5, 0.25, 8.0];
    let areas = [(0, 4), (2, 20), (15, 1), (40, 3)].map(|(first, count)| Range { first, count });
    let mut pipeline = Steps::new(device)?;
    for mode in [Mode::Add, Mode::Multiply] {
        let step = Step { range, mode, unused: 0, offset: 4.0, factors, end: 0 };
        let mut y = vec![1.0; LEN];
        pipeline.run(step, &x, &mut y, &taps, &areas)?;
        for (chunk, y) in y.chunks(16).enumerate() {
            let stepped = |i: usize| {
                let x = (16 * chunk + i) as f32;
                match mode {
                    _ if !(2..10).contains(&i) => 1.0,
                    Mode::Add => 2.0 * (x + 4.0),
                    Mode::Multiply => 6.0 * x,
                }
            };
            for (i, y) in y.iter().enumerate() {
                let weighed: f32 = (0..3).map(|k| taps[k] * stepped((i + k) % 16)).sum();
                let inside = |range: &&Range| (range.first..range.first + range.count).contains(&(i as u32));
                assert_eq!(
                    *y,
                    weighed + areas.iter().filter(inside).count() as f32,
                    "{mode:?}, {chunk}, {i}"
                );
            }
        }
    }
    Ok(())
}

#[kernels("../../cu/sources/templates.cu")]
unsafe extern "CUDA" {
    // ANCHOR: templates
    #[instantiate("math::power<float, 3>")]
    #[host(power_on_host::<f32, 3>)]
    #[requires(n as usize <= x.len().min(y.len()))]
    safe fn cube(n: u32, x: &[f32], y: Out<[f32]>);

    #[instantiate("math::power<double>")]
    #[host(power_on_host::<f64, 2>)]
    #[requires(n as usize <= x.len().min(y.len()))]
    safe fn square(n: u32, x: &[f64], y: Out<[f64]>);

    #[instantiate("math::negate")]
    #[host(negate_on_host)]
    #[requires(n as usize <= y.len())]
    safe fn negated(n: u32, y: &mut [f32]);
    // ANCHOR_END: templates
}

fn power_on_host<T: Copy + std::ops::Mul<Output = T>, const N: usize>(_: Grid, n: u32, x: &[T], y: &mut [T]) {
    for i in 0..n as usize {
        y[i] = (1..N).fold(x[i], |product, _| product * x[i]);
    }
}

fn negate_on_host(_: Grid, n: u32, y: &mut [f32]) {
    y[..n as usize].iter_mut().for_each(|y| *y = -*y);
}

stream_pipeline! {
    pipeline Powers {
        input x: [f32];
        input v: [f64];
        output y: [f32];
        output w: [f64];
        device dy: [f32];
        device dw: [f64];
        chunk c = 10;
        stage load { copy x -> dx; copy v -> dv; }
        stage work {
            cube<<<1, 64>>>(c.len as u32, &dx, out dy);
            negated<<<1, 64>>>(c.len as u32, &mut dy);
            square<<<1, 128>>>(c.len as u32, &dv, out dw);
        }
        stage store { copy dy -> y; copy dw -> w; }
    }
}

fn powers(device: &Device) -> thalweg::Result<()> {
    let x: Vec<f32> = (0..35).map(|i| i as f32).collect();
    let v: Vec<f64> = (0..35).map(f64::from).collect();
    let (mut y, mut w) = (vec![0.0; 35], vec![0.0; 35]);
    Powers::new(device)?.run(&x, &v, &mut y, &mut w)?;
    for i in 0..35 {
        assert_eq!((y[i], w[i]), (-x[i] * x[i] * x[i], v[i] * v[i]), "{i}");
    }
    Ok(())
}

#[kernels("../../cu/sources/halves.cu")]
unsafe extern "CUDA" {
    // ANCHOR: halves
    #[host(widen_on_host)]
    #[requires(n as usize <= x.len().min(y.len()).min(z.len()))]
    safe fn widen(n: u32, scale: f16, x: &[f16], y: &[bf16], z: Out<[f32]>);
    // ANCHOR_END: halves
}

fn widen_on_host(thread: Thread, n: u32, scale: f16, x: &[f16], y: &[bf16], z: &mut [f32]) {
    let i = thread.global_x();
    if i < n as usize {
        z[i] = scale.to_f32() * x[i].to_f32() + y[i].to_f32();
    }
}

stream_pipeline! {
    pipeline Halves {
        param scale: f16;
        input x: [f16];
        input y: [bf16];
        output z: [f32];
        device dz: [f32];
        chunk c = 8;
        stage load { copy x -> dx; copy y -> dy; }
        stage work { widen<<<1, 32>>>(c.len as u32, scale, &dx, &dy, out dz); }
        stage store { copy dz -> z; }
    }
}

fn halves(device: &Device) -> thalweg::Result<()> {
    let x: Vec<f16> = (0..20).map(|i| f16::from_f32(i as f32)).collect();
    let y: Vec<bf16> = (0..20).map(|i| bf16::from_f32(0.5 * i as f32)).collect();
    let mut z = vec![0.0; 20];
    Halves::new(device)?.run(f16::from_f32(2.0), &x, &y, &mut z)?;
    let expected: Vec<f32> = (0..20).map(|i| 2.5 * i as f32).collect();
    assert_eq!(z, expected);
    Ok(())
}

#[kernels("../../cu/sources/together.cu")]
unsafe extern "CUDA" {
    // ANCHOR: together
    #[cluster(2)]
    #[host(partners_on_host)]
    #[requires(n as usize <= y.len())]
    safe fn partners(n: u32, y: Out<[u32]>);

    #[cooperative]
    #[host(rounds_on_host)]
    #[requires(n as usize <= x.len().min(y.len()) && !arrived.is_empty())]
    safe fn rounds(n: u32, arrived: &mut [u32], x: &mut [u32], y: Out<[u32]>);
    // ANCHOR_END: together
}

fn partners_on_host(thread: Thread, n: u32, y: &mut [u32]) {
    if thread.global_x() < n as usize {
        y[thread.global_x()] = 1 - thread.block[0] % 2;
    }
}

fn rounds_on_host(grid: Grid, n: u32, arrived: &mut [u32], x: &mut [u32], y: &mut [u32]) {
    let n = n as usize;
    x[..n].iter_mut().for_each(|x| *x += 1);
    arrived[0] += grid.grid_dim[0];
    for i in 0..n {
        y[i] = x[i] + x[n - 1 - i];
    }
}

stream_pipeline! {
    pipeline Together {
        input x: [u32];
        output y: [u32];
        output z: [u32];
        device dy: [u32];
        device dz: [u32];
        device arrived: [u32; 1];
        chunk c = 256;
        stage load { copy x -> dx; }
        stage work {
            fill arrived = 0;
            partners<<<4, 64>>>(c.len as u32, out dy);
            rounds<<<4, 64>>>(c.len as u32, &mut arrived, &mut dx, out dz);
        }
        stage store { copy dy -> y; copy dz -> z; }
    }
}

fn together(device: &Device) -> thalweg::Result<()> {
    const LEN: usize = 512;
    let x: Vec<u32> = (0..LEN as u32).collect();
    let (mut y, mut z) = (vec![9; LEN], vec![9; LEN]);
    Together::new(device)?.run(&x, &mut y, &mut z)?;
    for i in 0..LEN {
        let mirrored = i / 256 * 256 + 255 - i % 256;
        assert_eq!((y[i], z[i]), (1 - (i / 64 % 2) as u32, x[i] + x[mirrored] + 2), "{i}");
    }
    Ok(())
}

/// `Map` of the source that the images are made of, `{ float a; float b; }`.
#[derive(Debug, Clone, Copy, NoUninit)]
#[bytemuck(crate = "thalweg::bytemuck")]
#[repr(C)]
struct Map {
    a: f32,
    b: f32,
}

fn limited_on_host(thread: Thread, n: u32, map: Map, x: &[f32], z: &mut [f32], limits: &[f32]) {
    let i = thread.global_x();
    if i < n as usize {
        z[i] = (map.a * x[i] + map.b).max(limits[0]).min(limits[1]);
    }
}

/// A pipeline of the kernel in an image, and its test.
macro_rules! limited {
    ($module:ident, $image:literal) => {
        mod $module {
            use super::*;

            #[kernels($image)]
            unsafe extern "CUDA" {
                #[host(limited_on_host)]
                #[requires(n as usize <= x.len().min(z.len()) && limits.len() == 2)]
                safe fn affine_limited(n: u32, map: Map, x: &[f32], z: Out<[f32]>, #[symbol] limits: &[f32]);
            }

            stream_pipeline! {
                pipeline Limited {
                    param map: Map;
                    input x: [f32];
                    output z: [f32];
                    resident range: [f32];
                    device dz: [f32];
                    chunk c = 30;
                    stage load { copy x -> dx; }
                    stage work { affine_limited<<<1, 64>>>(c.len as u32, map, &dx, out dz, &range); }
                    stage store { copy dz -> z; }
                }
            }

            pub(super) fn check(device: &Device) -> thalweg::Result<()> {
                let x: Vec<f32> = (0..100).map(|i| i as f32).collect();
                let expected: Vec<f32> = x.iter().map(|x| (2.0 * x - 8.0).clamp(0.0, 64.0)).collect();
                let mut z = vec![-1.0; 100];
                Limited::new(device)?.run(Map { a: 2.0, b: -8.0 }, &x, &mut z, &[0.0, 64.0])?;
                assert_eq!(z, expected);
                Ok(())
            }
        }
    };
}

limited!(ptx, "../../cu/sources/limited.ptx");
use ptx::check as limited_ptx;

// This needs compute capability 9.0.
limited!(cubin, "../../cu/sources/limited.cubin");
use cubin::check as limited_cubin;

macro_rules! on_any_device {
    ($($check:ident: $on_a_gpu:ident,)+) => {$(
        mod $on_a_gpu {
            #[test]
            fn simulated() {
                super::$check(&thalweg::Device::simulated(thalweg::sim::Simulation::default())).unwrap();
            }

            #[test]
            #[ignore = "needs a CUDA device"]
            fn on_a_gpu() {
                super::$check(&thalweg::Device::cuda(0).unwrap()).unwrap();
            }
        }
    )+};
}

on_any_device! {
    steps: included_files_structs_and_symbols,
    powers: instances_of_templates,
    halves: half_precision,
    together: clusters_and_cooperative_launches,
    limited_ptx: ptx_with_a_symbol,
    limited_cubin: a_cubin_with_a_symbol,
}
