//! Values that a routine keeps from call to call.

use std::any::TypeId;

#[cfg(doc)]
use crate::base::error::ErrorKind;
use crate::base::error::{Detail, Result};
use crate::engine::run::enqueue::Enqueue;
use crate::engine::state::{Key, State, Taken, locked};

impl Enqueue<'_> {
    /// A value that this routine keeps from call to call: a library's handle, its workspace, a plan. The
    /// first call creates it with `make`.
    ///
    /// There is one value of each type for each ring slot and stream of the pipeline, so neither two chunks
    /// in flight nor stages on different streams share one: a library's handle that is given
    /// [`cuda_stream`](Self::cuda_stream) when it is made, and the memory that its work uses, belong to one
    /// slot and stream. The pipeline keeps the values from run to run. It drops them when it is dropped
    /// itself, after the device has completed all their work, with the device's context current; if the
    /// device does not answer any more, they are leaked. A panic of a value's destructor ends there.
    ///
    /// Types tell values apart: a routine that must not share a value wraps it in a type of its own.
    ///
    /// ```
    /// use thalweg::kernel::DeviceSliceMut;
    /// use thalweg::prelude::*;
    /// use thalweg::routine::Enqueue;
    /// use thalweg::sim::Simulation;
    ///
    /// /// A library's handle. On a GPU its `Drop` would destroy it.
    /// struct Handle {
    ///     calls: u32,
    /// }
    ///
    /// fn numbered(queue: &Enqueue<'_>, x: DeviceSliceMut<'_, u32>) -> thalweg::Result<()> {
    ///     let mut handle = queue.state(|| Ok(Handle { calls: 0 }))?;
    ///     handle.calls += 1;
    ///     let calls = handle.calls;
    ///     queue.simulate((x,), move |(x,)| x.fill(calls))
    /// }
    ///
    /// stream_pipeline! {
    ///     pipeline Numbered {
    ///         output x: [u32];
    ///         device dx: [u32];
    ///         chunk c = 1;
    ///         depth = 2;
    ///         stage number { fill dx = 0; call numbered(&mut dx); }
    ///         stage store { copy dx -> x; }
    ///     }
    /// }
    ///
    /// let mut x = [0; 5];
    /// Numbered::new(&Device::simulated(Simulation::default()))?.run(&mut x)?;
    /// assert_eq!(x, [1, 1, 2, 2, 3], "each of the two slots has its own handle");
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// The error of `make`; [`ErrorKind::Misuse`] if a calling routine is using the value, or a routine of an
    /// earlier chunk has leaked it; the error with which the run was refused before.
    pub fn state<S: Send + 'static>(&self, make: impl FnOnce() -> Result<S>) -> Result<State<'_, S>> {
        self.admit(&())?;
        let key =
            Key { of: TypeId::of::<S>(), slot: self.operation.slot, stream: self.operation.direct_stream() };
        let states = self.operation.run.resources.states;
        let taken = locked(states).take(key);
        match taken {
            Taken::Kept(value) => match value.downcast::<S>() {
                Ok(value) => Ok(State { states, key, value: Some(value) }),
                Err(_) => unreachable!("values are found by their type"),
            },
            Taken::InUse => Err(Detail::StateInUse { state: std::any::type_name::<S>() }.into()),
            Taken::New => {
                // If `make` fails or unwinds, dropping this takes the note back.
                let mut state = State { states, key, value: None };
                self.noted(self.operation.settle_collectives())?;
                self.noted(self.operation.check(self.device().driver().make_current()))?;
                state.value = Some(Box::new(make()?));
                Ok(state)
            }
        }
    }
}
