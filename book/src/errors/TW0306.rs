use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        param w_len: usize;
        inout y: [f32];
        resident w: [f32];
        stage all { copy y -> dy; saxpy<<<blocks(w_len, 256), 256>>>(2.0, &w, &mut dy); copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    let w = [1.0; 4];
    P::new(&Device::open()?)?.run(w.len(), &mut [2.0; 4], &w)?;
    Ok(())
}
