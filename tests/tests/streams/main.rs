//! Streams, events and the rest by hand: what each does, on the simulated device, on the CPU and, if that is
//! asked for, on a GPU.

mod attacks;
mod basics;
mod book;
mod callbacks;
mod copies;
mod explore;
mod failures;
mod graphs;
mod kinds;
mod last_handles;
mod lifetimes;
mod overlapping;
mod parts;
mod peers;
mod planted;

use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};

use thalweg::__private::Detail;
use thalweg::sim::Simulation;
use thalweg::{CpuOptions, Device};

fn simulated() -> Device {
    Device::simulated(Simulation::h200())
}

/// The CPU, with so little memory that it does not depend on the machine how much is free.
fn cpu() -> Device {
    Device::cpu_with(CpuOptions::default().memory(256 << 20)).expect("threads")
}

/// Whether no other test uses the device, so that its memory can be counted.
fn is_alone(device: &Device) -> bool {
    device.is_simulated() || device.is_cpu()
}

/// A simulated device that is kept for good, so that a leak checker finds the memory that is left to it when
/// it is lost.
fn kept(spec: Simulation) -> Device {
    static KEPT: Mutex<Vec<Device>> = Mutex::new(Vec::new());
    let device = Device::simulated(spec);
    KEPT.lock().expect("no panic").push(device.clone());
    device
}

/// The first GPU, once for all tests; one test has it at a time. Another test's synchronisation of the null
/// stream might wait for operations that this test's host has not waited for.
struct Gpu(MutexGuard<'static, Option<Device>>);

fn gpu() -> Gpu {
    static GPU: Mutex<Option<Device>> = Mutex::new(None);
    // A test that has failed leaves it to the next one.
    let mut gpu = GPU.lock().unwrap_or_else(PoisonError::into_inner);
    gpu.get_or_insert_with(|| Device::cuda(0).expect("a CUDA device"));
    Gpu(gpu)
}

impl Deref for Gpu {
    type Target = Device;

    fn deref(&self) -> &Device {
        self.0.as_ref().expect("it was opened")
    }
}

/// A test on each device: `on_each!(name, function)`, where the function takes the device.
macro_rules! on_each {
    ($($name:ident),* $(,)?) => {
        mod on_the_simulated_device {
            $(#[test]
            fn $name() {
                super::$name(&$crate::simulated());
            })*
        }
        mod on_the_cpu {
            $(#[test]
            fn $name() {
                super::$name(&$crate::cpu());
            })*
        }
        mod on_a_gpu {
            $(#[test]
            #[ignore = "needs a CUDA device"]
            fn $name() {
                super::$name(&$crate::gpu());
            })*
        }
    };
}
use on_each;

/// Checks for the error of a race.
#[track_caller]
fn is_race<T: std::fmt::Debug>(result: thalweg::Result<T>) -> String {
    let error = result.expect_err("it is a race");
    assert!(matches!(error.detail(), Detail::Race { .. }), "{error}");
    error.to_string()
}
