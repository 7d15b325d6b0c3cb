//! Maps: element `i` of the result depends on element `i` of the arguments alone.

use thalweg::prelude::*;

/// Names of the kernels for one type each.
macro_rules! of_type {
    ($($name:ident = $kernel:ident<$type:ty>, $of:literal;)*) => {$(
        #[doc = concat!("[`struct@", stringify!($kernel), "`] of ", $of, ".")]
        #[allow(non_camel_case_types, reason = "kernels are functions")]
        pub type $name = $kernel<$type>;
    )*};
}
pub(crate) use of_type;

/// `y[i] = a * x[i] + b`, with the product and the sum each rounded.
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
///             scale_f32<<<blocks(c.len, 256), 256>>>(1.8, 32.0, &dc, out t);
///             clamp_f32<<<blocks(c.len, 256), 256>>>(-40.0, f32::INFINITY, &t, out df);
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
/// Needs one thread an element: `scale_f32<<<blocks(n, 256), 256>>>(a, b, &x, out y)`. The bits are the same
/// on every device.
#[kernel(T in [f32, f64])]
#[requires(y.len() <= x.len())]
pub fn scale(i: Index, a: T, b: T, x: &[T], y: &mut Out<[T]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = a * x[i] + b;
}

/// `z[i] = x[i] + y[i]`.
///
/// Needs one thread an element: `add_f32<<<blocks(n, 256), 256>>>(&x, &y, out z)`. The bits are the same on
/// every device.
#[kernel(T in [f32, f64])]
#[requires(z.len() <= x.len())]
#[requires(z.len() <= y.len())]
pub fn add(i: Index, x: &[T], y: &[T], z: &mut Out<[T]>) {
    let Some(z) = z.get_mut(i) else { return };
    *z = x[i] + y[i];
}

/// `z[i] = x[i] * y[i]`.
///
/// Needs one thread an element: `multiply_f32<<<blocks(n, 256), 256>>>(&x, &y, out z)`. The bits are the same
/// on every device.
#[kernel(T in [f32, f64])]
#[requires(z.len() <= x.len())]
#[requires(z.len() <= y.len())]
pub fn multiply(i: Index, x: &[T], y: &[T], z: &mut Out<[T]>) {
    let Some(z) = z.get_mut(i) else { return };
    *z = x[i] * y[i];
}

/// `y[i]` is e to the power `x[i]`.
///
/// Needs one thread an element: `exp_f32<<<blocks(n, 256), 256>>>(&x, out y)`. NVIDIA found a GPU at most 2 ulp
/// from the correctly rounded value, and 1 with doubles (CUDA C++ Programming Guide, "Mathematical Functions"),
/// and the CPU's library is at most 1 off: devices may differ by 3 ulp, and by 2 with doubles.
#[kernel(T in [f32, f64])]
#[requires(y.len() <= x.len())]
pub fn exp(i: Index, x: &[T], y: &mut Out<[T]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i].exp();
}

/// `y[i]` is the square root of `x[i]`, correctly rounded. It is NaN if `x[i]` is below zero.
///
/// Needs one thread an element: `sqrt_f32<<<blocks(n, 256), 256>>>(&x, out y)`. The bits are the same on every
/// device.
#[kernel(T in [f32, f64])]
#[requires(y.len() <= x.len())]
pub fn sqrt(i: Index, x: &[T], y: &mut Out<[T]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i].sqrt();
}

/// `y[i]` is `x[i]`, or 0 where that is below zero. NaN and -0.0 stay.
///
/// Needs one thread an element: `relu_f32<<<blocks(n, 256), 256>>>(&x, out y)`. The bits are the same on every
/// device.
#[kernel(T in [f32, f64])]
#[requires(y.len() <= x.len())]
pub fn relu(i: Index, x: &[T], y: &mut Out<[T]>) {
    let Some(y) = y.get_mut(i) else { return };
    let x = x[i];
    // NaN is not less than anything.
    *y = if x < 0.0 { 0.0 } else { x };
}

/// `y[i]` is `x[i]`, or the bound that it is beyond. NaN stays; a bound that is NaN is refused.
///
/// Needs one thread an element: `clamp_f32<<<blocks(n, 256), 256>>>(low, high, &x, out y)`. The bits are the
/// same on every device.
#[kernel(T in [f32, f64])]
#[requires(low <= high)]
#[requires(y.len() <= x.len())]
pub fn clamp(i: Index, low: T, high: T, x: &[T], y: &mut Out<[T]>) {
    let Some(y) = y.get_mut(i) else { return };
    let x = x[i];
    // The method would check the bounds in each thread.
    *y = if x < low {
        low
    } else if x > high {
        high
    } else {
        x
    };
}

/// `y[i] += a * x[i]`: [`saxpy`](struct@crate::saxpy) on doubles. With a `carry` for `y`, it adds up over chunks.
///
/// Needs one thread an element: `daxpy<<<blocks(n, 256), 256>>>(a, &x, &mut y)`. The product and the sum are
/// each rounded.
#[kernel]
#[requires(y.len() <= x.len())]
pub fn daxpy(i: Index, a: f64, x: &[f64], y: &mut Own<[f64]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y += a * x[i];
}

of_type! {
    scale_f32 = scale<f32>, "floats";
    scale_f64 = scale<f64>, "doubles";
    add_f32 = add<f32>, "floats";
    add_f64 = add<f64>, "doubles";
    multiply_f32 = multiply<f32>, "floats";
    multiply_f64 = multiply<f64>, "doubles";
    exp_f32 = exp<f32>, "floats";
    exp_f64 = exp<f64>, "doubles";
    sqrt_f32 = sqrt<f32>, "floats";
    sqrt_f64 = sqrt<f64>, "doubles";
    relu_f32 = relu<f32>, "floats";
    relu_f64 = relu<f64>, "doubles";
    clamp_f32 = clamp<f32>, "floats";
    clamp_f64 = clamp<f64>, "doubles";
}
