//! Streams, events, copies, launches, callbacks and graphs by hand, for programs without a pipeline. The code
//! of a pipeline consists of the same operations.
//!
//! The model is CUDA's, call for call: operations go on after the call has returned, each stream keeps its
//! own order, and events order streams. Two differences keep safe code safe:
//!
//! - **Memory waits for the device.** A buffer is freed after the operations that use it, and reading a
//!   [`PinnedBuf`] that a copy is still writing waits for that copy. So no result can be read too early, and
//!   nothing is freed under a kernel. [`PinnedBuf::wait`] and [`Stream::synchronize`] return the error if an
//!   operation has failed.
//! - **Races are errors.** An operation is refused if nothing orders it with an earlier one on the same bytes
//!   and one of the two writes: [`ErrorKind::Race`] names both lines. [`Stream::unchecked`] turns the check
//!   off where it costs too much (about 0.2 us an operation), and [`explore`](fn@crate::explore::explore)
//!   finds the same races on the simulated device.
//!
//! ```
//! use thalweg::kernel::blocks;
//! use thalweg::sim::Simulation;
//! use thalweg::streams::{Event, Stream};
//! use thalweg::{Device, DeviceBuf, PinnedBuf};
//! use thalweg_kernels::saxpy;
//!
//! let device = Device::simulated(Simulation::h200());
//! let (copies, math) = (Stream::new(&device)?, Stream::new(&device)?);
//! let saxpy = saxpy::load(&device)?;
//!
//! let n = 1 << 16;
//! let x = PinnedBuf::from_slice(&device, &vec![1.0_f32; n])?;
//! let mut y = PinnedBuf::from_slice(&device, &vec![2.0_f32; n])?;
//! let (mut dx, mut dy) = (DeviceBuf::zeroed(&device, n)?, DeviceBuf::zeroed(&device, n)?);
//!
//! copies.upload(&x, &mut dx)?;
//! copies.upload(&y, &mut dy)?;
//! let loaded = Event::new(&device)?;
//! copies.record(&loaded)?;
//!
//! math.wait(&loaded)?; // without it, the launch is refused: a race
//! saxpy.launch(math.config(blocks(n, 256), 256, 0), 3.0, &dx, &mut dy)?;
//! math.download(&dy, &mut y)?;
//! math.synchronize()?;
//! assert_eq!(y[n - 1], 5.0);
//! # Ok::<(), thalweg::Error>(())
//! ```
//!
//! | CUDA's runtime | here |
//! | --- | --- |
//! | `cudaStreamCreateWithFlags(…, cudaStreamNonBlocking)` | [`Stream::new`] |
//! | `cudaStreamCreate` | [`Stream::blocking`] |
//! | `cudaStreamCreateWithPriority`, `cudaDeviceGetStreamPriorityRange` | [`Stream::with_priority`], [`Device::priorities`] |
//! | stream 0, `cudaStreamLegacy` | [`Stream::null`] |
//! | `cudaStreamPerThread` | [`Stream::per_thread`] |
//! | `cudaStreamQuery`, `cudaStreamSynchronize` | [`Stream::query`], [`Stream::synchronize`] |
//! | `cudaStreamWaitEvent` | [`Stream::wait`] |
//! | `cudaStreamAddCallback`, `cudaLaunchHostFunc` | [`Stream::then`], [`Stream::host`] |
//! | `cudaEventCreateWithFlags(…, cudaEventDisableTiming)`, `cudaEventCreate` | [`Event::new`], [`Event::with_timing`] |
//! | `cudaEventRecord` | [`Stream::record`] |
//! | `cudaEventQuery`, `cudaEventSynchronize`, `cudaEventElapsedTime` | [`Event::query`], [`Event::synchronize`], [`Event::elapsed`] |
//! | `cudaMallocHost`, `cudaHostAlloc` | [`PinnedBuf::zeroed`], [`PinnedBuf::write_combined`] |
//! | `cudaHostRegister`, `cudaHostUnregister` | [`PinnedBuf::register`], [`PinnedBuf::into_vec`] |
//! | `cudaMalloc`, `cudaFree` | [`DeviceBuf::zeroed`], dropping it |
//! | `cudaMemcpyAsync`, `cudaMemcpy2DAsync`, `cudaMemsetAsync` | [`Stream::upload`], [`download`](Stream::download), [`copy`](Stream::copy), [`upload_2d`](Stream::upload_2d) and so on, [`fill`](Stream::fill) |
//! | `cudaMemcpy` | [`DeviceBuf::copy_from_slice`], [`DeviceBuf::copy_to_slice`] |
//! | `kernel<<<grid, block, shared, stream>>>(…)` | `kernel.launch(stream.config(grid, block, shared), …)` |
//! | `cudaStreamBeginCapture`, `cudaStreamEndCapture`, `cudaGraphLaunch` | [`Stream::capture`], [`Graph::launch`] |
//! | `cudaDeviceSynchronize` | [`Device::synchronize`] |
//!
//! [`PinnedBuf`]: crate::PinnedBuf
//! [`PinnedBuf::wait`]: crate::PinnedBuf::wait
//! [`PinnedBuf::zeroed`]: crate::PinnedBuf::zeroed
//! [`PinnedBuf::write_combined`]: crate::PinnedBuf::write_combined
//! [`PinnedBuf::register`]: crate::PinnedBuf::register
//! [`PinnedBuf::into_vec`]: crate::PinnedBuf::into_vec
//! [`DeviceBuf::zeroed`]: crate::DeviceBuf::zeroed
//! [`DeviceBuf::copy_from_slice`]: crate::DeviceBuf::copy_from_slice
//! [`DeviceBuf::copy_to_slice`]: crate::DeviceBuf::copy_to_slice
//! [`ErrorKind::Race`]: crate::ErrorKind::Race
//! [`Device::priorities`]: crate::Device::priorities
//! [`Device::synchronize`]: crate::Device::synchronize

mod callbacks;
mod copies;
mod device;
mod event;
mod graph;
mod launch;
mod memory;
mod rectangle;
mod stream;

pub use callbacks::Arrived;
pub use event::Event;
pub use graph::{Graph, Lent};
pub use memory::{FromDevice, FromHost, ToDevice, ToHost};
pub use rectangle::Rectangle;
pub use stream::Stream;

pub use crate::base::plan::Priority;
