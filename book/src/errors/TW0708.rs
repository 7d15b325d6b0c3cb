use thalweg::prelude::*;

const CHUNK: usize = 1 << 19;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output z: [f32];
        chunk c = CHUNK;
        depth = 3;
        budget = 8 * MIB;
        stage all { copy x -> dx; copy dx -> z; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
