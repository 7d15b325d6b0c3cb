//! cuFFT from pipelines, compared with the definition in `f64`.
//!
//! A fast transform of `n` elements is off by at most `8 eps log2(n)` of the norm of its result (Higham,
//! Accuracy and Stability of Numerical Algorithms, 24.1), and the norm of the result is `sqrt(n)` times that
//! of the signal. For lengths with large prime factors three transforms of up to `4 n` elements take its
//! place.

use thalweg::prelude::*;
use thalweg::sim::Simulation;
use thalweg_libraries::Error as Refused;
use thalweg_libraries::cufft::{self, C2c, Complex, Fft, R2c};

macro_rules! pipelines {
    ($($name:ident, $real:ident;)*) => {$(
        stream_pipeline! {
            /// All transforms, there and back, on two streams.
            pipeline $name {
                param c2c: Fft<C2c>;
                param r2c: Fft<R2c>;
                param len: usize;
                param half: usize;
                input x: [Complex<$real>; len];
                input r: [$real; len];
                output forward: [Complex<$real>; len];
                output back: [Complex<$real>; len];
                output there: [Complex<$real>; len];
                output there_and_back: [Complex<$real>; len];
                output spectrum: [Complex<$real>; half];
                output real: [$real; len];
                output again: [$real; len];
                device df: [Complex<$real>; len];
                device db: [Complex<$real>; len];
                device ds: [Complex<$real>; half];
                device dq: [$real; len];
                device dp: [$real; len];
                chunk c = auto;
                stream one;
                stream two;
                stage load { copy x -> dx; copy r -> dr; }
                stage complex on one {
                    call cufft::forward(c2c.batch(c.len), &dx, out df);
                    call cufft::inverse(c2c.batch(c.len), &df, out db);
                    call cufft::forward_in_place(c2c.batch(c.len), &mut dx);
                    copy dx -> there;
                    call cufft::inverse_in_place(c2c.batch(c.len), &mut dx);
                    copy dx -> there_and_back;
                }
                stage real on two {
                    call cufft::forward(r2c.batch(c.len), &dr, out ds);
                    call cufft::inverse(r2c.batch(c.len), &ds, out dq);
                    copy ds -> spectrum;
                    call cufft::inverse_overwriting(r2c.batch(c.len), &mut ds, out dp);
                }
                stage store { copy df -> forward; copy db -> back; copy dq -> real; copy dp -> again; }
            }
        }
    )*};
}
pipelines! {
    Single, f32;
    Double, f64;
}

type C = Complex<f64>;

/// The shapes of signals: with one, two and three dimensions, of length 1, prime, and with every factor that
/// cuFFT knows.
const SHAPES: [&[usize]; 22] = [
    &[1],
    &[2],
    &[3],
    &[8],
    &[13],
    &[30],
    &[101],
    &[210],
    &[256],
    &[1009],
    &[1, 1],
    &[4, 6],
    &[5, 7],
    &[6, 1],
    &[1, 6],
    &[16, 32],
    &[23, 29],
    &[1, 1, 1],
    &[2, 3, 4],
    &[3, 1, 5],
    &[4, 4, 1],
    &[8, 5, 9],
];

fn ffts(shape: &[usize]) -> (Fft<C2c>, Fft<R2c>) {
    match *shape {
        [n] => (Fft::c2c(n), Fft::r2c(n)),
        [m, n] => (Fft::c2c([m, n]), Fft::r2c([m, n])),
        [l, m, n] => (Fft::c2c([l, m, n]), Fft::r2c([l, m, n])),
        _ => unreachable!("shapes have one to three dimensions"),
    }
}

/// The definition, one axis after another.
fn spectra(shape: &[usize], data: &[C]) -> Vec<C> {
    let mut data = data.to_vec();
    for (axis, &len) in shape.iter().enumerate() {
        let step: usize = shape[axis + 1..].iter().product();
        let roots: Vec<C> =
            (0..len).map(|k| C::cis(-std::f64::consts::TAU * k as f64 / len as f64)).collect();
        for block in data.chunks_mut(len * step) {
            for start in 0..step {
                let line: Vec<C> = block[start..].iter().step_by(step).copied().collect();
                for (k, out) in block[start..].iter_mut().step_by(step).enumerate() {
                    *out = line.iter().enumerate().map(|(j, x)| x * roots[j * k % len]).sum();
                }
            }
        }
    }
    data
}

fn signals(len: usize) -> Vec<C> {
    let number = |i: usize, by: usize| (i * by % 1009) as f64 / 504.5 - 1.0;
    (0..len).map(|i| C::new(number(i, 373), number(i, 557))).collect()
}

