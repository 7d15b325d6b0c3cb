//! Errors that pages show. `BLESS=1` records them anew.

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg_kernels::saxpy;
use thalweg_tests::book::{in_listing, recorded};
use thalweg_tests::kernels::plus_one;

// ANCHOR: exhausted
use thalweg::GIB;

stream_pipeline! {
    pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];

        chunk c = 256 << 20;
        depth = 3;

        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}
// ANCHOR_END: exhausted

// ANCHOR: kinds
/// The pipeline as it is declared, or with smaller chunks.
fn fitting(device: &Device) -> thalweg::Result<Saxpy> {
    match Saxpy::new(device) {
        Err(error) => match error.kind() {
            ErrorKind::OutOfMemory(memory) => {
                println!("{} bytes do not fit: try smaller chunks", memory.requested());
                Saxpy::options(device).chunk(1 << 20).build()
            }
            _ => Err(error),
        },
        saxpy => saxpy,
    }
}
// ANCHOR_END: kinds

#[test]
fn smaller_chunks_fit() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200().with_memory(4 * GIB as u64));
    let mut y = vec![1.0; 10];
    let report = fitting(&device)?.run(2.0, &vec![3.0; 10], &mut y)?;
    assert_eq!((y, report.chunks), (vec![7.0; 10], 1));
    Ok(())
}

/// The error about the ring's memory comes before anything is computed.
#[test]
fn memory_is_exhausted() {
    let device = Device::simulated(Simulation::h200().with_memory(4 * GIB as u64));
    let error = Saxpy::new(&device).unwrap_err();
    recorded("errors-memory.txt", &in_listing(&error, file!(), "exhausted"));
}

// ANCHOR: particle
use thalweg::bytemuck::{Pod, Zeroable};

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
pub struct Particle {
    pub position: [f32; 3],
    pub mass: f32,
}
// ANCHOR_END: particle

stream_pipeline! {
    /// Particles, through the device and back.
    pub pipeline Through {
        input x: [Particle];
        output y: [Particle];
        chunk c = 3;
        stage through { copy x -> d; copy d -> y; }
    }
}

#[test]
fn items_may_be_structs() -> thalweg::Result<()> {
    let x: Vec<_> = (0..10).map(|i| Particle { position: [i as f32; 3], mass: 1.0 }).collect();
    let mut y = vec![Particle::zeroed(); x.len()];
    Through::new(&Device::simulated(Simulation::h200()))?.run(&x, &mut y)?;
    assert!(x.iter().zip(&y).all(|(x, y)| x.position == y.position && x.mass == y.mass));
    Ok(())
}

stream_pipeline! {
    /// Eight of ten items of each chunk are written.
    pipeline TooFew {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = 10;
        depth = 2;
        stage load { copy x -> dx; }
        stage add { plus_one<<<2, 4>>>(c.len as u32, &dx, out dy); }
        stage store { copy dy -> y; }
    }
}

/// As the page on devices says.
#[test]
fn a_grid_that_is_too_small_fails() -> thalweg::Result<()> {
    let mut y = [0.0; 40];
    let error = TooFew::new(&Device::simulated(Simulation::h200()))?.run(&[1.0; 40], &mut y).unwrap_err();
    let Detail::Unwritten { elements: 10, unwritten: 2, first: 8, enough: Some(3), .. } = error.detail()
    else {
        return Err(error);
    };
    Ok(())
}
