// A parameter that threads may not share: each device of a run has a thread that enqueues its chunks.

use thalweg::prelude::*;

use std::{cell::Cell, rc::Rc};

stream_pipeline! {
    pipeline P {
        param seen: Rc<Cell<usize>>;
        inout y: [f32];
        stage all { copy y -> dy; if seen.get() > 0 { copy dy -> y; } }
    }
}

fn main() {}
