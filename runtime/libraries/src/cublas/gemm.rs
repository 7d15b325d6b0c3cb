//! Products of matrices.

use std::ffi::{c_int, c_void};

use thalweg::Result;
use thalweg::kernel::{DeviceSlice, DeviceSliceMut, DeviceSliceOut};
use thalweg::routine::Enqueue;

use super::dimensions::{Batch, Gemm, Plain};
use super::element::{Element, Product, Scale};
use super::handle::Handle;
use super::host;
use super::shape::{Matrix, int};
use super::sys::{cublasComputeType_t, cublasGemmAlgo_t, cublasOperation_t, cudaDataType_t};
use crate::{Calls, pointer};

/// `c <- alpha * op(a) * op(b) + beta * c`, with `op` as [`Gemm`] says: a product of matrices, for `call` in
/// a pipeline.
///
/// Elements are `f32`, `f64`, `f16` or `bf16`; the last two are multiplied exactly and summed in `f32`, and
/// may have a `c` of `f32`. For a `c` of 16 bits, cuBLAS may round the product before it adds `beta * c` and
/// rounds again. With `beta` 0, `c` is not read, so a NaN there has no effect. With `alpha` 0 or `k` 0, `a`
/// and `b` are not read.
///
/// The [module's page](super) has an example. `a` has `m * k` elements, `b` has `k * n` and `c` has `m * n`,
/// with rows that follow one another.
///
/// # Errors
/// A slice does not have the elements that its dimensions say ([`Error::Dimensions`]); a dimension is 2³¹ or
/// more ([`Error::Dimension`]); two slices overlap ([`ErrorKind::Contract`]). On a GPU also: there is no
/// cuBLAS ([`Error::NoLibrary`]) or one that is too old ([`Error::LibraryTooOld`]), it fails
/// ([`Error::Library`]), or device memory does not suffice for its workspace ([`ErrorKind::OutOfMemory`]).
///
/// [`Error::Dimensions`]: crate::Error::Dimensions
/// [`Error::Dimension`]: crate::Error::Dimension
/// [`ErrorKind::Contract`]: thalweg::ErrorKind::Contract
/// [`Error::NoLibrary`]: crate::Error::NoLibrary
/// [`Error::LibraryTooOld`]: crate::Error::LibraryTooOld
/// [`Error::Library`]: crate::Error::Library
/// [`ErrorKind::OutOfMemory`]: thalweg::ErrorKind::OutOfMemory
pub fn gemm<T: Product<C>, C: Element>(
    queue: &Enqueue<'_>,
    gemm: impl Plain,
    alpha: C::Scale,
    a: DeviceSlice<'_, T>,
    b: DeviceSlice<'_, T>,
    beta: C::Scale,
    c: DeviceSliceMut<'_, C>,
) -> Result<()> {
    Call { queue, routine: "gemm", gemm: gemm.gemm(), batch: None }.run(false, alpha, (a, b), beta, c)
}

/// `c <- alpha * op(a) * op(b)`: like [`gemm`] for a `c` that is `out`, and is written as a whole.
///
/// # Errors
/// Those of [`gemm`]; rows of `c` are apart ([`Error::Dimension`](crate::Error::Dimension)).
pub fn gemm_out<T: Product<C>, C: Element>(
    queue: &Enqueue<'_>,
    gemm: impl Plain,
    alpha: C::Scale,
    a: DeviceSlice<'_, T>,
    b: DeviceSlice<'_, T>,
    c: DeviceSliceOut<'_, C>,
) -> Result<()> {
    let call = Call { queue, routine: "gemm_out", gemm: gemm.gemm(), batch: None };
    call.run(true, alpha, (a, b), C::Scale::default(), c.into_mut())
}

/// [`gemm`] of each product of a batch: `c[i] <- alpha * op(a[i]) * op(b[i]) + beta * c[i]`.
///
/// # Errors
/// Those of [`gemm`]; two matrices `c` overlap ([`Error::Dimension`](crate::Error::Dimension)).
#[allow(clippy::too_many_arguments, reason = "they are cuBLAS's")]
pub fn gemm_batched<T: Product<C>, C: Element>(
    queue: &Enqueue<'_>,
    gemm: impl Plain,
    batch: Batch,
    alpha: C::Scale,
    a: DeviceSlice<'_, T>,
    b: DeviceSlice<'_, T>,
    beta: C::Scale,
    c: DeviceSliceMut<'_, C>,
) -> Result<()> {
    Call { queue, routine: "gemm_batched", gemm: gemm.gemm(), batch: Some(batch) }.run(
        false,
        alpha,
        (a, b),
        beta,
        c,
    )
}

