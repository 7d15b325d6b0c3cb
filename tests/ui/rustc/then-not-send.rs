// A callback uses a parameter that may not leave its thread.

use thalweg::prelude::*;

use std::{marker::PhantomData, sync::MutexGuard};

/// Threads may share it, but may not hand it on, like the guard of a lock.
#[derive(Clone, Copy)]
struct Seen(PhantomData<MutexGuard<'static, usize>>);

impl Seen {
    fn set(self, _: usize) {}
}

stream_pipeline! {
    pipeline P {
        param seen: Seen;
        inout y: [f32];
        stage all { copy y -> dy; copy dy -> y; then |c| { let seen: Seen = seen; seen.set(c.index) }; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(Seen(PhantomData), &mut [2.0; 4])?;
    Ok(())
}
