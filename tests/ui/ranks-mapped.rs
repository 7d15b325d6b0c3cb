// A collective names mapped memory.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: mapped [f32];
        stage share { all_reduce sum y; }
    }
}

fn main() -> thalweg::Result<()> {
    let device = Device::open()?;
    let mut y = PinnedBuf::from_slice(&device, &[1.0; 4])?;
    P::new(&device)?.run(&mut y)?;
    Ok(())
}
