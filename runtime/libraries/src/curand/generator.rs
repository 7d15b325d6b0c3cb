//! [`Generator`]: cuRAND's generator, one for each ring slot and stream.

use std::ffi::c_void;
use std::fmt;
use std::ptr;

use thalweg::kernel::DeviceSliceOut;
use thalweg::routine::{Enqueue, Workspace};
use thalweg::{Pod, Result};

use super::sys::{
    cudaStream_t, curandGenerator_t, curandOrdering, curandOrdering_t, curandRngType, curandRngType_t,
};
use super::{Philox, host, sealed};
use crate::table::functions;
use crate::{Calls, Library, of_library, pointer};

static LIBRARY: Library =
    Library::new("cuRAND", "curand", [10, 10, 10], "nvidia-curand` or `nvidia-curand-cu12");

functions! {
    /// The functions that every cuRAND since that of CUDA 11.0 has.
    struct Functions, bindings super::sys, code curandStatus_t;
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

/// A generator with its stream, and memory for numbers that cannot be made in place.
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

// SAFETY: cuRAND's generators belong to no thread. One thread at a time uses one: even `&self` methods need
// the state, which one routine has to itself.
unsafe impl Send for Generator {}

impl Generator {
    fn new(stream: *mut c_void) -> Result<Self> {
        let functions = Functions::get()?;
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` is a place for the result; the context is current when a routine is called.
        unsafe { functions.curandCreateGenerator(&mut raw, curandRngType::CURAND_RNG_PSEUDO_PHILOX4_32_10) }?;
        let generator = Self { functions, raw, scratch: Workspace::new("the numbers of cuRAND") };
        // SAFETY: the generator is live, and so is the stream, which has this generator to itself.
        unsafe {
            functions.curandSetGeneratorOrdering(raw, curandOrdering::CURAND_ORDERING_PSEUDO_LEGACY)?;
            functions.curandSetStream(raw, stream.cast())?;
        }
        Ok(generator)
    }

    /// # Safety
    /// `len` elements from `at` on are device memory that stays until the generator's stream has got past
    /// this.
    pub(super) unsafe fn bits(&self, at: u64, len: usize) -> Result<()> {
        // SAFETY: the generator is live, and the caller promises the memory.
        unsafe { self.functions.curandGenerate(self.raw, pointer(at), len) }
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // SAFETY: the generator is destroyed nowhere else. The pipeline drops it when its work has completed,
        // with its context current. A generator that cannot be destroyed is leaked.
        let _ = unsafe { self.functions.curandDestroyGenerator(self.raw) };
    }
}

/// The kind of numbers, which decides cuRAND's rules for making them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One word an element.
    Bits,
    /// Two elements at a time: an odd number is `CURAND_STATUS_LENGTH_NOT_MULTIPLE`.
    Pairs,
    /// Two words an element, and two elements at a time.
    WidePairs,
}

macro_rules! real {
    ($($type:ty, $uniform_kind:ident $uniform:ident, $normal_kind:ident $normal:ident;)*) => {$(
        impl sealed::Real for $type {
            const UNIFORM: Kind = Kind::$uniform_kind;
            const NORMAL: Kind = Kind::$normal_kind;

            unsafe fn generate_uniform(generator: &Generator, at: u64, len: usize) -> Result<()> {
                // SAFETY: the generator is live, and the caller promises the memory.
                unsafe { generator.functions.$uniform(generator.raw, pointer(at), len) }
            }

            unsafe fn generate_normal(
                generator: &Generator,
                at: u64,
                len: usize,
                mean: Self,
                deviation: Self,
            ) -> Result<()> {
                // SAFETY: the generator is live, and the caller promises the memory.
                unsafe { generator.functions.$normal(generator.raw, pointer(at), len, mean, deviation) }
            }
        }
    )*};
}
real! {
    f32, Bits curandGenerateUniform, Pairs curandGenerateNormal;
    f64, WidePairs curandGenerateUniformDouble, WidePairs curandGenerateNormalDouble;
}

/// The alignment, in bytes, of the addresses that cuRAND writes to, so that it may write several elements at
/// once.
const ALIGNMENT: u64 = 16;

/// Fills `out` on `queue`'s stream; `generate` makes a number of elements from an address on, at the
/// generator's offset.
///
/// # Safety
/// `stream` is `queue`'s stream.
pub(super) unsafe fn on_cuda<T: Pod>(
    queue: &Enqueue<'_>,
    stream: *mut c_void,
    from: Philox,
    out: DeviceSliceOut<'_, T>,
    kind: Kind,
    generate: impl Fn(&Generator, u64, usize) -> Result<()>,
) -> Result<()> {
    let (to, len) = (out.address(), out.len());
    queue.admit(&(out,))?;
    if len == 0 {
        return Ok(());
    }
    let mut generator = queue.state(|| Generator::new(stream))?;
    let span = Span::new(kind, from.position, len);
    let direct = span.is_exact(len) && to.is_multiple_of(ALIGNMENT);
    let at = if direct { to } else { generator.scratch.get(queue, span.len * size_of::<T>())? };
    let functions = generator.functions;
    // SAFETY: the generator is live.
    unsafe { functions.curandSetPseudoRandomGeneratorSeed(generator.raw, from.seed) }?;
    for Piece { skipped, offset, len } in span.pieces() {
        // SAFETY: the generator is live.
        unsafe { functions.curandSetGeneratorOffset(generator.raw, offset) }?;
        queue.library(|| generate(&generator, at + (skipped * size_of::<T>()) as u64, len))?;
    }
    if direct {
        return Ok(());
    }
    let at = at + (span.lead * size_of::<T>()) as u64;
    // SAFETY: `admit` has found `out` to be the run's. The scratch memory is kept with the generator and has
    // `lead + len` elements. They do not overlap, and no other stream uses them meanwhile.
    unsafe { queue.copy_on_device(to, at, len * size_of::<T>()) }
}

/// The positions that cuRAND makes, which include those that are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    kind: Kind,
    position: u64,
    /// The elements before the first that is wanted.
    lead: usize,
    len: usize,
}

/// The positions of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    /// The elements of the span before the piece.
    skipped: usize,
    /// The argument of `curandSetGeneratorOffset`.
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

    /// One call, or one for each turn that the lanes take. An offset counts the words of a lane in fours, as
    /// many as four elements of 32 bits need. Four elements of 64 bits need two fours: within a turn cuRAND
    /// goes on as it should, but an offset of a whole turn is only half a turn of these elements, and would
    /// repeat numbers.
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
