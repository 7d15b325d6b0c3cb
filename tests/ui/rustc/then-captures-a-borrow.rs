// A callback uses a parameter that is borrowed.

use thalweg::prelude::*;

use std::sync::atomic::{AtomicUsize, Ordering};

stream_pipeline! {
    pipeline P {
        param seen: &AtomicUsize;
        inout y: [f32];
        stage all { copy y -> dy; copy dy -> y; then |c| { seen.fetch_add(c.len, Ordering::Relaxed); }; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&AtomicUsize::new(0), &mut [2.0; 4])?;
    Ok(())
}
