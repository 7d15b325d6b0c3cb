//! What a routine keeps from call to call.

use std::any::TypeId;

use crate::base::error::{ErrorKind, Result};
use crate::engine::run::enqueue::Enqueue;
use crate::engine::state::{Key, State, Taken, locked};

impl Enqueue<'_> {
    /// What this routine keeps from call to call: a library's handle, its workspace, a plan. It is made with `make` when it
    /// is asked for the first time.
    ///
    /// There is one value of each type for each ring slot and stream of the pipeline, so that no two chunks in flight share
    /// one, nor do stages on different streams: the handle of a library that is given
    /// [`cuda_stream`](Self::cuda_stream) when it is made, and memory that its work uses, are its own. The pipeline keeps
    /// the values from run to run. It drops them with itself, when the device has completed all their work, with the
    /// device's context current; if the device does not answer any more, they are leaked. A panic of a value's destructor ends
    /// there.
    ///
    /// Types tell values apart: routines that must not share one wrap it in types of their own.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use thalweg::{DeviceSliceMut, Enqueue, Spec};
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
    /// Numbered::new(&Device::simulated(Spec::default()))?.run(&mut x)?;
    /// assert_eq!(x, [1, 1, 2, 2, 3], "each of the two slots has its own handle");
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// `make`'s own; [`ErrorKind::StateInUse`] if the value is in use further up, by a routine that has called this one, or
    /// a routine of an earlier chunk has leaked it; the run was refused before.
    pub fn state<S: Send + 'static>(&self, make: impl FnOnce() -> Result<S>) -> Result<State<'_, S>> {
        self.admit(&[])?;
        let key =
            Key { of: TypeId::of::<S>(), slot: self.operation.slot, stream: self.operation.direct_stream() };
        let states = self.operation.run.resources.states;
        let taken = locked(states).take(key);
        match taken {
            Taken::Kept(value) => match value.downcast::<S>() {
                Ok(value) => Ok(State { states, key, value: Some(value) }),
                Err(_) => unreachable!("values are found by their type"),
            },
            Taken::InUse => Err(ErrorKind::StateInUse { state: std::any::type_name::<S>() }.into()),
            Taken::New => {
                // If `make` fails or unwinds, this takes the note back.
                let mut state = State { states, key, value: None };
                self.operation.check(self.device().driver().make_current())?;
                state.value = Some(Box::new(make()?));
                Ok(state)
            }
        }
    }
}
