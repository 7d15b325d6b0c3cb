//! [`Generator`]: cuRAND's, one for each ring slot and stream.

use std::ffi::c_void;
use std::fmt;
use std::ptr;

use bytemuck::Pod;

use super::sys::{
    cudaStream_t, curandGenerator_t, curandOrdering, curandOrdering_t, curandRngType, curandRngType_t,
};
use super::{Philox, host, sealed};
use crate::backends::cuda::table::functions;
use crate::base::error::{Error, Result};
use crate::device::launch::DeviceSliceOut;
use crate::device::slices::{Slices, Views};
use crate::driver::DevicePtr;
use crate::engine::Enqueue;
use crate::libraries::{Library, Workspace, of_library, pointer};

static LIBRARY: Library =
    Library::new("cuRAND", "curand", [10, 10, 10], "nvidia-curand` or `nvidia-curand-cu12");

functions! {
    /// What every cuRAND since that of CUDA 11.0 has.
    struct Functions, bindings super::sys, code curandStatus_t, error Error;
    fn curandCreateGenerator(generator: *mut curandGenerator_t, kind: curandRngType_t);
    fn curandDestroyGenerator(generator: curandGenerator_t);
    fn curandSetStream(generator: curandGenerator_t, stream: cudaStream_t);
    fn curandSetGeneratorOrdering(generator: curandGenerator_t, ordering: curandOrdering_t);
    fn curandSetPseudoRandomGeneratorSeed(generator: curandGenerator_t, seed: u64);
    fn curandSetGeneratorOffset(generator: curandGenerator_t, offset: u64);
    fn curandGenerate(generator: curandGenerator_t, out: *mut u32, len: usize);
    fn curandGenerateUniform(generator: curandGenerator_t, out: *mut f32, len: usize);
    fn curandGenerateUniformDouble(generator: curandGenerator_t, out: *mut f64, len: usize);
    fn curandGenerateNormal(generator: curandGenerator_t, out: *mut f32, len: usize, mean: f32, deviation: f32);
    fn curandGenerateNormalDouble(generator: curandGenerator_t, out: *mut f64, len: usize, mean: f64, deviation: f64);
}

of_library!(Functions, LIBRARY, status);

/// The name of a `curandStatus_t`.
fn status(code: u32) -> &'static str {
    match code {
        100 => "CURAND_STATUS_VERSION_MISMATCH",
        101 => "CURAND_STATUS_NOT_INITIALIZED",
        102 => "CURAND_STATUS_ALLOCATION_FAILED",
        103 => "CURAND_STATUS_TYPE_ERROR",
        104 => "CURAND_STATUS_OUT_OF_RANGE",
        105 => "CURAND_STATUS_LENGTH_NOT_MULTIPLE",
        106 => "CURAND_STATUS_DOUBLE_PRECISION_REQUIRED",
        201 => "CURAND_STATUS_LAUNCH_FAILURE",
        202 => "CURAND_STATUS_PREEXISTING_FAILURE",
        203 => "CURAND_STATUS_INITIALIZATION_FAILED",
        204 => "CURAND_STATUS_ARCH_MISMATCH",
        999 => "CURAND_STATUS_INTERNAL_ERROR",
        _ => "an unknown status",
    }
}

/// A generator with its stream, and memory for what does not come out in the right place.
pub struct Generator {
    functions: &'static Functions,
    raw: curandGenerator_t,
    scratch: Workspace,
}

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generator").finish_non_exhaustive()
    }
}

// SAFETY: cuRAND's generators belong to no thread; one is used by one thread at a time, for `&self` methods need the state,
// which a routine has for itself.
unsafe impl Send for Generator {}

