//! [`Caller`]: an operation by hand as the user knows it.

use std::panic::Location;

use crate::base::error::{Detail, Error, Place, Result, Site, Touch};

/// An operation as the user knows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    /// The operation, such as `upload`, or the kernel's name.
    pub(crate) what: &'static str,
    pub(crate) at: &'static Location<'static>,
}

impl Caller {
    pub(crate) fn place(self) -> Place {
        Place { operation: Some(self.what), site: Some(Site::from(self.at)), ..Place::default() }
    }

    /// Whether both are the same call in the user's code.
    pub(crate) fn is(self, other: Self) -> bool {
        std::ptr::eq(self.at, other.at) && std::ptr::eq(self.what, other.what)
    }

    /// Does the call's work. An error of it that names no line gets the line of the call. But an earlier
    /// failure on the device may belong to any operation.
    #[inline]
    pub(crate) fn located<T>(self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        match work() {
            Ok(done) => Ok(done),
            Err(error) => Err(self.locate(error)),
        }
    }

    #[cold]
    fn locate(self, error: Error) -> Error {
        let is_of_another = error.detail().driver_error().is_some_and(|error| error.is_asynchronous());
        if is_of_another || error.place().site.is_some() { error } else { error.at(self.place()) }
    }

    pub(crate) fn touch(self, writes: bool) -> Touch {
        Touch { place: self.place(), writes }
    }
}

/// The caller, with the place of the user's call.
#[track_caller]
pub(crate) fn caller(what: &'static str) -> Caller {
    Caller { what, at: Location::caller() }
}

/// The error of two operations that nothing orders. `help`: how to order them, if that is not known to all.
pub(crate) fn raced(earlier: (Caller, bool), later: (Caller, bool), help: &'static str) -> Error {
    let [earlier_touch, later_touch] =
        [earlier, later].map(|(caller, writes)| Box::new(caller.touch(writes)));
    Error::new(Detail::Race { earlier: earlier_touch, later: later_touch, help }).at(later.0.place())
}
