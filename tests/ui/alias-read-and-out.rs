// One buffer is passed both as `&` and as `out`.

use thalweg::prelude::*;
use thalweg_kernels::grayscale;

stream_pipeline! {
    pipeline P {
        inout y: [u8];
        chunk c = auto;
        stage all { copy y -> dy; grayscale<<<1, 256>>>(&dy, out dy); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2; 4])?;
    Ok(())
}
