//! The turns of a phase in rounds: what a thread does with one of its elements.

use super::blocks::BlockThread;

/// One of a thread's elements.
#[derive(Debug, Clone, Copy)]
pub struct Turn<At> {
    /// What the loop gives.
    pub at: At,
    element: usize,
    /// Whether it is before the number that the phase was told to be within.
    is_within: bool,
}

impl<At> Turn<At> {
    #[inline(always)]
    pub(super) fn new(at: At, element: usize, is_within: bool) -> Self {
        Self { at, element, is_within }
    }

    /// Tells the compiler that there is the element, if it is known. It does not know a length again that it reads
    /// twice.
    ///
    /// # Safety
    /// `length` is no less than the number that the phase was told to be within.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn assume_within(&self, length: usize) {
        if self.is_within {
            // SAFETY: the element is before the number that the phase was told, and that is `length` at most.
            unsafe { std::hint::assert_unchecked(self.element < length) };
        }
    }
}

/// What a phase does in a turn. It is in registers as long as its address is given to nobody.
pub trait Turns<S, At> {
    #[doc(hidden)]
    fn take(&mut self, variables: S, thread: BlockThread, turn: Turn<At>) -> S;

    /// Calls a function with its address, or with that of a copy.
    #[doc(hidden)]
    fn lend<R>(&mut self, to: impl FnOnce(&mut Self) -> R) -> R;
}

/// Whether a phase may copy the closure for its turns, which is of the type `F`.
pub trait Takes<F> {
    #[doc(hidden)]
    type Turns;
    #[doc(hidden)]
    fn turns(self, closure: F) -> Self::Turns;
}

/// It may: whom it hands the closure to has a copy of it.
#[derive(Debug, Clone, Copy)]
pub struct ByCopy;

/// It may not: whom it hands the closure to has a reference to it.
#[derive(Debug, Clone, Copy)]
pub struct ByReference;

impl<F: Copy> Takes<F> for ByCopy {
    type Turns = Copied<F>;

    #[inline(always)]
    fn turns(self, closure: F) -> Copied<F> {
        Copied(closure)
    }
}

impl<F> Takes<F> for ByReference {
    type Turns = Lent<F>;

    #[inline(always)]
    fn turns(self, closure: F) -> Lent<F> {
        Lent(closure)
    }
}

/// The turns of a closure that may be copied.
#[derive(Debug, Clone, Copy)]
pub struct Copied<F>(F);

/// The turns of any closure.
#[derive(Debug)]
pub struct Lent<F>(F);

impl<S, At, F: FnMut(S, BlockThread, Turn<At>) -> S + Copy> Turns<S, At> for Copied<F> {
    #[inline(always)]
    fn take(&mut self, variables: S, thread: BlockThread, turn: Turn<At>) -> S {
        self.0(variables, thread, turn)
    }

    #[inline(always)]
    fn lend<R>(&mut self, to: impl FnOnce(&mut Self) -> R) -> R {
        let mut copy = Self(self.0);
        to(&mut copy)
    }
}

impl<S, At, F: FnMut(S, BlockThread, Turn<At>) -> S> Turns<S, At> for Lent<F> {
    #[inline(always)]
    fn take(&mut self, variables: S, thread: BlockThread, turn: Turn<At>) -> S {
        self.0(variables, thread, turn)
    }

    #[inline(always)]
    fn lend<R>(&mut self, to: impl FnOnce(&mut Self) -> R) -> R {
        to(self)
    }
}
