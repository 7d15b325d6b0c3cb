//! The dimensions of matrix products: [`Gemm`] and [`Batch`].

use super::element::Scale;
use super::shape::Matrix;
use super::sys::cublasComputeType_t;

/// The dimensions of a matrix product, `m x k` times `k x n`, and how its matrices lie in memory: in
/// row-major order, like Rust's arrays of arrays.
///
/// ```
/// use thalweg_libraries::cublas::Gemm;
///
/// // `c` is 3 x 5, `a` is 3 x 4, `b` is stored as 5 x 4, in rows that are 8 elements apart.
/// let gemm = Gemm::new(3, 5, 4).transpose_b().ldb(8);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "these are dimensions: hand them to `gemm`"]
pub struct Gemm {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) transpose_a: bool,
    pub(super) transpose_b: bool,
    /// Leading dimensions of `a`, `b` and `c`.
    ld: [Option<usize>; 3],
    pub(super) tf32: bool,
}

impl Gemm {
    /// `a` has `m` rows and `k` columns, `b` has `k` rows and `n` columns, and `c` has `m` rows and `n`
    /// columns.
    pub const fn new(m: usize, n: usize, k: usize) -> Self {
        Self { m, n, k, transpose_a: false, transpose_b: false, ld: [None; 3], tf32: false }
    }

    /// `a` is stored transposed: `k` rows of `m` elements.
    pub const fn transpose_a(mut self) -> Self {
        self.transpose_a = true;
        self
    }

    /// `b` is stored transposed: `n` rows of `k` elements.
    pub const fn transpose_b(mut self) -> Self {
        self.transpose_b = true;
        self
    }

    /// Sets the elements from one stored row of `a` to the next. The default is the elements of a row.
    pub const fn lda(mut self, elements: usize) -> Self {
        self.ld[0] = Some(elements);
        self
    }

    /// Sets the elements from one stored row of `b` to the next.
    pub const fn ldb(mut self, elements: usize) -> Self {
        self.ld[1] = Some(elements);
        self
    }

    /// Sets the elements from one stored row of `c` to the next. Elements between its rows are left as they
    /// are.
    pub const fn ldc(mut self, elements: usize) -> Self {
        self.ld[2] = Some(elements);
        self
    }

    /// Lets the GPU round elements of `f32` to TF32, which keeps 10 bits of the fraction, before it
    /// multiplies them. That is several times faster. Other elements and the simulated device are not
    /// affected.
    pub const fn tf32(mut self) -> Self {
        self.tf32 = true;
        self
    }

    /// The matrices as they are stored.
    pub(super) fn matrices(&self, whole: bool) -> [Matrix; 3] {
        let Self { m, n, k, .. } = *self;
        let (a_form, a) = if self.transpose_a { ("k x m", [k, m]) } else { ("m x k", [m, k]) };
        let (b_form, b) = if self.transpose_b { ("n x k", [n, k]) } else { ("k x n", [k, n]) };
        [
            Matrix::new("a", a_form, a, self.ld[0]),
            Matrix::new("b", b_form, b, self.ld[1]),
            Matrix::new("c", "m x n", [m, n], self.ld[2]).whole(whole),
        ]
    }

    pub(super) fn compute<S: Scale>(&self) -> cublasComputeType_t {
        match S::COMPUTE {
            cublasComputeType_t::CUBLAS_COMPUTE_32F if self.tf32 => {
                cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32
            }
            compute => compute,
        }
    }
}

/// The dimensions that [`gemm`](super::gemm()) and its siblings take: a [`Gemm`], but not a
/// [`Matmul`](super::Matmul).
#[diagnostic::on_unimplemented(
    message = "cuBLAS's products apply no function to their result, but this is a `{Self}`",
    label = "expected a `Gemm`",
    note = "`relu()` and `gelu()` are for `matmul` and `matmul_bias`, which apply them"
)]
pub trait Plain: sealed::Sealed {
    #[doc(hidden)]
    fn gemm(self) -> Gemm;
}

impl Plain for Gemm {
    fn gemm(self) -> Gemm {
        self
    }
}

/// How many products of the same dimensions there are, and how far apart their matrices are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "hand it to `gemm_batched`"]
pub struct Batch {
    pub(super) count: usize,
    /// The strides of `a`, `b` and `c`.
    pub(super) strides: [Option<usize>; 3],
}

impl Batch {
    /// A batch of `count` products, whose matrices follow one another.
    pub const fn new(count: usize) -> Self {
        Self { count, strides: [None; 3] }
    }

    /// Sets the elements from one matrix `a` to the next. With 0, all products have the same one.
    pub const fn stride_a(mut self, elements: usize) -> Self {
        self.strides[0] = Some(elements);
        self
    }

    /// Sets the elements from one matrix `b` to the next. With 0, all products have the same one.
    pub const fn stride_b(mut self, elements: usize) -> Self {
        self.strides[1] = Some(elements);
        self
    }

    /// Sets the elements from one matrix `c` to the next. No two of the matrices may overlap: they follow one
    /// another, or stand side by side in rows that are [`ldc`](Gemm::ldc) apart.
    pub const fn stride_c(mut self, elements: usize) -> Self {
        self.strides[2] = Some(elements);
        self
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Gemm {}
}