/// [`gemm_out`] of each product of a batch.
///
/// ```
/// use thalweg_libraries::cublas::{self, Batch, Gemm};
/// use thalweg::prelude::*;
///
/// stream_pipeline! {
///     /// An item is two matrices of 2 x 2, and their product.
///     pipeline Products {
///         input a: [f32; 4];
///         input b: [f32; 4];
///         output p: [f32; 4];
///         device dp: [f32; 4];
///         chunk c = 100;
///         stage load { copy a -> da; copy b -> db; }
///         stage multiply {
///             call cublas::gemm_batched_out(Gemm::new(2, 2, 2), Batch::new(c.len), 1.0, &da, &db, out dp);
///         }
///         stage store { copy dp -> p; }
///     }
/// }
///
/// let a = [1.0, 2.0, 3.0, 4.0, 1.0, 0.0, 0.0, 1.0];
/// let b = [0.0, 1.0, 1.0, 0.0, 5.0, 6.0, 7.0, 8.0];
/// let mut p = [0.0; 8];
/// Products::new(&Device::simulated(Simulation::h200()))?.run(&a, &b, &mut p)?;
/// assert_eq!(p, [2.0, 1.0, 4.0, 3.0, 5.0, 6.0, 7.0, 8.0]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// Those of [`gemm_batched`]; rows of `c`, or its matrices, are apart
/// ([`Error::Dimension`](crate::Error::Dimension)).
pub fn gemm_batched_out<T: Product<C>, C: Element>(
    queue: &Enqueue<'_>,
    gemm: impl Plain,
    batch: Batch,
    alpha: C::Scale,
    a: DeviceSlice<'_, T>,
    b: DeviceSlice<'_, T>,
    c: DeviceSliceOut<'_, C>,
) -> Result<()> {
    let call = Call { queue, routine: "gemm_batched_out", gemm: gemm.gemm(), batch: Some(batch) };
    call.run(true, alpha, (a, b), C::Scale::default(), c.into_mut())
}

/// One call of one of these routines.
struct Call<'q, 'r> {
    queue: &'q Enqueue<'r>,
    routine: &'static str,
    gemm: Gemm,
    batch: Option<Batch>,
}

impl Call<'_, '_> {
    fn run<T: Product<C>, C: Element>(
        self,
        whole: bool,
        alpha: C::Scale,
        (a, b): (DeviceSlice<'_, T>, DeviceSlice<'_, T>),
        beta: C::Scale,
        c: DeviceSliceMut<'_, C>,
    ) -> Result<()> {
        let Self { queue, routine, gemm, batch } = self;
        let memory = (a, b, c);
        queue.admit(&memory)?;
        let mut c = memory.2;
        let mut matrices = gemm.matrices(whole);
        if let Some(Batch { count, strides }) = batch {
            for (matrix, stride) in matrices.iter_mut().zip(strides) {
                *matrix = matrix.batch(count, stride);
            }
        }
        let [of_a, of_b, of_c] = matrices;
        let arguments = [("a", a.address()), ("b", b.address()), ("c", c.address())];
        for (matrix, len) in matrices.iter().zip([a.len(), b.len(), c.len()]) {
            queue.naming(&arguments, matrix.check(routine, len))?;
        }
        of_c.apart(routine)?;
        let sizes = Sizes::new(routine, &gemm, &matrices)?;
        let transposed = [gemm.transpose_a, gemm.transpose_b];
        let Some(stream) = queue.cuda_stream() else {
            return queue.simulate((a, b, c), move |(a, b, c)| {
                host::gemm([&of_a, &of_b, &of_c], transposed, alpha, (a, b), beta, c);
            });
        };
        if sizes.m == 0 || sizes.n == 0 || sizes.count == 0 {
            return Ok(());
        }
        let handle = Handle::of(queue, stream)?;
        let zero = C::Scale::default();
        queue.library(|| {
            if sizes.k == 0 || alpha == zero {
                return handle.scale(queue, &of_c, beta, &mut c);
            }
            let types = (T::TYPE, C::TYPE, gemm.compute::<C::Scale>());
            let scales = (argument(&alpha), argument(&beta));
            let addresses = [a.address(), b.address(), c.address()];
            // SAFETY: `admit` has found the slices to be the run's, which keeps them until the stream has got
            // past this. `check` has found in them the elements that the sizes say. `alpha` and `beta` are of
            // the type that sums are taken in.
            unsafe { handle.gemm(&sizes, transposed, types, scales, addresses) }
        })
    }
}

/// The address of a value that the library reads before it returns.
pub(super) fn argument<S>(value: &S) -> *const c_void {
    (&raw const *value).cast()
}

/// A slice's address as the pointer that the library takes.
pub(super) fn device(address: u64) -> *mut c_void {
    pointer(address)
}

