//! The complex numbers of the crate `num-complex`, as structs that kernels know.

use std::mem::{align_of, offset_of, size_of};

use num_complex::Complex;

use super::blocks::{BlockValue, sealed};
use super::constant::{KernelConstant, struct_value};
use super::source::{RustSource, RustText};
use super::types::{KernelType, RustType, StructLayout};

macro_rules! complex {
    ($($number:ident)*) => { $(
        impl KernelType for Complex<$number> {
            const TYPE: &'static RustType = {
                static SOURCE: RustSource = RustSource {
                    name: "Complex",
                    file: file!(),
                    text: RustText {
                        text: concat!(
                            "struct Complex {\n    ", stringify!($number), " re;\n    ", stringify!($number), " im;\n};\n"
                        ),
                        lines: &[],
                    },
                    constants: &[],
                    types: &[],
                    callees: &[],
                    layout: Some(StructLayout {
                        size: size_of::<Complex<$number>>(),
                        align: align_of::<Complex<$number>>(),
                        fields: &[
                            ("re", offset_of!(Complex<$number>, re)),
                            ("im", offset_of!(Complex<$number>, im)),
                        ],
                    }),
                };
                &RustType::Struct(&SOURCE)
            };
        }

        impl sealed::Structure for Complex<$number> {}
        impl sealed::Value for Complex<$number> {}
        impl BlockValue for Complex<$number> {}

        impl KernelConstant for Complex<$number> {
            fn value(&self) -> String {
                struct_value(&[self.re.value(), self.im.value()])
            }
        }
    )* };
}
complex!(f32 f64);
