//! Measuring a device's graphs.

use super::measure::{Direction, MANY, On, Rig, SMALL, TAG, quickest};
use super::nothing::{self, Nothing};
use crate::base::model::SMALL_COPY;
use crate::driver::command::recording::Recording;
use crate::driver::{Command, DriverResult, HostBody, RawGraph};

/// Why nothing is refused that a graph is made of here.
const MAY: &str = "a graph can have copies, fills and launches";

impl Rig<'_> {
    /// Seconds from one to the next of the largest small copies that follow one another in a graph.
    pub(super) fn small_copy_in_a_graph(&self) -> DriverResult<f64> {
        let chain = |copies: u32| {
            let mut nodes = Recording::default();
            for copy in 0..copies {
                let after = copy.checked_sub(1);
                // SAFETY: it is no launch.
                unsafe { nodes.push(TAG, after.as_slice(), &self.copying(Direction::ToDevice, SMALL_COPY)) }
                    .expect(MAY);
            }
            self.with_graph(&nodes, |graph| quickest(|| self.time(|| self.launch(graph, &nodes, Vec::new()))))
        };
        Ok((chain(MANY as u32)? - chain(1)?).max(0.0) / (MANY - 1) as f64)
    }

    /// Seconds to launch the graph of a chunk, and seconds to change a node of one.
    pub(super) fn graph(&self, kernel: Option<&Nothing>) -> DriverResult<[f64; 2]> {
        let [nodes, other] = [0, 1].map(|number| self.graph_of_a_chunk(kernel, number));
        self.with_graph(&nodes, |graph| {
            let bodies = || match kernel {
                Some(_) if self.device.is_on_host() => vec![nothing::body()],
                _ => Vec::new(),
            };
            let launching = self.enqueuing(|| self.launch(graph, &nodes, bodies()))?;
            let update = |nodes: &Recording| {
                // SAFETY: as in `with_graph`; the other recording has the same topology.
                unsafe { self.driver().update_graph(graph, nodes, &[0, 1, 2]) }.map(drop)
            };
            let updating = quickest(|| {
                let start = self.driver().clock();
                for _ in 0..MANY / 2 {
                    update(&other)?;
                    update(&nodes)?;
                }
                Ok(self.driver().clock().saturating_sub(start).as_secs_f64() / (3 * MANY) as f64)
            })?;
            Ok([launching, updating])
        })
    }

    /// Makes a graph of copies, fills and launches of [`Nothing`] within this memory, and does something with it.
    fn with_graph<R>(
        &self,
        nodes: &Recording,
        act: impl FnOnce(&RawGraph) -> DriverResult<R>,
    ) -> DriverResult<R> {
        // SAFETY: its kernel is loaded, and its addresses are live as long as `self`.
        let graph = unsafe { self.driver().build_graph(nodes, true) }?;
        let result = act(&graph);
        let quiet = self.streams.iter().all(|stream| stream.synchronize().is_ok());
        if quiet {
            // SAFETY: the graph is destroyed here only, and no launch of it is under way. If it cannot be
            // destroyed, it leaks.
            let _ = unsafe { self.driver().destroy_graph(&graph) };
        }
        result
    }

    /// Launches such a graph.
    fn launch(&self, graph: &RawGraph, nodes: &Recording, bodies: Vec<HostBody>) -> DriverResult<()> {
        let launch = Command::Graph { graph, nodes, bodies };
        // SAFETY: the graph is live until `self.streams` have been waited for, and the memory as long as `self`, which
        // waits for them in `drop`.
        unsafe { self.driver().enqueue(launch, self.stream(On::First).raw, TAG) }
    }

    /// The three nodes of a small chunk, one after the other. All of them are others for another number.
    fn graph_of_a_chunk(&self, kernel: Option<&Nothing>, number: u8) -> Recording {
        let bytes = SMALL >> number;
        let mut nodes = Recording::default();
        let mut push = |after: &[u32], command: &Command<'_>| {
            // SAFETY: the arguments of the launch are as many and as large as the kernel's parameters.
            unsafe { nodes.push(TAG, after, command) }.expect(MAY);
        };
        push(&[], &self.copying(Direction::ToDevice, bytes));
        match kernel {
            Some(kernel) => {
                kernel.with_launch(u32::from(number), |launch| push(&[0], &Command::Launch(launch)));
            }
            None => {
                let pattern = &[number; 4];
                push(&[0], &Command::Fill { to: self.on_device[0].ptr, pattern, count: 1 });
            }
        }
        push(&[1], &self.copying(Direction::ToHost, bytes));
        nodes
    }
}
