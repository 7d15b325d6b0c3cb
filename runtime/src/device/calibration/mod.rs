//! What a device is like: its rates and latencies, measured once and kept.
//!
//! A simulated device is what its [`DeviceModel`] says. A GPU is measured ([`measure`]) when a run first has a choice to make that
//! depends on it, in a few tenths of a second, and what came of it is kept in a file ([`mod@file`]) beside the compiled kernels,
//! one for each GPU and driver. Where that cannot be done, the figures of [`DeviceModel::h200`] are taken: nothing but speed depends
//! on them.

mod file;
mod measure;
#[cfg(test)]
mod tests;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::backends::cuda;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::host_copy::Workers;
use crate::base::model::DeviceModel;
use crate::device::Device;

/// Of what is measured and how: what another version has measured is not taken.
const VERSION: u32 = 2;

/// What a device is taken to be like of which nothing is known.
static ASSUMED: LazyLock<DeviceModel> = LazyLock::new(DeviceModel::h200);

/// More threads than the memory of one socket can feed.
const MOST_THREADS: usize = 32;

/// In place of a file: nothing is measured.
const OFF: &str = "off";

impl Device {
    /// What this device is like: measured, if it is a GPU, when something first needs to know, and from then on as
    /// `THALWEG_CACHE` keeps it, for this GPU and driver.
    ///
    /// Inside a host function nothing can be measured: there, what is not known yet is [`DeviceModel::h200`].
    ///
    /// `THALWEG_CALIBRATION` names a file to take instead, one that [`DeviceModel::save`] has written, which is read when a GPU is
    /// opened; `off` takes the figures of [`DeviceModel::h200`] and measures nothing. A simulated device takes no notice of it.
    ///
    /// A simulated device made of the result behaves like this one, as far as it can:
    ///
    /// ```
    /// use thalweg::{Device, DeviceModel};
    ///
    /// let device = Device::simulated(DeviceModel::t4());
    /// let spec = device.calibration();
    /// assert_eq!(spec.multiprocessors, 40);
    /// let like_it = Device::simulated(spec.clone());
    /// ```
    pub fn calibration(&self) -> &DeviceModel {
        let known = self.known_model();
        // There it must not wait either, for another thread that measures: what that has enqueued may need this one.
        if known.get().is_none() && self.driver().may_wait().is_err() {
            return &ASSUMED;
        }
        known.get_or_init(|| self.find_calibration())
    }

    /// Measures what this device is like now, in a few tenths of a second, and keeps it for the processes that come after.
    /// Nothing else should use the device meanwhile. This process goes on with what it has chosen by.
    ///
    /// # Errors
    /// There is no memory for it (64 MiB on the device, as much page-locked, at best); the device fails; it is called inside a
    /// host function.
    pub fn calibrate(&self) -> Result<DeviceModel> {
        self.driver().may_wait()?;
        let spec = measure::measure(self)?;
        if let Some(path) = self.calibration_file() {
            // Else the next process measures again.
            let _ = file::save(&spec, &path);
        }
        Ok(spec)
    }

    /// The threads that copy between ordinary and page-locked memory for this device, enough of them.
    pub(crate) fn copy_workers(&self) -> &'static Workers {
        let workers = Workers::near(self.driver().node());
        workers.employ(self.known_model().get().unwrap_or(&ASSUMED).copy_threads());
        workers
    }

    /// Takes the calibration that the user names, if one is named.
    ///
    /// # Errors
    /// It cannot be used.
    pub(crate) fn take_given_calibration(&self) -> Result<()> {
        let known = self.known_model();
        let given = given().filter(|value| value != OFF);
        let Some(path) = given.as_ref().map(Path::new).filter(|_| known.get().is_none()) else {
            return Ok(());
        };
        let spec = file::load(path).map_err(|message| {
            let help =
                "`THALWEG_CALIBRATION` names it: name a file that `DeviceModel::save` has written, or `off`";
            refused(path, format!("{message}\n  help: {help}"))
        })?;
        // Else another thread has taken it.
        let _ = known.set(spec);
        Ok(())
    }

    fn find_calibration(&self) -> DeviceModel {
        let known = match given() {
            // A file was taken when the device was opened: this one was named since.
            Some(path) if path != OFF => DeviceModel::load(path).ok(),
            Some(_) => None,
            None => {
                let kept = self.calibration_file().and_then(|path| file::load(&path).ok());
                // Where each operation is waited for, nothing can be told.
                let measured = || (!self.driver().is_synchronous()).then(|| self.calibrate().ok()).flatten();
                kept.or_else(measured)
            }
        };
        known.unwrap_or_else(DeviceModel::h200)
    }

    /// Where this GPU's calibration is kept, if it is.
    fn calibration_file(&self) -> Option<PathBuf> {
        let identity = self.driver().identity()?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let key = blake3::hash(format!("{VERSION}\n{identity}\n{threads}").as_bytes()).to_hex();
        Some(cuda::cache_folder()?.join(format!("{}.calibration", &key[..32])))
    }
}

impl DeviceModel {
    /// The threads that copy as much as the link carries in both directions, and the one that waits for them.
    pub(crate) fn copy_threads(&self) -> usize {
        let threads = (self.to_device + self.to_host) * self.duplex / self.thread_memcpy;
        // Neither a rate that is none nor one without end makes a number of threads.
        let threads = if threads.is_finite() && threads > 0.0 { threads.ceil() } else { 1.0 };
        (threads as usize).saturating_add(1).min(MOST_THREADS)
    }

    /// A spec that was saved.
    ///
    /// # Errors
    /// The file cannot be read, is no calibration or one of another format; a field is missing, unknown or out of its range.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        file::load(path).map_err(|message| refused(path, message))
    }

    /// Saves it as TOML, a line for each field: rates in bytes a second, times in seconds, sizes in bytes. Whether it is
    /// [`adversarial`](crate::Spec::adversarial) is not saved.
    ///
    /// # Errors
    /// The file cannot be written; a field is out of its range.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        file::save(self, path).map_err(|message| refused(path, message))
    }
}

/// The value of `THALWEG_CALIBRATION`, if it has one.
fn given() -> Option<OsString> {
    env::var_os("THALWEG_CALIBRATION").filter(|value| !value.is_empty())
}

fn refused(path: &Path, message: String) -> Error {
    ErrorKind::Calibration { path: path.display().to_string(), message }.into()
}
