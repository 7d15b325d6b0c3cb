//! [`Queue`]: where operations go, whichever mode it is.

use std::cell::RefCell;

use super::graph::Recorder;
use crate::driver::{DevicePtr, Driver, DriverResult, RawEvent, RawLaunch, RawStream, Tag};
use crate::graph::Work;

/// A stream or an event of a pipeline: the driver's handle, and its place among the pipeline's, by which a recorder knows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbered<H> {
    pub(super) raw: H,
    pub(super) number: usize,
}

/// Where the operations of a run go.
#[derive(Clone, Copy)]
pub(super) enum Queue<'r> {
    /// To the device, one by one.
    Streams(&'r dyn Driver),
    /// Into a graph.
    Graph(&'r RefCell<Recorder>),
}

/// As the methods of [`Driver`] of the same names. A recorder does not fail: what is wrong with a graph is known when it
/// is launched.
impl Queue<'_> {
    /// # Safety
    /// As [`Driver::record`].
    pub(super) unsafe fn record(
        &self,
        event: Numbered<RawEvent>,
        stream: Numbered<RawStream>,
        tag: Tag,
    ) -> DriverResult<()> {
        match self {
            // SAFETY: the caller's promise.
            Self::Streams(driver) => unsafe { driver.record(event.raw, stream.raw, tag) },
            Self::Graph(recorder) => {
                recorder.borrow_mut().record(event.number, stream.number);
                Ok(())
            }
        }
    }

    /// # Safety
    /// As [`Driver::wait`].
    pub(super) unsafe fn wait(
        &self,
        stream: Numbered<RawStream>,
        event: Numbered<RawEvent>,
        tag: Tag,
    ) -> DriverResult<()> {
        match self {
            // SAFETY: the caller's promise.
            Self::Streams(driver) => unsafe { driver.wait(stream.raw, event.raw, tag) },
            Self::Graph(recorder) => {
                recorder.borrow_mut().wait(stream.number, event.number);
                Ok(())
            }
        }
    }

    /// # Safety
    /// As [`Driver::copy_to_device`].
    pub(super) unsafe fn copy_to_device(
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
            Self::Graph(recorder) => recorder.borrow_mut().copy(stream.number, tag, bytes, work(from)),
        }
    }

    /// # Safety
    /// As [`Driver::copy_to_host`].
    pub(super) unsafe fn copy_to_host(
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
            Self::Graph(recorder) => recorder.borrow_mut().copy(stream.number, tag, bytes, work(to)),
        }
    }

    /// # Safety
    /// As [`Driver::copy_on_device`].
    pub(super) unsafe fn copy_on_device(
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
            Self::Graph(recorder) => {
                recorder.borrow_mut().copy(stream.number, tag, bytes, Work::CopyOnDevice { to, from, bytes })
            }
        }
    }

    /// # Safety
    /// As [`Driver::fill`].
    pub(super) unsafe fn fill(
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
            Self::Graph(recorder) => recorder.borrow_mut().fill(to, pattern, count, stream.number, tag),
        }
    }

    /// # Safety
    /// As [`Driver::launch`].
    pub(super) unsafe fn launch(
        &self,
        launch: RawLaunch<'_>,
        stream: Numbered<RawStream>,
        tag: Tag,
    ) -> DriverResult<()> {
        match self {
            // SAFETY: the caller's promise.
            Self::Streams(driver) => unsafe { driver.launch(launch, stream.raw, tag) },
            Self::Graph(recorder) => {
                // SAFETY: the caller's promise.
                unsafe { recorder.borrow_mut().kernel(launch, stream.number, tag) };
                Ok(())
            }
        }
    }
}
