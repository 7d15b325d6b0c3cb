// A struct of kernels has no derives.

use thalweg::prelude::*;

#[device]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    mass: f32,
}

#[kernel]
fn lighter(i: Index, x: &[Particle], y: &mut Own<[Particle]>) {
    let Some(y) = y.get_mut(i) else { return };
    y.mass = 0.5 * x[i].mass;
}

fn main() {}
