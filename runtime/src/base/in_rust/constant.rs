//! Constants outside of a kernel, written in C++.

/// A constant that kernels may name: a number, a `bool`, or an array of them.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot use a constant of type `{Self}`",
    label = "expected a number, a `bool`, or an array of them"
)]
#[doc(hidden)]
pub trait KernelConstant {
    /// The type in C++.
    fn ty() -> String;
    /// The value in C++.
    fn value(&self) -> String;
}

macro_rules! integers {
    ($($ty:ident $suffix:literal),*) => {$(
        impl KernelConstant for $ty {
            fn ty() -> String {
                stringify!($ty).to_owned()
            }

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
            fn ty() -> String {
                stringify!($ty).to_owned()
            }

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

impl KernelConstant for bool {
    fn ty() -> String {
        "bool".to_owned()
    }

    fn value(&self) -> String {
        self.to_string()
    }
}

impl<T: KernelConstant, const N: usize> KernelConstant for [T; N] {
    fn ty() -> String {
        format!("tw::Array<{}, {N}>", T::ty())
    }

    fn value(&self) -> String {
        let values: Vec<_> = self.iter().map(T::value).collect();
        format!("{{{{{}}}}}", values.join(", "))
    }
}

/// The definition of a constant, under its name in C++.
#[doc(hidden)]
pub fn constant<T: KernelConstant>(name: &str, value: &T) -> String {
    format!("constexpr {} {name} = {};", T::ty(), value.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_exact() {
        assert_eq!(constant("N", &32_usize), "constexpr usize N = usize(32ull);");
        assert_eq!(constant("N", &i32::MIN), "constexpr i32 N = i32(-2147483647 - 1);");
        assert_eq!(constant("N", &i64::MIN), "constexpr i64 N = i64(-9223372036854775807ll - 1);");
        assert_eq!(constant("N", &-3_i8), "constexpr i8 N = i8(-3);");
        assert_eq!(constant("X", &0.1_f32), "constexpr f32 X = 0.1f;");
        assert_eq!(constant("X", &1e300_f64), "constexpr f64 X = 1e300;");
        assert_eq!(constant("X", &f32::NEG_INFINITY), "constexpr f32 X = -tw::infinity<f32>();");
        assert_eq!(constant("W", &[1.5_f32, -0.0]), "constexpr tw::Array<f32, 2> W = {{1.5f, -0.0f}};");
        assert_eq!(constant("B", &true), "constexpr bool B = true;");
    }
}
