//! [`Workspace`]: device memory that a library works in.

use crate::base::error::Result;
use crate::device::memory::DeviceMemory;
use crate::driver::DevicePtr;
use crate::engine::Enqueue;

/// Device memory that grows, part of what a routine keeps for one ring slot and stream.
///
/// Work that was enqueued with the old memory may still be on its way when more is needed. So the old memory is not freed
/// before this is dropped, with the pipeline; each block is at least twice as large as the one before, so that all the old
/// ones together are smaller than the latest.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// What an error calls it.
    name: &'static str,
    blocks: Vec<DeviceMemory>,
}

impl Workspace {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, blocks: Vec::new() }
    }

    /// At least so many bytes, aligned to 256. What is in them is whatever work on the same stream left there.
    ///
    /// # Errors
    /// Device memory is exhausted.
    pub(crate) fn get(&mut self, queue: &Enqueue<'_>, bytes: usize) -> Result<DevicePtr> {
        let latest = self.blocks.last().map_or(0, |block| block.bytes);
        if self.blocks.is_empty() || latest < bytes {
            self.blocks.push(queue.allocate(bytes.max(2 * latest), self.name)?);
        }
        Ok(self.blocks[self.blocks.len() - 1].ptr)
    }
}
