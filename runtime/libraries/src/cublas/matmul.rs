//! Products of matrices with a bias and an activation, by cuBLASLt.

use thalweg::Result;
use thalweg::half::{bf16, f16};
use thalweg::kernel::{DeviceSlice, DeviceSliceOut};
use thalweg::routine::Enqueue;

use super::dimensions::Gemm;
use super::element::{Element, Product};
use super::host;
use super::lt::{Lt, Problem};
use super::shape::{Matrix, int};
use crate::Calls;

/// A matrix product, and a function that is applied to each element of its result. [`Gemm`] becomes one by
/// `gemm.relu()`, for example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "these are dimensions: hand them to `matmul`"]
pub struct Matmul {
    gemm: Gemm,
    activation: Activation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activation {
    None,
    Relu,
    Gelu,
}

impl From<Gemm> for Matmul {
    fn from(gemm: Gemm) -> Self {
        Self { gemm, activation: Activation::None }
    }
}

impl Gemm {
    /// Applies `max(0, x)` to each element of the result.
    pub const fn relu(self) -> Matmul {
        Matmul { gemm: self, activation: Activation::Relu }
    }

    /// Applies GELU to each element of the result, in the approximation by `tanh`:
    /// `x/2 * (1 + tanh(√(2/π) * (x + 0.044715 x³)))`.
    pub const fn gelu(self) -> Matmul {
        Matmul { gemm: self, activation: Activation::Gelu }
    }
}

/// Elements that cuBLASLt's epilogues work on: `f32`, `f16` and `bf16`.
#[diagnostic::on_unimplemented(
    message = "cuBLASLt's epilogues do not give matrices of `{Self}`",
    label = "expected elements `f32`, `f16` or `bf16`",
    note = "for `f64` use `gemm` or `gemm_out`, which add no bias and apply no function"
)]
pub trait Activated: Element<Scale = f32> {}

// Each type has its own impl: with a blanket impl, the compiler's error would say that `f64`'s `Scale` is not
// `f32`.
impl Activated for f32 {}
impl Activated for f16 {}
impl Activated for bf16 {}

/// `d <- f(alpha * op(a) * op(b))`, with `op` and `f` as `matmul` says: a [`Gemm`], or one with `relu` or
/// `gelu`.
///
/// # Errors
/// Those of [`gemm_out`](super::gemm_out()), with cuBLASLt in place of cuBLAS; `k` is 0
/// ([`Error::Dimension`](crate::Error::Dimension)).
pub fn matmul<T: Product<C>, C: Activated>(
    queue: &Enqueue<'_>,
    matmul: impl Into<Matmul>,
    alpha: f32,
    a: DeviceSlice<'_, T>,
    b: DeviceSlice<'_, T>,
    d: DeviceSliceOut<'_, C>,
) -> Result<()> {
    run(queue, "matmul", matmul.into(), alpha, (a, b), None, d)
}

/// `d <- f(alpha * op(a) * op(b) + bias)`: like [`matmul`], with the `n` elements of `bias` added to each row
/// first.
///
/// ```
/// use thalweg_libraries::cublas::{self, Gemm};
/// use thalweg::prelude::*;
///
/// stream_pipeline! {
///     /// `y <- max(0, x * w + b)`, for rows of 2 elements.
///     pipeline Layer {
///         input x: [f32; 2];
///         resident w: [f32];
///         resident b: [f32];
///         output y: [f32; 2];
///         device dy: [f32; 2];
///         chunk c = 1000;
///         stage load { copy x -> dx; }
///         stage layer { call cublas::matmul_bias(Gemm::new(c.len, 2, 2).relu(), 1.0, &dx, &w, &b, out dy); }
///         stage store { copy dy -> y; }
///     }
/// }
///
/// let (x, w, b) = ([1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 0.0, -1.0], [0.5, 3.0]);
/// let mut y = [0.0; 4];
/// Layer::new(&Device::simulated(Simulation::h200()))?.run(&x, &w, &b, &mut y)?;
/// assert_eq!(y, [1.5, 1.0, 3.5, 0.0]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// Those of [`matmul`]; `bias` does not have `n` elements ([`Error::Dimensions`](crate::Error::Dimensions)).
pub fn matmul_bias<T: Product<C>, C: Activated>(
    queue: &Enqueue<'_>,
    matmul: impl Into<Matmul>,
    alpha: f32,
    a: DeviceSlice<'_, T>,
    b: DeviceSlice<'_, T>,
    bias: DeviceSlice<'_, C>,
    d: DeviceSliceOut<'_, C>,
) -> Result<()> {
    run(queue, "matmul_bias", matmul.into(), alpha, (a, b), Some(bias), d)
}

