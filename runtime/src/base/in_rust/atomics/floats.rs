//! Atomics of floats, which the standard library does not have.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The order of what a read-modify-write reads if its attempt fails.
fn of_failure(order: Ordering) -> Ordering {
    match order {
        Ordering::Release => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Acquire,
        other => other,
    }
}

macro_rules! floats {
    ($($(#[$docs:meta])* $atomic:ident $float:ident $bits:ident),*) => {$(
        $(#[$docs])*
        ///
        /// It has the size, the alignment and the bits of its number. Sums depend on the order in which threads
        /// add, which differs from run to run: they are the same each time only if every sum is exact.
        #[derive(Default)]
        #[repr(transparent)]
        pub struct $atomic($bits);

        impl $atomic {
            /// An atomic of this number.
            #[inline]
            pub const fn new(value: $float) -> Self {
                Self($bits::new(value.to_bits()))
            }

            /// The number.
            ///
            /// # Panics
            /// If the order is `Release` or `AcqRel`.
            #[inline]
            pub fn load(&self, order: Ordering) -> $float {
                $float::from_bits(self.0.load(order))
            }

            /// Puts a number in place of the one that is there.
            ///
            /// # Panics
            /// If the order is `Acquire` or `AcqRel`.
            #[inline]
            pub fn store(&self, value: $float, order: Ordering) {
                self.0.store(value.to_bits(), order);
            }

            /// Puts a number in place of the one that is there, and gives the latter.
            #[inline]
            pub fn swap(&self, value: $float, order: Ordering) -> $float {
                $float::from_bits(self.0.swap(value.to_bits(), order))
            }

            /// Puts `value` in place of `expected`, if that is what is there. Both outcomes have the number that
            /// was there before. Numbers are compared by their bits: `-0.0` is another one than `0.0`.
            ///
            /// # Errors
            /// Another number is there.
            ///
            /// # Panics
            /// If the order of a failure is `Release` or `AcqRel`.
            #[inline]
            pub fn compare_exchange(
                &self,
                expected: $float,
                value: $float,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$float, $float> {
                let (expected, value) = (expected.to_bits(), value.to_bits());
                match self.0.compare_exchange(expected, value, success, failure) {
                    Ok(found) => Ok($float::from_bits(found)),
                    Err(found) => Err($float::from_bits(found)),
                }
            }

            /// Adds `by`, and gives the number that was there before.
            #[inline]
            pub fn fetch_add(&self, by: $float, order: Ordering) -> $float {
                self.changed(order, |now| now + by)
            }

            /// Subtracts `by`, and gives the number that was there before.
            #[inline]
            pub fn fetch_sub(&self, by: $float, order: Ordering) -> $float {
                self.changed(order, |now| now - by)
            }

            /// Keeps the lesser of two numbers, a number rather than a NaN, and gives what was there before.
            #[inline]
            pub fn fetch_min(&self, by: $float, order: Ordering) -> $float {
                self.changed(order, |now| now.min(by))
            }

            /// Keeps the greater of two numbers, a number rather than a NaN, and gives what was there before.
            #[inline]
            pub fn fetch_max(&self, by: $float, order: Ordering) -> $float {
                self.changed(order, |now| now.max(by))
            }

            #[inline]
            fn changed(&self, order: Ordering, change: impl Fn($float) -> $float) -> $float {
                let failure = of_failure(order);
                let mut now = self.0.load(failure);
                loop {
                    let next = change($float::from_bits(now)).to_bits();
                    match self.0.compare_exchange_weak(now, next, order, failure) {
                        Ok(_) => return $float::from_bits(now),
                        Err(found) => now = found,
                    }
                }
            }
        }

        impl fmt::Debug for $atomic {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.load(Ordering::Relaxed).fmt(f)
            }
        }
    )*};
}
floats!(
    /// An `f32` that many threads of a kernel change at once.
    AtomicF32 f32 AtomicU32,
    /// An `f64` that many threads of a kernel change at once.
    AtomicF64 f64 AtomicU64
);

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn threads_lose_no_sum_and_no_extreme() {
        let (sum, least, greatest) = (AtomicF64::new(1.0), AtomicF32::new(f32::NAN), AtomicF32::new(-1.0));
        thread::scope(|scope| {
            for thread in 0..4_u16 {
                let (sum, least, greatest) = (&sum, &least, &greatest);
                scope.spawn(move || {
                    for i in 0..1000 {
                        let value = f32::from(thread * 1000 + i);
                        sum.fetch_add(f64::from(value), Ordering::Relaxed);
                        sum.fetch_sub(0.5, Ordering::AcqRel);
                        least.fetch_min(value, Ordering::SeqCst);
                        greatest.fetch_max(value, Ordering::Release);
                    }
                });
            }
        });
        assert_eq!(sum.load(Ordering::Relaxed), 1.0 + 3999.0 * 2000.0 - 2000.0);
        assert_eq!([least.load(Ordering::SeqCst), greatest.load(Ordering::Acquire)], [0.0, 3999.0]);
    }

    #[test]
    fn an_exchange_compares_bits() {
        let number = AtomicF32::new(0.0);
        assert_eq!(number.compare_exchange(-0.0, 1.0, Ordering::AcqRel, Ordering::Acquire), Err(0.0));
        assert_eq!(number.compare_exchange(0.0, f32::NAN, Ordering::Relaxed, Ordering::Relaxed), Ok(0.0));
        let found = number.compare_exchange(f32::NAN, 2.0, Ordering::SeqCst, Ordering::SeqCst);
        assert!(found.is_ok_and(f32::is_nan));
        assert_eq!((number.swap(3.0, Ordering::Relaxed), format!("{number:?}")), (2.0, "3.0".to_owned()));
        number.store(4.0, Ordering::Release);
        assert_eq!(number.fetch_min(f32::NAN, Ordering::Relaxed), 4.0);
        assert_eq!(number.load(Ordering::Relaxed), 4.0);
    }
}
