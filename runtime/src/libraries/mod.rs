//! CUDA's libraries as routines that pipelines call.
//!
//! Nothing is linked: `library` looks for a library when it is first used, and each module has a table of its functions.
//! What a library needs from call to call, a handle and a workspace, is kept for each ring slot and stream by
//! [`Enqueue::state`](crate::Enqueue::state).

#[cfg(feature = "cublas")]
pub mod cublas;
#[cfg(feature = "cudnn")]
pub mod cudnn;
#[cfg(feature = "cufft")]
pub mod cufft;
#[cfg(feature = "curand")]
pub mod curand;
#[cfg(any(feature = "cublas", feature = "cufft", feature = "curand", feature = "cudnn", test))]
mod library;
#[cfg(any(feature = "cublas", feature = "cufft", feature = "cudnn"))]
mod recent;
#[cfg(any(feature = "cufft", feature = "curand", feature = "cudnn"))]
mod workspace;

#[cfg(any(feature = "cublas", feature = "cufft", feature = "curand", feature = "cudnn"))]
pub(crate) use library::{Library, of_library};
#[cfg(any(feature = "cublas", feature = "cufft", feature = "cudnn"))]
pub(crate) use recent::Recent;
#[cfg(any(feature = "cufft", feature = "curand", feature = "cudnn"))]
pub(crate) use workspace::Workspace;

/// An address in device memory, as libraries take it.
#[cfg(any(feature = "cublas", feature = "cufft", feature = "curand", feature = "cudnn"))]
pub(crate) fn pointer<T>(at: crate::driver::DevicePtr) -> *mut T {
    std::ptr::with_exposed_provenance_mut(at.0 as usize)
}
