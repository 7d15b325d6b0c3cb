use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        input x: [f32] halo 1 = clamp;
        output y: [f32];
        device dy: [f32];
        chunk c = auto;
        stage load { copy x -> dx; fill dy = 0.0; }
        stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, 2.0, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

pub fn main() -> Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
