//! How to get a [`Device`]: a GPU by its index or by another library's context, the CPU, or the simulated
//! device.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::handle::Device;
use super::shared::Shared;
use crate::backends::cpu::{Cpu, CpuOptions};
use crate::backends::cuda::{self, Context, Cuda, OfContext};
use crate::backends::sim::{Fault, Injected, Sim, SimulatedMachine, Simulation};
#[cfg(doc)]
use crate::base::error::ErrorKind;
use crate::base::error::{Detail, Error, Result};
use crate::base::fork;
use crate::base::machine::MachineModel;
use crate::driver::Driver;

impl Device {
    /// The first CUDA GPU, or the [CPU](Self::cpu) if there is no CUDA driver or no GPU.
    ///
    /// The environment variable `THALWEG_DEVICE` overrides this choice: `cpu`, `sim`, `cuda` for the first
    /// GPU, or `cuda:N` for GPU `N`. Of a value that names several devices (`cuda:0,2`, `cuda:all`, `sim:4`), this
    /// is the first, and [`all`](Self::all) opens all of them. The value `auto` and an empty value count as not
    /// set, and spaces around the value are ignored.
    ///
    /// ```
    /// use thalweg::Device;
    ///
    /// let device = Device::open()?;
    /// println!("{device}");
    /// assert_eq!(device.is_cpu(), device.to_string().starts_with("CPU: "));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Environment`] if `THALWEG_DEVICE` names no device or one that does not exist, if the
    /// driver is too old, if `THALWEG_CALIBRATION` names a file that is no calibration, or if
    /// `THALWEG_CPU_THREADS` is no number of threads. [`ErrorKind::Driver`] if the driver refuses the GPU. A
    /// machine without any GPU is no error.
    pub fn open() -> Result<Self> {
        match Choice::of_environment()? {
            Choice::Best => Self::first(),
            Choice::Simulated(_) => Ok(Self::simulated(Simulation::default())),
            Choice::Cpu => Self::cpu(),
            Choice::Cuda(indices) => Self::cuda(indices[0]).map_err(asked_for),
            Choice::AllOfCuda => Self::cuda(0).map_err(asked_for),
        }
    }

    /// All devices for a pipeline that is to use them together: every CUDA GPU, in the driver's order, or the
    /// [CPU](Self::cpu) if there is no CUDA driver or no GPU.
    ///
    /// The environment variable `THALWEG_DEVICE` overrides this choice: `cuda:all`, `cuda:0,2` for some GPUs,
    /// `sim:4` for a [simulated machine](Self::simulated_machine) with four devices, or any value that
    /// [`open`](Self::open) takes, for one device.
    ///
    /// ```
    /// use thalweg::Device;
    ///
    /// for device in Device::all()? {
    ///     println!("{device}");
    /// }
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn all() -> Result<Vec<Self>> {
        match Choice::of_environment()? {
            Choice::Best if gpus()? == 0 => Ok(vec![Self::cpu()?]),
            Choice::Best => Self::all_gpus(),
            Choice::AllOfCuda => Self::all_gpus().map_err(asked_for),
            Choice::Simulated(count) => Ok(Self::simulated_machine(MachineModel::h200(count))),
            Choice::Cpu => Ok(vec![Self::cpu()?]),
            Choice::Cuda(indices) => {
                indices.into_iter().map(Self::cuda).collect::<Result<_>>().map_err(asked_for)
            }
        }
    }

    /// The device of a process that has this place among those that share the machine; `None` if there are fewer
    /// devices. A processor and a simulated device are there for each of them.
    pub(crate) fn of_several(place: usize) -> Result<Option<Self>> {
        let of = |indices: &[usize]| match indices {
            &[one] => Self::cuda(one).map(Some),
            several => several.get(place).map(|&index| Self::cuda(index)).transpose(),
        };
        match Choice::of_environment()? {
            Choice::Best => match gpus()? {
                0 => Self::open().map(Some),
                count => of(&(0..count).collect::<Vec<_>>()),
            },
            Choice::AllOfCuda => of(&(0..gpus().map_err(asked_for)?).collect::<Vec<_>>()),
            Choice::Cuda(indices) => of(&indices).map_err(asked_for),
            Choice::Cpu | Choice::Simulated(_) => Self::open().map(Some),
        }
    }

    /// Every CUDA GPU: at least one.
    fn all_gpus() -> Result<Vec<Self>> {
        // Without a GPU, the first one has an error that says so.
        (0..gpus()?.max(1)).map(Self::cuda).collect()
    }

    /// The first GPU, or the CPU if there is none.
    fn first() -> Result<Self> {
        if gpus()? == 0 { Self::cpu() } else { Self::cuda(0) }
    }

