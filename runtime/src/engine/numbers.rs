//! The methods and functions of the number types themselves, whose results follow from their arguments.
//!
//! The macro sees only names. The types and the user's scope decide which function `x.sqrt()` or
//! `u32::from(x)` calls. So the generated code asks here, and rustc decides. A number's own method that takes
//! it by value takes precedence over any trait's.

use std::any::{Any, TypeId};
use std::marker::PhantomData;

use crate::base::chunk::Chunk;

/// The type of an expression.
#[inline]
pub fn type_of<T>(_: &T) -> PhantomData<T> {
    PhantomData
}

// Note 38: rustc has the last word on what a run depends on.
fn word_if(is_known: bool) -> Option<u64> {
    is_known.then_some(0)
}

/// Functions that say whether a function, called with some arguments, is the one of these types.
macro_rules! functions {
    ($($name:ident: $($ty:ident)*;)*) => {$(
        #[doc = concat!("A word if what is called is a number's `", stringify!($name), "`.")]
        #[inline]
        pub fn $name<F: Any, R>(_: &F, _called: impl FnOnce(&F, Chunk) -> R) -> Option<u64> {
            // Each function has a type of its own.
            word_if([$(<$ty>::$name.type_id()),*].contains(&TypeId::of::<F>()))
        }
    )*};
}

/// Asserts that a type has a stable method of its own (no trait is in scope), which takes the number by
/// value.
macro_rules! takes {
    ($ty:ident $name:ident()) => {
        let _: fn($ty) -> _ = <$ty>::$name;
    };
    ($ty:ident $name:ident(_)) => {
        let _: fn($ty, _) -> _ = <$ty>::$name;
    };
    ($ty:ident $name:ident(_, _)) => {
        let _: fn($ty, _, _) -> _ = <$ty>::$name;
    };
}

macro_rules! own {
    ($($name:ident $arguments:tt: $($ty:ident)*;)*) => {
        /// Functions that say whether the type of a receiver, which is not evaluated, has this method of its
        /// own.
        #[no_implicit_prelude]
        mod own {
            use ::core::ops::FnOnce;
            use ::core::option::Option;

            use super::{Chunk, PhantomData, TypeId};

            $(
                #[doc = ::core::concat!("A word if a receiver has a `", ::core::stringify!($name), "` of its own.")]
                #[inline]
                pub fn $name<T: 'static>(_: impl FnOnce(Chunk) -> PhantomData<T>) -> Option<u64> {
                    $(takes!($ty $name $arguments);)*
                    super::word_if([$(TypeId::of::<$ty>()),*].contains(&TypeId::of::<T>()))
                }
            )*
        }

        mod associated {
            use super::{Any, Chunk, TypeId, word_if};

            functions! { $($name: $($ty)*;)* }
        }
    };
}

own! {
    abs(): i8 i16 i32 i64 isize f32 f64;
    abs_diff(_): i8 i16 i32 i64 isize u8 u16 u32 u64 usize;
    ceil(): f32 f64;
    div_ceil(_): u8 u16 u32 u64 usize;
    floor(): f32 f64;
    is_multiple_of(_): u8 u16 u32 u64 usize;
    is_power_of_two(): u8 u16 u32 u64 usize;
    isqrt(): i8 i16 i32 i64 isize u8 u16 u32 u64 usize;
    log2(): f32 f64;
    mul_add(_, _): f32 f64;
    next_multiple_of(_): u8 u16 u32 u64 usize;
    next_power_of_two(): u8 u16 u32 u64 usize;
    pow(_): i8 i16 i32 i64 isize u8 u16 u32 u64 usize;
    powi(_): f32 f64;
    recip(): f32 f64;
    saturating_add(_): i8 i16 i32 i64 isize u8 u16 u32 u64 usize;
    saturating_mul(_): i8 i16 i32 i64 isize u8 u16 u32 u64 usize;
    saturating_sub(_): i8 i16 i32 i64 isize u8 u16 u32 u64 usize;
    sqrt(): f32 f64;
    trailing_zeros(): i8 i16 i32 i64 isize u8 u16 u32 u64 usize;
}

/// The methods of numbers, each by its name.
pub mod methods {
    use super::{Any, Chunk, PhantomData, TypeId, word_if};

    pub use super::own::*;

