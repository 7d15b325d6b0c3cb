//! Endless runs that their caller feeds and drains: results, chunks, back-pressure, errors, ends that go
//! away.

mod chunks;
mod ends;
mod failures;
mod functions;
mod gpu;
mod pressure;
mod results;

use std::sync::mpsc::Sender;

use thalweg::prelude::*;
use thalweg_tests::kernels::{add_to, axpy_each, double_all};

/// What a run said of a chunk.
type Told = (usize, usize, usize);

stream_pipeline! {
    /// `z <- 2 * (y + a*x)`, and reports its chunks.
    pub pipeline Axpy {
        param a: f32;
        param told: Sender<Told>;
        input x: [f32];
        input y: [f32];
        output z: [f32];
        chunk c = 4;
        depth = 2;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { axpy_each<<<1, 32>>>(c.len as u32, a, &dx, &mut dy); }
        stage twice { double_all<<<1, 32>>>(c.len as u32, &mut dy); }
        stage store { copy dy -> z; then |c| told.send((c.index, c.start, c.len)); }
    }
}

stream_pipeline! {
    /// `z <- x + 1`.
    pub pipeline Next {
        input x: [f32];
        output z: [f32];
        chunk c = 5;
        depth = 3;
        stage load { copy x -> dx; }
        stage math { add_to<<<1, 32>>>(c.len as u32, 1.0, &mut dx); }
        stage store { copy dx -> z; }
    }
}

stream_pipeline! {
    /// Items of `k` elements, of any type, through the device.
    pub pipeline Through<T: Pod> {
        param k: usize;
        input x: [T; k];
        output z: [T; k];
        chunk c = 5;
        depth = 2;
        stage there { copy x -> dx; }
        stage back { copy dx -> z; }
    }
}

/// The result of [`Next`].
fn next(x: &[f32]) -> Vec<f32> {
    x.iter().map(|x| x + 1.0).collect()
}

/// Pulls everything that is left, in pieces of that size.
fn rest<T: Pod>(puller: &mut thalweg::session::Puller<T>, piece: usize) -> thalweg::Result<Vec<T>> {
    let (mut all, mut some) = (Vec::new(), vec![T::zeroed(); piece]);
    loop {
        let pulled = puller.pull(&mut some)?;
        all.extend_from_slice(&some[..pulled]);
        if pulled < piece {
            return Ok(all);
        }
    }
}
