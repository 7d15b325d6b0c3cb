//! [`Lt`]: a cuBLASLt handle with its workspace, and the algorithms that were chosen.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

use thalweg::Result;
use thalweg::routine::{Enqueue, State, Workspace};

use super::api::LtFunctions;
use super::gemm::{argument, device, operation};
use super::handle::workspace_bytes;
use super::lt_sys::{
    self as sys, cublasLtEpilogue_t as Epilogue, cublasLtHandle_t, cublasLtMatmulAlgo_t,
    cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t as Attribute, cublasLtMatmulHeuristicResult_t,
    cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t as Preference, cublasLtMatrixLayout_t,
};
use super::matmul::Activation;
use super::shape::Matrix;
use super::sys::{cublasComputeType_t, cudaDataType_t};
use crate::{Recent, pointer};

/// The number of plans that a handle keeps: a pipeline has a few products, each with the usual chunk and the
/// last one.
const PLANS: usize = 32;

/// `CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE`: if several blocks take a sum together, they take it in `f32`.
const REDUCTIONS: u32 = 2;

/// One product.
pub(super) struct Problem {
    /// `a`, `b` and `d`.
    pub(super) matrices: [Matrix; 3],
    pub(super) transposed: [bool; 2],
    /// The types of `a` and `b`, and of `d` and the bias.
    pub(super) types: [cudaDataType_t; 2],
    pub(super) compute: cublasComputeType_t,
    pub(super) activation: Activation,
    pub(super) addresses: [u64; 3],
    pub(super) bias: Option<u64>,
}

/// All that the choice of an algorithm depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    /// Rows, columns and leading dimension of `a`, `b` and `d`.
    sizes: [[usize; 3]; 3],
    transposed: [bool; 2],
    types: [u32; 2],
    compute: u32,
    activation: Activation,
    /// The alignment of the addresses of `a`, `b`, `d` and the bias, in bytes; 0 without a bias.
    alignments: [u32; 4],
}

impl Problem {
    fn key(&self) -> Key {
        // No algorithm asks for more than the alignment of an allocation, 256 bytes.
        let alignment = |address: u64| 1 << address.trailing_zeros().min(8);
        let [a, b, d] = self.addresses.map(alignment);
        Key {
            sizes: self.matrices.map(|matrix| [matrix.rows, matrix.columns, matrix.ld]),
            transposed: self.transposed,
            types: self.types.map(|element| element as u32),
            compute: self.compute as u32,
            activation: self.activation,
            alignments: [a, b, d, self.bias.map_or(0, alignment)],
        }
    }

    fn epilogue(&self) -> Epilogue {
        match (self.activation, self.bias) {
            (Activation::None, None) => Epilogue::CUBLASLT_EPILOGUE_DEFAULT,
            (Activation::None, Some(_)) => Epilogue::CUBLASLT_EPILOGUE_BIAS,
            (Activation::Relu, None) => Epilogue::CUBLASLT_EPILOGUE_RELU,
            (Activation::Relu, Some(_)) => Epilogue::CUBLASLT_EPILOGUE_RELU_BIAS,
            (Activation::Gelu, None) => Epilogue::CUBLASLT_EPILOGUE_GELU,
            (Activation::Gelu, Some(_)) => Epilogue::CUBLASLT_EPILOGUE_GELU_BIAS,
        }
    }
}

/// A handle of one ring slot and stream, which is destroyed on drop.
pub(super) struct Lt {
    // The plans are destroyed before the handle.
    plans: Recent<Key, Plan, PLANS>,
    handle: Handle,
    stream: usize,
    /// The workspace's address, its bytes, and what keeps it.
    workspace: (u64, usize, Workspace),
}

struct Handle {
    functions: &'static LtFunctions,
    /// A `cublasLtHandle_t`, kept as a number because pipelines go to other threads.
    raw: usize,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is live and destroyed nowhere else. The pipeline drops it with the context
        // current, when all its work has completed.
        let _ = unsafe { self.functions.cublasLtDestroy(ptr::with_exposed_provenance_mut(self.raw)) };
    }
}

impl Lt {
    /// The handle of the routine's slot and stream, which is `stream`.
    pub(super) fn of<'q>(queue: &'q Enqueue<'_>, stream: *mut c_void) -> Result<State<'q, Self>> {
        queue.state(|| {
            let functions = LtFunctions::get()?;
            let bytes = workspace_bytes(queue.device().compute_capability());
            let mut workspace = Workspace::new("workspace of cuBLASLt");
            let address = workspace.get(queue, bytes)?;
            let mut raw: cublasLtHandle_t = ptr::null_mut();
            // SAFETY: `raw` is a place for the result, and the device's context is current.
            unsafe { functions.cublasLtCreate(&mut raw) }?;
            let handle = Handle { functions, raw: raw.expose_provenance() };
            let (stream, workspace) = (stream.expose_provenance(), (address, bytes, workspace));
            Ok(Self { plans: Recent::new(), handle, stream, workspace })
        })
    }

