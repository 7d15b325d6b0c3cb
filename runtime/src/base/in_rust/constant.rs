//! Constants outside of a kernel, written in C++.

use super::types::{KernelType, RustType};

/// A constant that kernels may name: a number, a `bool`, a struct with `#[device]`, or an array of them.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot use a constant of type `{Self}`",
    label = "expected a number, a `bool`, a struct with `#[device]`, or an array of them"
)]
#[doc(hidden)]
pub trait KernelConstant: KernelType {
    /// The value in C++.
    fn value(&self) -> String;
}

/// A constant that is a field of a struct. Generated code has the bound `for<'a> T: FieldConstant<'a>`, so that a
/// field of another type is one error: where the field's type is named.
#[doc(hidden)]
pub trait FieldConstant<'a>: KernelConstant {}
impl<T: KernelConstant> FieldConstant<'_> for T {}

macro_rules! integers {
    ($($ty:ident $suffix:literal),*) => {$(
        impl KernelConstant for $ty {
            fn value(&self) -> String {
                // C++ has no negative literals, and the least number without its sign does not fit.
                if *self == $ty::MIN && $ty::MIN != 0 {
                    return format!("{}({}{} - 1)", stringify!($ty), *self + 1, $suffix);
                }
                format!("{}({self}{})", stringify!($ty), $suffix)
            }
        }
    )*};
}
integers!(u8 "", u16 "", u32 "u", u64 "ull", usize "ull", i8 "", i16 "", i32 "", i64 "ll", isize "ll");

macro_rules! floats {
    ($($ty:ident $suffix:literal),*) => {$(
        impl KernelConstant for $ty {
            fn value(&self) -> String {
                if self.is_nan() {
                    return format!("tw::nan<{}>()", stringify!($ty));
                }
                if self.is_infinite() {
                    let sign = if *self < 0.0 { "-" } else { "" };
                    return format!("{sign}tw::infinity<{}>()", stringify!($ty));
                }
                // The shortest digits that are read as this number.
                format!("{self:?}{}", $suffix)
            }
        }
    )*};
}
floats!(f32 "f", f64 "");

macro_rules! halves {
    ($($ty:ident)*) => {$(
        impl KernelConstant for half::$ty {
            fn value(&self) -> String {
                format!("{}{{{}}}", stringify!($ty), self.to_bits())
            }
        }
    )*};
}
halves!(f16 bf16);

impl KernelConstant for bool {
    fn value(&self) -> String {
        self.to_string()
    }
}

impl<T: KernelConstant, const N: usize> KernelConstant for [T; N] {
    fn value(&self) -> String {
        let values: Vec<_> = self.iter().map(T::value).collect();
        format!("{{{{{}}}}}", values.join(", "))
    }
}

/// The value of a struct whose fields have these values.
#[doc(hidden)]
pub fn struct_value(fields: &[String]) -> String {
    format!("{{{}}}", fields.join(", "))
}

/// The type and the value of a constant.
#[doc(hidden)]
pub fn constant<T: KernelConstant>(value: &T) -> (&'static RustType, String) {
    (T::TYPE, value.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written<T: KernelConstant>(value: T) -> String {
        let (ty, value) = constant(&value);
        format!("{} = {value}", ty.in_cpp(&|_| 0))
    }

    #[test]
    fn constants_are_exact() {
        assert_eq!(written(32_usize), "usize = usize(32ull)");
        assert_eq!(written(i32::MIN), "i32 = i32(-2147483647 - 1)");
        assert_eq!(written(i64::MIN), "i64 = i64(-9223372036854775807ll - 1)");
        assert_eq!(written(-3_i8), "i8 = i8(-3)");
        assert_eq!(written(0.1_f32), "f32 = 0.1f");
        assert_eq!(written(1e300_f64), "f64 = 1e300");
        assert_eq!(written(f32::NEG_INFINITY), "f32 = -tw::infinity<f32>()");
        assert_eq!(written([1.5_f32, -0.0]), "tw::Array<f32, 2> = {{1.5f, -0.0f}}");
        assert_eq!(written(half::f16::ONE), "f16 = f16{15360}");
        assert_eq!(written(true), "bool = true");
    }
}
