//! Tables of a library's functions, all looked up at once.
//!
//! A table finds all its functions before the first call, and names the one that is missing. It takes codes
//! as numbers: as Rust enums, a code that a newer library has added would be undefined behaviour. In unit
//! tests the compiler checks the signatures against those of the [headers](super::bindings).

use libloading::Library;

/// Declares a table.
///
/// `bindings` is the module with the library's types, `code` the enum that its functions return.
///
/// Each function becomes an unsafe method of the same name, whose contract is the C function's. The table
/// itself makes an error of a code other than 0, in a method `error(&self, function, code)`.
macro_rules! functions {
    (
        $(#[$attribute:meta])*
        struct $Table:ident, bindings $($bindings:ident)::+, code $Code:ident;
        $( fn $name:ident($( $argument:ident: $type:ty ),* $(,)?); )*
    ) => {
        $(#[$attribute])*
        #[allow(non_snake_case, reason = "the functions keep the library's names")]
        pub(super) struct $Table {
            $( $name: unsafe extern "C" fn($( $type ),*) -> u32, )*
        }

        impl $Table {
            /// Looks all functions up; the error is the name of the first that is missing.
            pub(super) fn find(library: &'static ::libloading::Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $(
                        // SAFETY: the library's function of this name has this type: the compiler has
                        // compared it with that of the header, which differs at most in the codes' type, a
                        // `u32` enum there and its underlying integer here.
                        $name: unsafe { $crate::backends::cuda::table::symbol(library, stringify!($name)) }.ok_or(stringify!($name))?,
                    )*
                })
            }
        }

        #[allow(
            non_snake_case,
            clippy::too_many_arguments,
            reason = "the functions keep the library's names and parameters"
        )]
        impl $Table {
            $(
                #[inline]
                pub(super) unsafe fn $name(&self, $( $argument: $type ),*) -> std::result::Result<(), std::boxed::Box<$crate::base::error::DriverError>> {
                    // SAFETY: the pointer is this function's, and the library is never unloaded. The caller
                    // keeps the function's contract.
                    let code = unsafe { (self.$name)($( $argument ),*) };
                    if code == 0 { Ok(()) } else { Err(self.error(stringify!($name), code)) }
                }
            )*
        }

        #[cfg(test)]
        const _: () = {
            use $($bindings)::+ as bindings;
            $( let _: unsafe fn($( $type ),*) -> bindings::$Code = bindings::$name; )*
        };
    };
}
pub(crate) use functions;

/// The library's symbol of this name, if it has it.
///
/// # Safety
/// `T` is a function pointer type, that of the symbol.
pub(crate) unsafe fn symbol<T: Copy>(library: &'static Library, name: &str) -> Option<T> {
    // SAFETY: `T` is the symbol's type, by the caller's promise.
    let symbol = unsafe { library.get::<T>(name) }.ok()?;
    Some(*symbol)
}
