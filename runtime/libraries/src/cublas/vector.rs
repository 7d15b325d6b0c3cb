//! Products of a matrix and a vector, and sums of vectors.

use std::ffi::c_int;

use thalweg::Result;
use thalweg::kernel::{DeviceSlice, DeviceSliceMut, DeviceSliceOut};
use thalweg::routine::Enqueue;

use super::api::Functions;
use super::element::{Element, Scale};
use super::gemm::{argument, device, operation};
use super::handle::Handle;
use super::host;
use super::shape::{Matrix, int};
use super::sys::{cublasHandle_t, cublasOperation_t};
use crate::Calls;

/// The dimensions of a product of a matrix and a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "these are dimensions: hand them to `gemv`"]
pub struct Gemv {
    rows: usize,
    columns: usize,
    transpose: bool,
    lda: Option<usize>,
}

impl Gemv {
    /// `a` is stored as `rows` rows of `columns` elements; `x` has `columns` elements and `y` has `rows`.
    pub const fn new(rows: usize, columns: usize) -> Self {
        Self { rows, columns, transpose: false, lda: None }
    }

    /// Multiplies by the transpose of `a`: `x` has `rows` elements and `y` has `columns`.
    pub const fn transpose(mut self) -> Self {
        self.transpose = true;
        self
    }

    /// Sets the elements from one row of `a` to the next. The default is the elements of a row.
    pub const fn lda(mut self, elements: usize) -> Self {
        self.lda = Some(elements);
        self
    }
}

/// `f32` and `f64`, for which cuBLAS has [`gemv`]. Elements of 16 bits can use [`gemm`](super::gemm()) with
/// `n` 1.
#[diagnostic::on_unimplemented(
    message = "cuBLAS has no product of a matrix and a vector of `{Self}`",
    label = "expected elements `f32` or `f64`",
    note = "for `f16` and `bf16` use `gemm` with `n = 1`"
)]
pub trait Vector: Scale {
    /// # Safety
    /// The contract is that of cuBLAS's function of this name.
    #[doc(hidden)]
    #[allow(private_interfaces, clippy::too_many_arguments, reason = "sealed; they are cuBLAS's")]
    unsafe fn gemv(
        functions: &'static Functions,
        handle: cublasHandle_t,
        operation: cublasOperation_t,
        sizes: [c_int; 3],
        alpha: Self,
        addresses: [u64; 3],
        beta: Self,
    ) -> Result<()>;
}

macro_rules! vectors {
    ($($element:ty: $function:ident),*) => {$(
        impl Vector for $element {
            #[allow(private_interfaces, reason = "sealed")]
            unsafe fn gemv(
                functions: &'static Functions,
                handle: cublasHandle_t,
                operation: cublasOperation_t,
                [m, n, lda]: [c_int; 3],
                alpha: Self,
                [a, x, y]: [u64; 3],
                beta: Self,
            ) -> Result<()> {
                let (a, x, y) = (device(a).cast_const().cast(), device(x).cast_const().cast(), device(y).cast());
                // SAFETY: the caller keeps the contract of the library's function.
                unsafe { functions.$function(handle, operation, m, n, &alpha, a, lda, x, 1, &beta, y, 1) }
            }
        }
    )*};
}
vectors!(f32: cublasSgemv_v2, f64: cublasDgemv_v2);

/// `y <- alpha * op(a) * x + beta * y`, with `op` as [`Gemv`] says: a product of a matrix and a vector.
///
/// With `beta` 0, `y` is not read; with `alpha` 0, `a` and `x` are not read.
///
/// # Errors
/// Those of [`gemm`](super::gemm()).
pub fn gemv<T: Vector>(
    queue: &Enqueue<'_>,
    gemv: Gemv,
    alpha: T,
    a: DeviceSlice<'_, T>,
    x: DeviceSlice<'_, T>,
    beta: T,
    y: DeviceSliceMut<'_, T>,
) -> Result<()> {
    run(queue, "gemv", gemv, alpha, (a, x), beta, y)
}

/// `y <- alpha * op(a) * x`: like [`gemv`] for a `y` that is `out`.
///
/// ```
/// use thalweg_libraries::cublas::{self, Gemv};
/// use thalweg::prelude::*;
///
/// stream_pipeline! {
///     /// The inner product of each row of 3 elements with `x`.
///     pipeline Project {
///         input a: [f64; 3];
///         resident x: [f64];
///         output y: [f64];
///         device dy: [f64];
///         chunk c = 1000;
///         stage load { copy a -> da; }
///         stage multiply { call cublas::gemv_out(Gemv::new(c.len, 3), 1.0, &da, &x, out dy); }
///         stage store { copy dy -> y; }
///     }
/// }
///
/// let mut y = [0.0; 2];
/// let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
/// Project::new(&Device::simulated(Simulation::h200()))?.run(&a, &[1.0, 0.0, 2.0], &mut y)?;
/// assert_eq!(y, [7.0, 16.0]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// Those of [`gemm`](super::gemm()).
pub fn gemv_out<T: Vector>(
    queue: &Enqueue<'_>,
    gemv: Gemv,
    alpha: T,
    a: DeviceSlice<'_, T>,
    x: DeviceSlice<'_, T>,
    y: DeviceSliceOut<'_, T>,
) -> Result<()> {
    run(queue, "gemv_out", gemv, alpha, (a, x), T::default(), y.into_mut())
}

