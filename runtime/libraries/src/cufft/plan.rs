//! [`Plans`]: cuFFT's plans with the memory that they work in, one set for each ring slot and stream.

use std::ffi::{c_int, c_void};
use std::ptr;

use rustfft::FftDirection;
use thalweg::Result;
use thalweg::routine::{Enqueue, Views, Workspace};

use super::shape::Shape;
use super::sys::{
    cudaStream_t, cufftComplex, cufftDoubleComplex, cufftDoubleReal, cufftHandle, cufftReal,
    cufftType as Transform,
};
use crate::table::functions;
use crate::{Calls, Library, Recent, of_library, pointer};

static LIBRARY: Library = Library::new("cuFFT", "cufft", [12, 11, 10], "nvidia-cufft` or `nvidia-cufft-cu12");

functions! {
    /// The functions that every cuFFT since that of CUDA 11.0 has.
    struct Functions, bindings super::sys, code cufftResult;
    fn cufftCreate(plan: *mut cufftHandle);
    fn cufftDestroy(plan: cufftHandle);
    fn cufftSetAutoAllocation(plan: cufftHandle, allocate: c_int);
    fn cufftMakePlanMany64(
        plan: cufftHandle,
        rank: c_int,
        sizes: *mut i64,
        in_embedding: *mut i64,
        in_stride: i64,
        in_distance: i64,
        out_embedding: *mut i64,
        out_stride: i64,
        out_distance: i64,
        kind: Transform,
        batch: i64,
        work_bytes: *mut usize,
    );
    fn cufftSetStream(plan: cufftHandle, stream: cudaStream_t);
    fn cufftSetWorkArea(plan: cufftHandle, work: *mut c_void);
    fn cufftExecC2C(plan: cufftHandle, from: *mut cufftComplex, to: *mut cufftComplex, direction: c_int);
    fn cufftExecR2C(plan: cufftHandle, from: *mut cufftReal, to: *mut cufftComplex);
    fn cufftExecC2R(plan: cufftHandle, from: *mut cufftComplex, to: *mut cufftReal);
    fn cufftExecZ2Z(
        plan: cufftHandle,
        from: *mut cufftDoubleComplex,
        to: *mut cufftDoubleComplex,
        direction: c_int,
    );
    fn cufftExecD2Z(plan: cufftHandle, from: *mut cufftDoubleReal, to: *mut cufftDoubleComplex);
    fn cufftExecZ2D(plan: cufftHandle, from: *mut cufftDoubleComplex, to: *mut cufftDoubleReal);
}

of_library!(Functions, LIBRARY, status);

/// The name of a `cufftResult` of any release: no code was given a new meaning.
fn status(code: u32) -> &'static str {
    match code {
        1 => "CUFFT_INVALID_PLAN",
        2 => "CUFFT_ALLOC_FAILED",
        3 => "CUFFT_INVALID_TYPE",
        4 => "CUFFT_INVALID_VALUE",
        5 => "CUFFT_INTERNAL_ERROR",
        6 => "CUFFT_EXEC_FAILED",
        7 => "CUFFT_SETUP_FAILED",
        8 => "CUFFT_INVALID_SIZE",
        9 => "CUFFT_UNALIGNED_DATA",
        10 => "CUFFT_INCOMPLETE_PARAMETER_LIST",
        11 => "CUFFT_INVALID_DEVICE",
        12 => "CUFFT_PARSE_ERROR",
        13 => "CUFFT_NO_WORKSPACE",
        14 => "CUFFT_NOT_IMPLEMENTED",
        15 => "CUFFT_LICENSE_ERROR",
        16 => "CUFFT_NOT_SUPPORTED",
        17 => "CUFFT_MISSING_DEPENDENCY",
        18 => "CUFFT_NVRTC_FAILURE",
        19 => "CUFFT_NVJITLINK_FAILURE",
        20 => "CUFFT_NVSHMEM_FAILURE",
        _ => "an unknown status",
    }
}

/// The number of plans that a slot's stream keeps. Each has tables in device memory.
const PLANS: usize = 16;

/// The plans that a slot's stream has needed last.
struct Plans {
    functions: &'static Functions,
    stream: *mut c_void,
    plans: Recent<(Shape, Transform), Plan, PLANS>,
    /// The memory that the plans work in, one at a time, since they share one stream.
    work: Workspace,
    /// Copies of what cuFFT would overwrite, or does not accept where it is.
    copies: Workspace,
}

struct Plan {
    functions: &'static Functions,
    kind: Transform,
    handle: cufftHandle,
    work_bytes: usize,
}

