//! [`Device`]: a GPU, or the simulated device.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use crate::cuda;
use crate::driver::{Driver, Info};
use crate::error::{ErrorKind, Result};
use crate::fork::{self, Forked};
use crate::sim::{Sim, Spec};

/// A GPU, or the simulated device. Cloning it is cheap and names the same device.
///
/// ```
/// use thalweg::{Device, Spec};
///
/// let device = Device::simulated(Spec::h200());
/// assert!(device.is_simulated());
/// println!("{device}");
/// ```
#[derive(Clone)]
pub struct Device {
    driver: Arc<dyn Driver>,
}

impl Drop for Device {
    fn drop(&mut self) {
        if fork::is_child() {
            // The device belongs to the other process, so no handle here may release it as the last one.
            std::mem::forget(Arc::clone(&self.driver));
        }
    }
}

impl Device {
    /// The first CUDA GPU, or the simulated device where there is no CUDA driver or no GPU.
    ///
    /// The environment variable `THALWEG_DEVICE` overrides it: `sim`, `cuda` for the first GPU, or `cuda:N` for GPU `N`. `auto`,
    /// or an empty value, is as if it were not set; spaces around it do not count.
    ///
    /// ```
    /// use thalweg::Device;
    ///
    /// let device = Device::open()?;
    /// println!("{device}");
    /// assert_eq!(device.is_simulated(), device.name().starts_with("simulated"));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// `THALWEG_DEVICE` names no device ([`ErrorKind::UnknownDevice`]) or one that does not exist
    /// ([`ErrorKind::NoSuchDevice`], [`ErrorKind::NoCudaDriver`]); a GPU is there but cannot be used
    /// ([`ErrorKind::CudaDriverTooOld`], [`ErrorKind::Driver`]); `THALWEG_CALIBRATION` names what is no calibration
    /// ([`ErrorKind::Calibration`]). A machine without any GPU is no error.
    pub fn open() -> Result<Self> {
        match std::env::var("THALWEG_DEVICE") {
            Ok(value) => Self::named(&value),
            Err(std::env::VarError::NotPresent) => Self::first(),
            Err(std::env::VarError::NotUnicode(value)) => {
                Err(ErrorKind::UnknownDevice { value: value.to_string_lossy().into_owned() }.into())
            }
        }
    }

    /// The device that a value of `THALWEG_DEVICE` stands for.
    pub(crate) fn named(value: &str) -> Result<Self> {
        let unknown = || ErrorKind::UnknownDevice { value: value.to_owned() };
        match value.trim() {
            "" | "auto" => Self::first(),
            "sim" => Ok(Self::simulated(Spec::default())),
            "cuda" => Self::cuda(0),
            name => {
                let index = name.strip_prefix("cuda:").ok_or_else(unknown)?;
                Self::cuda(index.parse().map_err(|_| unknown())?)
            }
        }
    }

    /// The first GPU, else the simulated device.
    fn first() -> Result<Self> {
        if gpus()? == 0 { Ok(Self::simulated(Spec::default())) } else { Self::cuda(0) }
    }

    /// The CUDA GPU of this index, from 0.
    ///
    /// ```
    /// use thalweg::{Device, ErrorKind};
    ///
    /// match Device::cuda(0) {
    ///     Ok(device) => assert!(!device.is_simulated()),
    ///     Err(error) => match error.kind() {
    ///         ErrorKind::NoCudaDriver { looked_for } => println!("none of {looked_for:?} is there"),
    ///         ErrorKind::NoSuchDevice { count, .. } => println!("this machine has {count}"),
    ///         _ => return Err(error),
    ///     },
    /// }
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no CUDA driver ([`ErrorKind::NoCudaDriver`], which names the libraries that were looked for) or one that is too old
    /// ([`ErrorKind::CudaDriverTooOld`]); there is no such GPU ([`ErrorKind::NoSuchDevice`]), or the driver refuses it
    /// ([`ErrorKind::Driver`]); `THALWEG_CALIBRATION` names a file that is no [calibration](Self::calibration)
    /// ([`ErrorKind::Calibration`]).
    pub fn cuda(index: usize) -> Result<Self> {
        let device = Self::with_driver(cuda::Cuda::open(index)?);
        device.take_given_calibration()?;
        Ok(device)
    }

    /// The GPU of another library's context, a `CUcontext`, as long as `keep` is there: cudarc's `CudaContext`, say.
    ///
    /// Most libraries use a GPU's *primary* context, as [`cuda`](Self::cuda) does: then this is the same device, and
    /// nothing is kept. A device of any other context has memory, streams and kernels of its own.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    ///
    /// use cudarc::driver::CudaContext;
    /// use thalweg::Device;
    ///
    /// let context = CudaContext::new(0).expect("a GPU");
    /// // SAFETY: it is a context of this process, and the `Arc` keeps it.
    /// let device = unsafe { Device::from_raw(context.cu_ctx().cast(), Arc::clone(&context)) }?;
    /// // cudarc's is the primary one.
    /// assert!(device.same(&Device::cuda(0)?));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`cuda`](Self::cuda); `context` is null or the driver refuses it ([`ErrorKind::Driver`]).
    ///
    /// # Safety
    /// `context` is null or a `CUcontext` of this process, which is not destroyed before `keep` is dropped.
    pub unsafe fn from_raw(context: *mut c_void, keep: impl Any + Send + Sync) -> Result<Self> {
        // SAFETY: the caller's promise.
        let device = Self::with_driver(unsafe { cuda::Cuda::of_context(context, Box::new(keep)) }?);
        device.take_given_calibration()?;
        Ok(device)
    }

