//! Graphs: a launch enqueues the nodes one after another, in the order in which they were recorded, which is
//! one that the graph allows.

use super::device::Cpu;
use super::wait::release;
use super::work;
use crate::base::error::DriverError;
use crate::driver::command::recording::Recording;
use crate::driver::{DriverResult, HostBody, RawGraph, RawStream, Tag, fault};

impl Cpu {
    /// Checks that the graph exists and has this number of nodes.
    pub(super) fn check_graph(&self, call: &'static str, graph: &RawGraph, nodes: usize) -> DriverResult<()> {
        let found = self.state().graphs.get(graph.graph).is_some_and(|&built| built == nodes);
        if found { Ok(()) } else { Err(fault::invalid_handle(call, "graph")) }
    }

    pub(super) fn launch_graph(
        &self,
        graph: &RawGraph,
        nodes: &Recording,
        bodies: Vec<HostBody>,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()> {
        let call = "cuGraphLaunch";
        self.check_graph(call, graph, nodes.len())?;
        // The work is planned before the lock is taken. If it is refused, it is dropped after the lock is
        // released.
        let (mut bodies, mut params) = (bodies.into_iter(), Vec::new());
        let mut planned = Vec::with_capacity(nodes.len());
        for node in nodes.nodes() {
            let refused = |error: Box<DriverError>| error.about(node.tag);
            let work = nodes.command(node, &mut params, |command| match command {
                Some(command) => work::planned(command, &mut bodies),
                None => Ok(None),
            });
            planned.extend(work.map_err(refused)?.map(|work| (node.tag, work)));
        }
        let mut state = self.state();
        state.stream(call, stream)?;
        for (tag, work) in &planned {
            state.check(work, stream).map_err(|error| error.about(*tag))?;
        }
        state.wait_as_legacy(call, stream, tag)?;
        let mut rest = planned.into_iter();
        let enqueued = rest.by_ref().try_for_each(|(tag, work)| state.enqueue_work(work, stream, tag));
        release(state);
        enqueued
    }
}