    /// Enqueues a product.
    ///
    /// # Safety
    /// The addresses are those of matrices with the elements that the problem says, and live until the
    /// handle's stream is done with them. The context is current.
    pub(super) unsafe fn multiply(&mut self, problem: &Problem, alpha: f32) -> Result<()> {
        let Self { plans, handle: Handle { functions, raw }, stream, workspace: (workspace, bytes, _) } =
            self;
        let handle: cublasLtHandle_t = ptr::with_exposed_provenance_mut(*raw);
        let key = problem.key();
        // The library has read a plan by the time that its work is enqueued.
        let nothing_of_the_device = || Ok(());
        let plan = plans.get_or_make(key, nothing_of_the_device, || {
            Plan::new(functions, handle, problem, &key, *bytes)
        })?;
        if let Some(bias) = problem.bias {
            // SAFETY: the attribute is a pointer. The caller promises the bias for the product below, which
            // is the only one before the next call sets another pointer.
            unsafe { plan.description.set(Attribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER, &device(bias)) }?;
        }
        let [a, b, d] = problem.addresses.map(device);
        let [of_a, of_b, of_d] = [&plan.a, &plan.b, &plan.d].map(Layout::raw);
        let beta = 0.0_f32;
        // SAFETY: the handle and the plan's objects are live. The caller promises the matrices, and the plan
        // was made for their sizes, types and alignments. In column-major order, in which the library takes
        // matrices, ours are their transposes, so `b` comes first. With `beta` 0, `c` is not read. Work on
        // the workspace is on this one stream.
        unsafe {
            functions.cublasLtMatmul(
                handle,
                plan.description.raw(),
                argument(&alpha),
                b,
                of_b,
                a,
                of_a,
                argument(&beta),
                d,
                of_d,
                d,
                of_d,
                &plan.algorithm,
                pointer(*workspace),
                *bytes,
                ptr::with_exposed_provenance_mut(*stream),
            )
        }
    }
}

/// A product that an algorithm was chosen for.
struct Plan {
    description: Description,
    a: Layout,
    b: Layout,
    d: Layout,
    algorithm: cublasLtMatmulAlgo_t,
}

impl Plan {
    fn new(
        functions: &'static LtFunctions,
        handle: cublasLtHandle_t,
        problem: &Problem,
        key: &Key,
        workspace: usize,
    ) -> Result<Self> {
        let [of_a, of_b, of_d] = &problem.matrices;
        let [element, result] = problem.types.map(lt_type);
        let description = Description::new(functions, lt_compute(problem.compute))?;
        let [transpose_a, transpose_b] = problem.transposed.map(|transposed| operation(transposed) as i32);
        // SAFETY: the manual gives these attributes as `int32_t`, `int32_t`, `uint32_t` and a pointer. The
        // pointer is used to choose a plan by its alignment, and each product sets its own.
        unsafe {
            description.set(Attribute::CUBLASLT_MATMUL_DESC_TRANSA, &transpose_b)?;
            description.set(Attribute::CUBLASLT_MATMUL_DESC_TRANSB, &transpose_a)?;
            description.set(Attribute::CUBLASLT_MATMUL_DESC_EPILOGUE, &(problem.epilogue() as u32))?;
            if let Some(bias) = problem.bias {
                description.set(Attribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER, &device(bias))?;
            }
        }
        let a = Layout::new(functions, element, of_a)?;
        let b = Layout::new(functions, element, of_b)?;
        let d = Layout::new(functions, result, of_d)?;

        let preference = Wish::new(functions)?;
        let [for_a, for_b, for_d, for_bias] = key.alignments;
        // The bias has no preference of its own: it is added where `d` is written, with accesses as wide.
        let for_d = if problem.bias.is_some() { for_d.min(for_bias) } else { for_d };
        // SAFETY: the manual gives the first attribute as `uint64_t`, and the others as `uint32_t`.
        unsafe {
            preference.set(Preference::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &(workspace as u64))?;
            preference.set(Preference::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &REDUCTIONS)?;
            preference.set(Preference::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &for_b)?;
            preference.set(Preference::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &for_a)?;
            preference.set(Preference::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &for_d)?;
            preference.set(Preference::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &for_d)?;
        }

        let mut chosen = MaybeUninit::<cublasLtMatmulHeuristicResult_t>::uninit();
        let mut found = 0;
        // SAFETY: all objects are live, there is room for the one result that is wanted, and `found` is a
        // place for their number.
        unsafe {
            functions.cublasLtMatmulAlgoGetHeuristic(
                handle,
                description.raw(),
                b.raw(),
                a.raw(),
                d.raw(),
                d.raw(),
                preference.raw(),
                1,
                chosen.as_mut_ptr(),
                &mut found,
            )?;
        }
        if found < 1 {
            return Err(functions.no_algorithm());
        }
        // SAFETY: there is one result. Its state is not read as the enum that it is declared as: a newer
        // library may have other codes.
        let algorithm = unsafe { (&raw const (*chosen.as_ptr()).algo).read() };
        Ok(Self { description, a, b, d, algorithm })
    }
}

