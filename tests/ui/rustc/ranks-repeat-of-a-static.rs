// How often the ranks reduce depends on a `static`, which each process fills for itself.

use std::sync::LazyLock;

use thalweg::prelude::*;

static STEPS: LazyLock<[usize; 1]> = LazyLock::new(|| [std::env::args().count()]);

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage load { copy y -> dy; }
        stage share { repeat STEPS[0] { all_reduce sum dy; } }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1.0; 4])?;
    Ok(())
}
