//! What threads of a block have in common: arrays in shared memory, and the values that they may have from
//! each other.

use std::array;
use std::fmt;
use std::ops;

use super::super::tiles::{self, Fill};
use sealed::Element;

/// The byte that shared memory is made of until it is filled: NaN in floats, and no likely integer.
const UNDEFINED: u8 = 0xff;

/// An array in the shared memory of a block. All threads read it, and [`Block::fill`](super::Block::fill)
/// writes it. One of atomics is changed by all of them.
pub struct Shared<A: SharedArray>(pub(in super::super) Box<A::Held>);

impl<A: SharedArray> ops::Deref for Shared<A> {
    type Target = A::Held;

    #[inline]
    fn deref(&self) -> &A::Held {
        &self.0
    }
}

impl<A: SharedArray> tiles::sealed::Fill for Shared<A> {}

impl<A: SharedArray> Fill for Shared<A> {
    type At = A::At;
    type Element = A::Element;

    #[inline]
    fn places(&self) -> usize {
        A::LENGTH
    }

    #[inline]
    fn at(&self, place: usize) -> Option<A::At> {
        Some(A::at(place))
    }

    #[inline]
    fn set(&mut self, place: usize, value: A::Element) {
        A::set(&mut self.0, place, value);
    }
}

impl<A: SharedArray> fmt::Debug for Shared<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

#[doc(hidden)]
pub mod sealed {
    //! What `#[device]` implements for structs, too.

    use std::fmt;
    use std::num::NonZeroU16;

    use super::UNDEFINED;

    /// The place of an element of a shared array or slice. Atomics have one each until they are written, so it is
    /// small: they have at least four bytes, and a block at most 227 KiB, so that 16 bits hold every place.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Element {
        /// Counted from 1 on, row by row.
        number: NonZeroU16,
        /// How many a row has; 0 if there are no rows.
        columns: u16,
    }

    impl Element {
        /// `[place]`
        pub(in crate::base::in_rust) fn of(place: usize) -> Self {
            Self { number: NonZeroU16::MIN.saturating_add(place as u16), columns: 0 }
        }

        /// `[row][column]`, where rows have so many columns.
        pub(in crate::base::in_rust) fn of_row([row, column]: [usize; 2], columns: usize) -> Self {
            Self { columns: columns as u16, ..Self::of(row * columns + column) }
        }
    }

    impl fmt::Display for Element {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let (place, columns) = (self.number.get() - 1, self.columns);
            match columns {
                0 => write!(f, "[{place}]"),
                _ => write!(f, "[{}][{}]", place / columns, place % columns),
            }
        }
    }

    /// What an array in shared memory is made of.
    #[diagnostic::on_unimplemented(
        message = "shared memory has no elements of the type `{Self}`",
        label = "expected a number, a struct with `#[device]`, or an atomic",
        note = "both axes of an array are written in its type: `[[f32; 32]; 8]`"
    )]
    pub trait SharedElement {
        /// The number or struct.
        type Number;
        /// What stands for the element on the host.
        type Held;
        /// What the element is until it is written.
        fn undefined(element: Element) -> Self::Held;
        fn set(held: &mut Self::Held, value: Self::Number);
    }

    /// Its call makes rustc check that a type is one of elements, under whatever name.
    pub const fn shared_element<T: SharedElement>() {}

    /// What stands for itself on the host: a number or a struct, and no atomic.
    pub trait Number: SharedElement<Number = Self, Held = Self> + Sized {}

    impl<T: SharedElement<Number = T, Held = T>> Number for T {}

    /// A struct with `#[device]`.
    pub trait Structure: bytemuck::Pod {}

    impl<T: Structure> SharedElement for T {
        type Number = Self;
        type Held = Self;

        fn undefined(_: Element) -> Self {
            let mut value = Self::zeroed();
            bytemuck::bytes_of_mut(&mut value).fill(UNDEFINED);
            value
        }

        #[inline]
        fn set(held: &mut Self, value: Self) {
            *held = value;
        }
    }

    /// What may be a [`BlockValue`](super::BlockValue).
    pub trait Value {}
}

/// A value that the threads of a block may have from each other: a number, a `bool`, a struct with `#[device]`,
/// tuples and arrays of these.
///
/// No other is one: a thread's index would give a thread the element of another, and a reference may be to a
/// thread's own memory.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value that a block's threads may have from each other",
    label = "expected a number, a `bool`, a struct with `#[device]`, or a tuple or array of these"
)]
pub trait BlockValue: Copy + sealed::Value {}

macro_rules! numbers {
    ($($number:ty)*) => { $(
        impl sealed::SharedElement for $number {
            type Number = Self;
            type Held = Self;
            fn undefined(_: Element) -> Self {
                Self::from_ne_bytes([UNDEFINED; size_of::<Self>()])
            }

            #[inline]
            fn set(held: &mut Self, value: Self) {
                *held = value;
            }
        }
        impl sealed::Value for $number {}
        impl BlockValue for $number {}
    )* };
}
numbers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize half::f16 half::bf16 f32 f64);

impl sealed::Value for bool {}
impl BlockValue for bool {}
impl<T: BlockValue, const N: usize> sealed::Value for [T; N] {}
impl<T: BlockValue, const N: usize> BlockValue for [T; N] {}

macro_rules! tuples {
    ($(($($part:ident)*))*) => { $(
        impl<$($part: BlockValue),*> sealed::Value for ($($part,)*) {}
        impl<$($part: BlockValue),*> BlockValue for ($($part,)*) {}
    )* };
}
tuples!((A)(A B)(A B C)(A B C D)(A B C D E)(A B C D E F));

/// An array that shared memory can hold: of numbers, structs or atomics, or of arrays of them.
pub trait SharedArray {
    /// The place of an element: a number, or a row and a column.
    type At;
    /// A number or a struct.
    type Element;
    /// What the threads read: the array itself, or one of [`SharedAtomic`](super::super::SharedAtomic).
    type Held;
    /// The number of elements.
    #[doc(hidden)]
    const LENGTH: usize;
    /// The place of an element, along the last axis first.
    #[doc(hidden)]
    fn at(place: usize) -> Self::At;
    #[doc(hidden)]
    fn undefined() -> Box<Self::Held>;
    #[doc(hidden)]
    fn set(held: &mut Self::Held, place: usize, value: Self::Element);
}

impl<T: sealed::SharedElement, const N: usize> SharedArray for [T; N] {
    type At = usize;
    type Element = T::Number;
    type Held = [T::Held; N];
    const LENGTH: usize = N;

    #[inline]
    fn at(place: usize) -> usize {
        place
    }

    #[inline]
    fn undefined() -> Box<Self::Held> {
        Box::new(array::from_fn(|place| T::undefined(Element::of(place))))
    }

    #[inline]
    fn set(held: &mut Self::Held, place: usize, value: T::Number) {
        T::set(&mut held[place], value);
    }
}

impl<T: sealed::SharedElement, const R: usize, const C: usize> SharedArray for [[T; C]; R] {
    type At = [usize; 2];
    type Element = T::Number;
    type Held = [[T::Held; C]; R];
    const LENGTH: usize = R * C;

    #[inline]
    fn at(place: usize) -> [usize; 2] {
        [place / C, place % C]
    }

    #[inline]
    fn undefined() -> Box<Self::Held> {
        let undefined = |at| T::undefined(Element::of_row(at, C));
        Box::new(array::from_fn(|row| array::from_fn(|column| undefined([row, column]))))
    }

    #[inline]
    fn set(held: &mut Self::Held, place: usize, value: T::Number) {
        T::set(&mut held[place / C][place % C], value);
    }
}
