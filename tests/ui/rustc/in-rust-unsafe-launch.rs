// A pipeline launches a kernel that is an `unsafe fn`, and does not say `unsafe`.

use thalweg::prelude::*;

/// # Safety
/// `x` has no number twice.
#[kernel]
pub unsafe fn k(i: Index, x: &[u32], y: &mut Own<[u32]>) {
    unsafe { *y.any_mut(x[i] as usize) = 1 };
}

stream_pipeline! {
    pub pipeline P {
        input x: [u32];
        inout y: [u32];
        chunk c = 4;
        stage all {
            copy x -> dx;
            copy y -> dy;
            k<<<1, 4>>>(&dx, &mut dy);
            copy dy -> y;
        }
    }
}

fn main() {}
