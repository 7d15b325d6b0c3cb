use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        stage load { copy x -> dx; }
        stage store { copy dx -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    let device = Device::open()?;
    let x = PinnedBuf::from_slice(&device, &[1.0; 4])?;
    P::new(&device)?.run(&x, &mut [0.0; 4])?;
    Ok(())
}
