//! The arithmetic of reductions on the host.

use bytemuck::Pod;
use half::{bf16, f16};

use super::{Element, Reduce};

/// Integers wrap around, as they do on a GPU.
macro_rules! integer {
    ($number:ty, $reduce:expr) => {{
        let combined: fn($number, $number) -> $number = match $reduce {
            Reduce::Sum | Reduce::Mean => <$number>::wrapping_add,
            Reduce::Product => <$number>::wrapping_mul,
            Reduce::Min => Ord::min,
            Reduce::Max => Ord::max,
        };
        combined
    }};
}

macro_rules! float {
    ($number:ty, $reduce:expr) => {{
        let combined: fn($number, $number) -> $number = match $reduce {
            Reduce::Sum | Reduce::Mean => |one, other| one + other,
            Reduce::Product => |one, other| one * other,
            Reduce::Min => <$number>::min,
            Reduce::Max => <$number>::max,
        };
        combined
    }};
}

/// Numbers of 16 bits are combined as `f32`, and rounded.
macro_rules! narrow {
    ($number:ty, $reduce:expr) => {{
        let wide: fn(f32, f32) -> f32 = float!(f32, $reduce);
        move |one: $number, other: $number| <$number>::from_f32(wide(one.to_f32(), other.to_f32()))
    }};
}

/// Combines elements of two ranks: those of `other` into those of `into`.
///
/// The order of the two matters to floats: `into` is the one of the lower ranks.
pub(crate) fn combine(reduce: Reduce, element: Element, into: &mut [u8], other: &[u8]) {
    match element {
        Element::I8 => each(into, other, integer!(i8, reduce)),
        Element::U8 => each(into, other, integer!(u8, reduce)),
        Element::I32 => each(into, other, integer!(i32, reduce)),
        Element::U32 => each(into, other, integer!(u32, reduce)),
        Element::I64 => each(into, other, integer!(i64, reduce)),
        Element::U64 => each(into, other, integer!(u64, reduce)),
        Element::F16 => each(into, other, narrow!(f16, reduce)),
        Element::BF16 => each(into, other, narrow!(bf16, reduce)),
        Element::F32 => each(into, other, float!(f32, reduce)),
        Element::F64 => each(into, other, float!(f64, reduce)),
    }
}

/// Divides sums by the number of ranks, for a mean. Integers have none.
pub(crate) fn divide(element: Element, sums: &mut [u8], ranks: usize) {
    match element {
        Element::F16 => map(sums, |sum: f16| f16::from_f32(sum.to_f32() / ranks as f32)),
        Element::BF16 => map(sums, |sum: bf16| bf16::from_f32(sum.to_f32() / ranks as f32)),
        Element::F32 => map(sums, |sum: f32| sum / ranks as f32),
        Element::F64 => map(sums, |sum: f64| sum / ranks as f64),
        Element::I8 | Element::U8 | Element::I32 | Element::U32 | Element::I64 | Element::U64 => {}
    }
}

/// The element that changes nothing, as bytes.
pub(crate) fn neutral(reduce: Reduce, element: Element) -> Vec<u8> {
    macro_rules! of {
        ($number:ty, $one:expr, $least:expr, $greatest:expr) => {{
            let neutral: $number = match reduce {
                Reduce::Sum | Reduce::Mean => Default::default(),
                Reduce::Product => $one,
                Reduce::Min => $greatest,
                Reduce::Max => $least,
            };
            bytemuck::bytes_of(&neutral).to_vec()
        }};
    }
    match element {
        Element::I8 => of!(i8, 1, i8::MIN, i8::MAX),
        Element::U8 => of!(u8, 1, u8::MIN, u8::MAX),
        Element::I32 => of!(i32, 1, i32::MIN, i32::MAX),
        Element::U32 => of!(u32, 1, u32::MIN, u32::MAX),
        Element::I64 => of!(i64, 1, i64::MIN, i64::MAX),
        Element::U64 => of!(u64, 1, u64::MIN, u64::MAX),
        Element::F16 => of!(f16, f16::ONE, f16::NEG_INFINITY, f16::INFINITY),
        Element::BF16 => of!(bf16, bf16::ONE, bf16::NEG_INFINITY, bf16::INFINITY),
        Element::F32 => of!(f32, 1.0, f32::NEG_INFINITY, f32::INFINITY),
        Element::F64 => of!(f64, 1.0, f64::NEG_INFINITY, f64::INFINITY),
    }
}

