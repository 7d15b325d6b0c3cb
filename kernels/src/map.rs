//! Maps: element `i` of the result depends on element `i` of the arguments alone.

use std::ops::{Add, Mul};

use rayon::prelude::*;
use thalweg::prelude::*;

use crate::elementwise::{PIECE, covered};

#[kernels("../cu/map.cu")]
unsafe extern "CUDA" {
    /// `y[i] = a * x[i] + b` for `i < n`, with the product and the sum each rounded.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use thalweg_kernels::{clamp_f32, scale_f32};
    ///
    /// stream_pipeline! {
    ///     /// Degrees Celsius as Fahrenheit, at least -40.
    ///     pipeline Fahrenheit {
    ///         input celsius: [f32];
    ///         output fahrenheit: [f32];
    ///         device t: [f32];
    ///         device df: [f32];
    ///         chunk c = auto;
    ///         stage load { copy celsius -> dc; }
    ///         stage convert {
    ///             scale_f32<<<blocks(c.len, 256), 256>>>(c.len as u32, 1.8, 32.0, &dc, out t);
    ///             clamp_f32<<<blocks(c.len, 256), 256>>>(c.len as u32, -40.0, f32::INFINITY, &t, out df);
    ///         }
    ///         stage store { copy df -> fahrenheit; }
    ///     }
    /// }
    ///
    /// let mut fahrenheit = [0.0; 3];
    /// Fahrenheit::new(&Device::simulated(Simulation::h200()))?.run(&[-100.0, 0.0, 100.0], &mut fahrenheit)?;
    /// assert_eq!(fahrenheit, [-40.0, 32.0, 212.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// Needs one thread an element: `scale_f32<<<blocks(n, 256), 256>>>(n, a, b, &x, out y)`. The bits are
    /// the same on every device.
    #[instantiate("scale<float>")]
    #[host(scale_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn scale_f32(n: u32, a: f32, b: f32, x: &[f32], y: Out<[f32]>);

    /// `z[i] = x[i] + y[i]` for `i < n`.
    ///
    /// Needs one thread an element: `add_f32<<<blocks(n, 256), 256>>>(n, &x, &y, out z)`. The bits are the
    /// same on every device.
    #[instantiate("add<float>")]
    #[host(add_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    #[requires(n as usize <= z.len())]
    pub safe fn add_f32(n: u32, x: &[f32], y: &[f32], z: Out<[f32]>);

    /// `z[i] = x[i] * y[i]` for `i < n`.
    ///
    /// Needs one thread an element: `multiply_f32<<<blocks(n, 256), 256>>>(n, &x, &y, out z)`. The bits are
    /// the same on every device.
    #[instantiate("multiply<float>")]
    #[host(multiply_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    #[requires(n as usize <= z.len())]
    pub safe fn multiply_f32(n: u32, x: &[f32], y: &[f32], z: Out<[f32]>);

    /// `y[i]` is e to the power `x[i]`, for `i < n`.
    ///
    /// Needs one thread an element: `exp_f32<<<blocks(n, 256), 256>>>(n, &x, out y)`. NVIDIA found a GPU at
    /// most 2 ulp from the correctly rounded value (CUDA C++ Programming Guide, "Mathematical Functions"),
    /// and the CPU's library is at most 1 off: devices may differ by 3 ulp.
    #[instantiate("exponential<float>")]
    #[host(exp_f32_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn exp_f32(n: u32, x: &[f32], y: Out<[f32]>);

    /// `y[i]` is the square root of `x[i]`, correctly rounded, for `i < n`. It is NaN if `x[i]` is below
    /// zero.
    ///
    /// Needs one thread an element: `sqrt_f32<<<blocks(n, 256), 256>>>(n, &x, out y)`. The bits are the same
    /// on every device.
    #[instantiate("square_root<float>")]
    #[host(sqrt_f32_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn sqrt_f32(n: u32, x: &[f32], y: Out<[f32]>);

    /// `y[i]` is `x[i]`, or 0 where that is below zero, for `i < n`. NaN and -0.0 stay.
    ///
    /// Needs one thread an element: `relu_f32<<<blocks(n, 256), 256>>>(n, &x, out y)`. The bits are the same
    /// on every device.
    #[instantiate("relu<float>")]
    #[host(relu_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn relu_f32(n: u32, x: &[f32], y: Out<[f32]>);

    /// `y[i]` is `x[i]`, or the bound that it is beyond, for `i < n`. NaN stays; a bound that is NaN is
    /// refused.
    ///
    /// Needs one thread an element: `clamp_f32<<<blocks(n, 256), 256>>>(n, low, high, &x, out y)`. The bits
    /// are the same on every device.
    #[instantiate("clamp<float>")]
    #[host(clamp_on_host)]
    #[requires(low <= high)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn clamp_f32(n: u32, low: f32, high: f32, x: &[f32], y: Out<[f32]>);

    /// `y[i] += a * x[i]` for `i < n`: [`saxpy`](crate::saxpy) on doubles. With a `carry` for `y`, it adds up
    /// over chunks.
    ///
    /// The product and the sum are each rounded.
    #[host(axpy_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn daxpy(n: u32, a: f64, x: &[f64], y: &mut [f64]);

    /// `y[i] = a * x[i] + b` for `i < n`, with the product and the sum each rounded, in doubles.
    ///
    /// Needs one thread an element: `scale_f64<<<blocks(n, 256), 256>>>(n, a, b, &x, out y)`. The bits are
    /// the same on every device.
    #[instantiate("scale<double>")]
    #[host(scale_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn scale_f64(n: u32, a: f64, b: f64, x: &[f64], y: Out<[f64]>);

    /// `z[i] = x[i] + y[i]` for `i < n`, in doubles.
    ///
    /// Needs one thread an element: `add_f64<<<blocks(n, 256), 256>>>(n, &x, &y, out z)`. The bits are the
    /// same on every device.
    #[instantiate("add<double>")]
    #[host(add_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    #[requires(n as usize <= z.len())]
    pub safe fn add_f64(n: u32, x: &[f64], y: &[f64], z: Out<[f64]>);

    /// `z[i] = x[i] * y[i]` for `i < n`, in doubles.
    ///
    /// Needs one thread an element: `multiply_f64<<<blocks(n, 256), 256>>>(n, &x, &y, out z)`. The bits are
    /// the same on every device.
    #[instantiate("multiply<double>")]
    #[host(multiply_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    #[requires(n as usize <= z.len())]
    pub safe fn multiply_f64(n: u32, x: &[f64], y: &[f64], z: Out<[f64]>);

    /// `y[i]` is e to the power `x[i]`, for `i < n`, in doubles.
    ///
    /// Needs one thread an element: `exp_f64<<<blocks(n, 256), 256>>>(n, &x, out y)`. NVIDIA found a GPU at
    /// most 1 ulp from the correctly rounded value (CUDA C++ Programming Guide, "Mathematical Functions"),
    /// and the CPU's library is at most 1 off: devices may differ by 2 ulp.
    #[instantiate("exponential<double>")]
    #[host(exp_f64_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn exp_f64(n: u32, x: &[f64], y: Out<[f64]>);

    /// `y[i]` is the square root of `x[i]`, correctly rounded, for `i < n`, in doubles. It is NaN if `x[i]`
    /// is below zero.
    ///
    /// Needs one thread an element: `sqrt_f64<<<blocks(n, 256), 256>>>(n, &x, out y)`. The bits are the same
    /// on every device.
    #[instantiate("square_root<double>")]
    #[host(sqrt_f64_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn sqrt_f64(n: u32, x: &[f64], y: Out<[f64]>);

    /// `y[i]` is `x[i]`, or 0 where that is below zero, for `i < n`, in doubles. NaN and -0.0 stay.
    ///
    /// Needs one thread an element: `relu_f64<<<blocks(n, 256), 256>>>(n, &x, out y)`. The bits are the same
    /// on every device.
    #[instantiate("relu<double>")]
    #[host(relu_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn relu_f64(n: u32, x: &[f64], y: Out<[f64]>);

    /// `y[i]` is `x[i]`, or the bound that it is beyond, for `i < n`, in doubles. NaN stays; a bound that is
    /// NaN is refused.
    ///
    /// Needs one thread an element: `clamp_f64<<<blocks(n, 256), 256>>>(n, low, high, &x, out y)`. The bits
    /// are the same on every device.
    #[instantiate("clamp<double>")]
    #[host(clamp_on_host)]
    #[requires(low <= high)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn clamp_f64(n: u32, low: f64, high: f64, x: &[f64], y: Out<[f64]>);
}

