// A struct of elements derives what plain data are, and says nothing of `bytemuck`, which its crate does not depend on.

use thalweg::prelude::*;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Particle {
    at: [f32; 3],
    mass: f32,
}

stream_pipeline! {
    pipeline P {
        inout particles: [Particle];
        stage all { copy particles -> d; copy d -> particles; }
    }
}

fn main() {}