fn run<T: Product<C>, C: Activated>(
    queue: &Enqueue<'_>,
    routine: &'static str,
    Matmul { gemm, activation }: Matmul,
    alpha: f32,
    (a, b): (DeviceSlice<'_, T>, DeviceSlice<'_, T>),
    bias: Option<DeviceSlice<'_, C>>,
    d: DeviceSliceOut<'_, C>,
) -> Result<()> {
    let d = match bias {
        Some(bias) => {
            let memory = (a, b, bias, d.into_mut());
            queue.admit(&memory)?;
            memory.3
        }
        None => {
            let memory = (a, b, d.into_mut());
            queue.admit(&memory)?;
            memory.2
        }
    };
    let mut matrices = gemm.matrices(true);
    matrices[2].name = "d";
    let arguments = [("a", a.address()), ("b", b.address()), ("d", d.address())];
    for (matrix, len) in matrices.iter().zip([a.len(), b.len(), d.len()]) {
        queue.naming(&arguments, matrix.check(routine, len))?;
    }
    let of_bias = Matrix::new("bias", "a vector of n", [1, gemm.n], None).whole(true);
    if let Some(bias) = &bias {
        queue.naming(&[("bias", bias.address())], of_bias.check(routine, bias.len()))?;
    }
    if gemm.k == 0 {
        let allowed = "at least 1".to_owned();
        return Err(crate::Error::Dimension { routine, dimension: "k", value: 0, allowed }.into());
    }
    for (name, value) in [("m", gemm.m), ("n", gemm.n), ("k", gemm.k)] {
        int(routine, name, value)?;
    }
    let [of_a, of_b, of_d] = matrices;
    let Some(stream) = queue.cuda_stream() else {
        let compute = move |a: &[T], b: &[T], bias: Option<&[C]>, d: &mut [C]| {
            let transposed = [gemm.transpose_a, gemm.transpose_b];
            host::matmul([&of_a, &of_b, &of_d], transposed, alpha, (a, b), bias, activation, d);
        };
        return match bias {
            Some(bias) => {
                queue.simulate((a, b, bias, d), move |(a, b, bias, d)| compute(a, b, Some(bias), d))
            }
            None => queue.simulate((a, b, d), move |(a, b, d)| compute(a, b, None, d)),
        };
    };
    if gemm.m == 0 || gemm.n == 0 {
        return Ok(());
    }
    let mut lt = Lt::of(queue, stream)?;
    let problem = Problem {
        matrices: [of_a, of_b, of_d],
        transposed: [gemm.transpose_a, gemm.transpose_b],
        types: [T::TYPE, C::TYPE],
        compute: gemm.compute::<f32>(),
        activation,
        addresses: [a.address(), b.address(), d.address()],
        bias: bias.map(|bias| bias.address()),
    };
    // SAFETY: `admit` has found the slices to be the run's, which keeps them until the stream has got past
    // this. `check` has found in them the elements that the matrices say. `cuda_stream` has made the context
    // current.
    queue.library(|| unsafe { lt.multiply(&problem, alpha) })
}
