use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        param scale: bool;
        inout y: [f32];
        sync = manual;
        stream math;
        stream down;
        stage load on math {
            wait stored @ reuse;
            copy y -> dy;
            if scale { saxpy<<<1, 32>>>(2.0, &one, &mut dy); }
            record scaled;
        }
        stage store on down { wait scaled; copy dy -> y; record stored; }
        resident one: [f32];
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(true, &mut [2.0; 4], &[1.0; 4])?;
    Ok(())
}