    /// Floating-point numbers have these methods of their own, integers have them from [`Ord`]. The second
    /// closure makes the call with `Ord` in scope: if the method is another trait's, the call is ambiguous
    /// there, and rustc refuses it.
    macro_rules! ordered {
        ($($name:ident $arguments:tt)*) => {$(
            #[doc = concat!("A word if a receiver is a number, of which `", stringify!($name), "` is called.")]
            #[inline]
            pub fn $name<T: Any, R>(
                _: impl FnOnce(Chunk) -> PhantomData<T>,
                _called: impl FnOnce(Chunk) -> R,
            ) -> Option<u64> {
                takes!(f32 $name $arguments);
                takes!(f64 $name $arguments);
                word_if(is_ordered(TypeId::of::<T>()))
            }
        )*};
    }
    ordered!(max(_) min(_) clamp(_, _));

    fn is_ordered(ty: TypeId) -> bool {
        macro_rules! is_one_of {
            ($($ty:ident)*) => { [$(TypeId::of::<$ty>()),*].contains(&ty) };
        }
        is_one_of!(f32 f64 i8 i16 i32 i64 isize u8 u16 u32 u64 usize)
    }
}

/// The functions of numbers' types, each by its name.
pub mod functions {
    use super::{Any, Chunk, TypeId, word_if};

    pub use super::associated::*;

    functions! {
        max: i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64;
        min: i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64;
        clamp: i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64;
        from_bits: f32 f64;
        to_bits: f32 f64;
        from_ne_bytes: i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64;
    }

    /// The conversions between numbers.
    #[inline]
    pub fn from<F: Any, R>(_: &F, _called: impl FnOnce(&F, Chunk) -> R) -> Option<u64> {
        macro_rules! is_one_of {
            ($($to:ident: $($from:ident)*;)*) => {
                [$($((<$to as From<$from>>::from).type_id()),*),*].contains(&TypeId::of::<F>())
            };
        }
        word_if(is_one_of! {
            i8: i8 bool;
            i16: i16 i8 u8 bool;
            i32: i32 i16 i8 u16 u8 bool;
            i64: i64 i32 i16 i8 u32 u16 u8 bool;
            isize: isize i16 i8 u8 bool;
            u8: u8 bool;
            u16: u16 u8 bool;
            u32: u32 u16 u8 bool char;
            u64: u64 u32 u16 u8 bool char;
            usize: usize u16 u8 bool;
            f32: f32 i16 i8 u16 u8 bool;
            f64: f64 f32 i32 i16 i8 u32 u16 u8 bool;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trait whose methods have the names of numbers' own, such as a user may declare.
    trait Noise: Sized {
        fn pow(self) -> u32 {
            1
        }
    }

    impl Noise for f32 {}
    impl Noise for u32 {}

    #[test]
    fn a_method_is_of_the_types_that_have_it() {
        assert_eq!(methods::isqrt(|_| type_of(&1_u32)), Some(0));
        assert_eq!(methods::isqrt(|_| type_of(&1_f32)), None);
        assert_eq!(methods::sqrt(|_| type_of(&1_f32)), Some(0));
        assert_eq!(methods::sqrt(|chunk| type_of(&chunk.len)), None);
        assert_eq!(methods::max(|_| type_of(&1_f64), |_| 1_f64.max(2.0)), Some(0));
        assert_eq!(methods::max(|_| type_of(&1_i8), |chunk| (chunk.len as i8).max(2)), Some(0));
        assert_eq!(methods::max(|_| type_of(&'a'), |chunk| char::from(chunk.len as u8).max('b')), None);
        assert_eq!(methods::abs(|_| type_of(&&1_i8)), None);
    }

    #[test]
    fn a_function_is_the_numbers_own() {
        assert_eq!(functions::pow(&u32::pow, |function, _| function(2, 3)), Some(0));
        assert_eq!(functions::isqrt(&u32::isqrt, |function, _| function(4)), Some(0));
        assert_eq!(functions::pow(&f32::pow, |function, _| function(2.0)), None);
        assert_eq!(functions::pow(&<u32 as Noise>::pow, |function, _| function(2)), None);
        assert_eq!(functions::max(&usize::max, |function, _| function(2, 3)), Some(0));
        assert_eq!(functions::max(&char::max, |function, _| function('a', 'b')), None);
        assert_eq!(functions::max(&u32::min, |function, _| function(2, 3)), None);
        // The argument decides which type `from` converts.
        assert_eq!(functions::from(&u64::from, |function, _| function(7_u8)), Some(0));
        assert_eq!(functions::from(&f64::from, |function, _| function(1.5_f32)), Some(0));
        assert_eq!(functions::from(&String::from, |function, _| function("7")), None);
        assert_eq!(functions::from_bits(&f32::from_bits, |function, _| function(7)), Some(0));
    }
}
