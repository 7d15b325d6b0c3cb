//! Calibrations: the rates and latencies of a device, measured once and kept.
//!
//! A simulated device has a [`DeviceModel`]. A GPU is measured ([`measure`]) when a run first has a choice to
//! make that depends on it, which takes a few tenths of a second, and so is the CPU. The result is kept in a
//! file ([`mod@file`]) beside the compiled kernels, one for each GPU and driver. If that cannot be done, the
//! figures of [`DeviceModel::h200`] are used. Nothing but speed depends on them. What several GPUs share is
//! measured ([`machine`]) when a profile or a prediction asks for it, and kept in the same way.

mod file;
mod graphs;
mod machine;
mod measure;
mod nothing;
#[cfg(test)]
mod tests;
mod turn;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::backends::cuda;
use crate::base::error::{Detail, Error, Result};
use crate::base::host_copy::Workers;
use crate::base::model::DeviceModel;
use crate::device::Device;
use turn::Turn;

/// The version of the fields and of how they are measured, those of machines too. The figures of another version
/// are not used.
const VERSION: u32 = 3;

/// The model of a device about which nothing is known.
static ASSUMED: LazyLock<DeviceModel> = LazyLock::new(DeviceModel::h200);

/// The largest number of threads, more than the memory of one socket can feed.
const MOST_THREADS: usize = 32;

/// Stands in place of a file: nothing is measured.
const OFF: &str = "off";

impl Device {
    /// The model of this device. A GPU is measured when its model is first needed; `THALWEG_CACHE` keeps the
    /// result for this GPU and driver.
    ///
    /// Inside a host function nothing can be measured. There, a model that is not known yet is
    /// [`DeviceModel::h200`].
    ///
    /// `THALWEG_CALIBRATION` names a file to use instead, which [`DeviceModel::save`] has written. It is read
    /// when a GPU is opened. The value `off` selects the figures of [`DeviceModel::h200`] and measures
    /// nothing. A simulated device ignores the variable.
    ///
    /// A simulated device made of the result behaves like this one, as far as it can:
    ///
    /// ```
    /// use thalweg::sim::DeviceModel;
    /// use thalweg::Device;
    ///
    /// let device = Device::simulated(DeviceModel::t4());
    /// let spec = device.calibration();
    /// assert_eq!(spec.multiprocessors, 40);
    /// let like_it = Device::simulated(spec.clone());
    /// ```
    pub fn calibration(&self) -> &DeviceModel {
        let known = self.known_model();
        // A host function must not wait for another thread that measures, either: the operations of that
        // thread may need this one.
        if known.get().is_none() && self.driver().may_wait().is_err() {
            return &ASSUMED;
        }
        known.get_or_init(|| self.find_calibration())
    }

    /// Measures this device now, in a few tenths of a second, and keeps the result for later processes.
    /// Those that measure take turns; nothing else should use the device meanwhile. This process keeps the model that its choices are based
    /// on.
    ///
    /// # Errors
    /// Memory does not suffice (64 MiB on the device and as much page-locked memory, or less if that is not
    /// free), the device fails, or this is called inside a host function.
    pub fn calibrate(&self) -> Result<DeviceModel> {
        self.driver().may_wait()?;
        let _turn = self.calibration_turn();
        self.measure()
    }

    /// Measures the device, in this thread's turn, and keeps the result.
    fn measure(&self) -> Result<DeviceModel> {
        let spec = measure::measure(self)?;
        if let Some(path) = self.calibration_file() {
            // If the file cannot be written, the next process measures again.
            let _ = file::save(&spec, &path);
        }
        Ok(spec)
    }

    /// Waits until nobody else measures a device.
    fn calibration_turn(&self) -> Turn {
        let file = self.calibration_file();
        Turn::take(file.as_deref().and_then(Path::parent))
    }

