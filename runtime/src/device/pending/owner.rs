//! [`Owner`]: a device as its pending operations see it.

use std::any::Any;
use std::fmt;

use super::callers::Callers;
use crate::driver::Driver;

/// The device that operations belong to. It has the registry, so nothing that the registry holds can name it. Whoever
/// stands above both knows what is behind it.
pub(crate) trait Owner: Any + fmt::Debug + Send + Sync {
    /// The driver that carries out the device's calls. In a forked process it is one that refuses every call.
    fn driver(&self) -> &dyn Driver;

    fn callers(&self) -> &Callers;
}
