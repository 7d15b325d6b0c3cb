#![deny(missing_debug_implementations, unreachable_pub)]
//! Kernels for thalweg's pipelines.
//!
//! All kernels but [`histogram_u8`] are functions in Rust. That one is a `.cu` file with a declaration that the compiler
//! has checked against it. NVRTC compiles both on the user's machine, for the device at hand. On the simulated device
//! the functions run as they are, and a host body stands for the `.cu` file.
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
//!         stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
//!         stage store { copy dy -> y; }
//!     }
//! }
//!
//! let device = Device::simulated(Simulation::default());
//! let mut y = [1.0, 2.0, 3.0];
//! Saxpy::new(&device)?.run(10.0, &[1.0, 1.0, 1.0], &mut y)?;
//! assert_eq!(y, [11.0, 12.0, 13.0]);
//! # Ok::<(), Error>(())
//! ```
//!
//! | kernel | what it does |
//! | --- | --- |
//! | [`struct@saxpy`], [`struct@daxpy`] | `y += a * x` |
//! | [`scale`]: [`scale_f32`], [`scale_f64`] | `y = a * x + b` |
//! | [`add`]: [`add_f32`], [`add_f64`]; [`multiply`]: [`multiply_f32`], [`multiply_f64`] | `z = x + y`, `z = x * y` |
//! | [`exp`]: [`exp_f32`], [`exp_f64`]; [`sqrt`]: [`sqrt_f32`], [`sqrt_f64`] | powers of e, square roots |
//! | [`relu`]: [`relu_f32`], [`relu_f64`]; [`clamp`]: [`clamp_f32`], [`clamp_f64`] | bounds |
//! | [`sum`]: [`sum_f32`], [`sum_f64`]; [`dot`]: [`dot_f32`], [`dot_f64`] | sums and dot products, the same bits on every run |
//! | [`min`]: [`min_f32`], [`min_f64`]; [`max`]: [`max_f32`], [`max_f64`] | least and greatest elements |
//! | [`histogram_u8`], [`struct@histogram_f32`] | counts of bytes, and of floats in bins |
//! | [`struct@transpose`], [`struct@matmul`] | matrices transposed and multiplied |
//! | [`struct@stencil_3`], [`struct@stencil_5`], [`struct@jacobi`] | weighted sums of neighbours, and a step to the solution of Laplace's equation |
//! | [`blur_rows`]: [`blur_rows_f32`], [`blur_rows_u8`]; [`struct@blur_columns_f32`], [`struct@blur_columns_u8`] | separable filters, such as a Gaussian blur with the weights of [`gaussian`] |
//! | [`struct@box_rows_u8`], [`struct@box_columns_u8`] | box blur of bytes |
//! | [`struct@sobel_f32`], [`struct@sobel_u8`] | edges |
//! | [`struct@grayscale`] | luma of RGB pixels |
//! | [`struct@normalize_hwc`], [`struct@normalize_chw`] | bytes of images as floats, interleaved and in planes |
//! | [`gather`]: [`gather_f32`], [`gather_u32`] | rows of a table by index |
//! | [`struct@top_k`], [`struct@top_k_merge`] | the largest of each row, and lists of them merged |
//! | [`struct@black_scholes`] | prices of European options |
//!
//! A kernel for several types has the name of each as well: `scale_f32` stands for `scale::<f32>`.
//!
//! # Sizes
//!
//! Sizes count elements of this chunk, not bytes. Arrays of several dimensions lie row by row, with the last
//! dimension's elements side by side.
//!
//! Kernels in Rust write every element of what they write: its length says how many there are, and its shape
//! stands at the launch, `out dv as [rows, columns]`. An argument for `Out<[T]>` must have no more: the simulated device
//! reports elements that are left unwritten ([`ErrorKind::Contract`](thalweg::ErrorKind::Contract)).
//!
//! | argument | of | counts | in a pipeline, mostly |
//! | --- | --- | --- | --- |
//! | `n` | histograms | elements | `c.len as u32`, an item being an element |
//! | `width`, `rows` | [`gather`] | elements of a row, rows of the table | |
//! | `bins` | [`struct@histogram_f32`] | bins from `low` to `high`, which are values of `x` | |
//! | `rows`, `columns` | [`blur_rows`], [`struct@sobel_f32`] and the like | pixels of a column, pixels of a row | |
//! | `radius` | blurs | pixels on each side | |
//! | `pixels`, `channels` | [`struct@normalize_chw`], [`struct@normalize_hwc`] | pixels of an image, values of a pixel | |
//! | `columns`, `first`, `height` | [`struct@jacobi`] | elements of a row, the first row's number in the grid, rows of the grid | `c.start as u32` the first |
//! | `k` | [`struct@matmul`] | columns of `a`, which are rows of `b` | |
//! | `columns` | [`struct@top_k`] | scores of a row | `c.len as u32` |
//! | `rows`, `k` | [`struct@top_k_merge`] | rows, results of a row | |
//!
//! A size that does not fit its slices is refused at the launch, on every device:
//! [`ErrorKind::Contract`](thalweg::ErrorKind::Contract).
//!
//! # By hand
//!
//! A kernel can also be launched without a pipeline, on a [`Stream`](thalweg::streams::Stream):
//!
//! ```
//! use thalweg::kernel::{Shaped, blocks};
//! use thalweg::sim::Simulation;
//! use thalweg::streams::Stream;
//! use thalweg::{Device, DeviceBuf, ErrorKind};
//! use thalweg_kernels::transpose;
//!
//! let device = Device::simulated(Simulation::h200());
//! let (stream, transpose) = (Stream::new(&device)?, transpose::load(&device)?);
//! let x = DeviceBuf::from_slice(&device, &[0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0])?; // 2 rows of 3
//! let mut y = DeviceBuf::zeroed(&device, 6)?;
//!
//! let grid = (blocks(2, 32), blocks(3, 32));
//! transpose.launch(stream.config(grid, 256, 0), &x, Shaped::new(&mut y, [1, 3, 2]))?;
//! assert_eq!(y.to_vec()?, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
//!
//! let (less, y) = (x.slice(..5)?, Shaped::new(&mut y, [1, 3, 2]));
//! let refused = transpose.launch(stream.config(grid, 256, 0), less, y).unwrap_err();
//! assert!(matches!(refused.kind(), ErrorKind::Contract(contract) if contract.kernel() == "transpose"));
//! # Ok::<(), thalweg::Error>(())
//! ```
//!
//! # Promises
//!
//! No launch of these kernels touches memory outside its slices, whatever its grid, block and shared memory. A
//! launch of a kernel in Rust with fewer threads than elements is refused, and so is one of a reduction with more
//! blocks than results. Kernels whose blocks have tiles or rows, such as [`struct@matmul`] and [`struct@top_k`], and
//! [`histogram_u8`] are complete with any grid. `n` counts elements of this chunk, mostly `c.len as u32`.
//!
//! "The same bits" does not include the payload of a NaN, which differs from machine to machine.

