//! [`Queue`]: where operations go, whichever mode it is.

use std::cell::RefCell;

use crate::driver::recording::Work;
use crate::driver::{Access, DevicePtr, Driver, DriverResult, RawEvent, RawLaunch, RawStream, Tag};
use crate::engine::targets::graph::recorder::Recorder;
use crate::engine::targets::model::Model;
use crate::engine::targets::timed::Profiler;
use crate::engine::targets::what::{Numbered, What};
use crate::observe::timeline::Engine;

/// Where the operations of a run go.
#[derive(Clone, Copy)]
pub(crate) enum Queue<'r> {
    /// To the device, one by one.
    Streams(&'r dyn Driver),
    /// Likewise, and each is timed.
    Timed(&'r dyn Driver, &'r Profiler),
    /// Into a graph.
    Graph(&'r RefCell<Recorder>),
    /// Nowhere: it is worked out how long they would take.
    Model(&'r RefCell<Model>),
}

/// As the methods of [`Driver`] of the same names. A recorder does not fail: what is wrong with a graph is known when it
/// is launched.
impl Queue<'_> {
    /// # Safety
    /// As [`Driver::record`].
    pub(crate) unsafe fn record(
        &self,
        event: Numbered<RawEvent>,
        stream: Numbered<RawStream>,
        tag: Tag,
    ) -> DriverResult<()> {
        match self {
            // SAFETY: the caller's promise.
            Self::Streams(driver) => unsafe { driver.record(event.raw, stream.raw, tag) },
            Self::Timed(_, profiler) => profiler.record(event, stream, tag),
            Self::Model(model) => model.borrow_mut().record(event.number, stream.number, tag),
            Self::Graph(recorder) => {
                recorder.borrow_mut().record(event.number, stream.number);
                Ok(())
            }
        }
    }

    /// # Safety
    /// As [`Driver::wait`].
    pub(crate) unsafe fn wait(
        &self,
        stream: Numbered<RawStream>,
        event: Numbered<RawEvent>,
        tag: Tag,
    ) -> DriverResult<()> {
        match self {
            // SAFETY: the caller's promise.
            Self::Streams(driver) => unsafe { driver.wait(stream.raw, event.raw, tag) },
            Self::Timed(_, profiler) => profiler.wait(stream, event, tag),
            Self::Model(model) => model.borrow_mut().wait(stream.number, event.number, tag),
            Self::Graph(recorder) => {
                recorder.borrow_mut().wait(stream.number, event.number);
                Ok(())
            }
        }
    }

    /// # Safety
    /// As [`Driver::copy_to_device`].
    pub(crate) unsafe fn copy_to_device(
        &self,
        to: DevicePtr,
        from: *const u8,
        bytes: usize,
        stream: Numbered<RawStream>,
        tag: Tag,
    ) -> DriverResult<()> {
        let work = |from: *const u8| Work::CopyToDevice { to, from: from.expose_provenance(), bytes };
        match self {
            // SAFETY: the caller's promise.
            Self::Streams(driver) => unsafe { driver.copy_to_device(to, from, bytes, stream.raw, tag) },
            Self::Timed(driver, profiler) => {
                profiler.time(stream, tag, What::new(Engine::ToDevice, bytes), || {
                    // SAFETY: the caller's promise.
                    unsafe { driver.copy_to_device(to, from, bytes, stream.raw, tag) }
                })
            }
            Self::Model(model) => {
                model.borrow_mut().copy(stream.number, tag, What::new(Engine::ToDevice, bytes))
            }
            Self::Graph(recorder) => recorder.borrow_mut().copy(stream.number, tag, bytes, work(from)),
        }
    }

    /// # Safety
    /// As [`Driver::copy_to_host`].
    pub(crate) unsafe fn copy_to_host(
        &self,
        to: *mut u8,
        from: DevicePtr,
        bytes: usize,
        stream: Numbered<RawStream>,
        tag: Tag,
    ) -> DriverResult<()> {
        let work = |to: *mut u8| Work::CopyToHost { to: to.expose_provenance(), from, bytes };
        match self {
            // SAFETY: the caller's promise.
            Self::Streams(driver) => unsafe { driver.copy_to_host(to, from, bytes, stream.raw, tag) },
            Self::Timed(driver, profiler) => {
                profiler.time(stream, tag, What::new(Engine::ToHost, bytes), || {
                    // SAFETY: the caller's promise.
                    unsafe { driver.copy_to_host(to, from, bytes, stream.raw, tag) }
                })
            }
            Self::Model(model) => {
                model.borrow_mut().copy(stream.number, tag, What::new(Engine::ToHost, bytes))
            }
            Self::Graph(recorder) => recorder.borrow_mut().copy(stream.number, tag, bytes, work(to)),
        }
    }

    /// # Safety
    /// As [`Driver::copy_on_device`].
    pub(crate) unsafe fn copy_on_device(
        &self,
        to: DevicePtr,
        from: DevicePtr,
        bytes: usize,
        stream: Numbered<RawStream>,
        tag: Tag,
    ) -> DriverResult<()> {
        match self {
            // SAFETY: the caller's promise.
            Self::Streams(driver) => unsafe { driver.copy_on_device(to, from, bytes, stream.raw, tag) },
            Self::Timed(driver, profiler) => {
                profiler.time(stream, tag, What::new(Engine::Compute, bytes), || {
                    // SAFETY: the caller's promise.
                    unsafe { driver.copy_on_device(to, from, bytes, stream.raw, tag) }
                })
            }
            Self::Model(model) => {
                model.borrow_mut().copy(stream.number, tag, What::new(Engine::Compute, bytes))
            }
            Self::Graph(recorder) => {
                recorder.borrow_mut().copy(stream.number, tag, bytes, Work::CopyOnDevice { to, from, bytes })
            }
        }
    }

    /// # Safety
    /// As [`Driver::fill`].
    pub(crate) unsafe fn fill(
        &self,
        to: DevicePtr,
        pattern: &[u8],
        count: usize,
        stream: Numbered<RawStream>,
        tag: Tag,
    ) -> DriverResult<()> {
        match self {
            // SAFETY: the caller's promise.
            Self::Streams(driver) => unsafe { driver.fill(to, pattern, count, stream.raw, tag) },
            Self::Timed(driver, profiler) => {
                let what = What::new(Engine::Compute, pattern.len().saturating_mul(count));
                profiler.time(stream, tag, what, || {
                    // SAFETY: the caller's promise.
                    unsafe { driver.fill(to, pattern, count, stream.raw, tag) }
                })
            }
            Self::Model(model) => {
                let what = What::new(Engine::Compute, pattern.len().saturating_mul(count));
                model.borrow_mut().kernel(stream.number, tag, what, [0.0; 2])
            }
            Self::Graph(recorder) => recorder.borrow_mut().fill(to, pattern, count, stream.number, tag),
        }
    }

    /// `over_the_link`: the bytes of accesses to the host's memory, that are read and that are written.
    ///
    /// # Safety
    /// As [`Driver::launch`].
    pub(crate) unsafe fn launch(
        &self,
        launch: RawLaunch<'_>,
        stream: Numbered<RawStream>,
        tag: Tag,
        over_the_link: impl Fn(&[Access]) -> [f64; 2],
    ) -> DriverResult<()> {
        match self {
            // SAFETY: the caller's promise.
            Self::Streams(driver) => unsafe { driver.launch(launch, stream.raw, tag) },
            Self::Timed(driver, profiler) => profiler.time(stream, tag, What::launch(&launch), || {
                // SAFETY: the caller's promise.
                unsafe { driver.launch(launch, stream.raw, tag) }
            }),
            Self::Model(model) => {
                let over_the_link = over_the_link(launch.accesses);
                model.borrow_mut().kernel(stream.number, tag, What::launch(&launch), over_the_link)
            }
            Self::Graph(recorder) => {
                // SAFETY: the caller's promise.
                unsafe { recorder.borrow_mut().kernel(launch, stream.number, tag) };
                Ok(())
            }
        }
    }
}
