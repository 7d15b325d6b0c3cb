// The field of a pipeline is exchanged with that of another.

use thalweg::prelude::*;

#[kernel]
fn bytes(i: Index, y: &mut Own<[u8]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = 1;
}

#[kernel]
fn words(i: Index, y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = 1;
}

stream_pipeline! {
    pipeline One {
        inout y: [u8];
        chunk c = 64;
        stage all { copy y -> dy; bytes<<<1, 64>>>(&mut dy); copy dy -> y; }
    }
}

stream_pipeline! {
    pipeline Two {
        inout y: [u64];
        chunk c = 64;
        stream each per slot;
        stage all on each { copy y -> dy; words<<<1, 64>>>(&mut dy); copy dy -> y; }
    }
}

fn exchange(one: &mut One, two: &mut Two) {
    std::mem::swap(&mut one.pipeline, &mut two.pipeline);
}

fn main() {}
