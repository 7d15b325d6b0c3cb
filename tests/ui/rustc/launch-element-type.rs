// A buffer has other elements than the kernel's parameter.

use thalweg::prelude::*;
use thalweg_tests::by_hand::saxpy;

stream_pipeline! {
    pipeline P {
        param a: f32;
        input x: [u8];
        inout y: [f32];
        chunk c = auto;
        stage load { copy x -> d_bytes; copy y -> dy; }
        stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &d_bytes, &mut dy); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(3.0, &[1; 4], &mut [2.0; 4])?;
    Ok(())
}
