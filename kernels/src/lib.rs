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

mod elementwise;
mod image;

pub use elementwise::saxpy;
pub use image::{grayscale, luma};
