//! [`Owner`]: a device as what is pending on it knows it.

use std::fmt;

use super::callers::Callers;
use crate::driver::Driver;

/// The device that operations are of. It has the registry, so nothing that the registry holds can name it.
pub(crate) trait Owner: fmt::Debug + Send + Sync {
    /// The driver that carries out its calls. In a forked process it is one that refuses.
    fn driver(&self) -> &dyn Driver;

    fn callers(&self) -> &Callers;
}