    /// The CUDA GPU of this index, from 0.
    ///
    /// ```
    /// use thalweg::{Device, ErrorKind};
    ///
    /// match Device::cuda(0) {
    ///     Ok(device) => assert!(!device.is_simulated()),
    ///     Err(error) => match error.kind() {
    ///         // There is no driver, or no such GPU.
    ///         ErrorKind::Environment(lacking) => println!("{lacking}"),
    ///         _ => return Err(error),
    ///     },
    /// }
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Environment`] if there is no CUDA driver (the text names the libraries that were looked
    /// for), if the driver is too old, if there is no such GPU, or if `THALWEG_CALIBRATION` names a file that
    /// is no [calibration](Self::calibration). [`ErrorKind::Driver`] if the driver refuses the GPU.
    pub fn cuda(index: usize) -> Result<Self> {
        let device = gpu(index)?;
        device.take_given_calibration()?;
        Ok(device)
    }

    /// The GPU of another library's context, a `CUcontext`. `keep` keeps the context alive, for example
    /// cudarc's `CudaContext`.
    ///
    /// Most libraries use a GPU's *primary* context, as [`cuda`](Self::cuda) does. Then this is the same
    /// device, and nothing is kept. A device of any other context has its own memory, streams and kernels.
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
    /// Those of [`cuda`](Self::cuda), and [`ErrorKind::Driver`] if `context` is null or the driver refuses
    /// it.
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

    /// The CPU as a device, with all cores that the process may use, or as many threads as
    /// `THALWEG_CPU_THREADS` says. Kernels run their host bodies, in real time.
    ///
    /// Operations are carried out by the threads that wait for them, and kernels on threads that all such
    /// devices of the process share. Each call makes a device of its own. Nothing is checked here that a GPU
    /// does not check, either: races are found on the [simulated device](Self::simulated). The limits of
    /// launches are those of an H200, so that what runs here runs there.
    ///
    /// ```
    /// use thalweg::Device;
    ///
    /// let device = Device::cpu()?;
    /// assert!(device.is_cpu() && !device.is_simulated());
    /// println!("{device}"); // such as `CPU: AMD EPYC 9654 96-Core Processor (16 threads)`
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Environment`] if `THALWEG_CPU_THREADS` is no number of threads, or if
    /// `THALWEG_CALIBRATION` names a file that is no [calibration](Self::calibration).
    pub fn cpu() -> Result<Self> {
        Self::cpu_with(CpuOptions::default())
    }

    /// The CPU as a device, with a number of threads or of bytes of its own.
    ///
    /// # Errors
    /// Those of [`cpu`](Self::cpu), and [`ErrorKind::Environment`] if there are to be 0 threads.
    pub fn cpu_with(options: CpuOptions) -> Result<Self> {
        let device = Self::with_driver(Arc::new(Cpu::new(options)?));
        device.take_given_calibration()?;
        Ok(device)
    }

    /// A simulated device. Kernels run their host bodies on the CPU, and time is virtual and the same in
    /// every run.
    ///
    /// ```
    /// use thalweg::sim::Simulation;
    /// use thalweg::Device;
    ///
    /// let device = Device::simulated(Simulation::h200());
    /// assert_eq!(device.to_string(), "simulated H200 (compute capability 9.0, 132 multiprocessors, 140 GiB)");
    /// ```
    pub fn simulated(spec: impl Into<Simulation>) -> Self {
        Self::with_driver(Arc::new(Sim::new(spec.into())))
    }

    /// The devices of a simulated machine, which share its host's memory and one virtual time.
    ///
    /// ```
    /// use thalweg::sim::MachineModel;
    /// use thalweg::Device;
    ///
    /// let devices = Device::simulated_machine(MachineModel::h200(4));
    /// assert_eq!(devices.len(), 4);
    /// ```
    pub fn simulated_machine(spec: impl Into<SimulatedMachine>) -> Vec<Self> {
        Sim::all(&spec.into()).into_iter().map(|sim| Self::with_driver(Arc::new(sim))).collect()
    }

    /// A device whose calls this driver carries out.
    pub(crate) fn with_driver(driver: Arc<dyn Driver>) -> Self {
        fork::is_home();
        Self { shared: Arc::new(Shared::new(driver)) }
    }

    /// Makes something go wrong on this simulated device, from now on.
    ///
    /// # Errors
    /// [`ErrorKind::Misuse`] if this device is not simulated.
    pub fn inject(&self, fault: Fault) -> Result<Injected> {
        let driver: &dyn Any = self.driver();
        let sim = driver.downcast_ref::<Sim>().ok_or(Detail::CannotInject)?;
        Ok(sim.inject(fault))
    }
}

/// What `THALWEG_DEVICE` asks for.
enum Choice {
    /// The GPUs, or the CPU where there are none.
    Best,
    Cpu,
    /// A machine with so many simulated devices.
    Simulated(usize),
    /// GPUs, by index: at least one.
    Cuda(Vec<usize>),
    AllOfCuda,
}

impl Choice {
    fn of_environment() -> Result<Self> {
        match std::env::var("THALWEG_DEVICE") {
            Ok(value) => Ok(Self::named(&value).ok_or(Detail::UnknownDevice { value })?),
            Err(std::env::VarError::NotPresent) => Ok(Self::Best),
            Err(std::env::VarError::NotUnicode(value)) => {
                Err(Detail::UnknownDevice { value: value.to_string_lossy().into_owned() }.into())
            }
        }
    }

