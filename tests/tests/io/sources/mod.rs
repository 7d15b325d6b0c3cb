//! Sources and sinks as arguments of runs: every adapter, lengths known and not, errors on the way,
//! back-pressure.

mod adapters;
mod awaited;
mod failures;
mod gpu;
mod lengths;
mod pressure;

use std::fmt::Debug;

use thalweg::prelude::*;
use thalweg_tests::kernels::{axpy_each, double_all};

stream_pipeline! {
    /// Copies elements of any type to the device and back.
    pub pipeline Through<T: Pod> {
        param k: usize;
        input x: [T; k];
        output z: [T; k];
        chunk c = auto;
        stage there { copy x -> dx; }
        stage back { copy dx -> z; }
    }
}

stream_pipeline! {
    /// `z <- 2 * (y + a*x)`.
    pub pipeline Axpy {
        param a: f32;
        input x: [f32];
        input y: [f32];
        output z: [f32];
        chunk c = 4;
        depth = 2;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { axpy_each<<<1, 32>>>(c.len as u32, a, &dx, &mut dy); }
        stage twice { double_all<<<1, 32>>>(c.len as u32, &mut dy); }
        stage store { copy dy -> z; }
    }
}

/// The result of [`Axpy`].
fn axpy(a: f32, x: &[f32], y: &[f32]) -> Vec<f32> {
    x.iter().zip(y).map(|(x, y)| 2.0 * (y + a * x)).collect()
}

/// This number of different elements.
trait Sample: Pod + Debug + PartialEq + Send + Sync {
    fn sample(i: usize) -> Self;
}

impl Sample for u8 {
    fn sample(i: usize) -> Self {
        (i * 31 % 251) as Self
    }
}

impl Sample for [f32; 3] {
    fn sample(i: usize) -> Self {
        [i as f32, -(i as f32), 0.5]
    }
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
struct Particle {
    mass: f64,
    position: [f32; 2],
    charge: i16,
    tag: [u8; 6],
}

impl Sample for Particle {
    fn sample(i: usize) -> Self {
        Self { mass: i as f64, position: [1.0, i as f32], charge: -(i as i16), tag: [i as u8; 6] }
    }
}

fn samples<T: Sample>(len: usize) -> Vec<T> {
    (0..len).map(T::sample).collect()
}
