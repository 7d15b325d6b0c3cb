// A kernel is to write host scratch.

use thalweg::prelude::*;
use thalweg_kernels::grayscale;

stream_pipeline! {
    pipeline P {
        input x: [u8; 3];
        output y: [u8];
        host h: [u8];
        stage load { copy x -> dx; }
        stage gray { grayscale<<<1, 32>>>(&dx, out h); }
        stage store { copy h -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1; 12], &mut [0; 4])?;
    Ok(())
}
