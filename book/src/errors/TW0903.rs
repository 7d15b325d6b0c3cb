use thalweg::prelude::*;

const TAPS: usize = 4;

#[kernel]
fn weighted(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = if TAPS % 2_usize == 1 { x[i] } else { -x[i] };
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        stage all { copy x -> dx; weighted<<<1, 32>>>(&dx, out dy); copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