/// Memory of a device may begin anywhere in a host's view of it, so elements are read one by one.
fn each<T: Pod>(into: &mut [u8], other: &[u8], combined: impl Fn(T, T) -> T) {
    let size = size_of::<T>();
    for (into, other) in into.chunks_exact_mut(size).zip(other.chunks_exact(size)) {
        let result = combined(bytemuck::pod_read_unaligned(into), bytemuck::pod_read_unaligned(other));
        into.copy_from_slice(bytemuck::bytes_of(&result));
    }
}

fn map<T: Pod>(elements: &mut [u8], changed: impl Fn(T) -> T) {
    for element in elements.chunks_exact_mut(size_of::<T>()) {
        let result = changed(bytemuck::pod_read_unaligned(element));
        element.copy_from_slice(bytemuck::bytes_of(&result));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Reduce; 5] = [Reduce::Sum, Reduce::Mean, Reduce::Min, Reduce::Max, Reduce::Product];

    fn combined<T: Pod>(reduce: Reduce, element: Element, one: T, other: T) -> T {
        let mut into = bytemuck::bytes_of(&one).to_vec();
        combine(reduce, element, &mut into, bytemuck::bytes_of(&other));
        bytemuck::pod_read_unaligned(&into)
    }

    #[test]
    fn each_type_is_reduced_as_a_gpu_does() {
        assert_eq!(combined(Reduce::Sum, Element::I8, 100_i8, 100), -56, "integers wrap around");
        assert_eq!(combined(Reduce::Product, Element::U32, 1_u32 << 31, 2), 0);
        assert_eq!(ALL.map(|reduce| combined(reduce, Element::I32, -3, 5)), [2, 2, -3, 5, -15]);
        assert_eq!(ALL.map(|reduce| combined(reduce, Element::I64, -3_i64, 5)), [2, 2, -3, 5, -15]);
        assert_eq!(ALL.map(|reduce| combined(reduce, Element::U8, 3_u8, 5)), [8, 8, 3, 5, 15]);
        assert_eq!(ALL.map(|reduce| combined(reduce, Element::U64, 3_u64, 5)), [8, 8, 3, 5, 15]);
        assert_eq!(
            ALL.map(|reduce| combined(reduce, Element::F32, -1.5_f32, 2.0)),
            [0.5, 0.5, -1.5, 2.0, -3.0]
        );
        assert_eq!(ALL.map(|reduce| combined(reduce, Element::F64, -1.5, 2.0)), [0.5, 0.5, -1.5, 2.0, -3.0]);
        let half = |number| f16::from_f32(number);
        assert_eq!(
            ALL.map(|reduce| combined(reduce, Element::F16, half(-1.5), half(2.0)).to_f32()),
            [0.5, 0.5, -1.5, 2.0, -3.0]
        );
        let brain = |number| bf16::from_f32(number);
        assert_eq!(
            ALL.map(|reduce| combined(reduce, Element::BF16, brain(-1.5), brain(2.0)).to_f32()),
            [0.5, 0.5, -1.5, 2.0, -3.0]
        );
    }

    #[test]
    fn neutral_elements_change_nothing() {
        macro_rules! check {
            ($($number:ty => $element:ident: $values:expr;)+) => {
                $(for reduce in ALL {
                    let nothing: $number = bytemuck::pod_read_unaligned(&neutral(reduce, Element::$element));
                    for value in $values {
                        assert_eq!(combined(reduce, Element::$element, value, nothing), value, "{reduce:?}");
                        assert_eq!(combined(reduce, Element::$element, nothing, value), value, "{reduce:?}");
                    }
                })+
            };
        }
        check! {
            i8 => I8: [i8::MIN, -1, 0, i8::MAX];
            u8 => U8: [0, 7, u8::MAX];
            i32 => I32: [i32::MIN, 0, 9, i32::MAX];
            u32 => U32: [0, 9, u32::MAX];
            i64 => I64: [i64::MIN, 0, i64::MAX];
            u64 => U64: [0, u64::MAX];
            f16 => F16: [f16::MIN, f16::ZERO, f16::MAX];
            bf16 => BF16: [bf16::MIN, bf16::ZERO, bf16::MAX];
            f32 => F32: [f32::MIN, -0.5, f32::MAX];
            f64 => F64: [f64::MIN, -0.5, f64::MAX];
        }
    }

    #[test]
    fn a_mean_is_a_sum_divided() {
        let mut sums = bytemuck::bytes_of(&[6.0_f32, -9.0]).to_vec();
        divide(Element::F32, &mut sums, 3);
        assert_eq!(bytemuck::pod_read_unaligned::<[f32; 2]>(&sums), [2.0, -3.0]);
        let mut sums = f16::from_f32(6.0).to_ne_bytes().to_vec();
        divide(Element::F16, &mut sums, 4);
        assert_eq!(f16::from_ne_bytes([sums[0], sums[1]]).to_f32(), 1.5);
    }
}
