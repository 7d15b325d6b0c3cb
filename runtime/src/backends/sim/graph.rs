//! Graphs: the operations of a launch as commands of streams that no other commands are on.
//!
//! A graph's nodes are cut into chains. In a chain each node comes directly after the one before it. Each
//! chain is a stream of its own, except the first, which is the launch's stream, and events order the chains.
//! So the commands have exactly the graph's order, for the race checker too: a chain adds no order, because
//! its nodes are ordered anyway, and a node is on the launch's stream only if it is that stream's next
//! command or comes after it.
//!
//! The launches of a stream use the same chains, one after another. That adds no order either: all of a
//! launch comes before everything that is enqueued on its stream afterwards, including the next launch there.
//! If each launch had its own chains, the bookkeeping for each command would grow with their number.

use std::sync::Arc;

use super::fault;
use super::machine::{Machine, Part};
use super::queue::Work;
use super::work::{Planned, Spans};
use crate::base::error::DriverError;
use crate::driver::{DriverResult, RawGraph, RawStream, Tag};

/// One node, ready to be enqueued.
pub(super) struct GraphNode<'a> {
    pub tag: Tag,
    /// Indices of the nodes that it comes directly after, all lower than its own.
    pub after: &'a [u32],
    /// The call that would have enqueued it on a stream.
    pub call: &'static str,
    pub spans: Spans,
    /// `None` for a node that does nothing.
    pub work: Option<Work>,
}

impl<'a> GraphNode<'a> {
    /// `planned`: `None` for a node that does nothing.
    pub(crate) fn new(tag: Tag, after: &'a [u32], planned: Option<Planned>) -> Self {
        match planned {
            Some(Planned { call, spans, work }) => Self { tag, after, call, spans, work: Some(work) },
            None => Self { tag, after, call: "cuGraphAddEmptyNode", spans: Spans::default(), work: None },
        }
    }
}

impl Machine {
    /// Checks that the graph exists and has this number of nodes.
    pub(crate) fn check_graph(&self, call: &'static str, graph: &RawGraph, nodes: usize) -> DriverResult<()> {
        let found = self.graphs.get(graph.graph).filter(|&&built| built == nodes);
        found.map(drop).ok_or_else(|| fault::invalid_handle(call, "graph"))
    }

    /// Checks everything that [`launch_graph`](Self::launch_graph) relies on.
    pub(crate) fn check_nodes(
        &mut self,
        call: &'static str,
        stream: RawStream,
        nodes: &[GraphNode<'_>],
    ) -> DriverResult<()> {
        self.stream(call, stream)?;
        for node in nodes {
            let refused = |error: Box<DriverError>| error.about(node.tag);
            self.check(node.call, stream, &node.spans).map_err(refused)?;
        }
        Ok(())
    }

    /// Changes the work of nodes according to faults. If a node is refused, the graph is refused.
    pub(crate) fn tamper_with_nodes(
        &mut self,
        device: usize,
        nodes: &mut [GraphNode<'_>],
    ) -> DriverResult<()> {
        for node in nodes {
            let Some(mut work) = node.work.take() else { continue };
            let tampered = self.tamper(node.call, device, node.tag, &mut work);
            if let Ok(false) = tampered {
                self.skipped.push(work.action);
            } else {
                // The work is enqueued, or dropped with the other nodes.
                node.work = Some(work);
            }
            tampered?;
        }
        Ok(())
    }

    /// Enqueues a graph's nodes after [`check_nodes`](Self::check_nodes) has accepted them.
    pub(crate) fn launch_graph(
        &mut self,
        call: &'static str,
        stream: RawStream,
        tag: Tag,
        nodes: &mut [GraphNode<'_>],
    ) -> DriverResult<()> {
        let device = self.stream(call, stream)?.device;
        let Part { host, model, .. } = &mut self.parts[device];
        *host += model.graph_launch;
        self.wait_as_legacy(call, stream, tag)?;
        // Note 46: the launches of one stream share their chains.
        let chains = Chains::new(nodes);
        let mut streams = vec![stream];
        if chains.count > 1 {
            let begun = self.record_now(call, stream, tag, 0.0)?;
            for chain in self.chains(call, stream, chains.count - 1)? {
                self.begin_chain(call, chain, &begun, tag)?;
                streams.push(chain);
            }
        }
        let mut records = vec![None; nodes.len()];
        for (index, node) in nodes.iter_mut().enumerate() {
            let stream = streams[chains.of[index]];
            for &before in node.after {
                if let Some(record) = &records[before as usize]
                    && chains.of[before as usize] != chains.of[index]
                {
                    let record = Arc::clone(record);
                    self.wait_for(node.call, stream, &record, node.tag, 0.0)?;
                }
            }
            if let Some(work) = node.work.take() {
                self.enqueue_at(node.call, stream, node.tag, &node.spans, work, 0.0)?;
            }
            if chains.recorded[index] {
                records[index] = Some(self.record_now(node.call, stream, node.tag, 0.0)?);
            }
        }
        for last in chains.last.iter().skip(1) {
            if let Some(record) = &records[*last] {
                let record = Arc::clone(record);
                self.wait_for(call, stream, &record, tag, 0.0)?;
            }
        }
        Ok(())
    }

    /// Chains for a launch on a stream, as many as asked for: those of earlier launches, and new ones.
    fn chains(
        &mut self,
        call: &'static str,
        stream: RawStream,
        count: usize,
    ) -> DriverResult<Vec<RawStream>> {
        let state = self.stream(call, stream)?;
        let (device, priority, known) = (state.device, state.priority, state.chains.len());
        for _ in known..count {
            let chain = self.create_stream(device, priority);
            self.stream(call, stream)?.chains.push(chain);
        }
        Ok(self.stream(call, stream)?.chains[..count].to_vec())
    }
}

/// The chain that each node is on.
struct Chains {
    of: Vec<usize>,
    /// The last node of each chain.
    last: Vec<usize>,
    /// Whether another chain comes after this node.
    recorded: Vec<bool>,
    count: usize,
}

impl Chains {
    fn new(nodes: &[GraphNode<'_>]) -> Self {
        let mut chains =
            Self { of: Vec::new(), last: Vec::new(), recorded: vec![false; nodes.len()], count: 0 };
        for (index, node) in nodes.iter().enumerate() {
            let before = || node.after.iter().map(|&before| before as usize);
            let continued = before().map(|before| chains.of[before]).find(|&chain| {
                let last = chains.last[chain];
                before().any(|before| before == last)
            });
            let chain = continued.unwrap_or_else(|| {
                chains.last.push(index);
                chains.last.len() - 1
            });
            chains.last[chain] = index;
            chains.of.push(chain);
            for before in before().filter(|&before| chains.of[before] != chain) {
                chains.recorded[before] = true;
            }
        }
        // Commands that are enqueued after the graph come after every chain.
        for &last in chains.last.iter().skip(1) {
            chains.recorded[last] = true;
        }
        chains.count = chains.last.len();
        chains
    }
}
