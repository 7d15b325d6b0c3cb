//! [`Callers`]: who has enqueued what, for errors that name an operation by a number.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::caller::Caller;
use crate::base::error::{Detail, DriverError, Error, ErrorKind, Place, Touch};
use crate::driver::{Driver, Tag};

/// The operations that a program has, by number, and what went wrong that nobody was told.
#[derive(Default)]
pub(crate) struct Callers {
    known: Mutex<Known>,
    /// What went wrong first in a stream that is gone, and that nobody was told.
    untold: Mutex<Option<Error>>,
}

#[derive(Default)]
struct Known {
    all: Vec<Caller>,
    numbers: HashMap<(usize, usize), u32>,
}

impl Callers {
    /// What the simulated device, and one that waits for each operation, names an operation by.
    pub(crate) fn tag(&self, driver: &dyn Driver, caller: Caller, number: u64) -> Tag {
        if !(driver.info().simulated || driver.is_synchronous()) {
            return Tag { pipeline: Tag::BY_HAND, operation: 0, chunk: number };
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (std::ptr::from_ref(caller.at).addr(), caller.what.as_ptr().addr());
        let Known { all, numbers } = &mut *known;
        let operation = *numbers.entry(key).or_insert_with(|| {
            all.push(caller);
            all.len() as u32 - 1
        });
        Tag { pipeline: Tag::BY_HAND, operation, chunk: number }
    }

    fn caller(&self, tag: Tag) -> Option<Caller> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        tag.is_by_hand().then(|| known.all.get(tag.operation as usize).copied()).flatten()
    }

    /// A stream goes whose error nobody was told.
    pub(crate) fn not_told(&self, error: Error) {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// What went wrong in a stream that is gone, and that nobody was told.
    pub(super) fn take_untold(&self) -> Option<Error> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// An error with the places of the operations that it is about, as far as they are known.
    pub(crate) fn explain(&self, error: DriverError, caller: Option<Caller>) -> Error {
        let of = |tag| self.caller(tag);
        let at = error.tag.map(|(operation, chunk)| Tag { pipeline: error.pipeline, operation, chunk });
        // What went wrong on the device may be of any operation before.
        let caller = at.and_then(of).or(caller.filter(|_| !error.is_asynchronous()));
        let place = caller.map_or_else(Place::default, Caller::place);
        let touch = |tag, writes| Touch { place: of(tag).map_or_else(Place::default, Caller::place), writes };
        let kind = match (error.detail.as_deref(), caller) {
            (Some(Detail::HostBody(message)), Some(caller)) => {
                ErrorKind::HostBody { kernel: caller.what, message: message.clone() }
            }
            (Some(Detail::Unwritten(unwritten)), Some(caller)) => unwritten.by(caller.what),
            (Some(&Detail::Race { writes, earlier, earlier_writes }), _) => ErrorKind::Race {
                earlier: Box::new(touch(earlier, earlier_writes)),
                later: Box::new(Touch { place, writes }),
            },
            (Some(Detail::Users(users)), _) => {
                let operations = users.iter().map(|&tag| touch(tag, false).place).collect();
                ErrorKind::MemoryInUse { operations }
            }
            (Some(Detail::Forked), _) => ErrorKind::Forked,
            _ => ErrorKind::Driver(error),
        };
        Error::new(kind).at(place)
    }
}
