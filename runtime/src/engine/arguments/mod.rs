//! The arguments of a run: host memory, device memory, sources and sinks.

pub(crate) mod answers;
mod device_source;
pub(crate) mod handles;
mod host;
pub(crate) mod in_place;
pub(crate) mod lent;
pub(crate) mod shape;
pub(crate) mod shared;
pub(crate) mod written;

use crate::driver::Access;
use std::mem;
use std::sync::Arc;

use answers::{Answers, Uniform};
use in_place::InPlace;
use lent::Lent;
use shape::{BufferPlace, BufferShape, Shape};
use shared::{Combined, Shared};

pub use device_source::{DeviceInOut, DeviceInput, DeviceOutput};
pub(crate) use device_source::{DeviceSource, Spread};
pub(crate) use host::{HostMemory, HostSource};
pub use host::{
    InOut, Input, MappedInOut, MappedInput, MappedOutput, Output, PinnedInOut, PinnedInput, PinnedOutput,
};

/// The arguments of one run, checked. Nothing changes them once the run begins.
pub(crate) struct Arguments<'a> {
    /// The host arguments, in the order of the plan's hosts.
    pub(crate) hosts: Vec<HostArgument<'a>>,
    /// The buffers, in the order of the plan's buffers.
    pub(crate) buffers: Vec<BufferShape>,
    /// The arguments that are used where they lie.
    pub(crate) in_place: Vec<InPlace>,
    /// Host memory that the device uses where it lies.
    pub(crate) lent: Vec<Lent>,
    /// The data that the whole run shares.
    pub(crate) shared: Vec<Shared<'a>>,
    /// The results into which carried data are combined.
    pub(crate) combined: Vec<Combined<'a>>,
    /// The parameters.
    pub(crate) words: Vec<u64>,
    /// The `uniform` parameters.
    pub(crate) uniform: Vec<Uniform>,
    /// Tells other ranks, if this is dropped, that the arguments were refused. The run takes it.
    pub(crate) answers: Option<Answers>,
    /// The number of items, and the argument that determined it first.
    pub(crate) items: Option<(usize, &'static str)>,
    /// The first item of each device's part, if arguments are in parts, and the argument that determined it first.
    pub(crate) borders: Option<(Arc<[usize]>, &'static str)>,
    /// Whether there is a source or a sink.
    pub(crate) has_feeds: bool,
    /// Whether any argument has elements for each chunk.
    pub(crate) any_per_chunk: bool,
    /// Whether the parameters and the arguments determine the run.
    pub(crate) repeats: bool,
}

/// One host argument.
pub(crate) struct HostArgument<'a> {
    pub(crate) source: HostSource<'a>,
    pub(crate) shape: Shape,
}

/// The vectors of the last run's arguments, so that the next run need not allocate them.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    pub(crate) buffers: Vec<BufferShape>,
    in_place: Vec<InPlace>,
    words: Vec<u64>,
}

impl<'a> Arguments<'a> {
    /// The same arguments for the device with this number, before any of them is lent. Its sources and sinks remain with
    /// the first.
    pub(crate) fn again(&self, arena: Arena, number: usize) -> Arguments<'a> {
        let Arena { mut buffers, mut in_place, mut words } = arena;
        buffers.extend(&self.buffers);
        in_place.extend(self.in_place.iter().filter_map(|data| data.again(number)));
        let used = buffers.iter_mut().filter(|buffer| buffer.is_in_place());
        used.zip(&in_place).for_each(|(buffer, data)| buffer.use_part(data));
        words.extend(&self.words);
        let again = |host: &HostArgument<'a>| HostArgument { source: host.source.again(), shape: host.shape };
        Self {
            hosts: self.hosts.iter().map(again).collect(),
            buffers,
            in_place,
            lent: Vec::new(),
            shared: self.shared.iter().map(Shared::again).collect(),
            combined: Vec::new(),
            words,
            uniform: Vec::new(),
            answers: None,
            borders: self.borders.clone(),
            ..*self
        }
    }
}

impl Arguments<'_> {
    /// No arguments yet, with room for so many hosts.
    pub(crate) fn new(arena: Arena, hosts: usize) -> Self {
        let Arena { buffers, in_place, words } = arena;
        Self {
            hosts: Vec::with_capacity(hosts),
            buffers,
            in_place,
            lent: Vec::new(),
            shared: Vec::new(),
            combined: Vec::new(),
            words,
            uniform: Vec::new(),
            answers: None,
            items: None,
            borders: None,
            has_feeds: false,
            any_per_chunk: false,
            repeats: false,
        }
    }

    /// Gives the arguments back to the caller and keeps their vectors.
    pub(crate) fn give_back(&mut self) -> Arena {
        self.hosts.clear();
        self.lent.clear();
        self.shared.clear();
        self.combined.clear();
        let mut arena = Arena {
            buffers: mem::take(&mut self.buffers),
            in_place: mem::take(&mut self.in_place),
            words: mem::take(&mut self.words),
        };
        arena.buffers.clear();
        arena.in_place.clear();
        arena.words.clear();
        arena
    }

    /// The partial results of the run on this device.
    pub(crate) fn take_partials(&mut self) -> Vec<Vec<u8>> {
        self.shared.iter_mut().filter_map(Shared::take_partial).collect()
    }

    /// Whether the buffer is the host argument itself, so that nothing is copied between them.
    pub(crate) fn is_same(&self, host: usize, buffer: usize) -> bool {
        self.buffers.get(buffer).is_some_and(|buffer| buffer.host() == Some(host))
    }

    /// Whether all of `access` lies in a host argument that is a buffer, and none is written that was borrowed
    /// shared.
    pub(crate) fn holds_on_host(&self, access: &Access) -> bool {
        self.buffers.iter().any(|buffer| match buffer.place {
            BufferPlace::Host(host, start, bytes) | BufferPlace::HostWithin(host, start, bytes) => {
                access.is_within(start, bytes) && (self.hosts[host].source.writable || !access.write)
            }
            BufferPlace::SharedHost(start, _) => access.is_within(start, buffer.bytes(0)) && !access.write,
            _ => false,
        })
    }

    /// Leaves all memory that the device can access to it, for good.
    pub(crate) fn poison(&self) {
        let hosts = self.hosts.iter().map(|host| &host.source);
        for source in hosts.chain(self.shared.iter().filter_map(Shared::source)) {
            if let HostMemory::Pinned(range) = &source.memory {
                range.core().poison();
            }
        }
        self.in_place.iter().for_each(InPlace::poison);
    }
}
