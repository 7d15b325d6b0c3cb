//! Uses a context of cudarc's as a device.

use std::sync::Arc;

use cudarc::driver::CudaContext;
use thalweg::Device;

/// The same GPU, and the name that another crate gives it.
pub fn shared(context: &Arc<CudaContext>) -> thalweg::Result<(Device, String)> {
    // SAFETY: it is a context of this process, and the `Arc` keeps it.
    let device = unsafe { Device::from_raw(context.cu_ctx().cast(), Arc::clone(context)) }?;
    let name = thalweg_neighbours_other::name(&device);
    Ok((device, name))
}
