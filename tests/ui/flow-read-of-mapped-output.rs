// A kernel reads a `mapped` `output` that nothing has written.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: mapped [f32];
        stage load { copy x -> dx; }
        stage axpy { saxpy<<<1, 32>>>(2.0, &dx, &mut y); }
    }
}

fn main() -> thalweg::Result<()> {
    let device = Device::open()?;
    let mut y = PinnedBuf::zeroed(&device, 4)?;
    P::new(&device)?.run(&[1.0; 4], &mut y)?;
    Ok(())
}
