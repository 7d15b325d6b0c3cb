//! The GPUs of this machine.

use std::sync::OnceLock;

use super::api::{self, Api};
use super::host::HostFunctions;
use crate::base::error::{Detail, Result};

/// The number of CUDA GPUs of this machine. It is determined once and stays the same until the process ends.
///
/// # Errors
/// There is no CUDA driver, it is too old, or it does not work. A driver without a GPU is no error.
pub(crate) fn device_count() -> Result<usize> {
    static COUNT: OnceLock<Result<usize>> = OnceLock::new();
    HostFunctions::may_call("cuDeviceGetCount")?;
    COUNT.get_or_init(count_devices).clone()
}

fn count_devices() -> Result<usize> {
    let api = match Api::get() {
        Ok(api) => api,
        Err(error) => {
            return match error.detail() {
                Detail::Driver(driver) if driver.code == api::NO_DEVICE => Ok(0),
                _ => Err(error),
            };
        }
    };
    let mut count = 0;
    // SAFETY: `count` is a place for the result.
    unsafe { api.cuDeviceGetCount(&mut count) }?;
    Ok(usize::try_from(count).unwrap_or(0))
}
