//! [`Callers`]: the callers of operations, for errors that name an operation by a number.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::caller::Caller;
use crate::base::error::{Detail, DriverDetail, DriverError, Error, Place, Touch};
use crate::driver::{Driver, Tag};

/// The operations of the program by number. The devices have them in common, since a failure of one may concern
/// what another has waited for.
static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// The callers of a device's operations, and the first failure that was not reported.
#[derive(Default)]
pub(crate) struct Callers {
    /// The first failure of a stream that is gone, if it was not reported.
    untold: Mutex<Option<Error>>,
}

#[derive(Default)]
struct Known {
    all: Vec<Caller>,
    numbers: HashMap<(usize, usize), u32>,
}

impl Callers {
    /// Whether a driver tells which operation has failed: one on the host, and one that waits for each operation.
    pub(crate) fn are_told(driver: &dyn Driver) -> bool {
        driver.info().kind.is_on_host() || driver.is_synchronous()
    }

    /// The name of an operation for such a driver.
    pub(crate) fn tag(caller: Caller, number: u64) -> Tag {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (std::ptr::from_ref(caller.at).addr(), caller.what.as_ptr().addr());
        let Known { all, numbers } = &mut *known;
        let operation = *numbers.entry(key).or_insert_with(|| {
            all.push(caller);
            all.len() as u32 - 1
        });
        Tag { pipeline: Tag::BY_HAND, operation, chunk: number }
    }

    fn caller(tag: Tag) -> Option<Caller> {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        tag.is_by_hand().then(|| known.all.get(tag.operation as usize).copied()).flatten()
    }

    /// Keeps the error of a stream that goes before the error was reported.
    pub(crate) fn not_told(&self, error: Error) {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Takes the unreported failure of a stream that is gone.
    pub(super) fn take_untold(&self) -> Option<Error> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The error with the places of the operations that it concerns, as far as they are known.
    #[cold]
    pub(crate) fn explain(&self, error: Box<DriverError>, caller: Option<Caller>) -> Error {
        let of = Self::caller;
        let at = error.tag.map(|(operation, chunk)| Tag { pipeline: error.pipeline, operation, chunk });
        // A failure on the device may belong to any earlier operation.
        let caller = at.and_then(of).or(caller.filter(|_| !error.is_asynchronous()));
        let place = caller.map_or_else(Place::default, Caller::place);
        let touch = |tag, writes| Touch { place: of(tag).map_or_else(Place::default, Caller::place), writes };
        let kind = match (error.detail.as_deref(), caller) {
            (Some(DriverDetail::HostBody(message)), Some(caller)) => {
                Detail::HostBody { kernel: caller.what, message: message.clone() }
            }
            (Some(DriverDetail::KernelFault(fault)), Some(caller)) => {
                Detail::KernelFault { kernel: caller.what, fault: Box::new(fault.clone()) }
            }
            (Some(DriverDetail::Unwritten(unwritten)), Some(caller)) => unwritten.by(caller.what),
            (Some(&DriverDetail::Race { writes, earlier, earlier_writes }), _) => Detail::Race {
                earlier: Box::new(touch(earlier, earlier_writes)),
                later: Box::new(Touch { place, writes }),
                help: "",
            },
            (Some(DriverDetail::Users(users)), _) => {
                let operations = users.iter().map(|&tag| touch(tag, false).place).collect();
                Detail::MemoryInUse { operations }
            }
            (Some(DriverDetail::Forked), _) => Detail::Forked,
            _ => Detail::Driver(error),
        };
        Error::new(kind).at(place)
    }
}
