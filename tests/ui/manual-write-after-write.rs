// Two stages write one buffer, and nothing orders them.

use thalweg::prelude::*;
use thalweg_kernels::grayscale;

stream_pipeline! {
    pipeline P {
        input a: [u8; 3];
        input b: [u8; 3];
        output z: [u8];
        device dz: [u8];
        sync = manual;
        stage first { wait store_done @ reuse; copy a -> da; grayscale<<<1, 256>>>(&da, out dz); record first_done; }
        stage second { copy b -> db; grayscale<<<1, 256>>>(&db, out dz); record second_done; }
        stage store { wait first_done; wait second_done; copy dz -> z; record store_done; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1; 12], &[2; 12], &mut [0; 4])?;
    Ok(())
}
