//! Parts that the tests share: kernels, checks of errors, and the devices and ring shapes that every pipeline
//! is tried on.

pub mod book;
pub mod by_hand;
pub mod compare;
pub mod errors;
pub mod graphs;
pub mod kernels;
pub mod launcher;
pub mod launches;
pub mod loading;
pub mod many_runs;
pub mod on_host;
pub mod plans;
pub mod products;
pub mod random;
pub mod stubs;
pub mod two_devices;
pub mod waiting;

use std::ops::Deref;

use thalweg::prelude::*;
use thalweg::sim::{MachineModel, SimulatedMachine};
use thalweg::{CpuOptions, Devices};

/// The harness's name of a test in a module (`module_path!()`), for tests that run themselves again in
/// another process.
pub fn test_name(module: &str, test: &str) -> String {
    // The crate's own name is not part of the harness's name.
    module.split_once("::").map_or_else(|| test.to_owned(), |(_, module)| format!("{module}::{test}"))
}

/// One way to run a pipeline.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Items.
    pub len: usize,
    /// Items in a chunk.
    pub chunk: usize,
    /// Ring slots.
    pub depth: usize,
    /// Whether the data that are read are in page-locked memory.
    pub pinned_in: bool,
    /// Whether the data that are written are in page-locked memory.
    pub pinned_out: bool,
    /// The seed of the device's adversary; `None` follows the model's time.
    pub seed: Option<u64>,
}

/// Items in a chunk of the test cases.
pub const CHUNK: usize = 17;

/// Lengths at every border of a chunk, and in the middle.
pub const LENGTHS: [usize; 7] = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 101, 10 * CHUNK + 3];

/// Depths; the last one is larger than the number of chunks of any of [`LENGTHS`].
pub const DEPTHS: [usize; 4] = [1, 2, 3, 16];

/// The number of adversarial orders in which each length and depth is tried.
const ORDERS: u64 = 8;

/// Every length at every depth, in the order of time and in several adversarial ones.
fn cases() -> impl Iterator<Item = Case> {
    let shapes = LENGTHS.into_iter().flat_map(|len| DEPTHS.map(|depth| (len, depth)));
    shapes.enumerate().flat_map(|(number, (len, depth))| {
        (0..=ORDERS).map(move |order| Case {
            len,
            chunk: CHUNK,
            depth,
            pinned_in: order & 1 != 0,
            pinned_out: order & 2 != 0,
            seed: (order > 0).then(|| number as u64 * ORDERS + order),
        })
    })
}

/// The devices of a case. As one device, it is the first of them.
pub struct On(Vec<Device>);

impl Deref for On {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.0[0]
    }
}

impl Devices for On {
    fn list(&self) -> Vec<Device> {
        self.0.clone()
    }
}

impl From<Device> for On {
    fn from(device: Device) -> Self {
        Self(vec![device])
    }
}

/// Runs `check` on a device of its own for every case, and checks that it leaves no memory behind.
pub fn everywhere(check: impl Fn(&On, Case) -> thalweg::Result<()>) {
    for case in cases() {
        let spec = Simulation::default();
        let device = On::from(small(case.seed.map_or(spec.clone(), |seed| spec.adversarial(seed))));
        leaves_nothing(&device, || check(&device, case).unwrap_or_else(|error| panic!("{case:?}: {error}")));
    }
}

/// Runs `check` on two and on three simulated devices, which share their runs, for each length and depth: in the order
/// of time and in two adversarial ones. Checks that it leaves no memory behind on any of them.
pub fn on_several(check: impl Fn(&On, Case) -> thalweg::Result<()>) {
    for (number, case) in cases_once().enumerate() {
        for (devices, order) in [(2, 0), (3, 0), (2, 1), (3, 1)] {
            let mut model = MachineModel::h200(devices);
            model.devices.iter_mut().for_each(|device| device.pinned_memory = PINNED as u64);
            // One of them is slow.
            model.devices[devices - 1].to_device /= 3.0;
            let seed = (number * 4 + devices) as u64;
            let machine = SimulatedMachine::from(model);
            let machine = if order == 0 { machine } else { machine.adversarial(seed) };
            let all = On(Device::simulated_machine(machine));
            let before: Vec<_> = all.0.iter().map(|device| device.free_memory().unwrap()).collect();
            check(&all, case).unwrap_or_else(|error| panic!("{case:?} on {devices}: {error}"));
            let after: Vec<_> = all.0.iter().map(|device| device.free_memory().unwrap()).collect();
            assert_eq!(after, before, "{case:?} on {devices}: memory is left allocated");
        }
    }
}

