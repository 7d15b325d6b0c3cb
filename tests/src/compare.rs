//! One closure on a GPU and on the simulated device, and how far the two results may differ.

use std::fmt::{Debug, Display};
use std::sync::OnceLock;

use thalweg::prelude::*;

/// How far a result may be from the expected one. A NaN equals any other NaN, and nothing else.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// The same bits: -0.0 is not 0.0.
    Exact,
    /// At most so many representable numbers apart. -0.0 and 0.0 are at the same place.
    Ulps(u64),
    /// `|found - expected| <= absolute + relative * |expected|`. Infinities are equal or not.
    Within {
        /// In units of the result.
        absolute: f64,
        /// As a share of the expected result.
        relative: f64,
    },
}

/// An element of a result.
pub trait Element: Copy + Debug {
    /// Whether `self` is close enough to `expected`.
    fn is_close(self, expected: Self, tolerance: Tolerance) -> bool;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Element for $type {
            fn is_close(self, expected: Self, tolerance: Tolerance) -> bool {
                match tolerance {
                    Tolerance::Exact => self == expected,
                    Tolerance::Ulps(ulps) => self.abs_diff(expected) as u64 <= ulps,
                    Tolerance::Within { absolute, relative } => {
                        let expected = expected as f64;
                        (self as f64 - expected).abs() <= absolute + relative * expected.abs()
                    }
                }
            }
        }
    )*};
}
integers!(u8 u16 u32 u64 usize i8 i16 i32 i64);

macro_rules! floats {
    ($($type:ty: $signed:ty),*) => {$(
        impl Element for $type {
            fn is_close(self, expected: Self, tolerance: Tolerance) -> bool {
                // The order is that of the numbers, with both zeros at 0.
                let place = |x: $type| {
                    let magnitude = (x.to_bits() << 1 >> 1) as $signed;
                    if x.is_sign_negative() { -magnitude } else { magnitude }
                };
                if self.is_nan() || expected.is_nan() {
                    return self.is_nan() && expected.is_nan();
                }
                match tolerance {
                    Tolerance::Exact => self.to_bits() == expected.to_bits(),
                    Tolerance::Ulps(ulps) => place(self).abs_diff(place(expected)) as u64 <= ulps,
                    Tolerance::Within { .. } if self.is_infinite() || expected.is_infinite() => self == expected,
                    Tolerance::Within { absolute, relative } => {
                        let (found, expected) = (f64::from(self), f64::from(expected));
                        (found - expected).abs() <= absolute + relative * expected.abs()
                    }
                }
            }
        }
    )*};
}

floats!(f32: i32, f64: i64);

/// Checks that each element of `found` is close enough to that of `expected`, and that both have the same
/// length.
///
/// # Panics
/// Names `what` and the first elements that differ, with their number.
#[track_caller]
pub fn assert_close<T: Element>(found: &[T], expected: &[T], tolerance: Tolerance, what: impl Display) {
    assert_eq!(found.len(), expected.len(), "{what}: elements");
    let pairs = found.iter().zip(expected).enumerate();
    let mut apart = pairs.filter(|(_, (found, expected))| !found.is_close(**expected, tolerance));
    let shown: Vec<_> =
        apart.by_ref().take(5).map(|(i, (f, e))| format!("[{i}] {f:?}, expected {e:?}")).collect();
    let count = shown.len() + apart.count();
    assert!(
        count == 0,
        "{what}: {count} of {} differ by more than {tolerance:?}: {}",
        found.len(),
        shown.join("; ")
    );
}

/// What `run` gives on the first GPU, and what it gives on the simulated device.
///
/// # Panics
/// There is no GPU, or one of the runs failed.
#[track_caller]
pub fn on_gpu_and_simulated<R>(run: impl Fn(&Device) -> thalweg::Result<R>) -> (R, R) {
    // It is kept, so that each source is compiled once.
    static GPU: OnceLock<Device> = OnceLock::new();
    let gpu = GPU.get_or_init(|| Device::cuda(0).unwrap_or_else(|error| panic!("a GPU: {error}"))).clone();
    let simulated = Device::simulated(Simulation::default());
    let [gpu, simulated] = [("GPU", gpu), ("simulated device", simulated)].map(|(name, device)| {
        assert_eq!(device.is_simulated(), name != "GPU");
        run(&device).unwrap_or_else(|error| panic!("on the {name}: {error}"))
    });
    (gpu, simulated)
}

/// Checks that `run` gives the same elements on the first GPU and on the simulated device.
///
/// # Panics
/// They differ by more than `tolerance`, there is no GPU, or one of the runs failed.
#[track_caller]
pub fn assert_same_on_both<T: Element>(
    what: impl Display,
    tolerance: Tolerance,
    run: impl Fn(&Device) -> thalweg::Result<Vec<T>>,
) {
    let (gpu, simulated) = on_gpu_and_simulated(run);
    assert_close(&gpu, &simulated, tolerance, what);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_is_by_bits_and_any_nan_is_a_nan() {
        assert!(f32::NAN.is_close(-f32::NAN, Tolerance::Exact));
        assert!(!f32::NAN.is_close(0.0, Tolerance::Ulps(u64::MAX)));
        assert!(!0_f64.is_close(f64::NAN, Tolerance::Within { absolute: f64::INFINITY, relative: 0.0 }));
        assert!(!0_f32.is_close(-0.0, Tolerance::Exact));
        assert!(!1_f64.is_close(1.0_f64.next_up(), Tolerance::Exact));
        assert!(7_u8.is_close(7, Tolerance::Exact) && !7_u8.is_close(8, Tolerance::Exact));
    }

    #[test]
    fn ulps_count_through_zero_and_up_to_infinity() {
        let (tiny, one) = (f32::from_bits(1), 1_f32);
        assert!(tiny.is_close(-tiny, Tolerance::Ulps(2)) && !tiny.is_close(-tiny, Tolerance::Ulps(1)));
        assert!(0_f32.is_close(-0.0, Tolerance::Ulps(0)));
        assert!(one.is_close(one.next_up(), Tolerance::Ulps(1)));
        assert!(!one.next_down().is_close(one.next_up(), Tolerance::Ulps(1)));
        assert!(f64::MAX.is_close(f64::INFINITY, Tolerance::Ulps(1)));
        assert!(250_u8.is_close(255, Tolerance::Ulps(5)) && !250_u8.is_close(255, Tolerance::Ulps(4)));
    }

    #[test]
    fn within_is_absolute_and_relative_and_keeps_infinities() {
        let within = |absolute, relative| Tolerance::Within { absolute, relative };
        assert!(101_f32.is_close(100.0, within(0.0, 0.01)) && !102_f32.is_close(100.0, within(0.0, 0.01)));
        assert!(0.5_f64.is_close(0.0, within(0.5, 0.0)) && !0.6_f64.is_close(0.0, within(0.5, 1.0)));
        assert!(f32::INFINITY.is_close(f32::INFINITY, within(0.0, 0.0)));
        assert!(!f32::INFINITY.is_close(f32::NEG_INFINITY, within(f64::INFINITY, 0.0)));
    }

    #[test]
    #[should_panic(expected = "sums: 1 of 3 differ by more than Ulps(1): [2] 3.0, expected 4.0")]
    fn the_first_difference_is_named() {
        assert_close(&[1.0, 2.0, 3.0], &[1.0, 2.0, 4.0], Tolerance::Ulps(1), "sums");
    }

    #[test]
    #[should_panic(expected = "elements")]
    fn a_missing_element_is_a_difference() {
        assert_close(&[1_u32], &[1, 2], Tolerance::Exact, "indices");
    }
}
