//! How a [`Device`] is had: a GPU by its index or by another library's context, and the simulated device.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::handle::Device;
use super::shared::Shared;
use crate::backends::cuda::{self, Context, Cuda, OfContext};
use crate::backends::sim::{Fault, Injected, Sim, Spec};
use crate::base::error::{ErrorKind, Result};
use crate::base::fork;
use crate::driver::Driver;

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
        let device = gpu(index)?;
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
        let device = match unsafe { OfContext::find(context, Box::new(keep)) }? {
            OfContext::Primary(index) => gpu(index)?,
            OfContext::Other(context) => of_context(context)?,
        };
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
    pub fn simulated(spec: impl Into<Spec>) -> Self {
        Self::with_driver(Arc::new(Sim::new(spec.into())))
    }

    /// A device whose calls this driver carries out.
    pub(crate) fn with_driver(driver: Arc<dyn Driver>) -> Self {
        fork::is_home();
        Self { shared: Arc::new(Shared::new(driver)) }
    }

    /// Every CUDA GPU of this machine, in the driver's order; none where there is no driver.
    ///
    /// # Errors
    /// There is a driver, but it cannot be used, or refuses one of them ([`ErrorKind::CudaDriverTooOld`],
    /// [`ErrorKind::Driver`]); and as [`cuda`](Self::cuda).
    pub fn all() -> Result<Vec<Self>> {
        (0..gpus()?).map(Self::cuda).collect()
    }

    /// Has something go wrong on this simulated device, from now on.
    ///
    /// # Errors
    /// [`ErrorKind::CannotInject`]: it is a GPU.
    pub fn inject(&self, fault: Fault) -> Result<Injected> {
        let driver: &dyn Any = self.driver();
        let sim = driver.downcast_ref::<Sim>().ok_or(ErrorKind::CannotInject)?;
        Ok(sim.inject(fault))
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

/// Devices that are in use, by a number of theirs. They are told apart as long as anyone holds them.
type Known = Mutex<BTreeMap<usize, Weak<Shared>>>;

/// GPUs by their index.
static GPUS: Known = Mutex::new(BTreeMap::new());

/// The devices of other contexts than their GPU's primary one, by address.
static CONTEXTS: Known = Mutex::new(BTreeMap::new());

fn locked(known: &Known) -> MutexGuard<'_, BTreeMap<usize, Weak<Shared>>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The GPU of this index: the same device as long as anyone holds it.
fn gpu(index: usize) -> Result<Device> {
    Cuda::may_open()?;
    // Held while the device is made, so that two threads do not make two of it.
    let mut gpus = locked(&GPUS);
    if let Some(shared) = gpus.get(&index).and_then(Weak::upgrade) {
        return Ok(Device { shared });
    }
    let device = Device::with_driver(Cuda::open(index)?);
    gpus.insert(index, Arc::downgrade(&device.shared));
    Ok(device)
}

/// The device of a context that is not its GPU's primary one: the same device as long as anyone holds it.
fn of_context(context: Context) -> Result<Device> {
    // An address may be that of another context by now: what is kept by nobody is gone.
    let address = context.address();
    let known = |contexts: &BTreeMap<usize, Weak<Shared>>| {
        contexts.get(&address).and_then(Weak::upgrade).map(|shared| Device { shared })
    };
    if let Some(device) = known(&locked(&CONTEXTS)) {
        return Ok(device);
    }
    // Not under the lock: what keeps the context is dropped where that fails, and may do anything.
    let device = Device::with_driver(Cuda::of_context(context)?);
    let mut contexts = locked(&CONTEXTS);
    if let Some(first) = known(&contexts) {
        drop(contexts);
        return Ok(first);
    }
    contexts.insert(address, Arc::downgrade(&device.shared));
    Ok(device)
}