impl Generator {
    fn new(stream: *mut c_void) -> Result<Self> {
        let functions = Functions::get()?;
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` is a place for the result; the context is current when a routine is called.
        unsafe { functions.curandCreateGenerator(&mut raw, curandRngType::CURAND_RNG_PSEUDO_PHILOX4_32_10) }?;
        let generator = Self { functions, raw, scratch: Workspace::new("the numbers of cuRAND") };
        // SAFETY: the generator is live, and so is the stream, of which there is a generator of its own.
        unsafe {
            functions.curandSetGeneratorOrdering(raw, curandOrdering::CURAND_ORDERING_PSEUDO_LEGACY)?;
            functions.curandSetStream(raw, stream.cast())?;
        }
        Ok(generator)
    }

    /// # Safety
    /// `len` elements from `at` on are device memory that stays until the generator's stream has got past this.
    pub(super) unsafe fn bits(&self, at: DevicePtr, len: usize) -> Result<()> {
        // SAFETY: the generator is live, and the memory, the caller says.
        unsafe { self.functions.curandGenerate(self.raw, pointer(at), len) }
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // SAFETY: the generator is destroyed here only, after its work has completed, with its context current: the pipeline
        // sees to that. One that cannot be destroyed is leaked.
        let _ = unsafe { self.functions.curandDestroyGenerator(self.raw) };
    }
}

/// What is made, for the rules that cuRAND has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One word an element.
    Bits,
    /// Two elements at a time: `CURAND_STATUS_LENGTH_NOT_MULTIPLE` if they are odd.
    Pairs,
    /// Two words an element, and two elements at a time.
    WidePairs,
}

macro_rules! real {
    ($($type:ty, $uniform_kind:ident $uniform:ident, $normal_kind:ident $normal:ident;)*) => {$(
        impl sealed::Real for $type {
            const UNIFORM: Kind = Kind::$uniform_kind;
            const NORMAL: Kind = Kind::$normal_kind;

            unsafe fn generate_uniform(generator: &Generator, at: DevicePtr, len: usize) -> Result<()> {
                // SAFETY: the generator is live, and the memory, the caller says.
                unsafe { generator.functions.$uniform(generator.raw, pointer(at), len) }
            }

            unsafe fn generate_normal(
                generator: &Generator,
                at: DevicePtr,
                len: usize,
                mean: Self,
                deviation: Self,
            ) -> Result<()> {
                // SAFETY: as above.
                unsafe { generator.functions.$normal(generator.raw, pointer(at), len, mean, deviation) }
            }
        }
    )*};
}
real! {
    f32, Bits curandGenerateUniform, Pairs curandGenerateNormal;
    f64, WidePairs curandGenerateUniformDouble, WidePairs curandGenerateNormalDouble;
}

/// Bytes that the address of what cuRAND writes is a multiple of, so that it may write several elements at once.
const ALIGNMENT: u64 = 16;

/// Fills `out` on `queue`'s stream; `generate` makes so many elements from an address on, at the generator's offset.
pub(super) fn on_cuda<T: Pod>(
    queue: &Enqueue<'_>,
    stream: *mut c_void,
    from: Philox,
    out: DeviceSliceOut<'_, T>,
    kind: Kind,
    generate: impl Fn(&Generator, DevicePtr, usize) -> Result<()>,
) -> Result<()> {
    let (to, len) = (DevicePtr(out.address()), out.len());
    queue.admit(&(out,).raw().accesses())?;
    if len == 0 {
        return Ok(());
    }
    let mut generator = queue.state(|| Generator::new(stream))?;
    let span = Span::new(kind, from.position, len);
    let direct = span.is_exact(len) && to.0.is_multiple_of(ALIGNMENT);
    let at = if direct { to } else { generator.scratch.get(queue, span.len * size_of::<T>())? };
    let functions = generator.functions;
    // SAFETY: the generator is live.
    unsafe { functions.curandSetPseudoRandomGeneratorSeed(generator.raw, from.seed) }?;
    for Piece { skipped, offset, len } in span.pieces() {
        // SAFETY: the generator is live.
        unsafe { functions.curandSetGeneratorOffset(generator.raw, offset) }?;
        queue.library(|| generate(&generator, at.offset(skipped * size_of::<T>()), len))?;
    }
    if direct {
        return Ok(());
    }
    let at = at.offset(span.lead * size_of::<T>());
    // SAFETY: `out` is the run's, as was checked, the scratch memory is kept with the generator, and has `lead + len` elements.
    unsafe { queue.copy_on_device(to, at, len * size_of::<T>()) }
}

/// Positions that cuRAND makes, among them those that are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    kind: Kind,
    position: u64,
    /// Elements before the first that is wanted.
    lead: usize,
    len: usize,
}

/// Positions of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    /// Elements of the span before it.
    skipped: usize,
    /// `curandSetGeneratorOffset`'s.
    offset: u64,
    len: usize,
}

impl Span {
    fn new(kind: Kind, position: u64, len: usize) -> Self {
        let lead = if kind == Kind::Bits { 0 } else { (position % 2) as usize };
        let with_lead = lead + len;
        let len = if kind == Kind::Bits { with_lead } else { with_lead.next_multiple_of(2) };
        Self { kind, position: position - lead as u64, lead, len }
    }

    fn is_exact(&self, len: usize) -> bool {
        self.lead == 0 && self.len == len
    }

    /// One call, or one for each turn that the lanes take. An offset counts words of a lane by the four, as many as an element
    /// of 32 bits needs. One of 64 needs two fours: within a turn cuRAND goes on as it should, but an offset of a whole turn
    /// is half a turn of these, and would give numbers again that were given before.
    fn pieces(self) -> impl Iterator<Item = Piece> {
        let mut skipped = 0;
        std::iter::from_fn(move || {
            let (left, position) = (self.len - skipped, self.position + skipped as u64);
            let (offset, len) = match self.kind {
                Kind::Bits | Kind::Pairs => (position, left),
                Kind::WidePairs => {
                    let rest = host::TURN - position % host::TURN;
                    (position + position / host::TURN * host::TURN, (rest as usize).min(left))
                }
            };
            let piece = Piece { skipped, offset, len };
            skipped += len;
            (len > 0).then_some(piece)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::TURN;

    fn pieces(kind: Kind, position: u64, len: usize) -> Vec<(usize, u64, usize)> {
        let pieces = Span::new(kind, position, len).pieces();
        pieces.map(|Piece { skipped, offset, len }| (skipped, offset, len)).collect()
    }

    #[test]
    fn what_is_even_is_made_in_place() {
        for (kind, position, len, exact) in [
            (Kind::Bits, 3, 5, true),
            (Kind::Pairs, 4, 6, true),
            (Kind::Pairs, 3, 6, false),
            (Kind::Pairs, 4, 5, false),
            (Kind::WidePairs, 3, 5, false),
            (Kind::WidePairs, 2, 2, true),
        ] {
            assert_eq!(Span::new(kind, position, len).is_exact(len), exact, "{kind:?} {position} {len}");
        }
        assert_eq!(Span::new(Kind::Pairs, 3, 5), Span { kind: Kind::Pairs, position: 2, lead: 1, len: 6 });
    }

    #[test]
    fn wide_elements_are_made_turn_by_turn() {
        assert_eq!(pieces(Kind::Bits, TURN - 1, 9), [(0, TURN - 1, 9)]);
        assert_eq!(pieces(Kind::Pairs, 1, 3), [(0, 0, 4)]);
        assert_eq!(pieces(Kind::WidePairs, 0, 4), [(0, 0, 4)]);
        assert_eq!(pieces(Kind::WidePairs, TURN - 2, 6), [(0, TURN - 2, 2), (2, 2 * TURN, 4)]);
        let all = TURN as usize;
        assert_eq!(pieces(Kind::WidePairs, 5 * TURN, 2 * all), [(0, 10 * TURN, all), (all, 12 * TURN, all)]);
        assert_eq!(pieces(Kind::WidePairs, 0, 0), []);
    }
}
