//! How memory, streams and whatever else a device has is given back to it.

use crate::base::fork;
use crate::device::Device;
use crate::driver::Driver;

/// Gives memory back. Where a function of a stream runs, another thread does so, since freeing would wait for
/// the stream, which waits for the function. In a forked process the memory is not given back.
pub(crate) fn release(device: &Device, free: impl FnOnce(&dyn Driver) + Send + 'static) {
    if fork::is_child() {
        // The memory belongs to the other process, which still uses it.
        return std::mem::forget(free);
    }
    // Note 7: a function of a stream may not call the driver.
    if device.driver().may_wait().is_ok() {
        return free(device.driver());
    }
    let its = device.clone();
    // Where no thread can be started, it is leaked.
    let _ = device.registry().call_back(Box::new(move || free(its.driver())));
}