    /// The choice that a value stands for, if it does.
    fn named(value: &str) -> Option<Self> {
        let (kind, which) = match value.trim().split_once(':') {
            Some((kind, which)) => (kind, Some(which)),
            None => (value.trim(), None),
        };
        match (kind, which) {
            ("" | "auto", None) => Some(Self::Best),
            ("cpu", None) => Some(Self::Cpu),
            ("sim", None) => Some(Self::Simulated(1)),
            ("sim", Some(count)) => count.parse().ok().filter(|&count| count > 0).map(Self::Simulated),
            ("cuda", None) => Some(Self::Cuda(vec![0])),
            ("cuda", Some("all")) => Some(Self::AllOfCuda),
            ("cuda", Some(indices)) => {
                let indices = indices.split(',').map(|index| index.trim().parse().ok());
                indices.collect::<Option<_>>().map(Self::Cuda)
            }
            _ => None,
        }
    }
}

/// The error of a GPU that `THALWEG_DEVICE` asks for: where there is no driver, it says so.
fn asked_for(error: Error) -> Error {
    let asked = std::env::var("THALWEG_DEVICE").ok().map(|value| value.trim().to_owned());
    match error.detail() {
        Detail::NoCudaDriver { looked_for, .. } => {
            Detail::NoCudaDriver { looked_for: looked_for.clone(), asked }.into()
        }
        _ => error,
    }
}

/// The number of GPUs, 0 if there is no driver. A driver that is there but cannot be used is an error: to
/// continue without it would hide the problem.
fn gpus() -> Result<usize> {
    match cuda::device_count() {
        Err(error) if matches!(error.detail(), Detail::NoCudaDriver { .. }) => Ok(0),
        count => count,
    }
}

/// Devices that are in use, by index or address. A device stays the same as long as anyone holds it.
type Known = Mutex<BTreeMap<usize, Weak<Shared>>>;

/// GPUs by their index.
static GPUS: Known = Mutex::new(BTreeMap::new());

/// The devices of contexts that are not their GPU's primary one, by address.
static CONTEXTS: Known = Mutex::new(BTreeMap::new());

fn locked(known: &Known) -> MutexGuard<'_, BTreeMap<usize, Weak<Shared>>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The GPU of this index: the same device as long as anyone holds it.
fn gpu(index: usize) -> Result<Device> {
    Cuda::may_open()?;
    // The lock is held while the device is made, so that two threads do not make it twice.
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
    // The address may belong to a new context by now. The device of the old one is gone if nobody holds it.
    let address = context.address();
    let known = |contexts: &BTreeMap<usize, Weak<Shared>>| {
        contexts.get(&address).and_then(Weak::upgrade).map(|shared| Device { shared })
    };
    if let Some(device) = known(&locked(&CONTEXTS)) {
        return Ok(device);
    }
    // This is not done under the lock: if it fails, whatever keeps the context is dropped, which may run any
    // code.
    let device = Device::with_driver(Cuda::of_context(context)?);
    let mut contexts = locked(&CONTEXTS);
    if let Some(first) = known(&contexts) {
        drop(contexts);
        return Ok(first);
    }
    contexts.insert(address, Arc::downgrade(&device.shared));
    Ok(device)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The errors of `Device::open` and `Device::all`, in a process of its own.
    #[test]
    #[ignore = "others run it, with a variable set"]
    fn child() {
        for error in [Device::open().map(drop), Device::all().map(drop)].into_iter().filter_map(Result::err) {
            println!("said: {}", error.to_string().replace('\n', "|"));
        }
    }

    #[test]
    fn without_a_driver_the_variable_that_asks_for_a_gpu_is_named() {
        let no_driver = |error: &Error| matches!(error.detail(), Detail::NoCudaDriver { .. });
        if !Device::cuda(0).is_err_and(|error| no_driver(&error)) {
            return;
        }
        for asked in ["cuda:5", "cuda", "cuda:0,5", "cuda:all", " cuda:5 "] {
            let this = std::env::current_exe().expect("a path");
            let output = Command::new(this)
                .args(["--exact", "device::open::tests::child", "--include-ignored", "--nocapture"])
                .env("THALWEG_DEVICE", asked)
                .output()
                .expect("a process");
            let text = String::from_utf8(output.stdout).expect("text");
            let said: Vec<_> = text.lines().filter_map(|line| line.split_once("said: ")).collect();
            assert_eq!(said.len(), 2, "{text}");
            let start = format!(
                "no CUDA driver: none of its libraries could be loaded|  \
                 note: `THALWEG_DEVICE={}` asks for a GPU|  looked for ",
                asked.trim()
            );
            assert!(said.iter().all(|(_, error)| error.starts_with(&start)), "{text}");
        }
        // Nothing but the program asks for this one.
        assert!(!Device::cuda(5).unwrap_err().to_string().contains("THALWEG_DEVICE="));
    }
}
