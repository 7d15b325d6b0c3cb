//! Host functions: their threads alone, and with streams that wait for them.

#[allow(dead_code, reason = "the models use a part of it")]
#[path = "../../../../../../runtime/src/backends/cuda/host/callbacks.rs"]
mod callbacks;
#[allow(dead_code, reason = "the models use a part of it")]
#[path = "../../../../../../runtime/src/backends/cuda/host/functions.rs"]
mod functions;
#[allow(dead_code, reason = "the models use a part of it")]
#[path = "../../../../../../runtime/src/backends/cuda/host/pool.rs"]
mod pool;

mod gate;
mod jobs;
mod threads;