/// A type of elements.
trait Number: Copy + PartialOrd + Default + Add<Output = Self> + Mul<Output = Self> + Send + Sync {}

impl Number for f32 {}
impl Number for f64 {}

/// `y[i] = f(x[i])`.
fn map<T: Number>(launch: Grid, n: u32, x: &[T], y: &mut [T], f: impl Fn(T) -> T + Sync) {
    let n = covered(launch, n);
    y[..n].par_chunks_mut(PIECE).zip(x[..n].par_chunks(PIECE)).for_each(|(y, x)| {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = f(x);
        }
    });
}

/// `z[i] = f(x[i], y[i])`.
fn zip<T: Number>(launch: Grid, n: u32, x: &[T], y: &[T], z: &mut [T], f: impl Fn(T, T) -> T + Sync) {
    let n = covered(launch, n);
    let arguments = x[..n].par_chunks(PIECE).zip(y[..n].par_chunks(PIECE));
    z[..n].par_chunks_mut(PIECE).zip(arguments).for_each(|(z, (x, y))| {
        for (z, (&x, &y)) in z.iter_mut().zip(x.iter().zip(y)) {
            *z = f(x, y);
        }
    });
}

fn axpy_on_host<T: Number>(launch: Grid, n: u32, a: T, x: &[T], y: &mut [T]) {
    let n = covered(launch, n);
    y[..n].par_chunks_mut(PIECE).zip(x[..n].par_chunks(PIECE)).for_each(|(y, x)| {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = a * x + *y;
        }
    });
}

