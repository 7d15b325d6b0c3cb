//! [`Graphs`]: the graphs of a pipeline, kept from run to run.

use crate::base::plan::Priority;
use crate::device::Device;
use crate::device::memory::release;
use crate::device::stream::{Event, Stream};
use crate::driver::command::recording::Recording;
use crate::driver::{DriverResult, RawGraph};
use crate::engine::targets::graph::recorded::Recorded;
use crate::engine::targets::graph::repeat::Done;

/// A graph that is destroyed when it is dropped.
#[derive(Debug)]
pub(crate) struct Graph {
    device: Device,
    pub(crate) raw: RawGraph,
}

impl Drop for Graph {
    fn drop(&mut self) {
        let raw = std::mem::take(&mut self.raw);
        release(&self.device, move |driver| {
            // SAFETY: destroyed here only. A graph is dropped when its pipeline has drained: one that is
            // replaced before then waits in `retired`, and those of a device that does not answer are leaked.
            let _ = unsafe { driver.destroy_graph(&raw) };
        });
    }
}

/// A graph with the commands that it contains.
#[derive(Debug)]
pub(crate) struct CachedGraph {
    pub(crate) graph: Graph,
    pub(crate) nodes: Recording,
    /// The device's count of freed allocations when the graph was made.
    frees: u64,
}

impl CachedGraph {
    /// Whether all memory to which the graph refers is still the same.
    pub(crate) fn is_fresh(&mut self, device: &Device) -> bool {
        // Read before the check: memory freed in between is checked again the next time.
        let frees = device.driver().frees();
        if frees == self.frees {
            return true;
        }
        let freed = device.driver().freed_since(self.frees);
        let fresh = freed.is_some_and(|ranges| !self.nodes.uses_any(&ranges));
        if fresh {
            self.frees = frees;
        }
        fresh
    }
}

/// A stream on which graphs are launched, one after another.
#[derive(Debug)]
pub(crate) struct GraphLane {
    pub(crate) stream: Stream,
    /// Recorded after each launch if a graph covers one chunk.
    pub(crate) done: Event,
    /// Whether `done` stands for a launch that was not waited for.
    pub(crate) in_flight: bool,
    /// The graphs, in the order in which a run, or a chunk, launches them.
    pub(crate) kept: Vec<Option<Box<CachedGraph>>>,
}

/// The commands launched at this position the last time.
pub(crate) fn before(lanes: &[GraphLane], lane: usize, position: usize) -> Option<&Recording> {
    Some(&lanes.get(lane)?.kept.get(position)?.as_ref()?.nodes)
}

/// The graphs of a pipeline, kept from run to run.
///
/// They hold addresses of arguments of runs that are over. No graph is launched before it was given the
/// addresses of the run that launches it.
#[derive(Debug, Default)]
pub(crate) struct Graphs {
    pub(crate) lanes: Vec<GraphLane>,
    /// The graphs replaced in this run, perhaps while they were under way, with the lanes on which they were
    /// launched.
    pub(crate) retired: Vec<(usize, Graph)>,
    /// The commands of the run; empty between runs.
    pub(crate) recorded: Recorded,
    /// The number of graphs that this run, or the last one, has launched on its lane so far.
    pub(crate) launched: usize,
    /// The run before, if it had no failure and the next one may do the same.
    pub(crate) done: Option<Done>,
}

impl Graphs {
    /// Ensures that there are so many lanes, and room for the order of so many streams and events.
    pub(crate) fn reserve(
        &mut self,
        device: &Device,
        lanes: usize,
        (streams, events): (usize, usize),
    ) -> DriverResult<()> {
        self.recorded.reserve(streams, events);
        while self.lanes.len() < lanes {
            let (stream, done) = (Stream::new(device, Priority::Default)?, Event::new(device)?);
            self.lanes.push(GraphLane { stream, done, in_flight: false, kept: Vec::new() });
        }
        Ok(())
    }

    /// The streams on which graphs are launched.
    pub(crate) fn streams(&self) -> impl Iterator<Item = &Stream> {
        self.lanes.iter().map(|lane| &lane.stream)
    }

    /// Drops the retired graphs of a lane, because the device is done with everything launched on it.
    pub(crate) fn drop_retired(&mut self, lane: usize) {
        self.retired.retain(|(of, _)| *of != lane);
    }

    /// Drops the retired graphs of a run that is over.
    pub(crate) fn rest(&mut self) {
        self.retired.clear();
        self.recorded.clear();
        self.lanes.iter_mut().for_each(|lane| lane.in_flight = false);
    }

    /// Leaves the graphs to the device.
    pub(crate) fn leak(self) {
        let kept = self.lanes.into_iter().flat_map(|lane| lane.kept).flatten().map(|kept| kept.graph);
        kept.chain(self.retired.into_iter().map(|(_, graph)| graph)).for_each(std::mem::forget);
    }
}

/// A graph of the recorded commands: the kept one, updated where it differs, or a new one.
///
/// # Safety
/// Those of [`Driver::build_graph`](crate::driver::Driver::build_graph).
pub(crate) unsafe fn prepared(
    device: &Device,
    kept: Option<Box<CachedGraph>>,
    recorded: &mut Recorded,
    mut retire: impl FnMut(Graph),
) -> DriverResult<Box<CachedGraph>> {
    if let Some(mut kept) = kept {
        let is_fresh = kept.is_fresh(device);
        if is_fresh && recorded.is_all_of(&kept.nodes) {
            return Ok(kept);
        }
        recorded.differ(Some(&kept.nodes));
        let nodes = recorded.nodes();
        if is_fresh && let Some(changed) = nodes.changes(&kept.nodes) {
            let replaced = |mut kept: Box<CachedGraph>, nodes: &mut Recording| {
                std::mem::swap(&mut kept.nodes, nodes);
                kept
            };
            if changed.is_empty() {
                return Ok(replaced(kept, nodes));
            }
            if nodes.can_replace(&kept.nodes, &changed) {
                // SAFETY: the caller's promise; the topology is the same.
                match unsafe { device.driver().update_graph(&kept.graph.raw, nodes, &changed) } {
                    Ok(true) => return Ok(replaced(kept, nodes)),
                    Ok(false) => {}
                    Err(error) => {
                        retire(kept.graph);
                        return Err(error);
                    }
                }
            }
        }
        retire(kept.graph);
    }
    let frees = device.driver().frees();
    // SAFETY: the caller's promise.
    let raw = unsafe { device.driver().build_graph(recorded.nodes(), true)? };
    let nodes = std::mem::take(recorded.nodes());
    Ok(Box::new(CachedGraph { graph: Graph { device: device.clone(), raw }, nodes, frees }))
}
