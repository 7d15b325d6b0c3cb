use thalweg::prelude::*;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
struct Particle {
    position: [f32; 3],
    mass: f32,
}

stream_pipeline! {
    pipeline P {
        inout y: [u8];
        inout particles: [Particle];
        stage all { copy y -> dy; copy particles -> d_particles; copy dy -> y; copy d_particles -> particles; }
    }
}

pub fn main() -> thalweg::Result<()> {
    let mut particles = vec![Particle { position: [0.0; 3], mass: 1.0 }; 4];
    P::new(&Device::open()?)?.run(&mut [1; 4], &mut particles)?;
    assert!(particles.iter().all(|particle| (particle.position, particle.mass) == ([0.0; 3], 1.0)));
    Ok(())
}
