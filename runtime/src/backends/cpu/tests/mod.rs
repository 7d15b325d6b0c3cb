//! The CPU as a device by itself, through the `Driver` trait.

mod failures;
mod graphs;
mod host;
mod memory;
mod order;
mod threads;
mod timing;

use std::ptr::NonNull;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Cpu, CpuOptions};
use crate::base::error::{DriverDetail, DriverError};
use crate::driver::{
    Access, Command, DevicePtr, Driver, DriverResult, HostBodies, HostBody, RawEvent, RawFunction, RawLaunch,
    RawStream, Tag,
};

/// A device with short names for the driver's methods.
///
/// The methods are safe to call because the device checks every handle and range itself. The tests access
/// page-locked memory only through `put` and `get`, while nothing is in flight, and order what conflicts.
#[derive(Clone)]
struct Rig {
    cpu: Arc<Cpu>,
    held: Arc<Held>,
}

/// The page-locked memory of a test, which a device leaves to the caller.
struct Held {
    cpu: Arc<Cpu>,
    pinned: Mutex<Vec<Pinned>>,
}

impl Drop for Held {
    fn drop(&mut self) {
        for Pinned { ptr, bytes } in self.pinned.get_mut().unwrap().drain(..) {
            // SAFETY: the device checks that the memory is there, and that nothing uses it. The test is over.
            let _is_there = unsafe { self.cpu.free_pinned(ptr, bytes) };
        }
    }
}

#[derive(Clone, Copy)]
struct Pinned {
    ptr: NonNull<u8>,
    bytes: usize,
}

// SAFETY: plain memory; the tests that share it do so in an order that waits give.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

fn tag(operation: u32, chunk: u64) -> Tag {
    Tag { pipeline: 0, operation, chunk }
}

/// The message of the host body that failed.
fn host_body(error: &DriverError) -> Option<&str> {
    match error.detail.as_deref() {
        Some(DriverDetail::HostBody(message)) => Some(message),
        _ => None,
    }
}

fn access(ptr: DevicePtr, bytes: usize, write: bool) -> Access {
    Access { ptr, bytes, write, anew: false }
}

impl Rig {
    fn new() -> Self {
        Self::with(CpuOptions::default().memory(64 << 20))
    }

    fn with(options: CpuOptions) -> Self {
        let cpu = Arc::new(Cpu::new(options).unwrap());
        Self { cpu: Arc::clone(&cpu), held: Arc::new(Held { cpu, pinned: Mutex::default() }) }
    }

    fn stream(&self) -> RawStream {
        self.cpu.create_stream(0).unwrap()
    }

    fn event(&self) -> RawEvent {
        self.cpu.create_timing_event().unwrap()
    }

    fn device(&self, bytes: usize) -> DevicePtr {
        self.cpu.allocate(bytes).unwrap()
    }

    fn pinned(&self, bytes: usize) -> Pinned {
        let pinned = Pinned { ptr: self.cpu.allocate_pinned(bytes).unwrap(), bytes };
        self.held.pinned.lock().unwrap().push(pinned);
        pinned
    }

    /// Its address, for `access`.
    fn address(&self, pinned: Pinned) -> DevicePtr {
        DevicePtr(pinned.ptr.addr().get() as u64)
    }

    fn put(&self, pinned: Pinned, value: u8) {
        // SAFETY: see `Rig`.
        unsafe { pinned.ptr.write_bytes(value, pinned.bytes) };
    }

    fn get(&self, pinned: Pinned) -> Vec<u8> {
        // SAFETY: see `Rig`; page-locked memory is always initialised.
        unsafe { std::slice::from_raw_parts(pinned.ptr.as_ptr(), pinned.bytes).to_vec() }
    }

    fn enqueue(&self, stream: RawStream, tag: Tag, command: Command<'_>) -> DriverResult<()> {
        // SAFETY: see `Rig`.
        unsafe { self.cpu.enqueue(command, stream, tag) }
    }

