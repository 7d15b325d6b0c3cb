//! The properties of a GPU.

use std::ffi::{CStr, c_int};

use super::context::Context;
use super::sys::CUdevice_attribute as Attribute;
use crate::driver::{DriverResult, Info, Kind};

/// Reads the properties of this context's device, the GPU `index`.
pub(super) fn query(context: &Context, index: usize) -> DriverResult<Info> {
    let api = context.enter()?;
    let device = context.device();

    let mut name = [0; 256];
    // SAFETY: the buffer has the length given.
    unsafe { api.cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int, device) }?;
    // SAFETY: the driver has written a NUL-terminated string; if it has not, the last byte is still NUL.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();

    let mut memory = 0;
    // SAFETY: `memory` is a place for the result.
    unsafe { api.cuDeviceTotalMem_v2(&mut memory, device) }?;

    let (mut least, mut greatest) = (0, 0);
    // SAFETY: both are places for the results, and the context is current.
    unsafe { api.cuCtxGetStreamPriorityRange(&mut least, &mut greatest) }?;

    let attribute = |which: Attribute| attribute(context, which);
    Ok(Info {
        name,
        kind: Kind::Gpu,
        index: Some(index),
        memory: memory as u64,
        compute_capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        priorities: (least, greatest),
        // Devices without the opt-in answer 0 to the second question.
        max_shared: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?
            .max(attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?),
        cache: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE).unwrap_or(0).into(),
        cooperative: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? != 0,
    })
}

/// A text that tells this GPU and its driver from others, whatever its index is today.
pub(super) fn identity(context: &Context, info: &Info) -> DriverResult<String> {
    let Info { name, memory, .. } = info;
    let place = pci(context);
    let mut version = 0;
    // SAFETY: `version` is a place for the result.
    unsafe { context.enter()?.cuDriverGetVersion(&mut version) }?;
    // The driver's release within that version, if the operating system tells it.
    let release = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    Ok(format!("{name}\n{memory}\n{place:?}\n{version}\n{}", release.lines().next().unwrap_or_default()))
}

/// The GPU's address on the PCI bus, as the operating system writes it, such as `0000:41:00.0`.
pub(super) fn pci_address(context: &Context) -> Option<String> {
    let [domain, bus, device] = pci(context);
    Some(format!("{:04x}:{:02x}:{:02x}.0", domain?, bus?, device?))
}

/// The domain, the bus and the device of that address.
fn pci(context: &Context) -> [Option<u32>; 3] {
    [
        Attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID,
        Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
        Attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID,
    ]
    .map(|which| attribute(context, which).ok())
}

pub(super) fn attribute(context: &Context, attribute: Attribute) -> DriverResult<u32> {
    let mut value: c_int = 0;
    // SAFETY: `value` is a place for the result.
    unsafe { context.enter()?.cuDeviceGetAttribute(&mut value, attribute, context.device()) }?;
    Ok(u32::try_from(value).unwrap_or(0))
}