mod elementwise;
mod filter;
mod finance;
mod histogram;
mod image;
mod map;
mod matrix;
mod normalize;
mod reduce;
mod search;
mod shape;
mod stencil;
mod table;

// Maps.
pub use elementwise::saxpy;
pub use map::{
    add, add_f32, add_f64, clamp, clamp_f32, clamp_f64, daxpy, exp, exp_f32, exp_f64, multiply, multiply_f32,
    multiply_f64, relu, relu_f32, relu_f64, scale, scale_f32, scale_f64, sqrt, sqrt_f32, sqrt_f64,
};

// Reductions and histograms.
pub use histogram::{histogram_f32, histogram_u8};
pub use reduce::{
    dot, dot_f32, dot_f64, max, max_f32, max_f64, min, min_f32, min_f64, sum, sum_f32, sum_f64,
};

// Matrices and stencils.
pub use matrix::{matmul, transpose};
pub use stencil::{jacobi, stencil_3, stencil_5};

// Images.
pub use filter::{
    blur_columns_f32, blur_columns_u8, blur_rows, blur_rows_f32, blur_rows_u8, box_columns_u8, box_rows_u8,
    gaussian, sobel_f32, sobel_u8,
};
pub use image::{grayscale, luma};
pub use normalize::{normalize_chw, normalize_hwc};

// Tables.
pub use search::{top_k, top_k_merge};
pub use table::{gather, gather_f32, gather_u32};

// Finance.
pub use finance::black_scholes;

/// A loaded kernel may be shared with threads that launch it. All of them are made by one macro, with the same
/// field.
const _: () = {
    const fn crosses_threads<T: Send + Sync>() {}
    crosses_threads::<saxpy>();
};

#[cfg(test)]
mod tests {
    #[test]
    #[ignore = "needs NVRTC"]
    fn the_kernels_compile() {
        for architecture in ["sm_75", "sm_80", "sm_90", "sm_100"] {
            thalweg::compile_kernels(architecture).unwrap_or_else(|error| panic!("{architecture}: {error}"));
        }
    }
}
