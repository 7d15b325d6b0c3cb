//! Atomics in the shared memory of a block.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::Ordering;

/// An atomic in a block's shared memory, as [`Block::shared`](super::super::Block::shared) gives it for an array of
/// `AtomicU32` and its like.
///
/// It has the methods of those. One thread of the host runs all threads of a block, so that it needs no atomic
/// instruction there, and every order is the same.
pub struct SharedAtomic<T>(Cell<T>);

impl<T: Copy> SharedAtomic<T> {
    pub(super) const fn new(value: T) -> Self {
        Self(Cell::new(value))
    }

    /// The number.
    #[inline]
    pub fn load(&self, _: Ordering) -> T {
        self.0.get()
    }

    /// Puts a number in place of the one that is there.
    #[inline]
    pub fn store(&self, value: T, _: Ordering) {
        self.0.set(value);
    }

    /// Puts a number in place of the one that is there, and gives the latter.
    #[inline]
    pub fn swap(&self, value: T, _: Ordering) -> T {
        self.0.replace(value)
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for SharedAtomic<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.get().fmt(f)
    }
}

/// Methods that put what they compute in place of the number, and give the number that was there before.
macro_rules! changes {
    ($number:ident: $($(#[$docs:meta])* $name:ident |$now:ident, $by:ident| $next:expr;)*) => {
        impl SharedAtomic<$number> {
            $(
                $(#[$docs])*
                #[inline]
                pub fn $name(&self, $by: $number, _: Ordering) -> $number {
                    let $now = self.0.get();
                    self.0.replace($next)
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
            pub fn compare_exchange(
                &self,
                expected: $number,
                value: $number,
                _: Ordering,
                _: Ordering,
            ) -> Result<$number, $number> {
                let ($found, $expected) = (self.0.get(), expected);
                if $is_same {
                    self.0.set(value);
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
