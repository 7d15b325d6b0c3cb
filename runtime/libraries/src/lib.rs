#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_debug_implementations, unreachable_pub)]
#![cfg_attr(
    not(any(feature = "cublas", feature = "cufft", feature = "cudnn")),
    allow(
        dead_code,
        unused_imports,
        unused_macros,
        reason = "each library is a feature, and cuRAND does not need all that they share"
    )
)]
//! CUDA's libraries as routines that [`thalweg`]'s pipelines call.
//!
//! Each library is a feature, off by default. The build needs nothing of CUDA: a library is looked for when
//! it is first used, on a GPU. On the simulated device Rust code computes the same, and CUDA's library is not
//! needed.
//!
//! | feature | gives | needs on a GPU | simulated with |
//! | --- | --- | --- | --- |
//! | `cublas` | the module `cublas`: matrix products | cuBLAS and cuBLASLt | `matrixmultiply` |
//! | `cufft` | the module `cufft`: Fourier transforms | cuFFT | `rustfft`, `realfft` |
//! | `curand` | the module `curand`: random numbers | cuRAND | |
//! | `cudnn` | the module `cudnn`: layers of neural networks | cuDNN 8 or 9 | |
//!
//! ```
//! # #[cfg(feature = "cublas")] {
//! use thalweg::prelude::*;
//! use thalweg_libraries::cublas::{self, Gemm};
//!
//! stream_pipeline! {
//!     /// `y <- x * w`, for rows of 2 elements.
//!     pipeline Layer {
//!         input x: [f32; 2];
//!         resident w: [f32];
//!         output y: [f32; 2];
//!         device dy: [f32; 2];
//!         chunk c = 1000;
//!         stage load { copy x -> dx; }
//!         stage multiply { call cublas::gemm_out(Gemm::new(c.len, 2, 2), 1.0, &dx, &w, out dy); }
//!         stage store { copy dy -> y; }
//!     }
//! }
//!
//! let mut y = [0.0; 6];
//! let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]; // 3 x 2
//! let w = [1.0, 10.0, 0.0, 1.0]; // 2 x 2
//! Layer::new(&Device::simulated(Simulation::default()))?.run(&x, &w, &mut y)?;
//! assert_eq!(y, [1.0, 12.0, 3.0, 34.0, 5.0, 56.0]);
//! # }
//! # Ok::<(), thalweg::Error>(())
//! ```
//!
//! [`Enqueue::state`](thalweg::routine::Enqueue::state) keeps what a library needs from call to call, a
//! handle and a workspace, for each ring slot and stream.

#[cfg(feature = "cublas")]
pub mod cublas;
#[cfg(feature = "cudnn")]
pub mod cudnn;
#[cfg(feature = "cufft")]
pub mod cufft;
#[cfg(feature = "curand")]
pub mod curand;

mod bindings;
mod calls;
mod error;
mod library;
mod recent;
mod table;

pub use error::Error;

/// Descriptions and errors may be moved to other threads, and shared with them.
const _: () = {
    const fn crosses_threads<T: Send + Sync>() {}
    crosses_threads::<Error>();
    #[cfg(feature = "cublas")]
    {
        crosses_threads::<cublas::Batch>();
        crosses_threads::<cublas::Gemm>();
        crosses_threads::<cublas::Gemv>();
        crosses_threads::<cublas::Matmul>();
    }
    #[cfg(feature = "cudnn")]
    {
        crosses_threads::<cudnn::Activation>();
        crosses_threads::<cudnn::Convolution>();
        crosses_threads::<cudnn::Softmax>();
    }
    #[cfg(feature = "cufft")]
    {
        crosses_threads::<cufft::Fft<cufft::C2c>>();
        crosses_threads::<cufft::Fft<cufft::R2c>>();
    }
    #[cfg(feature = "curand")]
    crosses_threads::<curand::Philox>();
};

pub(crate) use calls::Calls;
pub(crate) use library::{Library, of_library};
pub(crate) use recent::Recent;

/// A device address as the pointer that libraries take.
pub(crate) fn pointer<T>(address: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(address as usize)
}
