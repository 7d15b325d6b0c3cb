//! [`Graphs`]: a prediction's model of the graphs that a run would launch.

use crate::backends::sim::forecast::{Demand, Forecast};
use crate::driver::{DriverResult, Nanos, RawEvent, RawStream, Tag};
use crate::engine::targets::graph::recorder::{Cover, FIRST_NODES, MOST_NODES};
use crate::engine::targets::what::What;

/// A step in a graph, which happens when the graph is launched.
pub(crate) enum Step {
    Record { event: usize, stream: usize },
    Wait { event: usize, stream: usize },
    Work { stream: usize, tag: Tag, what: What, demand: Demand, cost: Nanos },
}

/// The graphs of a predicted run: as the recorder's, except that each has streams for its order.
pub(crate) struct Graphs {
    pub(crate) cover: Cover,
    /// The host's cost to launch a graph, to change a node of one, and to record an event or wait for one.
    costs: [Nanos; 3],
    lanes: Vec<ModelLane>,
    /// The chunk's lane.
    lane: usize,
    /// The number of graphs that the run, or the chunk, has launched.
    position: usize,
    /// Whether the chunk was ordered after the one before.
    placed: bool,
    /// The lane of the last launch.
    last: Option<usize>,
    steps: Vec<Step>,
    nodes: usize,
}

/// A stream on which graphs are launched: it has one of its own for each of the plan's streams.
#[derive(Default, Clone)]
struct ModelLane {
    streams: Vec<Option<ModelStream>>,
}

#[derive(Clone, Copy)]
struct ModelStream {
    raw: RawStream,
    /// Recorded after the last graph with work on the stream.
    end: RawEvent,
}

impl Graphs {
    pub(crate) fn new(cover: Cover, forecast: &Forecast, slots: usize) -> Self {
        let [launch, update] = forecast.graph_costs();
        let [_, _, event] = forecast.costs();
        let lanes = if cover == Cover::Run { 1 } else { slots };
        Self {
            cover,
            costs: [launch, update, event],
            lanes: vec![ModelLane::default(); lanes],
            lane: 0,
            position: 0,
            placed: false,
            last: None,
            steps: Vec::new(),
            nodes: 0,
        }
    }

    /// Whether the recorded steps are launched before any of another chunk.
    pub(crate) fn is_full(&self) -> bool {
        match self.cover {
            Cover::Run => self.nodes >= if self.position == 0 { FIRST_NODES } else { MOST_NODES },
            Cover::Chunk { .. } => true,
        }
    }

    /// Begins a chunk.
    pub(crate) fn begin(&mut self, chunk: usize) {
        if self.cover != Cover::Run {
            self.lane = chunk % self.lanes.len();
            (self.position, self.placed) = (0, false);
        }
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.nodes += usize::from(matches!(step, Step::Work { .. }));
        self.steps.push(step);
    }

    /// The steps of a graph that is launched now, if it has any nodes; the host is busy with the launch.
    pub(crate) fn launch(&mut self, forecast: &mut Forecast) -> Vec<Step> {
        let nodes = std::mem::take(&mut self.nodes);
        let steps = std::mem::take(&mut self.steps);
        if nodes == 0 {
            return Vec::new();
        }
        let [launch, update, _] = self.costs;
        forecast.host_works(update * nodes as f64 + launch);
        self.position += 1;
        steps
    }

    /// The lane's own stream for one of the plan's: its next work comes after everything launched in the lane
    /// before, and after the chunk before if the plan has that order. `begun`: the streams for which that is
    /// already so.
    pub(crate) fn stream(
        &mut self,
        forecast: &mut Forecast,
        (stream, priority): (usize, i32),
        tag: Tag,
        begun: &mut Vec<usize>,
    ) -> DriverResult<RawStream> {
        let own = &mut self.lanes[self.lane].streams;
        if own.len() <= stream {
            own.resize(stream + 1, None);
        }
        let new = || ModelStream { raw: forecast.stream(priority), end: forecast.event() };
        let raw = own[stream].get_or_insert_with(new).raw;
        if begun.contains(&stream) {
            return Ok(raw);
        }
        begun.push(stream);
        let ordered = matches!(self.cover, Cover::Chunk { ordered: true });
        let before = self.last.filter(|&last| ordered && last != self.lane);
        if before.is_some() && !std::mem::replace(&mut self.placed, true) {
            forecast.host_works(self.costs[2]);
        }
        for lane in std::iter::once(self.lane).chain(before) {
            for earlier in self.lanes[lane].streams.iter().flatten() {
                forecast.wait(raw, earlier.end, tag, 0.0)?;
            }
        }
        Ok(raw)
    }

    /// Notes that a graph was launched on these streams.
    pub(crate) fn launched(
        &mut self,
        forecast: &mut Forecast,
        begun: &[usize],
        tag: Tag,
    ) -> DriverResult<()> {
        for &stream in begun {
            if let Some(ModelStream { raw, end }) = self.lanes[self.lane].streams[stream] {
                forecast.record(end, raw, tag, 0.0)?;
            }
        }
        if self.cover != Cover::Run {
            self.last = Some(self.lane);
            forecast.host_works(self.costs[2]);
        }
        Ok(())
    }

    /// Lets the host wait for everything launched for the chunk's slot.
    pub(crate) fn settle(&self, forecast: &mut Forecast) -> DriverResult<()> {
        let mut ends = self.lanes[self.lane].streams.iter().flatten();
        ends.try_for_each(|stream| forecast.host_waits(stream.end))
    }
}
