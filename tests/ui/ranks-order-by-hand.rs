// Two collectives on two streams, which nothing orders.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        sync = manual;
        inout y: [f32];
        carry a: [f32; 4];
        carry b: [f32; 4];
        stream one;
        stream two;
        stream data;
        stage all on data { copy y -> dy; copy dy -> y; }
        stage first on one { wait second_done @ previous; all_reduce sum a; }
        stage second on two { all_reduce sum b; record second_done; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1.0; 4], &mut [1.0; 4], &mut [1.0; 4])?;
    Ok(())
}