fn scale_on_host<T: Number>(launch: Grid, n: u32, a: T, b: T, x: &[T], y: &mut [T]) {
    map(launch, n, x, y, |x| a * x + b);
}

fn add_on_host<T: Number>(launch: Grid, n: u32, x: &[T], y: &[T], z: &mut [T]) {
    zip(launch, n, x, y, z, |x, y| x + y);
}

fn multiply_on_host<T: Number>(launch: Grid, n: u32, x: &[T], y: &[T], z: &mut [T]) {
    zip(launch, n, x, y, z, |x, y| x * y);
}

fn exp_f32_on_host(launch: Grid, n: u32, x: &[f32], y: &mut [f32]) {
    map(launch, n, x, y, f32::exp);
}

fn exp_f64_on_host(launch: Grid, n: u32, x: &[f64], y: &mut [f64]) {
    map(launch, n, x, y, f64::exp);
}

fn sqrt_f32_on_host(launch: Grid, n: u32, x: &[f32], y: &mut [f32]) {
    map(launch, n, x, y, f32::sqrt);
}

fn sqrt_f64_on_host(launch: Grid, n: u32, x: &[f64], y: &mut [f64]) {
    map(launch, n, x, y, f64::sqrt);
}

fn relu_on_host<T: Number>(launch: Grid, n: u32, x: &[T], y: &mut [T]) {
    map(launch, n, x, y, |x| if x < T::default() { T::default() } else { x });
}

fn clamp_on_host<T: Number>(launch: Grid, n: u32, low: T, high: T, x: &[T], y: &mut [T]) {
    map(launch, n, x, y, |x| {
        if x < low {
            low
        } else if x > high {
            high
        } else {
            x
        }
    });
}
