//! Parts of device memory, as launches and routines take them.

mod atomics;
mod buffer;
mod own;
mod part;
mod slice;
mod view;

pub use atomics::AtomicView;
pub(crate) use buffer::owner;
pub use own::OwnView;
pub use slice::{DeviceSlice, DeviceSliceMut, DeviceSliceOut};
pub use view::{Uneven, View, ViewMut};
