use thalweg::prelude::*;
use thalweg_kernels::stencil_3;

stream_pipeline! {
    pipeline P {
        input x: [f32] halo 1 = clamp;
        output y: [f32];
        device dy: [f32];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage smooth { stencil_3<<<blocks(c.len, 256), 256>>>(0.25, 0.5, 0.25, &dx, out dy); }
        stage store { copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    let mut y = [0.0; 4];
    P::new(&Device::open()?)?.run(&[0.0, 4.0, 0.0, 8.0], &mut y)?;
    assert_eq!(y, [1.0, 2.0, 3.0, 6.0]);
    Ok(())
}
