//! Ranks: collective operations on simulated devices and on processors, what ranks agree on, and what happens when they
//! do not.

mod agreement;
mod attacks;
mod data;
mod operations;
mod overlap;
#[cfg(unix)]
mod processes;
mod standstill;
mod timelines;
mod uneven;

use thalweg::prelude::*;
use thalweg::sim::{MachineModel, ranks};

/// Adds `by` to each element.
#[kernel]
fn add_to(i: Index, by: f32, x: &mut Own<[f32]>) {
    let Some(x) = x.get_mut(i) else { return };
    *x += by;
}

/// Stands for the gradient of a layer.
#[kernel]
fn gradient(i: Index, w: &[f32], g: &mut Out<[f32]>) {
    let Some(g) = g.get_mut(i) else { return };
    *g = w[i] * 0.5;
}

/// A step of gradient descent.
#[kernel]
fn sgd(i: Index, g: &[f32], w: &mut Own<[f32]>) {
    let Some(w) = w.get_mut(i) else { return };
    *w -= 0.1 * g[i];
}

/// Where ranks run.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// So many, on simulated devices.
    Simulated(usize),
    /// One alone, on a GPU.
    Gpu,
}

impl From<usize> for Place {
    fn from(size: usize) -> Self {
        Self::Simulated(size)
    }
}

impl Place {
    /// The number of ranks.
    fn size(self) -> usize {
        match self {
            Self::Simulated(size) => size,
            Self::Gpu => 1,
        }
    }
}

/// Runs a program as so many ranks, each of which has to succeed.
fn on<R: Send>(place: impl Into<Place>, program: impl Fn(&World) -> thalweg::Result<R> + Sync) -> Vec<R> {
    let results = match place.into() {
        Place::Simulated(size) => ranks(MachineModel::h200(size), program),
        Place::Gpu => {
            let world = World::alone();
            let device = world.device().expect("a device");
            assert_eq!(device.to_string(), Device::cuda(0).expect("a GPU").to_string());
            vec![program(&world)]
        }
    };
    results.into_iter().map(|result| result.unwrap_or_else(|error| panic!("{error}"))).collect()
}

/// The errors of ranks, each of which has to fail.
fn errors<R: Send>(size: usize, program: impl Fn(&World) -> thalweg::Result<R> + Sync) -> Vec<Error> {
    let results = ranks(MachineModel::h200(size), program);
    results.into_iter().map(|result| result.err().expect("the rank fails")).collect()
}
