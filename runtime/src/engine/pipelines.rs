//! [`Pipelines`]: a pipeline on each of its devices.

use std::panic::Location;

use crate::base::error::{Error, Result};
use crate::base::plan::Plan;
use crate::device::devices::check;
use crate::device::launch::Kernel;
use crate::engine::arguments::shape::Size;
use crate::engine::call::Call;
use crate::engine::options::Settings;
use crate::engine::pipeline::{ChunkSize, Pipeline};
use crate::engine::place::place_of_pipeline;
use crate::engine::purpose::Purpose;
use crate::engine::ranks::{Ranks, refuse_several};
use crate::engine::run::Run;

/// The resources of a pipeline on each of its devices, which share the chunks of a run.
#[derive(Debug)]
pub struct Pipelines {
    /// At least one, by the device's number.
    parts: Vec<Pipeline>,
}

impl Pipelines {
    /// Creates the streams and events of each device. `depth` is the declared one.
    ///
    /// # Errors
    /// Those of [`Pipeline::new`], with the device.
    pub fn new(settings: Settings<'_>, plan: &'static Plan, depth: usize) -> Result<Self> {
        Self::on_each(settings, plan, |settings| Pipeline::new(settings, plan, depth))
    }

    /// Like [`new`](Self::new), for a pipeline whose declaration leaves the depth to each run.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), for the options' depth.
    pub fn with_auto_depth(settings: Settings<'_>, plan: &'static Plan) -> Result<Self> {
        Self::on_each(settings, plan, |settings| Pipeline::with_auto_depth(settings, plan))
    }

    fn on_each(
        settings: Settings<'_>,
        plan: &'static Plan,
        build: impl Fn(Settings<'_>) -> Result<Pipeline>,
    ) -> Result<Self> {
        let refused = |detail| Error::new(detail).at(place_of_pipeline(plan));
        check(settings.devices()).map_err(refused)?;
        if settings.world.is_some() {
            refuse_several(settings.devices().len()).map_err(refused)?;
        }
        let is_one = settings.devices().len() == 1;
        let parts = settings.devices().iter().enumerate().map(|(number, device)| {
            let named = |error: Error| if is_one { error } else { error.on_device(number, device.label()) };
            Ok(Pipeline { number, ..build(settings.on(device)).map_err(named)? })
        });
        let mut parts: Vec<Pipeline> = parts.collect::<Result<_>>()?;
        if let (Some(world), Some(part)) = (settings.world, parts.first_mut()) {
            part.ranks = Some(Ranks::join(world, &part.device, plan, settings.type_name)?);
        }
        Ok(Self { parts })
    }

    fn map(self, change: impl FnMut(Pipeline) -> Pipeline) -> Self {
        Self { parts: self.parts.into_iter().map(change).collect() }
    }

    /// Lets the ring take no more than this many bytes of each device's memory, unless the options say otherwise.
    #[must_use]
    pub fn with_budget(self, bytes: usize) -> Self {
        self.map(|part| part.with_budget(bytes))
    }

    /// Lets runs launch graphs in place of single operations, unless the options say otherwise.
    #[must_use]
    pub fn with_graph(self) -> Self {
        self.map(Pipeline::with_graph)
    }

    /// Loads the kernel that an operation launches, on each device.
    ///
    /// # Errors
    /// Those of [`Pipeline::load`], with the device.
    pub fn load<K: Kernel>(&self, operation: usize) -> Result<OnEach<K>> {
        let is_one = self.parts.len() == 1;
        let load = |part: &Pipeline| {
            part.load(operation).map_err(|error| if is_one { error } else { part.named(error) })
        };
        Ok(OnEach(self.parts.iter().map(load).collect::<Result<_>>()?))
    }

    /// Allocates the rings before the first run. The sizes are those of the plan's hosts and buffers.
    ///
    /// # Errors
    /// Those of [`Pipeline::reserve`], with the device.
    pub fn reserve(&mut self, chunk: ChunkSize, hosts: &[Size], buffers: &[Size]) -> Result<()> {
        let is_one = self.parts.len() == 1;
        self.parts.iter_mut().try_for_each(|part| {
            part.reserve(chunk, hosts, buffers)
                .map_err(|error| if is_one { error } else { part.named(error) })
        })
    }

    /// Begins a run: its arguments follow, in the order of declaration.
    #[track_caller]
    pub fn call<'a>(&mut self, purpose: Purpose) -> Call<'_, 'a> {
        let called = Some(Location::caller());
        self.parts.iter_mut().for_each(|part| part.called = called);
        let Some((first, others)) = self.parts.split_first_mut() else {
            unreachable!("a pipeline has a device")
        };
        Call::new(first, others, purpose).among_ranks()
    }
}

#[cfg(test)]
impl<P> crate::base::its::Its<P, Pipelines> {
    /// The pipeline on its first device.
    pub(crate) fn first(&mut self) -> &mut Pipeline {
        &mut Self::of_mut(self).parts[0]
    }
}

/// A kernel that is loaded on each device of a pipeline.
#[derive(Debug)]
pub struct OnEach<K>(Vec<K>);

impl<K> OnEach<K> {
    /// The kernel on the device of a run.
    #[inline]
    pub fn of(&self, run: &Run<'_>) -> &K {
        &self.0[run.resources.number]
    }
}
