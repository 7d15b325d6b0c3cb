use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let sum = block.reduce(|t| x[t.rank()], |a, b| a + b);
    y.put(block.index(), sum);
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32; 1] per chunk;
        device dy: [f32; 1] per chunk;
        chunk c = 32;
        stage all { copy x -> dx; k<<<1, 32>>>(&dx, out dy); copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    let mut sums = [0.0; 2];
    P::new(&Device::open()?)?.run(&[1.0; 64], &mut sums)?;
    assert_eq!(sums, [32.0; 2]);
    Ok(())
}