/// Every length at every depth once.
fn cases_once() -> impl Iterator<Item = Case> {
    let shapes = LENGTHS.into_iter().flat_map(|len| DEPTHS.map(|depth| (len, depth)));
    shapes.enumerate().map(|(number, (len, depth))| Case {
        len,
        chunk: CHUNK,
        depth,
        pinned_in: number & 1 != 0,
        pinned_out: number & 2 != 0,
        // It says whether the case is in graph mode.
        seed: Some(number as u64),
    })
}

/// Runs `check` on the CPU as a device for each length and depth, and checks that it leaves no memory behind.
pub fn on_the_cpu(check: impl Fn(&On, Case) -> thalweg::Result<()>) {
    // So little that it does not depend on the machine how much is free.
    let device = On::from(Device::cpu_with(CpuOptions::default().memory(64 << 20)).unwrap());
    let before = device.free_memory().unwrap();
    for case in cases_once() {
        check(&device, case).unwrap_or_else(|error| panic!("{case:?}: {error}"));
        assert_eq!(device.free_memory().unwrap(), before, "{case:?}: memory is left allocated");
    }
}

/// All of these cases of a GPU, or every `THALWEG_EVERY`-th: under a checker each case takes long.
pub fn on_a_gpu_every<T>(cases: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let every = std::env::var("THALWEG_EVERY").map_or(1, |every| every.parse().unwrap());
    cases.into_iter().step_by(every)
}

/// Runs `check` on the first GPU for every case, or [some of them](on_a_gpu_every).
pub fn on_a_gpu(check: impl Fn(&On, Case) -> thalweg::Result<()>) {
    let device = On::from(Device::cuda(0).unwrap());
    for case in on_a_gpu_every(cases()) {
        check(&device, case).unwrap_or_else(|error| panic!("{case:?}: {error}"));
    }
}

