//! [`HostFunctions`]: gives jobs to streams, and makes the streams wait for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::callbacks::{self, Owner, Ticket};
use super::pool::{self, Pool};
use crate::backends::cuda::api::{Api, NOT_SUPPORTED};
use crate::backends::cuda::handles::{PER_THREAD_STREAM, stream_handle};
use crate::backends::cuda::page::Word;
use crate::backends::cuda::words::Words;
use crate::base::error::DriverError;
use crate::base::fork;
use crate::base::sync::{AtomicBool, Condvar, Mutex, MutexGuard, Ordering, PoisonError};
use crate::base::unwind::contain;
use crate::driver::{DriverResult, HostJob, RawStream};

/// The host functions of one device.
pub(crate) struct HostFunctions {
    owner: Owner,
    pool: Arc<Pool>,
    words: Arc<Words>,
    lanes: Mutex<BTreeMap<u64, Arc<StreamWord>>>,
    /// Jobs that had begun when their stream could not be made to wait for them, by stream.
    stray: Mutex<Vec<(u64, Arc<Done>)>>,
    /// Whether there are any. It is read without the lock, and written under it.
    has_stray: AtomicBool,
    /// Whether the device has said that it cannot wait for memory.
    cannot_wait_for_memory: AtomicBool,
}

/// The word of a stream that has had jobs.
struct StreamWord {
    word: Word,
    /// The value of the word when all its jobs have returned. It is locked while a job is enqueued: the
    /// stream must get to the jobs in the order of their values.
    issued: Mutex<u32>,
}

impl HostFunctions {
    pub(crate) fn new() -> Self {
        Self {
            owner: Owner::new(),
            pool: Pool::new(),
            words: Arc::new(Words::new()),
            lanes: Mutex::default(),
            stray: Mutex::default(),
            has_stray: AtomicBool::new(false),
            cannot_wait_for_memory: AtomicBool::new(false),
        }
    }

    /// An error if the calling thread runs a job: the job's stream waits for the job, and `call` might wait
    /// for that stream. It is also an error in a forked process.
    #[inline]
    pub(crate) fn may_call(call: &'static str) -> DriverResult<()> {
        if fork::is_child() {
            return Err(fork::refused(call));
        }
        Self::may_wait(call)
    }

    /// An error if the calling thread runs a job.
    #[inline]
    pub(crate) fn may_wait(call: &'static str) -> DriverResult<()> {
        if pool::is_inside() { Err(not_inside(call)) } else { Ok(()) }
    }

    /// Makes the stream call `signal`.
    ///
    /// # Safety
    /// The stream is live, and its context is current.
    pub(crate) unsafe fn signal(&self, api: &Api, stream: RawStream, signal: HostJob) -> DriverResult<()> {
        let mut unused = None;
        // SAFETY: the caller's promise.
        let enqueued = unsafe { self.enqueue(api, stream, signal, &mut unused) };
        contain(|| drop(unused));
        enqueued.map(drop)
    }

    /// Makes the stream run `job` on a thread of this crate, and wait for it.
    ///
    /// # Safety
    /// The stream is live, and its context is current.
    pub(crate) unsafe fn run(&self, api: &Api, stream: RawStream, job: HostJob) -> DriverResult<()> {
        let mut unused = None;
        // SAFETY: the caller's promise.
        let outcome = unsafe { self.enqueue_job(api, stream, job, &mut unused) };
        // This is not done under the lane's lock: the captured values are the user's, and may use the stream.
        contain(|| drop(unused));
        outcome
    }

    /// If the stream does not get the work, it is put into `unused`.
    ///
    /// # Safety
    /// The stream is live, and its context is current.
    unsafe fn enqueue_job(
        &self,
        api: &Api,
        stream: RawStream,
        job: HostJob,
        unused: &mut Option<HostJob>,
    ) -> DriverResult<()> {
        self.pool.start().map_err(no_thread)?;
        // The handle of a thread's own stream is the same for every thread.
        let has_word = stream.0 != PER_THREAD_STREAM && api.has_wait_value();
        let lane = if has_word && !self.cannot_wait_for_memory.load(Ordering::Relaxed) {
            Some(self.lane(api, stream)?)
        } else {
            None
        };
        let mut issued = lane.as_ref().map(|lane| (lane.word, locked(&lane.issued)));
        let target = issued.as_ref().map(|(word, issued)| (*word, issued.wrapping_add(1)));

        let done = Arc::new(Done::default());
        let (finished, words) = (Finished(Arc::clone(&done)), Arc::clone(&self.words));
        let work: HostJob = Box::new(move || {
            let _finished = finished;
            contain(job);
            if let Some((word, value)) = target {
                words.write(word, value);
            }
        });
        let pool = Arc::clone(&self.pool);
        // SAFETY: the caller's promise.
        let ticket = unsafe { self.enqueue(api, stream, Box::new(move || pool.push(work)), unused) }?;

        // SAFETY: the caller's promise.
        let waiting = unsafe { self.make_wait(api, stream, target, &done, unused) };
        if waiting.is_err() {
            if let Some(work) = ticket.take() {
                // The stream has not got there, so the job is as if it had never existed.
                *unused = Some(work);
                return waiting;
            }
            let mut stray = locked(&self.stray);
            stray.push((stream.0, done));
            self.has_stray.store(true, Ordering::Release);
        }
        if let (Some((_, issued)), Some((_, value))) = (&mut issued, target) {
            **issued = value;
        }
        waiting
    }

