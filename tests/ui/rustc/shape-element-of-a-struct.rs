// A struct of elements does not derive what plain data are.

use thalweg::prelude::*;

#[repr(C)]
struct Particle {
    at: [f32; 3],
    mass: f32,
}

stream_pipeline! {
    pipeline P {
        inout particles: [Particle];
        device t: [Particle];
        stage all { copy particles -> d; copy d -> t; copy t -> particles; }
    }
}

fn main() -> thalweg::Result<()> {
    let mut particles = vec![Particle { at: [0.0; 3], mass: 1.0 }];
    P::new(&Device::open()?)?.run(&mut particles)?;
    println!("{:?} {}", particles[0].at, particles[0].mass);
    Ok(())
}
