// A shared device buffer is given for an `output`.

use thalweg::prelude::*;
use thalweg::DeviceBuf;
use thalweg_kernels::grayscale;

stream_pipeline! {
    pipeline P {
        input x: [u8; 3];
        output y: device [u8];
        stage load { copy x -> dx; }
        stage gray { grayscale<<<1, 32>>>(&dx, out y); }
    }
}

fn main() -> thalweg::Result<()> {
    let device = Device::open()?;
    let y = DeviceBuf::<u8>::zeroed(&device, 4)?;
    P::new(&device)?.run(&[1; 12], &y)?;
    Ok(())
}
