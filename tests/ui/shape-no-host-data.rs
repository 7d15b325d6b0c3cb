// A pipeline without host data: nothing says how many items there are.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        device t: [f32];
        stage all { copy t -> u; copy u -> t; }
    }
}

fn main() -> Result<()> {
    P::new(&Device::open()?)?.run()?;
    Ok(())
}
