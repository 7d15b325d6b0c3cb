// A `Vec` is given for a `mapped` `output`.

use thalweg::prelude::*;
use thalweg_kernels::grayscale;

stream_pipeline! {
    pipeline P {
        input x: [u8; 3];
        output y: mapped [u8];
        stage load { copy x -> dx; }
        stage gray { grayscale<<<1, 32>>>(&dx, out y); }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1; 12], &mut vec![0_u8; 4])?;
    Ok(())
}
