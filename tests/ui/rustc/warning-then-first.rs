// A callback stands before everything else on its stream.

#![deny(deprecated)]

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stream up;
        stream told;
        stage over on up { copy y -> dy; copy dy -> y; }
        stage tell on told { then |c| println!("{}", c.index); }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