/// Makes four tests of each function: [`everywhere`](fn@everywhere), [`on_several!`], [`on_the_cpu`], and [`on_a_gpu`].
/// A function that is about one device says so: `fn name(device, case) on one { … }`.
#[macro_export]
macro_rules! on_every_device {
    ($($(#[$doc:meta])* fn $name:ident($device:ident, $case:ident) $(on $one:ident)? $body:block)*) => {$(
        $(#[$doc])*
        mod $name {
            use super::*;

            fn check($device: &$crate::On, $case: $crate::Case) -> thalweg::Result<()> {
                $body
                Ok(())
            }

            $crate::on_several!($($one)?);

            #[test]
            fn simulated() {
                $crate::everywhere(check);
            }

            #[test]
            fn on_the_cpu() {
                $crate::on_the_cpu(check);
            }

            #[test]
            #[ignore = "needs a CUDA device"]
            fn on_a_gpu() {
                $crate::on_a_gpu(check);
            }
        }
    )*};
}

/// The test [`on_several!`] of a function, unless it is about one device.
#[macro_export]
macro_rules! on_several {
    () => {
        #[test]
        fn on_several() {
            $crate::on_several(check);
        }
    };
    (one) => {};
}

/// Makes three tests of each function of a device: on the simulated one, on the CPU, and on a GPU.
#[macro_export]
macro_rules! on_each_device {
    ($($name:ident;)*) => {$(
        mod $name {
            #[test]
            fn simulated() {
                super::$name(&thalweg::Device::simulated(thalweg::sim::Simulation::default()));
            }

            #[test]
            fn on_the_cpu() {
                super::$name(&thalweg::Device::cpu().unwrap());
            }

            #[test]
            #[ignore = "needs a CUDA device"]
            fn on_a_gpu() {
                super::$name(&thalweg::Device::cuda(0).unwrap());
            }
        }
    )*};
}

/// Checks what is said of a thread of a launch by hand that has failed. A GPU tells the file and the line
/// alone.
#[track_caller]
pub fn assert_said(device: &Device, text: &str, file: &str, by_simulated: &[&str]) {
    assert!(text.contains(&format!("{file}:")), "{text}");
    let said =
        if device.is_simulated() || device.is_cpu() { by_simulated } else { &["a GPU tells the line alone"] };
    assert!(said.iter().all(|said| text.contains(said)), "{text}");
}

/// The bytes that a run copies of arguments which the CPU uses where they lie.
pub fn copied(device: &Device, bytes: usize) -> u64 {
    if device.is_cpu() { 0 } else { bytes as u64 }
}

/// Page-locked memory of a [`small`] device, in bytes: [`leaves_nothing`] can allocate all of it.
pub const PINNED: usize = 1 << 20;

/// A simulated device with little page-locked memory.
pub fn small(spec: Simulation) -> Device {
    Device::simulated(spec.with_pinned_memory(PINNED as u64))
}

/// Checks that `work` has freed all memory of a [`small`] device that it has allocated.
pub fn leaves_nothing<R>(device: &Device, work: impl FnOnce() -> R) -> R {
    let before = device.free_memory().unwrap();
    let result = work();
    assert_eq!(device.free_memory().unwrap(), before, "device memory is left allocated");
    assert!(PinnedBuf::<u8>::zeroed(device, PINNED).is_ok(), "pinned memory is left allocated");
    result
}

/// Runs `$call` with `$name` borrowed mutably from memory of the wanted kind that starts as `$start`, a
/// `Vec`. Returns its result and the memory's content afterwards.
#[macro_export]
macro_rules! written {
    ($device:expr, $pinned:expr, $start:expr, |$name:ident| $call:expr) => {{
        let mut pageable = $start;
        if $pinned {
            let mut pinned = $crate::pinned($device, &pageable);
            let $name = &mut pinned;
            let result = $call;
            pageable.copy_from_slice(&pinned);
            (result, pageable)
        } else {
            let $name = &mut pageable;
            ($call, pageable)
        }
    }};
}

/// Runs `$call` with `$name` borrowed from memory of the wanted kind that holds `$data`, a `Vec`.
#[macro_export]
macro_rules! read {
    ($device:expr, $pinned:expr, $data:expr, |$name:ident| $call:expr) => {{
        let data = $data;
        if $pinned {
            let pinned = $crate::pinned($device, &data);
            let $name = &pinned;
            $call
        } else {
            let $name = &data;
            $call
        }
    }};
}

/// A copy in page-locked memory.
pub fn pinned<T: Pod>(device: &Device, data: &[T]) -> PinnedBuf<T> {
    PinnedBuf::from_slice(device, data).unwrap()
}

/// Numbers whose products and sums with small whole numbers are exact.
pub fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i * 37 % 1009) as f32 / 8.0 - 60.0).collect()
}

/// The options of `$pipeline` for a case; every other case is in graph mode.
#[macro_export]
macro_rules! built {
    ($pipeline:ty, $device:expr, $case:expr) => {{
        let options = <$pipeline>::options($device).chunk($case.chunk).depth($case.depth);
        if $case.in_graphs() { options.graph().build()? } else { options.build()? }
    }};
}

impl Case {
    /// Whether the case is to run in graph mode.
    pub fn in_graphs(&self) -> bool {
        self.seed.is_some_and(|seed| seed % 3 == 1)
    }

    /// The lengths of its chunks.
    pub fn chunks(&self) -> Vec<usize> {
        (0..self.len).step_by(self.chunk).map(|start| self.chunk.min(self.len - start)).collect()
    }
}
