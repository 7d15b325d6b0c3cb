//! The numbers that ranks reduce, and how.

use bytemuck::Pod;
use half::{bf16, f16};

/// How elements of several ranks become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Reduce {
    Sum,
    Mean,
    Min,
    Max,
    Product,
}

/// The type of an element, as a device's library knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Element {
    I8,
    U8,
    I32,
    U32,
    I64,
    U64,
    F16,
    BF16,
    F32,
    F64,
}

impl Element {
    /// Its name in Rust.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Its bytes.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::F16 | Self::BF16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

mod sealed {
    pub trait Sealed {
        /// The type, and any reduction.
        const SUM: super::Operands;
    }
}

use sealed::Sealed;

/// A number that ranks can reduce: `i8`, `u8`, `i32`, `u32`, `i64`, `u64`, `f16`, `bf16`, `f32` or `f64`, which are
/// those of NCCL.
#[diagnostic::on_unimplemented(
    message = "ranks cannot reduce elements of type `{Self}`",
    label = "`{Self}` is not one of the numbers that ranks reduce",
    note = "they are i8, u8, i32, u32, i64, u64, f16, bf16, f32 and f64",
    note = "`broadcast`, `all_gather`, `gather`, `scatter`, `all_to_all`, `pass` and `exchange` move any plain data"
)]
pub trait Number: Pod + Sealed {}

/// A number that has a mean of its own type: `f16`, `bf16`, `f32` or `f64`.
#[diagnostic::on_unimplemented(
    message = "elements of type `{Self}` have no mean",
    label = "the mean of integers need not be an integer",
    note = "reduce with `sum`, and divide in a kernel"
)]
pub trait Average: Number {}

macro_rules! numbers {
    ($($number:ty => $element:ident),+; $($average:ty),+) => {
        $(
            impl Sealed for $number {
                const SUM: Operands = Operands { reduce: Reduce::Sum, element: Element::$element };
            }
            impl Number for $number {}
        )+
        $(impl Average for $average {})+
    };
}

numbers! {
    i8 => I8, u8 => U8, i32 => I32, u32 => U32, i64 => I64, u64 => U64,
    f16 => F16, bf16 => BF16, f32 => F32, f64 => F64;
    f16, bf16, f32, f64
}

/// A way to make one element of several, for elements of type `T`.
pub trait Reduction<T> {
    #[doc(hidden)]
    fn operands() -> Operands;
}

/// A reduction and the type of its elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operands {
    pub(crate) reduce: Reduce,
    pub(crate) element: Element,
}

impl Operands {
    /// Those of a reduction whose result nobody reads.
    pub(crate) const ANY: Self = Self { reduce: Reduce::Max, element: Element::U8 };
}

macro_rules! reductions {
    ($($(#[$text:meta])+ $name:ident: $bound:ident;)+) => {
        $(
            $(#[$text])+
            #[derive(Debug, Clone, Copy)]
            pub struct $name;

            impl<T: $bound> Reduction<T> for $name {
                fn operands() -> Operands {
                    Operands { reduce: Reduce::$name, ..T::SUM }
                }
            }
        )+
    };
}

reductions! {
    /// The sum.
    Sum: Number;
    /// The sum divided by the number of ranks.
    Mean: Average;
    /// The least element.
    Min: Number;
    /// The greatest element.
    Max: Number;
    /// The product.
    Product: Number;
}