    /// A simulated device: kernels run their host bodies on the CPU, time is virtual and the same in every run.
    ///
    /// ```
    /// use thalweg::{Device, Spec};
    ///
    /// let device = Device::simulated(Spec::h200());
    /// assert_eq!(device.to_string(), "simulated H200 (compute capability 9.0, 132 multiprocessors, 140 GiB)");
    /// ```
    pub fn simulated(spec: Spec) -> Self {
        Self::of(Arc::new(Sim::new(spec)))
    }

    /// The simulated device.
    pub(crate) fn of(sim: Arc<Sim>) -> Self {
        Self::with_driver(sim)
    }

    /// Every CUDA GPU of this machine, in the driver's order; none where there is no driver.
    ///
    /// # Errors
    /// There is a driver, but it cannot be used, or refuses one of them ([`ErrorKind::CudaDriverTooOld`],
    /// [`ErrorKind::Driver`]); and as [`cuda`](Self::cuda).
    pub fn all() -> Result<Vec<Self>> {
        (0..gpus()?).map(Self::cuda).collect()
    }

    /// The device's name, `NVIDIA H200`, or `simulated H200`.
    pub fn name(&self) -> &str {
        &self.info().name
    }

    /// Bytes of device memory.
    pub fn memory(&self) -> u64 {
        self.info().memory
    }

    /// Bytes of device memory that are free now.
    ///
    /// # Errors
    /// The driver cannot be asked ([`ErrorKind::Driver`]).
    pub fn free_memory(&self) -> Result<u64> {
        Ok(self.driver().free_memory()?)
    }

    /// Compute capability, `(9, 0)` for Hopper.
    pub fn compute_capability(&self) -> (u32, u32) {
        self.info().compute_capability
    }

    /// Whether this is the simulated device.
    pub fn is_simulated(&self) -> bool {
        self.info().simulated
    }

    /// Whether `other` is this same device.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.driver, &other.driver)
    }

    /// Refuses what was made for `its` device, unless that is this one.
    #[inline]
    pub(crate) fn check_own(&self, host: &'static str, its: &Self) -> Result<(), ErrorKind> {
        if self.same(its) {
            return Ok(());
        }
        Err(self.other(host, its))
    }

    /// Refuses what was made for `its` device on a stream of this one.
    pub(crate) fn check_stream(&self, what: &str, its: &Self) -> Result<(), ErrorKind> {
        if self.same(its) {
            return Ok(());
        }
        let (its, own) = self.both_labels(its);
        Err(ErrorKind::StreamOfOtherDevice { what: what.to_owned(), its, own })
    }

    /// It is another one.
    #[cold]
    fn other(&self, host: &'static str, its: &Self) -> ErrorKind {
        let (its, own) = self.both_labels(its);
        ErrorKind::OtherDevice { host, its, own }
    }

    fn both_labels(&self, its: &Self) -> (String, String) {
        let (its, mut own) = (its.label(), self.label());
        if its == own {
            own = format!("another {own}");
        }
        (its, own)
    }

    /// Its name, and its index where it has one: a machine's GPUs often have the same name.
    fn label(&self) -> String {
        let Info { name, index, .. } = self.info();
        index.map_or_else(|| format!("`{name}`"), |index| format!("`{name}` (`cuda:{index}`)"))
    }

    pub(crate) fn with_driver(driver: Arc<dyn Driver>) -> Self {
        fork::is_home();
        Self { driver }
    }

    /// The driver that carries out its calls. In a forked process it is one that refuses them all.
    #[inline]
    pub(crate) fn driver(&self) -> &dyn Driver {
        if fork::is_child() { Forked::get() } else { &*self.driver }
    }

    fn info(&self) -> &Info {
        self.driver.info()
    }
}

/// The number of GPUs; none where there is no driver. A driver that is there but cannot be used is an error: to go on
/// without it would hide what is wrong.
fn gpus() -> Result<usize> {
    match cuda::device_count() {
        Err(error) if matches!(error.kind(), ErrorKind::NoCudaDriver { .. }) => Ok(0),
        count => count,
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Info { name, memory, compute_capability: (major, minor), multiprocessors, .. } = self.info();
        let gib = *memory as f64 / f64::from(1 << 30);
        write!(
            f,
            "{name} (compute capability {major}.{minor}, {multiprocessors} multiprocessors, {gib:.0} GiB)"
        )
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.name())
    }
}