/// The bound of the error of a transform of one signal: see above. A signal that comes back has been through
/// two.
fn bound(epsilon: f64, signal: &[C]) -> f64 {
    let n = signal.len() as f64;
    let norm = signal.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt();
    8.0 * epsilon * 3.0 * (4.0 * n).log2() * n.sqrt() * norm
}

fn near(what: &str, found: &[C], expected: &[C], bounds: &[f64]) {
    assert_eq!(found.len(), expected.len());
    let each = found.len() / bounds.len();
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let bound = bounds[i / each];
        assert!((found - expected).norm() <= bound, "{what}[{i}]: {found} is not {expected} within {bound}");
    }
}

/// A way to run a pipeline.
#[derive(Debug, Clone, Copy)]
struct How {
    items: usize,
    chunk: usize,
    depth: usize,
    graph: bool,
}

const HOW: [How; 4] = [
    How { items: 1, chunk: 1, depth: 1, graph: false },
    How { items: 7, chunk: 2, depth: 3, graph: false },
    How { items: 7, chunk: 3, depth: 2, graph: true },
    How { items: 5, chunk: 16, depth: 2, graph: false },
];

macro_rules! checks {
    ($($check:ident, $name:ident, $real:ident;)*) => {$(
        /// Every shape runs with one pipeline after another, in the same slots.
        fn $check(device: &Device, how: How) {
            let options = $name::options(device).chunk(how.chunk).depth(how.depth);
            let options = if how.graph { options.graph() } else { options };
            let mut pipeline = options.build().expect("a pipeline");
            for shape in SHAPES.iter().chain(&SHAPES[..4]) {
                let len: usize = shape.iter().product();
                let row = shape[shape.len() - 1];
                let (c2c, r2c) = ffts(shape);
                let narrow = |x: &C| Complex::new(x.re as $real, x.im as $real);
                let wide = |x: &[Complex<$real>]| -> Vec<C> {
                    x.iter().map(|x| C::new(x.re.into(), x.im.into())).collect()
                };
                let real = |x: &[$real]| -> Vec<C> { x.iter().map(|x| C::new((*x).into(), 0.0)).collect() };
                let x: Vec<Complex<$real>> = signals(how.items * len).iter().map(narrow).collect();
                let r: Vec<$real> = x.iter().map(|x| x.re).collect();
                let nan = Complex::new($real::NAN, $real::NAN);
                let [mut forward, mut back, mut there, mut there_and_back] = [(); 4].map(|()| vec![nan; x.len()]);
                let mut spectrum = vec![nan; x.len() / row * (row / 2 + 1)];
                let [mut same, mut again] = [(); 2].map(|()| vec![$real::NAN; x.len()]);
                let half = spectrum.len() / how.items;
                pipeline
                    .run(
                        c2c, r2c, len, half, &x, &r, &mut forward, &mut back, &mut there, &mut there_and_back,
                        &mut spectrum, &mut same, &mut again,
                    )
                    .unwrap_or_else(|error| panic!("{shape:?}: {error}"));
                let what = |name: &str| format!("{name} of {shape:?}");
                let scaled = |x: &[C]| -> Vec<C> { x.iter().map(|x| x * len as f64).collect() };
                let x = wide(&x);
                let expected: Vec<C> = x.chunks(len).flat_map(|x| spectra(shape, x)).collect();
                let once: Vec<f64> = x.chunks(len).map(|x| bound($real::EPSILON.into(), x)).collect();
                let twice: Vec<f64> = once.iter().map(|bound| 2.0 * (len as f64).sqrt() * bound).collect();
                near(&what("forward"), &wide(&forward), &expected, &once);
                near(&what("there"), &wide(&there), &expected, &once);
                near(&what("back"), &wide(&back), &scaled(&x), &twice);
                near(&what("there and back"), &wide(&there_and_back), &scaled(&x), &twice);
                let r = real(&r);
                let expected: Vec<C> = r.chunks(len).flat_map(|r| spectra(shape, r)).collect();
                let expected: Vec<C> =
                    expected.chunks(row).flat_map(|row| &row[..row.len() / 2 + 1]).copied().collect();
                // `inverse` has left the spectrum as it was.
                near(&what("spectrum"), &wide(&spectrum), &expected, &once);
                near(&what("real"), &real(&same), &scaled(&r), &twice);
                near(&what("again"), &real(&again), &scaled(&r), &twice);
            }
        }
    )*};
}
checks! {
    check_single, Single, f32;
    check_double, Double, f64;
}

#[test]
fn every_transform_is_the_definition() {
    for how in HOW {
        let device = Device::simulated(Simulation::default());
        check_single(&device, how);
        check_double(&device, how);
    }
}

