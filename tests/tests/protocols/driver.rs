//! The driver's types that the backends get.

pub(crate) type DriverResult<T> = Result<T, Box<crate::base::error::DriverError>>;

pub(crate) type HostJob = Box<dyn FnOnce() + Send + 'static>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawStream(pub(crate) u64);
