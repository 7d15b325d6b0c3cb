use thalweg::prelude::*;

#[kernel]
fn add(i: Index, x: &[f32], sums: &mut Own<[f32]>) {
    let Some(sum) = sums.get_mut(i) else { return };
    *sum += x[i];
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output sums: [f32];
        device d_sums: [f32];
        chunk c = 64;
        stage all {
            copy x -> dx;
            fill d_sums = 1.0;
            add<<<blocks(c.len, 64), 64>>>(&dx, &mut d_sums);
            copy d_sums -> sums;
        }
    }
}

pub fn main() -> thalweg::Result<()> {
    let mut sums = [0.0; 3];
    P::new(&Device::open()?)?.run(&[1.0, 2.0, 3.0], &mut sums)?;
    assert_eq!(sums, [2.0, 3.0, 4.0]);
    Ok(())
}
