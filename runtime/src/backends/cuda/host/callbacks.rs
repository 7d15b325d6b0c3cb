//! The callbacks that the driver is to call, and may never call.
//!
//! A function that is passed to `cuLaunchHostFunc` is called once, or, after an error in the context, not at
//! all, and the driver does not say which. So it gets no pointer that it would own. It gets a number, under
//! which the work is found here as long as it is needed. Whoever takes out the work, the driver's thread or
//! its owner, drops it.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr;

use crate::base::sync::{Mutex, MutexGuard, PoisonError, global};
use crate::base::unwind::contain;
use crate::driver::HostJob;

/// The owner of one device's callbacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner(usize);

/// The number of one callback, which is never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(usize);

struct Pending {
    owner: Owner,
    work: HostJob,
}

struct Registry {
    numbers: usize,
    pending: BTreeMap<Ticket, Pending>,
}

global! {
    /// There is one registry for the process, so that a driver that calls late finds it whatever has happened
    /// to the device.
    static REGISTRY: Mutex<Registry> = Mutex::new(Registry { numbers: 0, pending: BTreeMap::new() });
}

fn registry() -> MutexGuard<'static, Registry> {
    // No work runs, and none is dropped, under the lock.
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    fn number(&mut self) -> usize {
        self.numbers += 1;
        self.numbers
    }
}

impl Owner {
    pub(super) fn new() -> Self {
        Self(registry().number())
    }

    /// Keeps work until its callback comes.
    pub(super) fn expect(self, work: HostJob) -> Ticket {
        let mut registry = registry();
        let ticket = Ticket(registry.number());
        registry.pending.insert(ticket, Pending { owner: self, work });
        ticket
    }

    /// Drops all work whose callback has not come. It will not come, or is not needed any more.
    pub(super) fn forget_all(self) {
        let mut registry = registry();
        let mine = |pending: &Pending| pending.owner == self;
        let tickets: Vec<_> =
            registry.pending.iter().filter(|(_, pending)| mine(pending)).map(|(&ticket, _)| ticket).collect();
        let dropped: Vec<_> = tickets.iter().filter_map(|ticket| registry.pending.remove(ticket)).collect();
        drop(registry);
        dropped.into_iter().for_each(|pending| contain(|| drop(pending)));
    }
}

impl Ticket {
    /// The argument of [`called`].
    pub(super) fn argument(self) -> *mut c_void {
        ptr::without_provenance_mut(self.0)
    }

    /// Takes the work back, unless the callback has come.
    pub(super) fn take(self) -> Option<HostJob> {
        registry().pending.remove(&self).map(|pending| pending.work)
    }
}

/// The function that the driver calls.
pub(super) unsafe extern "C" fn called(argument: *mut c_void) {
    if let Some(work) = Ticket(argument.addr()).take() {
        contain(work);
    }
}
