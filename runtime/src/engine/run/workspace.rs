//! [`Workspace`]: device memory that a routine's library works in.

#[cfg(doc)]
use crate::base::error::ErrorKind;
use crate::base::error::Result;
use crate::device::memory::DeviceMemory;
use crate::engine::allocate::allocate;
use crate::engine::run::enqueue::Enqueue;

/// Device memory that a library works in and that grows, as part of what a routine [keeps](Enqueue::state)
/// for one ring slot and stream.
///
/// Work that was enqueued with the old memory may still be on its way when more is needed. So the old memory
/// is not freed before this is dropped, with the pipeline; each block is at least twice as large as the one
/// before, so that all the old ones together are smaller than the latest.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg::routine::Workspace;
///
/// /// What the routine keeps: on a GPU also a library's handle.
/// struct Kept {
///     workspace: Workspace,
/// }
///
/// fn doubled(queue: &Enqueue<'_>, x: DeviceSliceMut<'_, u32>) -> thalweg::Result<()> {
///     let mut kept = queue.state(|| Ok(Kept { workspace: Workspace::new("the workspace of doubled") }))?;
///     let address = kept.workspace.get(queue, 4 * x.len())?;
///     assert_eq!(address % 256, 0);
///     // On a GPU here the library's function, with this address.
///     queue.simulate((x,), |(x,)| x.iter_mut().for_each(|x| *x *= 2))
/// }
///
/// stream_pipeline! {
///     pipeline Doubled {
///         inout x: [u32];
///         stage all { copy x -> dx; call doubled(&mut dx); copy dx -> x; }
///     }
/// }
///
/// let mut x = [1, 2, 3];
/// Doubled::new(&Device::simulated(Simulation::default()))?.run(&mut x)?;
/// assert_eq!(x, [2, 4, 6]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Workspace {
    /// What an error calls it.
    name: &'static str,
    blocks: Vec<DeviceMemory>,
}

impl Workspace {
    /// One without memory yet. `name` is what an error calls it: `the workspace of cuFFT`.
    pub const fn new(name: &'static str) -> Self {
        Self { name, blocks: Vec::new() }
    }

    /// The address of at least so many bytes of device memory, aligned to 256. What is in them is whatever
    /// work on the same stream left there. They are there until this is dropped.
    ///
    /// # Errors
    /// Device memory is exhausted ([`ErrorKind::OutOfMemory`]); the memory there is belongs to another device
    /// than the run ([`ErrorKind::Misuse`]).
    pub fn get(&mut self, queue: &Enqueue<'_>, bytes: usize) -> Result<u64> {
        if let Some(block) = self.blocks.last() {
            queue.device().check_own(self.name, block.device())?;
        }
        let latest = self.blocks.last().map_or(0, |block| block.bytes);
        if self.blocks.is_empty() || latest < bytes {
            queue.noted(queue.operation.settle_collectives())?;
            self.blocks.push(allocate(queue.device(), bytes.max(2 * latest), self.name)?);
        }
        Ok(self.blocks[self.blocks.len() - 1].ptr.0)
    }
}
