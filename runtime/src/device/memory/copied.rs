//! Copies between a [`DeviceBuf`](super::DeviceBuf), or a part of it, and the CPU's memory.

use std::sync::Arc;

use bytemuck::Pod;

use super::{DeviceCore, Direction};
use crate::base::error::{Detail, Result};
use crate::base::fork;
use crate::device::pending::Held;
use crate::driver::DevicePtr;

impl DeviceCore {
    /// Copies elements from or to the CPU's memory, and waits.
    ///
    /// # Errors
    /// The two sides differ in length; otherwise as [`DeviceBuf::to_vec`](super::DeviceBuf::to_vec).
    ///
    /// # Safety
    /// `len` elements of this memory begin at `address`. `data` points to as many elements as it says, which
    /// are valid for reads. On the way out they are valid for writes, and nothing else accesses them.
    pub(crate) unsafe fn copy<T: Pod>(
        self: &Arc<Self>,
        address: u64,
        len: usize,
        (data, elements): (*mut T, usize),
        direction: Direction,
    ) -> Result<()> {
        if fork::is_child() {
            return Err(Detail::Forked.into());
        }
        // A graph that is launched meanwhile is refused.
        let _held = Held::new(Arc::clone(self) as _);
        if self.is_poisoned() || !self.settled(direction == Direction::In) {
            return Err(Detail::Poisoned { host: "DeviceBuf" }.into());
        }
        if elements != len {
            return Err(Detail::DeviceBufLength { len, slice: elements }.into());
        }
        let bytes = len * size_of::<T>();
        let addresses = DevicePtr(address).range(bytes);
        if direction == Direction::Out {
            self.failure(&addresses).map_or(Ok(()), Err)?;
        }
        if bytes == 0 {
            return Ok(());
        }
        self.transfer(|transfer| {
            // SAFETY: the memory has `bytes`, and so has `data`, which is valid for this access by the
            // caller's promise; `T: Pod` accepts any bytes. The memory is kept if the stream cannot be waited
            // for.
            unsafe { transfer.staged(DevicePtr(address), data.cast(), bytes, direction) }
        })?;
        if direction == Direction::In {
            self.is_written_anew(&addresses);
        }
        Ok(())
    }
}