fn run<T: Vector>(
    queue: &Enqueue<'_>,
    routine: &'static str,
    gemv: Gemv,
    alpha: T,
    (a, x): (DeviceSlice<'_, T>, DeviceSlice<'_, T>),
    beta: T,
    y: DeviceSliceMut<'_, T>,
) -> Result<()> {
    let memory = (a, x, y);
    queue.admit(&memory)?;
    let mut y = memory.2;
    let Gemv { rows, columns, transpose, lda } = gemv;
    let of_a = Matrix::new("a", "rows x columns", [rows, columns], lda);
    let (from, to) = if transpose { (rows, columns) } else { (columns, rows) };
    // The vectors are matrices of one column. Even an empty product writes all of `y`, so its length must be
    // exact.
    let of_x = Matrix::new("x", "a vector", [from, 1], None);
    let of_y = Matrix::new("y", "a vector", [to, 1], None).whole(true);
    let arguments = [("a", a.address()), ("x", x.address()), ("y", y.address())];
    for (matrix, len) in [(&of_a, a.len()), (&of_x, x.len()), (&of_y, y.len())] {
        queue.naming(&arguments, matrix.check(routine, len))?;
    }
    // The library's columns are our rows.
    let sizes = [
        int(routine, "the number of columns of `a`", columns)?,
        int(routine, "the number of rows of `a`", rows)?,
        int(routine, "the leading dimension of `a`", of_a.ld.max(1))?,
    ];
    let Some(stream) = queue.cuda_stream() else {
        return queue.simulate((a, x, y), move |(a, x, y)| {
            host::gemm([&of_a, &of_x, &of_y], [transpose, false], alpha, (a, x), beta, y);
        });
    };
    if to == 0 {
        return Ok(());
    }
    let handle = Handle::of(queue, stream)?;
    queue.library(|| {
        if from == 0 || alpha == T::default() {
            // Here `y` is one row.
            let of_y = Matrix::new("y", "a vector", [1, to], None);
            return handle.scale(queue, &of_y, beta, &mut y);
        }
        let addresses = [a.address(), x.address(), y.address()];
        // SAFETY: `admit` has found the slices to be the run's, and `check` has found in them the elements
        // that the sizes say; the handle is live and its context current.
        unsafe {
            T::gemv(handle.functions, handle.raw(), operation(!transpose), sizes, alpha, addresses, beta)
        }
    })
}

/// `y <- alpha * x + y`, of vectors of `f32`, `f64`, `f16` or `bf16`. With `alpha` 0, `x` is not read.
///
/// # Errors
/// The slices are of different lengths ([`Error::Dimensions`](crate::Error::Dimensions)), or overlap
/// ([`ErrorKind::Contract`](thalweg::ErrorKind::Contract)). On a GPU also those that [`gemm`](super::gemm())
/// has on a GPU.
pub fn axpy<T: Element>(
    queue: &Enqueue<'_>,
    alpha: T::Scale,
    x: DeviceSlice<'_, T>,
    y: DeviceSliceMut<'_, T>,
) -> Result<()> {
    let memory = (x, y);
    queue.admit(&memory)?;
    let y = memory.1;
    let of_x = Matrix::new("x", "a vector as long as `y`", [y.len(), 1], None).whole(true);
    queue.naming(&[("x", x.address())], of_x.check("axpy", x.len()))?;
    let Some(stream) = queue.cuda_stream() else {
        return queue.simulate((x, y), move |(x, y)| {
            if alpha != T::Scale::default() {
                for (y, x) in y.iter_mut().zip(x) {
                    *y = T::rounded(alpha.times(x.widened()).plus(y.widened()));
                }
            }
        });
    };
    if y.is_empty() || alpha == T::Scale::default() {
        return Ok(());
    }
    let handle = Handle::of(queue, stream)?;
    // Each call takes at most as many elements as the library can count.
    let most = c_int::MAX as usize;
    queue.library(|| {
        for start in (0..y.len()).step_by(most) {
            let offset = (start * size_of::<T>()) as u64;
            let len = int("axpy", "the length of a part", (y.len() - start).min(most))?;
            let (element, scale) = (T::TYPE, <T::Scale as Element>::TYPE);
            // SAFETY: the `len` elements from `start` on are in both slices, which are the run's and of one
            // length; the handle is live and its context current.
            unsafe {
                handle.functions.cublasAxpyEx(
                    handle.raw(),
                    len,
                    argument(&alpha),
                    scale,
                    device(x.address() + offset),
                    element,
                    1,
                    device(y.address() + offset),
                    element,
                    1,
                    scale,
                )?;
            }
        }
        Ok(())
    })
}