    fn up(&self, stream: RawStream, tag: Tag, to: DevicePtr, from: Pinned) -> DriverResult<()> {
        let copy = Command::CopyToDevice { to, from: from.ptr.as_ptr(), bytes: from.bytes };
        self.enqueue(stream, tag, copy)
    }

    fn down(&self, stream: RawStream, tag: Tag, to: Pinned, from: DevicePtr) -> DriverResult<()> {
        self.enqueue(stream, tag, Command::CopyToHost { to: to.ptr.as_ptr(), from, bytes: to.bytes })
    }

    fn launch(
        &self,
        stream: RawStream,
        tag: Tag,
        accesses: &[Access],
        body: impl FnOnce() + Send + 'static,
    ) -> DriverResult<()> {
        let body: Mutex<Option<HostBody>> = Mutex::new(Some(Box::new(body)));
        let launch = RawLaunch {
            function: RawFunction::plain(0, 1024, 0),
            grid: [1, 1, 1],
            block: [1, 1, 1],
            shared: 0,
            params: &[],
            sizes: &[],
            accesses,
            bodies: HostBodies::One(&|| body.lock().unwrap().take().unwrap()),
        };
        self.enqueue(stream, tag, Command::Launch(&launch))
    }

    fn host(
        &self,
        stream: RawStream,
        tag: Tag,
        accesses: &[Access],
        job: impl FnOnce() + Send + 'static,
    ) -> DriverResult<()> {
        self.enqueue(stream, tag, Command::Host { job: Box::new(job), accesses })
    }

    fn signal(
        &self,
        stream: RawStream,
        tag: Tag,
        signal: impl FnOnce() + Send + 'static,
    ) -> DriverResult<()> {
        self.enqueue(stream, tag, Command::Signal(Box::new(signal)))
    }

    fn record(&self, event: RawEvent, stream: RawStream) {
        self.enqueue(stream, tag(90, 0), Command::Record(event)).unwrap();
    }

    fn wait(&self, stream: RawStream, event: RawEvent) {
        self.enqueue(stream, tag(91, 0), Command::Wait(event)).unwrap();
    }

    fn sync(&self, stream: RawStream) -> DriverResult<()> {
        // SAFETY: see `Rig`.
        unsafe { self.cpu.synchronize_stream(stream) }
    }

    fn sync_event(&self, event: RawEvent) -> DriverResult<()> {
        // SAFETY: see `Rig`.
        unsafe { self.cpu.synchronize_event(event) }
    }

    fn is_complete(&self, event: RawEvent) -> DriverResult<bool> {
        // SAFETY: see `Rig`.
        unsafe { self.cpu.query_event(event) }
    }

    fn is_through(&self, stream: RawStream) -> DriverResult<bool> {
        // SAFETY: see `Rig`.
        unsafe { self.cpu.query_stream(stream) }
    }

    fn destroy(&self, stream: RawStream) {
        // SAFETY: see `Rig`.
        unsafe { self.cpu.destroy_stream(stream) }.unwrap();
    }

    fn free(&self, ptr: DevicePtr) -> DriverResult<()> {
        // SAFETY: see `Rig`.
        unsafe { self.cpu.free(ptr) }
    }

    fn free_pinned(&self, pinned: Pinned) -> DriverResult<()> {
        // SAFETY: see `Rig`.
        unsafe { self.cpu.free_pinned(pinned.ptr, pinned.bytes) }
    }
}

/// The numbers that bodies note, in the order in which they are carried out.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u32>>>);

impl Log {
    fn note(&self, number: u32) -> impl FnOnce() + Send + 'static {
        let log = self.clone();
        move || log.0.lock().unwrap().push(number)
    }

    fn taken(&self) -> Vec<u32> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Writes bytes of device memory, as a host body does.
fn filled(ptr: DevicePtr, bytes: usize, value: u8) -> impl FnOnce() + Send + 'static {
    move || {
        let start = std::ptr::with_exposed_provenance_mut::<u8>(ptr.0 as usize);
        // SAFETY: the tests name the same range in `accesses`, so it is live, and order what conflicts.
        unsafe { start.write_bytes(value, bytes) };
    }
}
