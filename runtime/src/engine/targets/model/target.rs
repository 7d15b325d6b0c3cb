//! [`ModelTarget`]: predicts how long commands would take, and carries nothing out.

use std::cell::RefCell;

use super::Model;
use crate::base::engine::Engine;
use crate::driver::{Command, DriverResult, Tag};
use crate::engine::arguments::in_place::InPlace;
use crate::engine::targets::what::{HostPart, What};

/// The target that only predicts commands.
pub(crate) struct ModelTarget<'r> {
    model: &'r RefCell<Model>,
    /// The arguments that kernels access where they lie.
    in_place: &'r [InPlace],
}

impl<'r> ModelTarget<'r> {
    pub(crate) fn new(model: &'r RefCell<Model>, in_place: &'r [InPlace]) -> Self {
        Self { model, in_place }
    }

    /// Predicts a command.
    pub(crate) fn enqueue(
        &self,
        command: &Command<'_>,
        stream: usize,
        event: Option<usize>,
        tag: Tag,
    ) -> DriverResult<()> {
        self.model.borrow_mut().enqueue(command, stream, event, tag, self.in_place)
    }

    /// Predicts the host's part. `slot`: the ring slot.
    pub(crate) fn take(&self, part: HostPart, stream: usize, slot: usize, tag: Tag) -> DriverResult<()> {
        let mut model = self.model.borrow_mut();
        match part {
            HostPart::Staged { engine, bytes } => model.staged(stream, tag, What::new(engine, bytes), slot),
            HostPart::Routine { bytes } => {
                model.kernel(stream, tag, What::new(Engine::Compute, bytes), [0.0; 2])
            }
            HostPart::Function { bytes } => model.host(stream, tag, What::new(Engine::Host, bytes)),
            HostPart::Collective { bytes, nanos } => {
                model.collective(stream, tag, What::new(Engine::Network, bytes), nanos)
            }
            HostPart::Callback => model.signal(stream, tag),
            // Kernels are not launched.
            HostPart::Variables => Ok(()),
        }
    }

    /// Begins another chunk: launches the graph that ends before it.
    pub(crate) fn begin(&self, chunk: usize) -> DriverResult<()> {
        self.model.borrow_mut().begin_chunk(chunk)
    }

    /// In graph mode, launches the recorded steps.
    pub(crate) fn launch(&self) -> DriverResult<()> {
        self.model.borrow_mut().launch()
    }
}
