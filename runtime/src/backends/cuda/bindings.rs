//! The parts of the headers of CUDA and its libraries that this crate needs: handles, constants and
//! structures.
//!
//! They are this crate's own, so that no version of another crate's bindings has to be chosen: two crates of
//! one build could choose versions that exclude each other. In unit tests the crate is compiled with cudarc's
//! bindings in their place, which were made from the headers. The compiler then checks each signature of a
//! table, and a test compares each number and each layout.

/// Declares the bindings of one library, from these of cudarc.
///
/// `handle` is a pointer to an opaque type, `type` a name for another type, `const` a number, `enum` an
/// enumeration of the numbers that are used, and `struct` a structure with all its fields. `layout` is a type
/// that is declared in `also` and must have the same size and alignment.
// Note 18: types of this crate's own.
macro_rules! bindings {
    (
        from $($cudarc:ident)::+;
        $( handle $Handle:ident = $Opaque:ident; )*
        $( type $Alias:ident = $Is:ty; )*
        $( const $CONST:ident = $value:expr; )*
        $( enum $Enum:ident: $repr:ident { $( $variant:ident = $number:expr, )* } )*
        $( struct $Struct:ident { $( $field:ident: $type:ty, )* } )*
        $( layout $Layout:ident; )*
        $( also { $($also:item)* } )?
    ) => {
        #[cfg(test)]
        pub(crate) use $($cudarc)::+::*;
        #[cfg(not(test))]
        pub(crate) use own::*;

        #[cfg_attr(test, allow(dead_code, reason = "tests use cudarc's"))]
        #[allow(
            non_camel_case_types,
            non_snake_case,
            unused_imports,
            clippy::upper_case_acronyms,
            unreachable_pub,
            missing_debug_implementations,
            clippy::enum_variant_names,
            reason = "the names are those of the headers, and sealed traits have some of the types"
        )]
        pub(crate) mod own {
            use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

            $( pub enum $Opaque {} )*
            $( pub type $Handle = *mut $Opaque; )*
            $( pub type $Alias = $Is; )*
            $( pub const $CONST: u32 = $value; )*
            $(
                #[repr($repr)]
                #[derive(Debug, Clone, Copy, PartialEq, Eq)]
                pub enum $Enum { $( $variant = $number, )* }
            )*
            $(
                #[repr(C)]
                #[derive(Clone, Copy)]
                pub struct $Struct { $( pub $field: $type, )* }
            )*
            $( $($also)* )?
        }

        #[cfg(test)]
        mod tests {
            use std::mem::offset_of;

            use super::own;
            use $($cudarc)::+ as theirs;

            #[test]
            fn numbers_and_layouts_are_those_of_the_headers() {
                $( assert_eq!(own::$CONST, theirs::$CONST, stringify!($CONST)); )*
                $( $(
                    assert_eq!(own::$Enum::$variant as i64, theirs::$Enum::$variant as i64, stringify!($variant));
                )* )*
                $( assert_eq!(size_of::<own::$Handle>(), size_of::<theirs::$Handle>(), stringify!($Handle)); )*
                $( assert_eq!(size_of::<own::$Alias>(), size_of::<theirs::$Alias>(), stringify!($Alias)); )*
                $( assert_eq!(size_of::<own::$Enum>(), size_of::<theirs::$Enum>(), stringify!($Enum)); )*
                $(
                    let layout = |size: usize, align: usize| (size, align);
                    assert_eq!(
                        layout(size_of::<own::$Struct>(), align_of::<own::$Struct>()),
                        layout(size_of::<theirs::$Struct>(), align_of::<theirs::$Struct>()),
                        stringify!($Struct)
                    );
                    $( assert_eq!(
                        offset_of!(own::$Struct, $field),
                        offset_of!(theirs::$Struct, $field),
                        concat!(stringify!($Struct), ".", stringify!($field))
                    ); )*
                )*
                $(
                    assert_eq!(size_of::<own::$Layout>(), size_of::<theirs::$Layout>(), stringify!($Layout));
                    assert_eq!(align_of::<own::$Layout>(), align_of::<theirs::$Layout>(), stringify!($Layout));
                )*
                let _ = offset_of!((u8, u8), 0);
            }
        }
    };
}
pub(crate) use bindings;