/// The library's operation for a matrix that is transposed or not.
///
/// The library takes and gives matrices in column-major order, in which ours are their own transposes:
/// `c' = op(b)' * op(a)'`. So `b` comes first, and the same matrices are transposed.
pub(super) fn operation(transposed: bool) -> cublasOperation_t {
    if transposed { cublasOperation_t::CUBLAS_OP_T } else { cublasOperation_t::CUBLAS_OP_N }
}

/// The dimensions in the library's types.
struct Sizes {
    m: c_int,
    n: c_int,
    k: c_int,
    ld: [c_int; 3],
    count: c_int,
    strides: [i64; 3],
    batched: bool,
}

impl Sizes {
    fn new(routine: &'static str, gemm: &Gemm, matrices: &[Matrix; 3]) -> Result<Self> {
        let [a, b, c] = matrices;
        // The library demands at least 1, even for a matrix without columns.
        let ld = |name, matrix: &Matrix| int(routine, name, matrix.ld.max(1));
        // A stride beyond an `i64` fits no slice, unless there is only one matrix, which does not use it.
        let stride = |matrix: &Matrix| i64::try_from(matrix.stride).unwrap_or(0);
        Ok(Self {
            m: int(routine, "m", gemm.m)?,
            n: int(routine, "n", gemm.n)?,
            k: int(routine, "k", gemm.k)?,
            ld: [
                ld("the leading dimension of `a`", a)?,
                ld("the leading dimension of `b`", b)?,
                ld("the leading dimension of `c`", c)?,
            ],
            count: int(routine, "the count of the batch", c.count)?,
            strides: [stride(a), stride(b), stride(c)],
            batched: c.count != 1,
        })
    }
}

impl Handle {
    /// # Safety
    /// The addresses are those of `a`, `b` and `c`, which have the elements that `sizes` says, of the types
    /// `of_ab` and `of_c`, and live until the handle's stream is done with them. `alpha` and `beta` point to
    /// numbers of the type in which `compute` takes sums.
    unsafe fn gemm(
        &self,
        sizes: &Sizes,
        [transpose_a, transpose_b]: [bool; 2],
        (of_ab, of_c, compute): (cudaDataType_t, cudaDataType_t, cublasComputeType_t),
        (alpha, beta): (*const c_void, *const c_void),
        [a, b, c]: [u64; 3],
    ) -> Result<()> {
        let Sizes { m, n, k, ld: [lda, ldb, ldc], count, strides: [stride_a, stride_b, stride_c], batched } =
            *sizes;
        let (op_b, op_a) = (operation(transpose_b), operation(transpose_a));
        let algorithm = cublasGemmAlgo_t::CUBLAS_GEMM_DFALT;
        let (a, b, c) = (device(a), device(b), device(c));
        let (functions, raw) = (self.functions, self.raw());
        // SAFETY: the handle is live and its context current; the rest is the caller's promise.
        unsafe {
            if batched {
                functions.cublasGemmStridedBatchedEx(
                    raw, op_b, op_a, n, m, k, alpha, b, of_ab, ldb, stride_b, a, of_ab, lda, stride_a, beta,
                    c, of_c, ldc, stride_c, count, compute, algorithm,
                )
            } else {
                functions.cublasGemmEx(
                    raw, op_b, op_a, n, m, k, alpha, b, of_ab, ldb, a, of_ab, lda, beta, c, of_c, ldc,
                    compute, algorithm,
                )
            }
        }
    }

    /// `c <- beta * c`, which is what remains of a product without terms.
    pub(super) fn scale<C: Element>(
        &self,
        queue: &Enqueue<'_>,
        of_c: &Matrix,
        beta: C::Scale,
        c: &mut DeviceSliceMut<'_, C>,
    ) -> Result<()> {
        if beta == C::Scale::ONE {
            return Ok(());
        }
        for matrix in 0..of_c.count {
            for row in 0..of_c.rows {
                let start = matrix * of_c.stride + row * of_c.ld;
                let Some(row) = c.get_mut(start..start + of_c.columns) else {
                    unreachable!("the matrix was checked against the slice")
                };
                if beta == C::Scale::default() {
                    queue.zero(row)?;
                } else {
                    self.scale_row::<C>(beta, &row)?;
                }
            }
        }
        Ok(())
    }

    fn scale_row<C: Element>(&self, beta: C::Scale, row: &DeviceSliceMut<'_, C>) -> Result<()> {
        // The length is the number of columns of `c`, which was checked.
        let len = int("gemm", "n", row.len())?;
        let (of_c, scale) = (C::TYPE, <C::Scale as Element>::TYPE);
        // SAFETY: the slice is memory of the run, which this stream may write; the handle is live and its
        // context current.
        unsafe {
            self.functions.cublasScalEx(
                self.raw(),
                len,
                argument(&beta),
                scale,
                device(row.address()),
                of_c,
                1,
                scale,
            )
        }
    }
}
