// A kernel that writes all of a buffer gets it with `&mut`.

use thalweg::prelude::*;
use thalweg_kernels::grayscale;

stream_pipeline! {
    pipeline P {
        input x: [u8; 3];
        output y: [u8];
        device d_y: [u8];
        stage all { copy x -> d_x; grayscale<<<1, 32>>>(&d_x, &mut d_y); copy d_y -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1; 12], &mut [0; 4])?;
    Ok(())
}
