use thalweg::prelude::*;

#[device]
fn power(x: f32, n: u32) -> f32 {
    let mut power = 1.0;
    for _ in 0..n {
        power *= x;
    }
    power
}

#[kernel]
fn cubed(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = power(x[i], 3);
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        stage all { copy x -> dx; cubed<<<1, 32>>>(&dx, out dy); copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