// SAFETY: cuFFT's plans belong to no thread. One thread at a time uses them: that takes the state, which one
// routine has to itself. Only cuFFT uses the stream.
unsafe impl Send for Plans {}

impl Plans {
    fn new(stream: *mut c_void) -> Result<Self> {
        Ok(Self {
            functions: Functions::get()?,
            stream,
            plans: Recent::new(),
            work: Workspace::new("the work area of cuFFT"),
            copies: Workspace::new("the copies for cuFFT"),
        })
    }
}

impl Plan {
    fn new(
        functions: &'static Functions,
        stream: *mut c_void,
        shape: Shape,
        kind: Transform,
    ) -> Result<Self> {
        let mut handle = 0;
        // SAFETY: `handle` is a place for the result; the context is current when a routine is called.
        unsafe { functions.cufftCreate(&mut handle) }?;
        let mut plan = Self { functions, kind, handle, work_bytes: 0 };
        // A slice has all these elements, so there are fewer than `i64::MAX`.
        let mut sizes = [1; 3];
        sizes.iter_mut().zip(shape.sizes()).for_each(|(size, of)| *size = *of as i64);
        let (rank, none) = (shape.sizes().len() as c_int, ptr::null_mut());
        // SAFETY: the plan is live, `sizes` has room for any rank, and `work_bytes` is a place for the
        // result. Without embeddings, signals and spectra stand one after another, as the caller has checked.
        // The stream is the one that this state belongs to.
        unsafe {
            functions.cufftSetAutoAllocation(handle, 0)?;
            functions.cufftMakePlanMany64(
                handle,
                rank,
                sizes.as_mut_ptr(),
                none,
                1,
                0,
                none,
                1,
                0,
                kind,
                shape.batch as i64,
                &mut plan.work_bytes,
            )?;
            functions.cufftSetStream(handle, stream.cast())?;
        }
        Ok(plan)
    }

    /// # Safety
    /// The memory is what the plan's shape and type say, and `work` has the plan's `work_bytes`. Both stay
    /// until the plan's stream has got past this.
    unsafe fn execute(&self, work: u64, direction: FftDirection, from: u64, to: u64) -> Result<()> {
        let (functions, handle) = (self.functions, self.handle);
        let direction = match direction {
            FftDirection::Forward => -1,
            FftDirection::Inverse => 1,
        };
        // SAFETY: the plan is live, and the caller promises the memory, which is of the type that `kind`
        // says.
        unsafe {
            functions.cufftSetWorkArea(handle, pointer(work))?;
            match self.kind {
                Transform::CUFFT_C2C => functions.cufftExecC2C(handle, pointer(from), pointer(to), direction),
                Transform::CUFFT_R2C => functions.cufftExecR2C(handle, pointer(from), pointer(to)),
                Transform::CUFFT_C2R => functions.cufftExecC2R(handle, pointer(from), pointer(to)),
                Transform::CUFFT_Z2Z => functions.cufftExecZ2Z(handle, pointer(from), pointer(to), direction),
                Transform::CUFFT_D2Z => functions.cufftExecD2Z(handle, pointer(from), pointer(to)),
                Transform::CUFFT_Z2D => functions.cufftExecZ2D(handle, pointer(from), pointer(to)),
            }
        }
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: the plan is destroyed nowhere else, with its context current. The GPU is done with its
        // tables: all its work is on the one stream of its `Plans`. If the plan makes room for another,
        // `transform` has waited for that stream, and nothing was enqueued since; otherwise it is dropped
        // with the pipeline, which has drained. A plan that cannot be destroyed is leaked.
        let _ = unsafe { self.functions.cufftDestroy(self.handle) };
    }
}

/// One call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    /// The shape of the signals.
    pub shape: Shape,
    pub kind: Transform,
    pub direction: FftDirection,
    pub input: Input,
}

/// Whether the input keeps its contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    Preserved,
    Overwritten,
}

impl Work {
    /// The bytes of the input and of the output.
    fn bytes(&self) -> [usize; 2] {
        let len = |shape: Shape| shape.len().unwrap_or(0);
        let (signal, half) = (len(self.shape), len(self.shape.half()));
        match self.kind {
            Transform::CUFFT_C2C => [8 * signal, 8 * signal],
            Transform::CUFFT_R2C => [4 * signal, 8 * half],
            Transform::CUFFT_C2R => [8 * half, 4 * signal],
            Transform::CUFFT_Z2Z => [16 * signal, 16 * signal],
            Transform::CUFFT_D2Z => [8 * signal, 16 * half],
            Transform::CUFFT_Z2D => [16 * half, 8 * signal],
        }
    }