    /// The threads that copy between pageable and page-locked memory for this device, enough of them.
    pub(crate) fn copy_workers(&self) -> &'static Workers {
        let workers = Workers::near(self.driver().node());
        let index = self.driver().info().index.unwrap_or(0);
        workers.employ(index, self.known_model().get().unwrap_or(&ASSUMED).copy_threads());
        workers
    }

    /// Takes the calibration that the user names, if one is named.
    ///
    /// # Errors
    /// The file cannot be used.
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
        // If this fails, another thread has set it.
        let _ = known.set(spec);
        Ok(())
    }

    fn find_calibration(&self) -> DeviceModel {
        let known = match given() {
            // A file is read when the device is opened. This one was named since.
            Some(path) if path != OFF => DeviceModel::load(path).ok(),
            Some(_) => None,
            None => {
                let kept = || self.calibration_file().and_then(|path| file::load(&path).ok());
                let in_turn = || {
                    let _turn = self.calibration_turn();
                    // Whoever had the turn before may have measured this device.
                    kept().or_else(|| self.measure().ok())
                };
                // If each operation is waited for, measurements would tell nothing.
                let measured = || (!self.driver().is_synchronous()).then(in_turn).flatten();
                if self.is_cpu() {
                    return of_cpu(self.driver().identity(), || kept().or_else(measured));
                }
                kept().or_else(measured)
            }
        };
        known.unwrap_or_else(DeviceModel::h200)
    }

    /// The file of this GPU's calibration, if it is kept.
    fn calibration_file(&self) -> Option<PathBuf> {
        kept_file(&self.driver().identity()?, "calibration")
    }
}

impl DeviceModel {
    /// The number of threads that copy as much as the link carries in both directions, plus the one that
    /// waits for them.
    pub(crate) fn copy_threads(&self) -> usize {
        let threads = (self.to_device + self.to_host) * self.duplex / self.thread_memcpy;
        // A rate that is not a number, or is infinite, gives no number of threads.
        let threads = if threads.is_finite() && threads > 0.0 { threads.ceil() } else { 1.0 };
        (threads as usize).saturating_add(1).min(MOST_THREADS)
    }

    /// Loads a model from a file that [`save`](Self::save) has written.
    ///
    /// # Errors
    /// [`ErrorKind::Environment`](crate::ErrorKind::Environment) if the file cannot be read, is no
    /// calibration or has another format, or if a field is missing, unknown or out of its range.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        file::load(path).map_err(|message| refused(path, message))
    }

    /// Saves the model as TOML, a line for each field: rates in bytes a second, times in seconds, sizes in
    /// bytes. Whether a simulation is [`adversarial`](crate::sim::Simulation::adversarial) is not part of it.
    ///
    /// # Errors
    /// [`ErrorKind::Environment`](crate::ErrorKind::Environment) if the file cannot be written, or a field is
    /// out of its range.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        file::save(self, path).map_err(|message| refused(path, message))
    }
}

/// The models of the CPU as a device, by its identity. A process may make such devices again and again.
static OF_CPUS: Mutex<Vec<(Option<String>, DeviceModel)>> = Mutex::new(Vec::new());

/// The model of the CPU, which `find` finds only once.
fn of_cpu(identity: Option<String>, find: impl FnOnce() -> Option<DeviceModel>) -> DeviceModel {
    // Two threads that measured at the same time would disturb each other.
    let mut known = OF_CPUS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, model)) = known.iter().find(|(of, _)| *of == identity) {
        return model.clone();
    }
    let model = find().unwrap_or_else(DeviceModel::h200);
    known.push((identity, model.clone()));
    model
}

/// The file for a calibration of what has this identity, if one is kept.
fn kept_file(identity: &str, extension: &str) -> Option<PathBuf> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let key = blake3::hash(format!("{VERSION}\n{identity}\n{threads}").as_bytes()).to_hex();
    Some(cuda::cache_folder()?.join(format!("{}.{extension}", &key[..32])))
}

/// The value of `THALWEG_CALIBRATION`, if it has one.
fn given() -> Option<OsString> {
    env::var_os("THALWEG_CALIBRATION").filter(|value| !value.is_empty())
}

fn refused(path: &Path, message: String) -> Error {
    Detail::Calibration { path: path.display().to_string(), message }.into()
}