/// The same type in the other library's bindings.
fn lt_type(element: cudaDataType_t) -> sys::cudaDataType_t {
    match element {
        cudaDataType_t::CUDA_R_16F => sys::cudaDataType_t::CUDA_R_16F,
        cudaDataType_t::CUDA_R_16BF => sys::cudaDataType_t::CUDA_R_16BF,
        cudaDataType_t::CUDA_R_64F => sys::cudaDataType_t::CUDA_R_64F,
        _ => sys::cudaDataType_t::CUDA_R_32F,
    }
}

/// cuBLASLt's name for the type in which sums are taken, which is `f32` here.
fn lt_compute(compute: cublasComputeType_t) -> sys::cublasComputeType_t {
    match compute {
        cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32 => {
            sys::cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32
        }
        _ => sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
    }
}

/// An object of the library, which is destroyed on drop.
macro_rules! object {
    ($Object:ident, $raw:ty, $destroy:ident) => {
        struct $Object {
            functions: &'static LtFunctions,
            /// A pointer, kept as a number because pipelines go to other threads.
            raw: usize,
        }

        impl $Object {
            fn raw(&self) -> $raw {
                ptr::with_exposed_provenance_mut(self.raw)
            }
        }

        impl Drop for $Object {
            fn drop(&mut self) {
                // SAFETY: the object is live and destroyed nowhere else. The library has read it by the time
                // that work is enqueued.
                let _ = unsafe { self.functions.$destroy(self.raw()) };
            }
        }
    };
}
object!(Description, cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy);
object!(Layout, cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy);
object!(Wish, cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy);

impl Description {
    fn new(functions: &'static LtFunctions, compute: sys::cublasComputeType_t) -> Result<Self> {
        let mut raw: cublasLtMatmulDesc_t = ptr::null_mut();
        // SAFETY: `raw` is a place for the result.
        unsafe { functions.cublasLtMatmulDescCreate(&mut raw, compute, sys::cudaDataType_t::CUDA_R_32F) }?;
        Ok(Self { functions, raw: raw.expose_provenance() })
    }

    /// Sets an attribute of the product.
    ///
    /// # Safety
    /// `value` is of the type that the library's manual gives for the attribute, and if it is a pointer, the
    /// memory is valid for the products that use it.
    unsafe fn set<T>(&self, attribute: Attribute, value: &T) -> Result<()> {
        // SAFETY: the description is live, and the value has this size, which the library compares.
        unsafe {
            let value = argument(value);
            self.functions.cublasLtMatmulDescSetAttribute(self.raw(), attribute, value, size_of::<T>())
        }
    }
}

impl Layout {
    /// The layout in column-major order, of the transpose of our matrix.
    fn new(functions: &'static LtFunctions, element: sys::cudaDataType_t, matrix: &Matrix) -> Result<Self> {
        let mut raw: cublasLtMatrixLayout_t = ptr::null_mut();
        let (rows, columns) = (matrix.columns as u64, matrix.rows as u64);
        // A leading dimension that fits a slice fits an `i64`. With only one row it is not used, and may be
        // anything.
        let ld = if matrix.rows == 1 { matrix.columns } else { matrix.ld };
        let ld = ld.max(1) as i64;
        // SAFETY: `raw` is a place for the result.
        unsafe { functions.cublasLtMatrixLayoutCreate(&mut raw, element, rows, columns, ld) }?;
        Ok(Self { functions, raw: raw.expose_provenance() })
    }
}

impl Wish {
    fn new(functions: &'static LtFunctions) -> Result<Self> {
        let mut raw: cublasLtMatmulPreference_t = ptr::null_mut();
        // SAFETY: `raw` is a place for the result.
        unsafe { functions.cublasLtMatmulPreferenceCreate(&mut raw) }?;
        Ok(Self { functions, raw: raw.expose_provenance() })
    }

    /// Sets an attribute of the preference.
    ///
    /// # Safety
    /// `value` is of the type that the library's manual gives for the attribute, and if it is a pointer, the
    /// memory is valid for the products that use it.
    unsafe fn set<T>(&self, attribute: Preference, value: &T) -> Result<()> {
        // SAFETY: the preference is live, and the value has this size, which the library compares.
        unsafe {
            let value = argument(value);
            self.functions.cublasLtMatmulPreferenceSetAttribute(self.raw(), attribute, value, size_of::<T>())
        }
    }
}
