//! Ranks: collective operations on simulated devices and on processors, what ranks agree on, and what happens when they
//! do not.

mod agreement;
mod attacks;
mod data;
#[cfg(unix)]
mod launcher;
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

/// Runs a program as so many ranks, each of which has to succeed.
fn on<R: Send>(size: usize, program: impl Fn(&World) -> thalweg::Result<R> + Sync) -> Vec<R> {
    let results = ranks(MachineModel::h200(size), program);
    results.into_iter().map(|result| result.unwrap_or_else(|error| panic!("{error}"))).collect()
}

/// The errors of ranks, each of which has to fail.
fn errors<R: Send>(size: usize, program: impl Fn(&World) -> thalweg::Result<R> + Sync) -> Vec<Error> {
    let results = ranks(MachineModel::h200(size), program);
    results.into_iter().map(|result| result.err().expect("the rank fails")).collect()
}
