//! [`Calls`]: what every routine does around a call of its library.

use thalweg::Result;
use thalweg::routine::Enqueue;

use crate::Error;

pub(crate) trait Calls {
    /// Adds the name of the pipeline's buffer to an error about the size of one of `arguments`, which are the
    /// routine's names and addresses.
    fn naming(&self, arguments: &[(&'static str, u64)], checked: Result<(), Error>) -> Result<()>;

    /// Lets a library enqueue. If it fails, it may have enqueued anything, and the run enqueues nothing more.
    fn library(&self, enqueue: impl FnOnce() -> Result<()>) -> Result<()>;
}

impl Calls for Enqueue<'_> {
    fn naming(&self, arguments: &[(&'static str, u64)], checked: Result<(), Error>) -> Result<()> {
        checked.map_err(|mut error| {
            if let Error::Dimensions { argument, buffer, .. } = &mut error {
                let argument = arguments.iter().find(|(name, _)| name == argument);
                *buffer = argument.and_then(|(_, address)| self.buffer_name(*address));
            }
            error.into()
        })
    }

    fn library(&self, enqueue: impl FnOnce() -> Result<()>) -> Result<()> {
        enqueue().map_err(|error| self.refuse(error))
    }
}