    /// If the stream does not get the work, it is put into `unused`.
    ///
    /// # Safety
    /// The stream is live, and its context is current.
    unsafe fn enqueue(
        &self,
        api: &Api,
        stream: RawStream,
        work: HostJob,
        unused: &mut Option<HostJob>,
    ) -> DriverResult<Ticket> {
        let ticket = self.owner.expect(work);
        // SAFETY: the caller's promise; the function takes any argument, and never unwinds.
        let enqueued = unsafe {
            api.cuLaunchHostFunc(stream_handle(stream), Some(callbacks::called), ticket.argument())
        };
        if enqueued.is_err() {
            *unused = ticket.take();
        }
        enqueued.map(|()| ticket)
    }

    /// Makes the stream wait until the job that it has just been given is done.
    ///
    /// # Safety
    /// The stream is live, and its context is current.
    unsafe fn make_wait(
        &self,
        api: &Api,
        stream: RawStream,
        target: Option<(Word, u32)>,
        done: &Arc<Done>,
        unused: &mut Option<HostJob>,
    ) -> DriverResult<()> {
        if let Some((word, value)) = target {
            // SAFETY: the caller's promise; the word stays until the device is dropped.
            match unsafe { api.wait_value(stream_handle(stream), word.device, value) } {
                Err(error) if error.code == NOT_SUPPORTED => {
                    self.cannot_wait_for_memory.store(true, Ordering::Relaxed);
                }
                waiting => return waiting,
            }
        }
        let done = Arc::clone(done);
        // SAFETY: the caller's promise.
        unsafe { self.enqueue(api, stream, Box::new(move || done.wait()), unused) }.map(drop)
    }

    fn lane(&self, api: &Api, stream: RawStream) -> DriverResult<Arc<StreamWord>> {
        if let Some(lane) = locked(&self.lanes).get(&stream.0) {
            return Ok(Arc::clone(lane));
        }
        let (word, value) = self.words.take(api)?;
        let lane = Arc::new(StreamWord { word, issued: Mutex::new(value) });
        // If another thread was faster, its lane is used, and this word is not.
        Ok(Arc::clone(locked(&self.lanes).entry(stream.0).or_insert(lane)))
    }

    /// The stream is being destroyed. Its word serves another stream unless jobs are outstanding.
    pub(crate) fn forget_stream(&self, stream: RawStream) {
        let lane = locked(&self.lanes).remove(&stream.0);
        if let Some(lane) = lane {
            let issued = locked(&lane.issued);
            self.words.give_back(lane.word, *issued);
        }
    }

    /// Notes that the host has waited for a stream, or for an event, with this outcome.
    pub(crate) fn waited(&self, stream: Option<RawStream>, outcome: &DriverResult<()>) {
        match outcome {
            Ok(()) => stream.into_iter().for_each(|stream| self.wait_for_stray(stream)),
            // The context is lost, and calls nothing any more. Whoever waits for a job or a signal learns it
            // from the values that these had captured.
            Err(error) if error.is_asynchronous() => self.owner.forget_all(),
            Err(_) => {}
        }
    }

    fn wait_for_stray(&self, stream: RawStream) {
        // This is nearly always so, and every wait for a stream comes by here.
        if !self.has_stray.load(Ordering::Acquire) {
            return;
        }
        let stray = |(of, _): &&(u64, Arc<Done>)| *of == stream.0;
        let jobs: Vec<_> =
            locked(&self.stray).iter().filter(stray).map(|(_, done)| Arc::clone(done)).collect();
        if jobs.is_empty() {
            return;
        }
        jobs.iter().for_each(|done| done.wait());
        let mut stray = locked(&self.stray);
        stray.retain(|(_, done)| !done.is_set());
        self.has_stray.store(!stray.is_empty(), Ordering::Release);
    }

    /// The device is going. Jobs that have not begun are dropped, and those that have begun are not waited
    /// for.
    pub(crate) fn close(&self, api: Option<&Api>) {
        self.pool.close();
        self.owner.forget_all();
        self.words.close(api);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code of the user's runs under these locks, so a panic cannot leave anything half-changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cold]
fn not_inside(call: &'static str) -> Box<DriverError> {
    let description = "a host function cannot wait for a device".to_owned();
    DriverError::new(call, 800, "CUDA_ERROR_NOT_PERMITTED", description)
}

fn no_thread(error: std::io::Error) -> Box<DriverError> {
    let description = format!("no thread for host functions: {error}");
    DriverError::new("cuLaunchHostFunc", 304, "CUDA_ERROR_OPERATING_SYSTEM", description)
}

/// Whether a job has returned, or never will.
#[derive(Default)]
struct Done {
    set: Mutex<bool>,
    changed: Condvar,
}

impl Done {
    fn wait(&self) {
        let set = locked(&self.set);
        drop(self.changed.wait_while(set, |set| !*set));
    }

    fn is_set(&self) -> bool {
        *locked(&self.set)
    }
}

/// Marks the job as done when it is dropped.
struct Finished(Arc<Done>);

impl Drop for Finished {
    fn drop(&mut self) {
        *locked(&self.0.set) = true;
        self.0.changed.notify_all();
    }
}
