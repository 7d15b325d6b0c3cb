//! [`ModelTarget`]: nothing is carried out: it is worked out how long it would take.

use std::cell::RefCell;

use super::Model;
use crate::base::engine::Engine;
use crate::driver::{Command, DriverResult, Tag};
use crate::engine::arguments::in_place::InPlace;
use crate::engine::targets::what::{HostPart, What};

/// Where commands are only worked out.
pub(crate) struct ModelTarget<'r> {
    model: &'r RefCell<Model>,
    /// The arguments that kernels reach where they are.
    in_place: &'r [InPlace],
}

impl<'r> ModelTarget<'r> {
    pub(crate) fn new(model: &'r RefCell<Model>, in_place: &'r [InPlace]) -> Self {
        Self { model, in_place }
    }

    /// Works out a command.
    pub(crate) fn enqueue(
        &self,
        command: &Command<'_>,
        stream: usize,
        event: Option<usize>,
        tag: Tag,
    ) -> DriverResult<()> {
        self.model.borrow_mut().enqueue(command, stream, event, tag, self.in_place)
    }

    /// Works out what the host has a part in. `slot`: the ring slot.
    pub(crate) fn take(&self, part: HostPart, stream: usize, slot: usize, tag: Tag) -> DriverResult<()> {
        let mut model = self.model.borrow_mut();
        match part {
            HostPart::Staged { engine, bytes } => model.staged(stream, tag, What::new(engine, bytes), slot),
            HostPart::Routine { bytes } => {
                model.kernel(stream, tag, What::new(Engine::Compute, bytes), [0.0; 2])
            }
            HostPart::Function { bytes } => model.host(stream, tag, What::new(Engine::Host, bytes)),
            HostPart::Callback => model.signal(stream, tag),
            // Kernels are not launched.
            HostPart::Variables => Ok(()),
        }
    }

    /// Another chunk begins: what a graph ends before is launched.
    pub(crate) fn begin(&self, chunk: usize) -> DriverResult<()> {
        self.model.borrow_mut().begin_chunk(chunk)
    }

    /// In graph mode, launches what was recorded.
    pub(crate) fn launch(&self) -> DriverResult<()> {
        self.model.borrow_mut().launch()
    }
}