#[test]
fn in_adversarial_orders() {
    for seed in 1..4 {
        check_single(&Device::simulated(Simulation::default().adversarial(seed)), HOW[1]);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn every_transform_is_the_definition_on_a_gpu() {
    let device = Device::cuda(0).expect("a GPU");
    for how in HOW {
        check_single(&device, how);
        check_double(&device, how);
    }
}

// ANCHOR: low_pass
#[kernels("../../cu/spectrum.cu")]
unsafe extern "CUDA" {
    /// Multiplies each of `n` numbers by its bin's element of the mask; a spectrum has so many bins.
    #[host(masked_thread)]
    #[requires(n as usize <= spectrum.len())]
    #[requires(bins > 0 && bins as usize <= mask.len())]
    safe fn masked(n: u32, bins: u32, mask: &[f32], spectrum: &mut [Complex<f32>]);
}

fn masked_thread(t: Thread, n: u32, bins: u32, mask: &[f32], spectrum: &mut [Complex<f32>]) {
    let i = t.global_x();
    if i < n as usize {
        spectrum[i] *= mask[i % bins as usize];
    }
}

stream_pipeline! {
    /// Takes frequencies out of signals of 1,024 samples.
    pub pipeline Filter {
        resident mask: [f32];
        input signal: [f32; 1024];
        output filtered: [f32; 1024];
        device spectrum: [Complex<f32>; 513];
        device df: [f32; 1024];
        chunk c = auto;
        stream up;
        stream math;
        stream down;
        stage load on up { copy signal -> ds; }
        stage filter on math {
            call cufft::forward(Fft::r2c(1024).batch(c.len), &ds, out spectrum);
            masked<<<blocks(513 * c.len, 256), 256>>>(513 * c.len as u32, 513, &mask, &mut spectrum);
            call cufft::inverse_overwriting(Fft::r2c(1024).batch(c.len), &mut spectrum, out df);
        }
        stage store on down { copy df -> filtered; }
    }
}
// ANCHOR_END: low_pass

/// Two sines; one of them is taken out.
fn filters(device: &Device) {
    let wave = |turns: usize, i: usize| (std::f32::consts::TAU * (turns * i % 1024) as f32 / 1024.0).sin();
    let signal: Vec<f32> = (0..7 * 1024).map(|i| wave(3, i) + 0.5 * wave(200, i)).collect();
    // The way there and back multiplies by 1024.
    let mask: Vec<f32> = (0..513).map(|k| if k < 10 { 1.0 / 1024.0 } else { 0.0 }).collect();
    for (chunk, depth) in [(2, 2), (3, 3), (9, 1)] {
        let mut filtered = vec![f32::NAN; signal.len()];
        let mut filter = Filter::options(device).chunk(chunk).depth(depth).build().expect("a pipeline");
        filter.run(&mask, &signal, &mut filtered).expect("a run");
        for (i, filtered) in filtered.iter().enumerate() {
            // These are two transforms of 1,024 elements, of signals whose norm is at most the root of 1,024
            // * (1 / 2 + 1 / 8).
            let bound = 2.0 * 8.0 * 10.0 * f32::EPSILON * 640_f32.sqrt();
            assert!((filtered - wave(3, i)).abs() <= bound, "{i}: {filtered}");
        }
    }
}

#[test]
fn a_mask_takes_frequencies_out() {
    filters(&Device::simulated(Simulation::default()));
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_mask_takes_frequencies_out_on_a_gpu() {
    filters(&Device::cuda(0).expect("a GPU"));
}

stream_pipeline! {
    pipeline Fixed {
        param batch: usize;
        input x: [f32; 8];
        output y: [Complex<f32>; 5];
        device dy: [Complex<f32>; 5];
        chunk c = 3;
        stage all { copy x -> dx; call cufft::forward(Fft::r2c(8).batch(batch), &dx, out dy); copy dy -> y; }
    }
}

#[test]
fn a_batch_of_another_length_is_refused() {
    let device = Device::simulated(Simulation::default());
    let mut pipeline = Fixed::new(&device).expect("a pipeline");
    let (x, mut y) = (vec![1.0; 7 * 8], vec![Complex::default(); 7 * 5]);
    let error = pipeline.run(3, &x, &mut y).expect_err("the last chunk has one signal");
    let Some(Refused::Dimensions { routine: "forward", argument: "signal", needed: 24, len: 8, .. }) =
        Refused::of(&error)
    else {
        panic!("{error}")
    };
    let text = "`forward`: `signal` is 3 of 8, which takes 24 elements, but it has 8, of buffer `dx`\n  in pipeline `Fixed`, stage `all`, operation `call cufft::forward`, chunk 2\n";
    assert!(error.to_string().starts_with(text), "{error}");
    pipeline.run(3, &x[..48], &mut y[..30]).expect("whole chunks");
    assert_eq!(y[0], Complex::new(8.0, 0.0));
}
