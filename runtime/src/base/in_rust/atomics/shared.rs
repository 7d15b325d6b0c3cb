//! Atomics in the shared memory of a block.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::Ordering;

use crate::base::in_rust::blocks::sealed::Element;

/// An atomic in a block's shared memory, as [`Block::shared`](super::super::Block::shared) gives it for an array of
/// `AtomicU32` and its like.
///
/// It has the methods of those. One thread of the host runs all threads of a block, so that it needs no atomic
/// instruction there, and every order is the same. A method that reads the number panics if nothing has
/// written one.
pub struct SharedAtomic<T> {
    number: Cell<T>,
    /// The element that it is, until it is written.
    unwritten: Cell<Option<Element>>,
}

const _: () = assert!(size_of::<SharedAtomic<u32>>() == 8, "many of them stay in a near cache");

/// By reference, so that whoever reads a number only compares what stands beside it.
#[cold]
#[track_caller]
fn is_unwritten(unwritten: &Cell<Option<Element>>) -> ! {
    let element = unwritten.get().expect("it was there a moment ago");
    panic!(
        "the element `{element}` of a shared array of atomics is read, and nothing has written it\n  \
         note: shared memory has no value until `fill` writes all of an array, or `store` one of its atomics"
    )
}

impl<T: Copy> SharedAtomic<T> {
    pub(super) const fn new(value: T) -> Self {
        Self { number: Cell::new(value), unwritten: Cell::new(None) }
    }

    /// One that nothing has written yet. `undefined` is what stands there meanwhile.
    pub(super) const fn unwritten(undefined: T, element: Element) -> Self {
        Self { number: Cell::new(undefined), unwritten: Cell::new(Some(element)) }
    }

    /// The number that was written last.
    #[inline]
    #[track_caller]
    fn read(&self) -> T {
        if self.unwritten.get().is_some() {
            is_unwritten(&self.unwritten)
        }
        self.number.get()
    }

    /// The number.
    #[inline]
    #[track_caller]
    pub fn load(&self, _: Ordering) -> T {
        self.read()
    }

    /// Puts a number in place of the one that is there.
    #[inline]
    pub fn store(&self, value: T, _: Ordering) {
        self.number.set(value);
        self.unwritten.set(None);
    }

    /// Puts a number in place of the one that is there, and gives the latter.
    #[inline]
    #[track_caller]
    pub fn swap(&self, value: T, _: Ordering) -> T {
        let before = self.read();
        self.number.set(value);
        before
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for SharedAtomic<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unwritten.get() {
            None => self.number.get().fmt(f),
            Some(_) => f.write_str("unwritten"),
        }
    }
}

/// Methods that put what they compute in place of the number, and give the number that was there before.
macro_rules! changes {
    ($number:ident: $($(#[$docs:meta])* $name:ident |$now:ident, $by:ident| $next:expr;)*) => {
        impl SharedAtomic<$number> {
            $(
                $(#[$docs])*
                #[inline]
                #[track_caller]
                pub fn $name(&self, $by: $number, _: Ordering) -> $number {
                    let $now = self.read();
                    self.number.replace($next)
                }
            )*
        }
    };
}

/// The exchange of a number by another one, if `is_same` says that the expected one is there.
macro_rules! exchanges {
    ($($number:ident)*: |$found:ident, $expected:ident| $is_same:expr) => { $(
        impl SharedAtomic<$number> {
            /// Puts `value` in place of `expected`, if that is what is there. Both outcomes have the number that
            /// was there before. Floats are compared by their bits.
            ///
            /// # Errors
            /// Another number is there.
            #[inline]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                expected: $number,
                value: $number,
                _: Ordering,
                _: Ordering,
            ) -> Result<$number, $number> {
                let ($found, $expected) = (self.read(), expected);
                if $is_same {
                    self.number.set(value);
                    return Ok($found);
                }
                Err($found)
            }
        }
    )* };
}
exchanges!(u32 i32 u64 i64: |found, expected| found == expected);
exchanges!(f32 f64: |found, expected| found.to_bits() == expected.to_bits());

macro_rules! integers {
    ($($number:ident)*) => { $(
        changes! { $number:
            /// Adds `by`, wrapping, and gives the number that was there before.
            fetch_add |now, by| now.wrapping_add(by);
            /// Subtracts `by`, wrapping, and gives the number that was there before.
            fetch_sub |now, by| now.wrapping_sub(by);
            /// Keeps the bits that both have, and gives the number that was there before.
            fetch_and |now, by| now & by;
            /// Sets the bits of `by`, and gives the number that was there before.
            fetch_or |now, by| now | by;
            /// Flips the bits of `by`, and gives the number that was there before.
            fetch_xor |now, by| now ^ by;
            /// Keeps the lesser of two numbers, and gives the one that was there before.
            fetch_min |now, by| now.min(by);
            /// Keeps the greater of two numbers, and gives the one that was there before.
            fetch_max |now, by| now.max(by);
        }
    )* };
}
integers!(u32 i32 u64 i64);

macro_rules! floats {
    ($($number:ident)*) => { $(
        changes! { $number:
            /// Adds `by`, and gives the number that was there before.
            fetch_add |now, by| now + by;
            /// Subtracts `by`, and gives the number that was there before.
            fetch_sub |now, by| now - by;
            /// Keeps the lesser of two numbers, a number rather than a NaN, and gives what was there before.
            fetch_min |now, by| now.min(by);
            /// Keeps the greater of two numbers, a number rather than a NaN, and gives what was there before.
            fetch_max |now, by| now.max(by);
        }
    )* };
}
floats!(f32 f64);
