//! Runs like the one before, in graph mode: what that one launched is launched again, and nothing is recorded.
//!
//! What a run enqueues follows from its parameters, its arguments and how it is cut. Where the generated code says that this
//! is all (no function of the user's is asked), they are all that has to be compared. Whatever it says, what is launched
//! again accesses only what it did the last time: arguments that are compared, and a ring of which nothing was freed.

use super::call::Call;
use super::cut::Cut;
use super::in_place::InPlace;
use super::kept::{Graphs, Kept};
use super::run::Totals;
use super::shape::{BufferShape, Shape};
use crate::device::Device;
use crate::driver::{DevicePtr, DriverResult};
use crate::memory::{HostMemory, HostSource, NO_OPERATION};

/// A parameter as a word.
#[inline]
pub fn word<T: bytemuck::NoUninit>(value: T) -> u64 {
    const { assert!(size_of::<T>() <= size_of::<u64>(), "a parameter is a number") };
    let mut word = [0; size_of::<u64>()];
    word[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
    u64::from_ne_bytes(word)
}

impl Call<'_, '_> {
    /// Says that what the run enqueues follows from these parameters and its arguments alone.
    #[inline]
    pub fn repeats<const N: usize>(&mut self, parameters: [u64; N]) {
        self.words.extend(parameters);
        self.repeats = true;
    }
}

/// What a run is given.
#[derive(Clone, Copy)]
pub(super) struct Given<'g> {
    pub(super) words: &'g [u64],
    pub(super) cut: Cut,
    pub(super) hosts: &'g [HostSource<'g>],
    pub(super) host_shapes: &'g [Shape],
    pub(super) buffers: &'g [BufferShape],
    pub(super) in_place: &'g [InPlace],
}

/// Where an argument is, its length, and whether the run may write it.
type Argument = (DevicePtr, usize, bool);

impl Given<'_> {
    fn arguments(&self) -> impl Iterator<Item = Argument> {
        let host = |host: &HostSource<'_>| match &host.memory {
            HostMemory::Pinned(range) => (range.device_ptr(), host.len, host.writable),
            // There was none.
            HostMemory::Pageable(_) => (DevicePtr(0), usize::MAX, host.writable),
        };
        let in_place = |data: &InPlace| (data.ptr(), data.len, data.writable);
        self.hosts.iter().map(host).chain(self.in_place.iter().map(in_place))
    }
}

/// What the run before was given, and did.
#[derive(Debug)]
pub(super) struct Done {
    words: Vec<u64>,
    cut: Cut,
    arguments: Vec<Argument>,
    totals: Totals,
    /// It has launched so many graphs, on the first lane.
    graphs: usize,
}

impl Done {
    /// Shapes follow from the parameters. There are as many arguments as the plan has, each time.
    fn is(&self, given: &Given<'_>) -> bool {
        self.words == given.words
            && self.cut == given.cut
            && self.arguments.iter().zip(given.arguments()).all(|(done, given)| *done == given)
    }
}

impl Graphs {
    /// The run that has just gone well was given this.
    pub(super) fn has_done(&mut self, given: &Given<'_>, totals: &Totals) {
        self.done = Some(Done {
            words: given.words.to_vec(),
            cut: given.cut,
            arguments: given.arguments().collect(),
            totals: totals.clone(),
            graphs: self.launched,
        });
    }

    /// Launches what the run before has launched, if that was given the same, and says what that has done.
    ///
    /// # Safety
    /// As [`Recorder::launch`](super::graph::Recorder::launch).
    pub(super) unsafe fn repeat(
        &mut self,
        device: &Device,
        given: &Given<'_>,
    ) -> Option<(DriverResult<()>, Totals)> {
        let done = self.done.as_ref().filter(|done| done.is(given))?;
        let lane = self.lanes.first_mut()?;
        let kept = lane.kept.get_mut(..done.graphs)?;
        if !kept.iter_mut().all(|kept| kept.as_mut().is_some_and(|kept| kept.is_fresh(device))) {
            return None;
        }
        let totals = done.totals.clone();
        for kept in kept {
            let Some(Kept { graph, nodes, .. }) = kept.as_deref() else { continue };
            // SAFETY: the graph does what it did the last time, which is what this run is to do: it has the addresses of this
            // run's arguments, and of the ring, of which nothing was freed since. The rest is the caller's promise.
            let launched = unsafe {
                device.driver().launch_graph(&graph.raw, nodes, Vec::new(), lane.stream.raw, NO_OPERATION)
            };
            if let Err(error) = launched {
                self.retired.extend(kept.take().map(|kept| kept.graph));
                self.done = None;
                return Some((Err(error), totals));
            }
        }
        Some((Ok(()), totals))
    }
}
