//! The types that kernels name and only rustc knows: structs with `#[device]`, and aliases.

use super::source::RustSource;

/// A type that kernels may use under any name.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type that kernels can use",
    label = "expected a number, a `bool`, an array of these, or a struct with `#[device]`",
    note = "if it is a struct, write above it:\n#[device]\n#[repr(C)]\n#[derive(Clone, Copy, Pod, Zeroable)]\n#[bytemuck(crate = \"thalweg::bytemuck\")]"
)]
pub trait KernelType {
    const TYPE: &'static RustType;
}

/// A type in C++.
#[derive(Debug)]
#[doc(hidden)]
pub enum RustType {
    /// A type of the header.
    Named(&'static str),
    Array(&'static RustType, usize),
    /// A struct, with its definition.
    Struct(&'static RustSource),
}

/// The layout that rustc gives to a struct.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct StructLayout {
    pub size: usize,
    pub align: usize,
    /// The names of the fields in C++, and their offsets in bytes.
    pub fields: &'static [(&'static str, usize)],
}

impl RustType {
    /// The struct that it is, or that it has as elements.
    pub(super) fn source(&'static self) -> Option<&'static RustSource> {
        match self {
            Self::Named(_) => None,
            Self::Array(of, _) => of.source(),
            Self::Struct(source) => Some(source),
        }
    }

    /// The type in C++, where `place` tells in which namespace a struct is.
    pub(super) fn in_cpp(&'static self, place: &dyn Fn(&'static RustSource) -> usize) -> String {
        match self {
            Self::Named(name) => (*name).to_owned(),
            Self::Array(of, length) => format!("tw::Array<{}, {length}>", of.in_cpp(place)),
            Self::Struct(source) => format!("in_rust_{}::{}", place(source), source.name),
        }
    }
}

impl StructLayout {
    /// The comparisons of this layout with the one that C++ gives to the struct of that name.
    pub(super) fn assertions(&self, name: &str) -> String {
        let Self { size, align, fields } = self;
        let mut text = format!(
            "static_assert(sizeof({name}) == {size} && alignof({name}) == {align}, \"`{name}` is as in Rust\");\n"
        );
        for (field, offset) in *fields {
            let at = format!("TW_OFFSET({name}, {field}) == {offset}");
            text += &format!("static_assert({at}, \"`{field}` is where Rust has it\");\n");
        }
        text
    }
}

impl<T: KernelType, const N: usize> KernelType for [T; N] {
    const TYPE: &'static RustType = &RustType::Array(T::TYPE, N);
}

/// A number or a `bool`: what has operators and methods in a kernel.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a kernel has operators and methods of numbers alone, and `{Self}` is none",
    label = "expected a number",
    note = "write what it does as a function with `#[device]`, outside of any `impl`"
)]
pub trait KernelNumber: Copy {}

/// Its call makes rustc check that a value is a number.
#[doc(hidden)]
pub const fn number<T: KernelNumber>(_: &T) {}

/// An array: what has indices and elements in a kernel.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a kernel has indices and elements of arrays and slices alone, and `{Self}` is neither",
    label = "expected an array",
    note = "write what it does as a function with `#[device]`, outside of any `impl`"
)]
pub trait KernelArray {}

impl<T, const N: usize> KernelArray for [T; N] {}

/// Its call makes rustc check that a value is an array.
#[doc(hidden)]
pub const fn array<T: KernelArray>(_: &T) {}

/// The bytes of a part of a struct, which a closure names.
#[doc(hidden)]
pub const fn size_of_part<T, U>(_: &impl Fn(&T) -> U) -> usize {
    size_of::<U>()
}

macro_rules! numbers {
    ($($name:ident: $number:ty;)*) => { $(
        impl KernelType for $number {
            const TYPE: &'static RustType = &RustType::Named(stringify!($name));
        }
        impl KernelNumber for $number {}
    )* };
}
numbers! {
    u8: u8;
    u16: u16;
    u32: u32;
    u64: u64;
    usize: usize;
    i8: i8;
    i16: i16;
    i32: i32;
    i64: i64;
    isize: isize;
    f16: half::f16;
    bf16: half::bf16;
    f32: f32;
    f64: f64;
    bool: bool;
}
