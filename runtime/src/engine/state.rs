//! [`States`]: values that routines keep from call to call.

use std::any::{Any, TypeId};
use std::collections::HashSet;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::base::unwind::contain;
use crate::device::Device;
use crate::device::memory::release;
use crate::driver::RawStream;

pub(crate) type Value = Box<dyn Any + Send>;

/// The values that the routines of one pipeline keep: at most one value of a type for each ring slot and
/// stream.
///
/// Values are dropped with the pipeline, after it has drained, and with the device's context current. Values
/// of a device that does not answer are leaked. A destructor that panics does not keep the others from
/// running.
#[derive(Default)]
pub(crate) struct States {
    device: Option<Device>,
    /// The values of each ring slot, in the order in which they were made.
    slots: Vec<Vec<Entry>>,
    /// The operations whose routines were called, in a world of ranks.
    called: HashSet<usize>,
}

struct Entry {
    of: TypeId,
    stream: RawStream,
    /// `None` while a routine has it.
    value: Option<Value>,
}

/// The owner of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    pub(crate) of: TypeId,
    pub(crate) slot: usize,
    pub(crate) stream: RawStream,
}

/// The outcome of asking for a value.
pub(crate) enum Taken {
    Kept(Value),
    New,
    InUse,
}

impl States {
    pub(crate) fn new(device: &Device) -> Self {
        Self { device: Some(device.clone()), slots: Vec::new(), called: HashSet::new() }
    }

    /// Notes that the routine of an operation is called, and returns whether it never was before.
    pub(crate) fn is_first(&mut self, operation: usize) -> bool {
        self.called.insert(operation)
    }

    /// Takes the value of `key`, or notes that it is being made.
    pub(crate) fn take(&mut self, key: Key) -> Taken {
        while self.slots.len() <= key.slot {
            self.slots.push(Vec::new());
        }
        let entries = &mut self.slots[key.slot];
        match entries.iter_mut().find(|entry| entry.is(key)) {
            Some(entry) => entry.value.take().map_or(Taken::InUse, Taken::Kept),
            None => {
                entries.push(Entry { of: key.of, stream: key.stream, value: None });
                Taken::New
            }
        }
    }

    /// Puts a value back where [`take`](Self::take) found it; without a value, the next routine makes it
    /// anew.
    fn put(&mut self, key: Key, value: Option<Value>) {
        let Some(entries) = self.slots.get_mut(key.slot) else { return };
        match value {
            Some(value) => {
                if let Some(entry) = entries.iter_mut().find(|entry| entry.is(key)) {
                    entry.value = Some(value);
                }
            }
            None => entries.retain(|entry| !entry.is(key)),
        }
    }

    /// Ends a run: a value that a routine has not given back belongs to nobody, and the next run makes
    /// another.
    pub(crate) fn rest(&mut self) {
        self.slots.iter_mut().for_each(|entries| entries.retain(|entry| entry.value.is_some()));
    }

    /// Leaves the values to the device.
    pub(crate) fn leak(mut self) {
        self.forget();
    }

    fn forget(&mut self) {
        self.slots.drain(..).flatten().filter_map(|entry| entry.value).for_each(std::mem::forget);
    }
}

impl Entry {
    fn is(&self, key: Key) -> bool {
        self.of == key.of && self.stream == key.stream
    }
}

impl Drop for States {
    fn drop(&mut self) {
        let slots = std::mem::take(&mut self.slots);
        let Some(device) = self.device.take().filter(|_| !slots.is_empty()) else { return };
        release(&device, move |driver| {
            let values = slots.into_iter().flatten().filter_map(|entry| entry.value);
            if driver.make_current().is_err() {
                // Without the context, a handle's destructor would work on another context that happens to be
                // current.
                return values.for_each(std::mem::forget);
            }
            // Each is dropped on its own: a second panic while the first unwinds would abort the process.
            values.for_each(|value| contain(|| drop(value)));
        });
    }
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values", self.slots.iter().map(Vec::len).sum::<usize>())
    }
}

pub(crate) fn locked(states: &Mutex<States>) -> MutexGuard<'_, States> {
    // No user code runs under the lock, so a panic cannot leave the values half-changed.
    states.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A value that a routine keeps ([`Enqueue::state`](crate::routine::Enqueue::state)): dropping this gives it
/// back.
pub struct State<'q, S: Send + 'static> {
    pub(crate) states: &'q Mutex<States>,
    pub(crate) key: Key,
    /// Only `drop` takes it out.
    pub(crate) value: Option<Box<S>>,
}

impl<S: Send + 'static> Deref for State<'_, S> {
    type Target = S;

    fn deref(&self) -> &S {
        match &self.value {
            Some(value) => value,
            None => unreachable!("a state has its value until it is dropped"),
        }
    }
}

impl<S: Send + 'static> DerefMut for State<'_, S> {
    fn deref_mut(&mut self) -> &mut S {
        match &mut self.value {
            Some(value) => value,
            None => unreachable!("a state has its value until it is dropped"),
        }
    }
}

impl<S: Send + 'static> Drop for State<'_, S> {
    fn drop(&mut self) {
        let value = self.value.take().map(|value| value as Value);
        locked(self.states).put(self.key, value);
    }
}

impl<S: Send + fmt::Debug + 'static> fmt::Debug for State<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("State").field(&**self).finish()
    }
}
