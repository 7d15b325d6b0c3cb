// A kernel in Rust takes a struct that kernels do not know.

use thalweg::prelude::*;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
struct Particle {
    position: [f32; 3],
    mass: f32,
}

#[kernel]
fn masses(i: Index, x: &[Particle], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = 2.0 * x[i].mass;
}

fn main() {}
