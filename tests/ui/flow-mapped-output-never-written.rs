// No kernel writes a `mapped` `output`.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: mapped [f32];
        stage load { copy x -> _dx; }
    }
}

fn main() -> thalweg::Result<()> {
    let device = Device::open()?;
    let mut y = PinnedBuf::zeroed(&device, 4)?;
    P::new(&device)?.run(&[1.0; 4], &mut y)?;
    Ok(())
}
