// A kernel reads its element of an `Out`.

use thalweg::prelude::*;

#[kernel]
fn add(i: Index, x: &[f32], sums: &mut Out<[f32]>) {
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
            add<<<blocks(c.len, 64), 64>>>(&dx, out d_sums);
            copy d_sums -> sums;
        }
    }
}

fn main() {}
