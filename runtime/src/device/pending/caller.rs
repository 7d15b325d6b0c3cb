//! [`Caller`]: an operation by hand as the user knows it.

use std::panic::Location;

use crate::base::error::{Error, ErrorKind, Place, Result, Site, Touch};

/// An operation as the user knows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    /// `upload`, or the kernel's name.
    pub(crate) what: &'static str,
    pub(crate) at: &'static Location<'static>,
}

impl Caller {
    pub(crate) fn place(self) -> Place {
        Place { operation: Some(self.what), site: Some(Site::from(self.at)), ..Place::default() }
    }

    /// What the call does. An error of it that names no line has that of the call; but what went wrong on the device before may be any
    /// operation's.
    pub(crate) fn located<T>(self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        work().map_err(|error| {
            let is_of_another = error.kind().driver_error().is_some_and(|error| error.is_asynchronous());
            if is_of_another || error.place().site.is_some() { error } else { error.at(self.place()) }
        })
    }

    pub(crate) fn touch(self, writes: bool) -> Touch {
        Touch { place: self.place(), writes }
    }
}

/// Where the user's call is.
#[track_caller]
pub(crate) fn caller(what: &'static str) -> Caller {
    Caller { what, at: Location::caller() }
}

/// What nothing orders.
pub(crate) fn raced(earlier: (Caller, bool), later: (Caller, bool)) -> Error {
    let [earlier_touch, later_touch] =
        [earlier, later].map(|(caller, writes)| Box::new(caller.touch(writes)));
    Error::new(ErrorKind::Race { earlier: earlier_touch, later: later_touch }).at(later.0.place())
}
