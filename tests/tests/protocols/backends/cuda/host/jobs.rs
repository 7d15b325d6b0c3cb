//! Jobs of streams: a stream goes on when its job has returned, and a job is run once or dropped once,
//! however enqueuing, waiting and closing end.

use std::sync::Arc;

use loom::thread;

use super::functions::HostFunctions;
use super::gate::{Counted, Gate};
use crate::backends::cuda::api::{Api, NOT_SUPPORTED};
use crate::backends::cuda::handles::stream_handle;
use crate::backends::cuda::result::Computed;
use crate::base::sync::give_threads;
use crate::driver::{DriverResult, RawStream};
use crate::{check, check_some};

/// CUDA's code of some error: memory is exhausted.
const OTHER: u32 = 2;

/// A device of one or two streams.
struct Device {
    api: Api,
    host: HostFunctions,
    /// The number of jobs that were run, or dropped.
    gone: Arc<Gate>,
}

impl Device {
    fn new(streams: u64) -> Arc<Self> {
        let device = Arc::new(Self { api: Api::default(), host: HostFunctions::new(), gone: Arc::default() });
        for stream in 0..streams {
            let device = Arc::clone(&device);
            thread::spawn(move || device.api.work_off(stream_handle(RawStream(stream))));
        }
        device
    }

    /// Makes a stream run a job, and then a kernel that reads the job's result.
    fn run(&self, stream: u64, value: u32) -> (DriverResult<()>, Arc<Computed>) {
        self.run_after(stream, value, || {})
    }

    /// The same with a job that does something else first.
    fn run_after(
        &self,
        stream: u64,
        value: u32,
        before: impl FnOnce() + Send + 'static,
    ) -> (DriverResult<()>, Arc<Computed>) {
        let computed = Arc::<Computed>::default();
        let (job, kernel, gone) = (Arc::clone(&computed), Arc::clone(&computed), Counted::by(&self.gone));
        let work = Box::new(move || {
            before();
            job.set(value);
            drop(gone);
        });
        // SAFETY: the stream is destroyed later.
        let outcome = unsafe { self.host.run(&self.api, RawStream(stream), work) };
        if outcome.is_ok() {
            self.api.launch(stream_handle(RawStream(stream)), move || assert_eq!(kernel.get(), value));
        }
        (outcome, computed)
    }

    fn synchronize(&self, stream: u64) {
        // SAFETY: the stream is destroyed later.
        let outcome = unsafe { self.api.cuStreamSynchronize(stream_handle(RawStream(stream))) };
        self.host.waited(Some(RawStream(stream)), &outcome);
    }

    fn destroy(&self, stream: u64) {
        self.host.forget_stream(RawStream(stream));
        self.api.destroy(stream_handle(RawStream(stream)));
    }
}

/// The stream waits by a word or, if the device cannot wait for one, by the driver's thread.
#[test]
fn a_stream_goes_on_when_its_job_has_returned() {
    for fails in [0, NOT_SUPPORTED] {
        check(2, move || {
            give_threads(1);
            let device = Device::new(1);
            device.api.wait_fails.set(fails);
            let computed = [1, 2].map(|value| device.run(0, value).1);
            device.synchronize(0);
            assert_eq!(computed.map(|computed| computed.get()), [1, 2]);
            device.destroy(0);
            device.host.close(Some(&device.api));
            device.gone.wait_for(2);
        });
    }
}

/// If a stream cannot be made to wait, it does not get the job, or is waited for together with the job.
#[test]
fn a_job_that_its_stream_does_not_wait_for_is_waited_for_or_dropped() {
    check(2, || {
        give_threads(1);
        let device = Device::new(1);
        device.api.wait_fails.set(OTHER);
        let (outcome, computed) = device.run(0, 1);
        assert!(outcome.is_err());
        device.synchronize(0);
        device.gone.wait_for(1);
        // Nobody else has it now.
        computed.set(2);
        device.destroy(0);
        device.host.close(Some(&device.api));
    });
}

/// A stream that is destroyed with a job outstanding keeps its word: another stream, which may get a word
/// that is given back, goes on only after its own job.
#[test]
fn a_word_with_a_job_outstanding_serves_nobody_else() {
    check_some(1, 5000, || {
        give_threads(1);
        let (device, ready) = (Device::new(2), Arc::<Gate>::default());
        let waited = Arc::clone(&ready);
        assert!(device.run(0, 1).0.is_ok());
        device.destroy(0);
        assert!(device.run_after(1, 2, move || waited.wait_for(1)).0.is_ok());
        device.destroy(1);
        // The first job is done, and its stream goes on. So does the other stream, if it waits for the same
        // word.
        device.gone.wait_for(1);
        thread::yield_now();
        ready.count();
        device.gone.wait_for(2);
        device.host.close(Some(&device.api));
    });
}

/// Whatever has begun when the device is closed, no stream waits for ever and no job is left.
#[test]
fn closing_lets_every_stream_go_on() {
    check(2, || {
        give_threads(1);
        let device = Device::new(1);
        let (job, stream) = (Counted::by(&device.gone), RawStream(0));
        // SAFETY: the stream is destroyed below.
        unsafe { device.host.run(&device.api, stream, Box::new(move || drop(job))) }.expect("it is enqueued");
        device.api.destroy(stream_handle(stream));
        device.host.close(Some(&device.api));
        device.gone.wait_for(1);
    });
}

/// Gives its stream another job when it is dropped.
struct Again(Arc<Device>);

impl Drop for Again {
    fn drop(&mut self) {
        assert!(self.0.run(0, 2).0.is_err());
    }
}

/// The captures of a job that cannot be enqueued are dropped under no lock: their drop may use the stream.
#[test]
fn a_job_that_is_dropped_may_use_its_stream() {
    check(2, || {
        give_threads(1);
        let device = Device::new(1);
        device.api.wait_fails.set(OTHER);
        let again = Again(Arc::clone(&device));
        // SAFETY: the stream is destroyed below.
        let outcome = unsafe { device.host.run(&device.api, RawStream(0), Box::new(move || drop(again))) };
        assert!(outcome.is_err());
        device.synchronize(0);
        device.gone.wait_for(1);
        device.destroy(0);
        device.host.close(Some(&device.api));
    });
}