    /// The number that addresses must be multiples of: cuFFT takes real numbers only where complex ones may
    /// be.
    fn alignment(&self) -> u64 {
        match self.kind {
            Transform::CUFFT_C2C | Transform::CUFFT_R2C | Transform::CUFFT_C2R => 8,
            Transform::CUFFT_Z2Z | Transform::CUFFT_D2Z | Transform::CUFFT_Z2D => 16,
        }
    }

    /// Whether the input is copied, and whether the output is.
    fn copies(&self, from: u64, to: u64) -> [bool; 2] {
        let aligned = |at: u64| at.is_multiple_of(self.alignment());
        let overwrites = matches!(self.kind, Transform::CUFFT_C2R | Transform::CUFFT_Z2D);
        [(overwrites && self.input == Input::Preserved) || !aligned(from), !aligned(to)]
    }
}

/// Enqueues a transform on `queue`'s stream. `memory` holds the slices at `from` and `to`, whose lengths were
/// checked.
pub(super) fn transform(
    queue: &Enqueue<'_>,
    stream: *mut c_void,
    work: Work,
    from: u64,
    to: u64,
    memory: impl Views,
) -> Result<()> {
    queue.admit(&memory)?;
    let [from_bytes, to_bytes] = work.bytes();
    if from_bytes == 0 {
        return Ok(());
    }
    let mut state = queue.state(|| Plans::new(stream))?;
    let Plans { functions, stream, plans, work: area, copies } = &mut *state;
    // Work of the plans that make room for this one may still be on its way. All of it is on this stream.
    let wait = || queue.wait();
    let plan = plans.get_or_make((work.shape, work.kind), wait, || {
        Plan::new(functions, *stream, work.shape, work.kind)
    })?;
    let [copy_from, copy_to] = work.copies(from, to);
    let (mut input, mut output) = (from, to);
    if copy_from || copy_to {
        let first = from_bytes.next_multiple_of(256);
        let copies = copies.get(queue, first + to_bytes)?;
        if copy_from {
            input = copies;
            // SAFETY: `admit` has found `from` to be the run's, and the copies are kept with the plans. Both
            // have the bytes and do not overlap. Meanwhile no other stream uses the copies or writes to
            // `from`.
            unsafe { queue.copy_on_device(input, from, from_bytes) }?;
        }
        if copy_to {
            output = copies + first as u64;
        }
    }
    let area = area.get(queue, plan.work_bytes)?;
    // SAFETY: the slices are the run's and as long as the shape says, which the caller has checked. The work
    // area and the copies are kept with the plans, and no other stream uses them.
    queue.library(|| unsafe { plan.execute(area, work.direction, input, output) })?;
    if copy_to {
        // SAFETY: `admit` has found `to` to be the run's, and no other stream uses it meanwhile. `output` is
        // in the copies. Both have the bytes and do not overlap.
        unsafe { queue.copy_on_device(to, output, to_bytes) }?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Sizes;
    use super::*;

    fn work(kind: Transform, input: Input) -> Work {
        let mut shape = [3, 5].shape();
        shape.batch = 2;
        Work { shape, kind, direction: FftDirection::Forward, input }
    }

    #[test]
    fn a_real_spectrum_has_half_the_elements() {
        assert_eq!(work(Transform::CUFFT_C2C, Input::Preserved).bytes(), [240, 240]);
        assert_eq!(work(Transform::CUFFT_R2C, Input::Preserved).bytes(), [120, 144]);
        assert_eq!(work(Transform::CUFFT_Z2D, Input::Preserved).bytes(), [288, 240]);
    }

    #[test]
    fn what_would_be_overwritten_or_stands_askew_is_copied() {
        let copies = |kind, input, from, to| work(kind, input).copies(from, to);
        assert_eq!(copies(Transform::CUFFT_C2C, Input::Preserved, 8, 16), [false, false]);
        assert_eq!(copies(Transform::CUFFT_R2C, Input::Preserved, 4, 16), [true, false]);
        assert_eq!(copies(Transform::CUFFT_C2R, Input::Preserved, 8, 16), [true, false]);
        assert_eq!(copies(Transform::CUFFT_C2R, Input::Overwritten, 8, 16), [false, false]);
        assert_eq!(copies(Transform::CUFFT_Z2D, Input::Overwritten, 16, 8), [false, true]);
    }
}
