//! Matrix products by cuBLAS and cuBLASLt, as routines that a pipeline calls.
//!
//! ```
//! use thalweg_libraries::cublas::{self, Gemm};
//! use thalweg::prelude::*;
//!
//! stream_pipeline! {
//!     /// `y <- x * w`, for rows of `k` elements.
//!     pipeline Layer {
//!         param k: usize;
//!         param n: usize;
//!         input x: [f32; k];
//!         resident w: [f32];
//!         output y: [f32; n];
//!         device dy: [f32; n];
//!         chunk c = 1000;
//!         stage load { copy x -> dx; }
//!         stage multiply { call cublas::gemm_out(Gemm::new(c.len, n, k), 1.0, &dx, &w, out dy); }
//!         stage store { copy dy -> y; }
//!     }
//! }
//!
//! let mut y = [0.0; 6];
//! let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]; // 3 x 2
//! let w = [1.0, 10.0, 0.0, 1.0]; // 2 x 2
//! Layer::new(&Device::simulated(Simulation::default()))?.run(2, 2, &x, &w, &mut y)?;
//! assert_eq!(y, [1.0, 12.0, 3.0, 34.0, 5.0, 56.0]);
//! # Ok::<(), thalweg::Error>(())
//! ```
//!
//! Each ring slot has a handle for each of the pipeline's streams, and with it a workspace (32 MiB from
//! compute capability 9.0 on, else 8 MiB, of device memory beside the ring): a handle serves one stream at a
//! time, and work on a workspace must not overlap. They are made when a chunk calls a routine for the first
//! time, and destroyed with the pipeline.
//!
//! Matrices are in row-major order. Elements are `f32`, `f64`, `f16` and `bf16`. `f32` is multiplied as `f32`
//! unless [`Gemm::tf32`] allows less; products of `f16` and `bf16` are summed in `f32` and rounded once, at
//! the end.
//!
//! The simulated device and the CPU compute the same, with the crate `matrixmultiply` and all threads; sums are taken
//! in another order, so results differ by rounding.

mod api;
mod dimensions;
mod element;
mod gemm;
mod handle;
mod host;
mod lt;
mod lt_sys;
mod matmul;
mod shape;
mod sys;
mod vector;

pub use dimensions::{Batch, Gemm, Plain};
pub use element::{Element, Product, Scale};
pub use gemm::{gemm, gemm_batched, gemm_batched_out, gemm_out};
pub use matmul::{Activated, Matmul, matmul, matmul_bias};
pub use vector::{Gemv, Vector, axpy, gemv, gemv_out};
