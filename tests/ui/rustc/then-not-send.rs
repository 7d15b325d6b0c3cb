// A callback uses a parameter that may not leave its thread.

use thalweg::prelude::*;

use std::{cell::Cell, rc::Rc};

stream_pipeline! {
    pipeline P {
        param seen: Rc<Cell<usize>>;
        inout y: [f32];
        stage all { copy y -> dy; copy dy -> y; then |c| seen.set(c.index); }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(Rc::default(), &mut [2.0; 4])?;
    Ok(())
}
