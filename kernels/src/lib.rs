//! CUDA kernels with typed declarations and host bodies, ready for thalweg's pipelines.
//!
//! Each kernel is a `.cu` file, compiled on the user's machine for the device at hand, and a declaration that the
//! compiler has checked against it. On the simulated device its host body runs instead.
//!
//! ```
//! use thalweg::prelude::*;
//! use thalweg_kernels::saxpy;
//!
//! stream_pipeline! {
//!     pipeline Saxpy {
//!         param a: f32;
//!         input x: [f32];
//!         inout y: [f32];
//!         chunk c = auto;
//!         stage load { copy x -> dx; copy y -> dy; }
//!         stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &dx, &mut dy); }
//!         stage store { copy dy -> y; }
//!     }
//! }
//!
//! let device = Device::simulated(Spec::default());
//! let mut y = [1.0, 2.0, 3.0];
//! Saxpy::new(&device)?.run(10.0, &[1.0, 1.0, 1.0], &mut y)?;
//! assert_eq!(y, [11.0, 12.0, 13.0]);
//! # Ok::<(), Error>(())
//! ```
//!
//! | kernel | what it does |
//! | --- | --- |
//! | [`saxpy`], [`daxpy`] | `y += a * x` |
//! | [`scale_f32`], [`scale_f64`] | `y = a * x + b` |
//! | [`add_f32`], [`add_f64`], [`multiply_f32`], [`multiply_f64`] | `z = x + y`, `z = x * y` |
//! | [`exp_f32`], [`exp_f64`], [`sqrt_f32`], [`sqrt_f64`] | powers of e, square roots |
//! | [`relu_f32`], [`relu_f64`], [`clamp_f32`], [`clamp_f64`] | bounds |
//! | [`sum_f32`], [`sum_f64`], [`dot_f32`], [`dot_f64`] | sums and dot products, the same bits on every run |
//! | [`min_f32`], [`min_f64`], [`max_f32`], [`max_f64`] | least and greatest elements |
//! | [`histogram_u8`], [`histogram_f32`] | counts of bytes, and of floats in bins |
//! | [`transpose`], [`matmul`] | matrices transposed and multiplied |
//! | [`stencil_3`], [`stencil_5`], [`jacobi`] | weighted sums of neighbours, and a step to the solution of Laplace's equation |
//! | [`blur_rows_f32`], [`blur_rows_u8`], [`blur_columns_f32`], [`blur_columns_u8`] | separable filters, such as a Gaussian blur with the weights of [`gaussian`] |
//! | [`box_rows_u8`], [`box_columns_u8`] | box blur of bytes |
//! | [`sobel_f32`], [`sobel_u8`] | edges |
//! | [`grayscale`] | luma of RGB pixels |
//! | [`normalize_hwc`], [`normalize_chw`] | bytes of images as floats, interleaved and in planes |
//! | [`gather_f32`], [`gather_u32`] | rows of a table by index |
//! | [`top_k`], [`top_k_merge`] | the largest of each row, and lists of them merged |
//! | [`black_scholes`] | prices of European options |
//!
//! No launch of them touches memory outside its slices, whatever its grid, block and shared memory. One that has fewer
//! threads than a kernel asks for does less (where it asks for one thread an element, those along x count); matrices,
//! stencils, blurs, edges and top-k are whole with any grid. `n` counts elements of this chunk, mostly `c.len as u32`.
//!
//! "The same bits" leaves out what a NaN carries beside being one, which differs from machine to machine.

mod elementwise;
mod filter;
mod finance;
mod gather;
mod histogram;
mod image;
mod map;
mod matrix;
mod normalize;
mod reduce;
mod search;
mod shape;
mod stencil;

// Maps.
pub use elementwise::saxpy;
pub use map::{
    add_f32, add_f64, clamp_f32, clamp_f64, daxpy, exp_f32, exp_f64, multiply_f32, multiply_f64, relu_f32,
    relu_f64, scale_f32, scale_f64, sqrt_f32, sqrt_f64,
};

// Reductions and histograms.
pub use histogram::{histogram_f32, histogram_u8};
pub use reduce::{dot_f32, dot_f64, max_f32, max_f64, min_f32, min_f64, sum_f32, sum_f64};

// Matrices and stencils.
pub use matrix::{matmul, transpose};
pub use stencil::{jacobi, stencil_3, stencil_5};

// Images.
pub use filter::{
    blur_columns_f32, blur_columns_u8, blur_rows_f32, blur_rows_u8, box_columns_u8, box_rows_u8, gaussian,
    sobel_f32, sobel_u8,
};
pub use image::{grayscale, luma};
pub use normalize::{normalize_chw, normalize_hwc};

// Tables.
pub use gather::{gather_f32, gather_u32};
pub use search::{top_k, top_k_merge};

// Finance.
pub use finance::black_scholes;
