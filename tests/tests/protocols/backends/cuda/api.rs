//! A driver whose device consists of threads: each carries out one stream.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::c_void;

use cudarc::driver::sys::{CUdeviceptr, CUstream};

use super::page::Word;
use crate::base::error::DriverError;
use crate::base::sync::{Condvar, Mutex, Ordering};
use crate::driver::DriverResult;

pub(crate) const NOT_SUPPORTED: u32 = 801;

/// The number of streams that a model may have.
const STREAMS: usize = 2;

type Function = unsafe extern "C" fn(*mut c_void);

/// The commands of a stream.
enum Command {
    Work(Box<dyn FnOnce()>),
    Call(Function, usize),
    Write(Word, u32),
    Wait(Word, u32),
    /// The stream is destroyed.
    End,
}

#[derive(Default)]
struct Queue {
    commands: VecDeque<Command>,
    enqueued: usize,
    done: usize,
}

#[derive(Default)]
struct Stream {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Stream {
    fn drain(&self) {
        let queue = self.queue.lock().expect("no panic");
        let is_busy = |queue: &mut Queue| queue.done < queue.enqueued;
        drop(self.changed.wait_while(queue, is_busy).expect("no panic"));
    }
}

/// The driver, and what it can do.
#[derive(Default)]
pub(crate) struct Api {
    streams: [Stream; STREAMS],
    /// The result of telling a stream to wait for a word, if not 0.
    pub(crate) wait_fails: Cell<u32>,
    /// This number of waits for a stream fail, though the stream goes on.
    pub(crate) failures: Cell<usize>,
    /// Whether one has failed.
    pub(crate) is_lost: Cell<bool>,
}

// SAFETY: a model's threads are coroutines of one thread, which switch only in calls of loom.
unsafe impl Send for Api {}
// SAFETY: as above.
unsafe impl Sync for Api {}

fn error(call: &'static str, code: u32) -> Box<DriverError> {
    DriverError::new(call, code, "", "")
}

impl Api {
    fn stream(&self, stream: CUstream) -> &Stream {
        &self.streams[stream.addr()]
    }

    fn enqueue(&self, stream: CUstream, command: Command) {
        let stream = self.stream(stream);
        let mut queue = stream.queue.lock().expect("no panic");
        queue.commands.push_back(command);
        queue.enqueued += 1;
        drop(queue);
        stream.changed.notify_all();
    }

    /// The device's work on a stream, until the stream is destroyed.
    pub(crate) fn work_off(&self, stream: CUstream) {
        let (stream, mut is_over) = (self.stream(stream), false);
        while !is_over {
            let queue = stream.queue.lock().expect("no panic");
            let mut queue =
                stream.changed.wait_while(queue, |queue| queue.commands.is_empty()).expect("no panic");
            let command = queue.commands.pop_front().expect("it is not empty");
            drop(queue);
            match command {
                Command::Work(work) => work(),
                // SAFETY: the function takes any argument.
                Command::Call(function, argument) => unsafe {
                    function(std::ptr::without_provenance_mut(argument));
                },
                // SAFETY: the page exists, or loom reports that it does not.
                Command::Write(word, value) => unsafe { word.atomic() }.store(value, Ordering::Release),
                Command::Wait(word, value) => {
                    let is_before = || {
                        // SAFETY: as above.
                        let now = unsafe { word.atomic() }.load(Ordering::Acquire);
                        value.wrapping_sub(now).cast_signed() > 0
                    };
                    while is_before() {
                        loom::thread::yield_now();
                    }
                }
                Command::End => is_over = true,
            }
            stream.queue.lock().expect("no panic").done += 1;
            stream.changed.notify_all();
        }
    }

    /// Enqueues the work of a kernel.
    pub(crate) fn launch(&self, stream: CUstream, work: impl FnOnce() + 'static) {
        self.enqueue(stream, Command::Work(Box::new(work)));
    }

    pub(crate) fn destroy(&self, stream: CUstream) {
        self.enqueue(stream, Command::End);
    }

    pub(crate) fn has_wait_value(&self) -> bool {
        true
    }

    pub(crate) fn has_write_value(&self) -> bool {
        true
    }

    pub(crate) unsafe fn write_value(
        &self,
        stream: CUstream,
        at: CUdeviceptr,
        value: u32,
    ) -> DriverResult<()> {
        self.enqueue(stream, Command::Write(Word { device: at }, value));
        Ok(())
    }

    pub(crate) unsafe fn wait_value(
        &self,
        stream: CUstream,
        at: CUdeviceptr,
        value: u32,
    ) -> DriverResult<()> {
        if self.wait_fails.get() != 0 {
            return Err(error("cuStreamWaitValue32", self.wait_fails.get()));
        }
        self.enqueue(stream, Command::Wait(Word { device: at }, value));
        Ok(())
    }

    #[allow(non_snake_case, reason = "the driver's name")]
    pub(crate) unsafe fn cuLaunchHostFunc(
        &self,
        stream: CUstream,
        function: Option<Function>,
        argument: *mut c_void,
    ) -> DriverResult<()> {
        self.enqueue(stream, Command::Call(function.expect("a function"), argument.addr()));
        Ok(())
    }

    #[allow(non_snake_case, reason = "the driver's name")]
    pub(crate) unsafe fn cuStreamSynchronize(&self, stream: CUstream) -> DriverResult<()> {
        if let Some(less) = self.failures.get().checked_sub(1) {
            self.failures.set(less);
            self.is_lost.set(true);
            return Err(error("cuStreamSynchronize", 700));
        }
        self.stream(stream).drain();
        Ok(())
    }

    /// Waits until the device is done with everything.
    pub(crate) fn drain(&self) {
        self.streams.iter().for_each(Stream::drain);
    }
}
