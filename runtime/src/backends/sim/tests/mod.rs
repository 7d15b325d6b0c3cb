//! The simulated device by itself, through the `Driver` trait.

mod adversary;
mod failures;
mod graphs;
mod host;
mod loss;
mod memory;
mod occupancy;
mod order;
mod planted;
mod races;
mod timing;

use std::ptr::NonNull;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Sim, Simulation};
use crate::driver::{
    Access, Command, DevicePtr, Driver, DriverResult, HostBodies, HostBody, RawEvent, RawFunction, RawLaunch,
    RawStream, Tag,
};

use crate::base::error::{DriverDetail, DriverError};

/// A simulated device with short names for the driver's methods.
///
/// The methods are safe to call because the simulated device checks every handle and range itself. The tests
/// access page-locked memory only through `put` and `get`, while nothing is in flight.
struct Rig {
    sim: Arc<Sim>,
    /// Memory to be freed in the end, since a device does not free page-locked memory that its user has not
    /// freed.
    pinned: Mutex<Vec<Pinned>>,
}

impl Drop for Rig {
    fn drop(&mut self) {
        for pinned in std::mem::take(&mut *self.pinned.lock().unwrap()) {
            // The test may have freed it already, or left it in use; both are refused.
            let _ = self.free_pinned(pinned);
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

fn read(ptr: DevicePtr, bytes: usize) -> Access {
    Access { ptr, bytes, write: false, anew: false }
}

fn write(ptr: DevicePtr, bytes: usize) -> Access {
    Access { ptr, bytes, write: true, anew: false }
}

impl Rig {
    fn new() -> Self {
        Self::with(Simulation::h200())
    }

    fn with(spec: Simulation) -> Self {
        Self::of(Arc::new(Sim::new(spec)))
    }

    fn of(sim: Arc<Sim>) -> Self {
        Self { sim, pinned: Mutex::default() }
    }

    fn stream(&self) -> RawStream {
        self.sim.create_stream(0).unwrap()
    }

    fn event(&self) -> RawEvent {
        self.sim.create_event().unwrap()
    }

    fn device(&self, bytes: usize) -> DevicePtr {
        self.sim.allocate(bytes).unwrap()
    }

    fn pinned(&self, bytes: usize) -> Pinned {
        let ptr = self.sim.allocate_pinned(bytes).unwrap();
        let pinned = Pinned { ptr, bytes };
        self.pinned.lock().unwrap().push(pinned);
        pinned
    }

    /// Its address, for `read` and `write`.
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

    fn redirect(&self, pinned: Pinned, to: Option<&mut [u8]>) -> bool {
        let to = to.map(|to| (to.as_mut_ptr(), to.len()));
        // SAFETY: see `Rig`; the tests leave the bytes alone, or write them where they say why.
        unsafe { self.sim.redirect(pinned.ptr, to) }
    }

    fn up(&self, stream: RawStream, tag: Tag, to: DevicePtr, from: Pinned) -> DriverResult<()> {
        // SAFETY: see `Rig`.
        unsafe {
            let copy = Command::CopyToDevice { to, from: from.ptr.as_ptr(), bytes: from.bytes };
            self.sim.enqueue(copy, stream, tag)
        }
    }

    fn down(&self, stream: RawStream, tag: Tag, to: Pinned, from: DevicePtr) -> DriverResult<()> {
        // SAFETY: see `Rig`.
        unsafe {
            let copy = Command::CopyToHost { to: to.ptr.as_ptr(), from, bytes: to.bytes };
            self.sim.enqueue(copy, stream, tag)
        }
    }

    fn across(
        &self,
        stream: RawStream,
        tag: Tag,
        to: DevicePtr,
        from: DevicePtr,
        bytes: usize,
    ) -> DriverResult<()> {
        // SAFETY: see `Rig`.
        unsafe { self.sim.enqueue(Command::CopyOnDevice { to, from, bytes }, stream, tag) }
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
        // SAFETY: see `Rig`; the bodies stay within `accesses`.
        unsafe { self.sim.enqueue(Command::Launch(&launch), stream, tag) }
    }

    /// A launch that only matters to the model and the race checker.
    fn kernel(&self, stream: RawStream, tag: Tag, accesses: &[Access]) {
        self.launch(stream, tag, accesses, || {}).unwrap();
    }

    fn host(
        &self,
        stream: RawStream,
        tag: Tag,
        accesses: &[Access],
        job: impl FnOnce() + Send + 'static,
    ) -> DriverResult<()> {
        // SAFETY: see `Rig`; the jobs stay within `accesses`.
        unsafe { self.sim.enqueue(Command::Host { job: Box::new(job), accesses }, stream, tag) }
    }

    fn signal(
        &self,
        stream: RawStream,
        tag: Tag,
        signal: impl FnOnce() + Send + 'static,
    ) -> DriverResult<()> {
        // SAFETY: see `Rig`.
        unsafe { self.sim.enqueue(Command::Signal(Box::new(signal)), stream, tag) }
    }

    fn record(&self, event: RawEvent, stream: RawStream) {
        // SAFETY: see `Rig`.
        unsafe { self.sim.enqueue(Command::Record(event), stream, tag(90, 0)) }.unwrap();
    }

    fn wait(&self, stream: RawStream, event: RawEvent) {
        // SAFETY: see `Rig`.
        unsafe { self.sim.enqueue(Command::Wait(event), stream, tag(91, 0)) }.unwrap();
    }

    fn sync(&self, stream: RawStream) -> DriverResult<()> {
        // SAFETY: see `Rig`.
        unsafe { self.sim.synchronize_stream(stream) }
    }

    fn sync_event(&self, event: RawEvent) -> DriverResult<()> {
        // SAFETY: see `Rig`.
        unsafe { self.sim.synchronize_event(event) }
    }

    fn destroy(&self, stream: RawStream) {
        // SAFETY: see `Rig`.
        unsafe { self.sim.destroy_stream(stream) }.unwrap();
    }

    fn free(&self, ptr: DevicePtr) -> DriverResult<()> {
        // SAFETY: see `Rig`.
        unsafe { self.sim.free(ptr) }
    }

    fn free_pinned(&self, pinned: Pinned) -> DriverResult<()> {
        // SAFETY: see `Rig`.
        unsafe { self.sim.free_pinned(pinned.ptr, pinned.bytes) }
    }

    fn clock(&self) -> Duration {
        self.sim.clock()
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
fn fill(ptr: DevicePtr, bytes: usize, value: u8) -> impl FnOnce() + Send + 'static {
    move || {
        let start = std::ptr::with_exposed_provenance_mut::<u8>(ptr.0 as usize);
        // SAFETY: the tests name the same range in `accesses`, so it is live, and bodies are carried out one
        // at a time.
        unsafe { start.write_bytes(value, bytes) };
    }
}
