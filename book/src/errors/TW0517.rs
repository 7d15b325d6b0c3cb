use thalweg::prelude::*;

/// Twice each element.
#[kernel]
fn double(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = 2.0 * x[i];
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage twice { double<<<blocks(c.len, 256), 256>>>(&dx, out dy); }
        stage store { copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
