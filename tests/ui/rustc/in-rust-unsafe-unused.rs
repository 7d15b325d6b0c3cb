// `unsafe` stands where nothing needs it.

#![deny(unused_unsafe)]

use thalweg::prelude::*;

#[kernel]
pub fn k(i: Index, x: &[u32], y: &mut Own<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = unsafe { x[i] };
}

stream_pipeline! {
    pub pipeline P {
        input x: [u32];
        inout y: [u32];
        chunk c = 4;
        stage all {
            copy x -> dx;
            copy y -> dy;
            unsafe { k<<<1, 4>>>(&dx, &mut dy); }
            copy dy -> y;
        }
    }
}

fn main() {}
