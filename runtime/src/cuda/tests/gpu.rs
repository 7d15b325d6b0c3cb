//! What only a GPU can show.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::{SAXPY, SOURCE, TAG, kernel, launch};
use crate::cuda::{Cuda, device_count};
use crate::driver::{DevicePtr, Driver, RawStream};
use crate::kernel::KernelInfo;

static SLOW_FILL: KernelInfo = kernel(&SOURCE, "slow_fill");
static REVERSE: KernelInfo = kernel(&SOURCE, "reverse");

/// A device with one stream, `LEN` elements of device memory, and as many of page-locked memory.
///
/// Dropped, it leaves all three to the process's end: a test that fails must not free what the GPU may still use.
struct Bench {
    device: Arc<dyn Driver>,
    stream: RawStream,
    memory: DevicePtr,
    pinned: NonNull<u8>,
}

const LEN: usize = 1 << 14;
const BYTES: usize = LEN * 4;

impl Bench {
    fn new() -> Self {
        let device = Cuda::open(0).expect("a CUDA device");
        Self {
            stream: device.create_stream(0).expect("a stream"),
            memory: device.allocate(BYTES).expect("device memory"),
            pinned: device.allocate_pinned(BYTES).expect("page-locked memory"),
            device,
        }
    }

    fn host(&mut self) -> &mut [u32] {
        // SAFETY: the memory is initialised, aligned to 64 bytes and not shared; every test has waited for its copies.
        unsafe { std::slice::from_raw_parts_mut(self.pinned.as_ptr().cast(), LEN) }
    }

    fn upload(&self) {
        // SAFETY: everything is live, and stays so.
        unsafe {
            let from = self.pinned.as_ptr();
            self.device.copy_to_device(self.memory, from, BYTES, self.stream, TAG).expect("a copy");
        }
    }

    fn download(&self, stream: RawStream) {
        // SAFETY: everything is live, and stays so; the host's side is not touched before the wait.
        unsafe {
            let to = self.pinned.as_ptr();
            self.device.copy_to_host(to, self.memory, BYTES, stream, TAG).expect("a copy");
            self.device.synchronize_stream(stream).expect("all of it works");
        }
    }

    /// Launches a kernel whose parameters are these.
    fn launch(&self, info: &'static KernelInfo, shared: u32, params: &mut [*mut c_void]) {
        let function = self.device.load(info).expect("a kernel");
        let blocks = if shared > 0 { 1 } else { LEN.div_ceil(256) as u32 };
        // SAFETY: everything is live, and stays so; each test gives the parameters that its kernel has.
        unsafe {
            let launch = launch(function, blocks, shared, params);
            self.device.launch(launch, self.stream, TAG).expect("a launch");
        }
    }
}

fn param<T>(value: &mut T) -> *mut c_void {
    ptr::from_mut(value).cast()
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_device_says_what_it_is() {
    assert!(device_count().expect("a CUDA driver") > 0);
    let bench = Bench::new();
    let info = bench.device.info();
    assert!(!info.name.is_empty() && !info.simulated, "{info:?}");
    assert!(info.memory > 1 << 30 && info.multiprocessors > 0, "{info:?}");
    assert!(info.compute_capability >= (5, 0) && info.max_shared >= 48 << 10, "{info:?}");
    assert!(info.priorities.0 >= info.priorities.1, "{info:?}");
    let free = bench.device.free_memory().expect("a number");
    assert!(free > 0 && free < info.memory);
    assert_eq!(bench.memory.0 % 256, 0);
}

#[test]
#[ignore = "needs a CUDA device"]
fn large_pinned_memory_is_zero() {
    let device = Cuda::open(0).expect("a CUDA device");
    let bytes = (64 << 20) + 3;
    let memory = device.allocate_pinned(bytes).expect("page-locked memory");
    // SAFETY: it is initialised and nothing else uses it.
    unsafe {
        assert!(std::slice::from_raw_parts(memory.as_ptr(), bytes).iter().all(|&byte| byte == 0));
        device.free_pinned(memory, bytes).expect("it is freed");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn copies_go_there_and_back() {
    let mut bench = Bench::new();
    let second = bench.device.allocate(BYTES).expect("device memory");
    bench.host().iter_mut().enumerate().for_each(|(i, value)| *value = i as u32);
    bench.upload();
    // SAFETY: everything is live until the wait.
    unsafe {
        let (device, stream) = (&bench.device, bench.stream);
        device.copy_on_device(second, bench.memory.offset(8), 16, stream, TAG).expect("a copy");
        device.copy_on_device(bench.memory, second, 16, stream, TAG).expect("a copy");
        device.synchronize_stream(stream).expect("all of it works");
    }
    bench.host().fill(0);
    bench.download(bench.stream);
    assert_eq!(bench.host()[..6], [2, 3, 4, 5, 4, 5]);
    assert_eq!(bench.host()[LEN - 1], LEN as u32 - 1);
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_launch_computes() {
    let mut bench = Bench::new();
    let x = bench.device.allocate(BYTES).expect("device memory");
    bench.host().fill(2.0_f32.to_bits());
    bench.upload();
    // SAFETY: everything is live until the wait.
    unsafe {
        bench.device.copy_on_device(x, bench.memory, BYTES, bench.stream, TAG).expect("a copy");
    }
    let (mut n, mut a, mut x, mut y) = (LEN as u32, 3.0_f32, x.0, bench.memory.0);
    let mut params = [param(&mut n), param(&mut a), param(&mut x), param(&mut y)];
    bench.launch(&SAXPY, 0, &mut params);
    bench.download(bench.stream);
    assert!(bench.host().iter().all(|&bits| f32::from_bits(bits) == 8.0));
}

#[test]
#[ignore = "needs a CUDA device"]
fn an_event_orders_two_streams() {
    let mut bench = Bench::new();
    let other = bench.device.create_stream(i32::MIN).expect("a stream");
    let event = bench.device.create_event().expect("an event");
    bench.upload();
    let (mut n, mut value, mut out) = (LEN as u32, 41_u32, bench.memory.0);
    bench.launch(&SLOW_FILL, 0, &mut [param(&mut n), param(&mut value), param(&mut out)]);
    // SAFETY: everything is live, and stays so.
    unsafe {
        bench.device.wait(other, event, TAG).expect("no record is no wait");
        bench.device.record(event, bench.stream, TAG).expect("a record");
        bench.device.wait(other, event, TAG).expect("a wait");
    }
    bench.download(other);
    assert!(bench.host().iter().all(|&value| value == 41));
    // SAFETY: the event is live.
    unsafe { bench.device.synchronize_event(event) }.expect("it is complete");
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_kernel_may_use_all_shared_memory() {
    let mut bench = Bench::new();
    bench.host().iter_mut().enumerate().for_each(|(i, value)| *value = i as u32);
    bench.upload();
    let shared = bench.device.info().max_shared;
    let mut n = (shared / 4).min(LEN as u32);
    let mut data = bench.memory.0;
    bench.launch(&REVERSE, shared, &mut [param(&mut n), param(&mut data)]);
    bench.download(bench.stream);
    assert_eq!(bench.host()[0], n - 1);
    assert_eq!(bench.host()[n as usize - 1], 0);
}
