use thalweg::prelude::*;

#[kernel]
fn clamped(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let limit = |x: f32| x.clamp(0.0, 1.0);
    *y = limit(x[i]) + limit(x[i] * 10.0);
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        stage all { copy x -> dx; clamped<<<1, 32>>>(&dx, out dy); copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
