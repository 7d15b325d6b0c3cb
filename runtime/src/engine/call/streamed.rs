//! The sources and sinks of a call.

use std::sync::Arc;

use crate::base::error::{Detail, Error, Result, SEES_NEIGHBOURS};
use crate::base::plan::{OperationKind, OperationPlan};
use crate::engine::arguments::shape::Shape;
use crate::engine::arguments::{HostArgument, HostMemory};
use crate::engine::call::Call;
use crate::engine::chunks::chunking::Chunking;
use crate::engine::feeds::exchange::{End, Exchange, Reached};
use crate::engine::feeds::streamed::{ByChunk, EndWork, Streaming, explain_trouble};
use crate::engine::pipeline::Pipeline;
use crate::exchange::{Attached, Feed, SlotExchange, Wakeup};

/// Whether an operation copies from this host argument, or to it.
fn copies(operation: &OperationPlan, host: usize) -> bool {
    match operation.kind {
        OperationKind::Upload { host: of, .. } | OperationKind::Download { host: of, .. } => of == host,
        _ => false,
    }
}

impl<'a> Call<'_, 'a> {
    /// Checks that the plan allows an argument to be a source or a sink.
    pub(crate) fn may_stream(&self, host: usize, feed: &Feed<'a>, shape: Shape) -> Result<(), Detail> {
        let plan = self.pipeline.plan;
        let refused = |reason| Err(Detail::NotStreamed { host: plan.hosts[host].name, reason });
        let mut operations = plan.operations.iter().filter(|operation| copies(operation, host));
        match (feed, operations.next()) {
            _ if shape.halo > 0 => refused(SEES_NEIGHBOURS),
            (_, None) => refused("no operation copies it"),
            (feed, Some(first)) if feed.is_sink() && (first.conditional || operations.next().is_some()) => {
                refused(
                    "a sink takes each chunk once, but several copies write it, or one that chunks may leave out",
                )
            }
            _ => Ok(()),
        }
    }

    /// Whether only a source determines the number of items.
    pub(crate) fn is_endless(&self) -> bool {
        self.arguments.has_feeds && self.arguments.items.is_none()
    }

    /// The number of items to make room for: the greatest possible one if the run ends where its sources do.
    pub(crate) fn extent(&self) -> usize {
        if self.is_endless() { usize::MAX } else { self.items() }
    }

    /// Checks that the run can find out its number of items.
    pub(crate) fn check_extent(&self, reads: bool) -> Result<()> {
        let is_source = |feed: &Option<Feed<'a>>| feed.as_ref().is_some_and(|feed| !feed.is_sink());
        if !self.is_endless() || reads && self.arguments.hosts.iter().any(|host| is_source(&host.source.feed))
        {
            return Ok(());
        }
        let Some(index) = self.arguments.hosts.iter().position(|host| host.source.feed.is_some()) else {
            return Ok(());
        };
        let host = self.pipeline.plan.hosts[index].name;
        Err(Error::new(Detail::UnknownLength { host }).at(self.pipeline.place_of_host(index)))
    }

    /// The callers that must be told how the run ends.
    pub(crate) fn callers(&self) -> Vec<Arc<Attached>> {
        let feeds = self.arguments.hosts.iter().filter_map(|host| host.source.feed.as_ref());
        feeds.filter_map(Feed::caller).map(Arc::clone).collect()
    }

    /// The exchange that the run shares with its sources and sinks, and those of them that have threads, each
    /// with its number.
    pub(crate) fn take_feeds(&mut self) -> (Arc<Exchange>, Vec<(usize, EndWork<'a>)>) {
        let plan = self.pipeline.plan;
        let (mut ends, mut threads) = (Vec::new(), Vec::new());
        for (host, HostArgument { source, shape }) in self.arguments.hosts.iter_mut().enumerate() {
            let Some(feed) = source.feed.take() else { continue };
            let is_one = |&operation: &usize| copies(&plan.operations[operation], host);
            let operations = (0..plan.operations.len()).filter(is_one).collect();
            let is_sink = feed.is_sink();
            let mut thread = |work| {
                threads.push((ends.len(), work));
                Reached::Thread(SlotExchange::new(Arc::<Wakeup>::default()))
            };
            let link = match feed {
                Feed::Source(source) => thread(EndWork::Read(source)),
                Feed::Sink(sink) => thread(EndWork::Write(sink)),
                Feed::Pushed(caller) | Feed::Pulled(caller) => Reached::Caller(caller),
            };
            ends.push(End { host, name: plan.hosts[host].name, shape: *shape, is_sink, operations, link });
        }
        (Arc::new(Exchange::new(ends, self.is_endless(), self.devices)), threads)
    }

    /// The run's view of its sources and sinks, which receive its staging slots.
    pub(crate) fn streaming<'r>(&mut self, exchange: &'r Arc<Exchange>, whole: Chunking) -> Streaming<'r> {
        for (number, end) in exchange.ends.iter().enumerate() {
            for &operation in &end.operations {
                self.pipeline.staging.connect(operation, exchange, number);
            }
        }
        let endless = self.is_endless();
        let room = if endless { self.results_by_chunk().min_by_key(ByChunk::chunks) } else { None };
        Streaming { exchange, whole, endless, room }
    }

    /// The outputs with elements for each chunk whose length is known.
    fn results_by_chunk(&self) -> impl Iterator<Item = ByChunk> {
        let plan = self.pipeline.plan;
        let by_chunk = |name, len, shape: &Shape, place| {
            shape.per_chunk.then_some(ByChunk { name, len, per_chunk: shape.per_item, place })
        };
        let hosts = self.arguments.hosts.iter().enumerate();
        let hosts = hosts.filter(|(_, host)| !matches!(host.source.memory, HostMemory::Streamed));
        let hosts = hosts.filter_map(move |(index, HostArgument { source, shape })| {
            by_chunk(plan.hosts[index].name, source.len, shape, self.pipeline.place_of_host(index))
        });
        let in_place = self.arguments.buffers.iter().enumerate().filter(|(_, buffer)| buffer.is_in_place());
        let in_place = in_place.zip(&self.arguments.in_place).filter_map(move |((index, buffer), data)| {
            let place = self.pipeline.place_of_buffer(index);
            by_chunk(plan.buffers[index].name, data.len, &buffer.shape, place)
        });
        hosts.chain(in_place)
    }
}

impl Pipeline {
    /// Waits until the sinks have written everything that they were given. Returns the reason why a source or
    /// a sink has stopped.
    pub(crate) fn finish_sinks(&mut self, exchange: &Exchange) -> Option<Error> {
        exchange.finish_sinks(self.plan);
        self.staging.finish();
        // The failure of a source beyond the enqueued chunks does not concern this run.
        exchange.trouble(0).map(|(end, trouble)| explain_trouble(self.plan, end, &trouble))
    }
}
