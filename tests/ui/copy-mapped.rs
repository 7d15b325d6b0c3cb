// A copy moves `mapped` data.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: mapped [f32];
        output y: [f32];
        stage load { copy x -> dx; }
        stage store { copy dx -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    let device = Device::open()?;
    let x = PinnedBuf::from_slice(&device, &[1.0; 4])?;
    P::new(&device)?.run(&x, &mut [0.0; 4])?;
    Ok(())
}
