//! Atomics of kernels: those of a buffer's numbers, and those in a block's shared memory.

mod floats;
mod shared;

use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64};

use bytemuck::Pod;

use super::blocks::sealed as sealed_of_blocks;

pub use floats::{AtomicF32, AtomicF64};
pub use shared::SharedAtomic;

mod sealed {
    pub trait Atomic {}
}

/// An atomic that a kernel takes as `&[A]`, of a buffer of plain numbers: it has the number's bits.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an atomic that kernels know",
    label = "expected std's `AtomicU32`, `AtomicI32`, `AtomicU64` or `AtomicI64`, or `AtomicF32` or `AtomicF64` \
             of `thalweg::kernel`"
)]
pub trait KernelAtomic: sealed::Atomic + Sync {
    type Number: Pod;
}

macro_rules! atomics {
    ($($atomic:ident $number:ident),*) => {$(
        const _: () = assert!(size_of::<$atomic>() == size_of::<$number>());

        impl sealed::Atomic for $atomic {}
        impl KernelAtomic for $atomic {
            type Number = $number;
        }

        impl sealed_of_blocks::SharedElement for $atomic {
            type Number = $number;
            type Held = SharedAtomic<$number>;

            fn undefined(element: sealed_of_blocks::Element) -> SharedAtomic<$number> {
                let undefined = <$number as sealed_of_blocks::SharedElement>::undefined(element);
                SharedAtomic::unwritten(undefined, element)
            }

            #[inline]
            fn set(held: &mut SharedAtomic<$number>, value: $number) {
                *held = SharedAtomic::new(value);
            }
        }
    )*};
}
atomics!(
    AtomicU32 u32, AtomicI32 i32, AtomicU64 u64, AtomicI64 i64, AtomicF32 f32, AtomicF64 f64
);
