//! Carrying out work: copies, fills, host bodies and functions.

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::work::{Action, Code, Pitched};
use crate::base::crews::{self, AT_ONCE, Crews};
use crate::base::host_copy::{PIECE, Way, Workers};
use crate::base::in_rust::{self, with_hands};
use crate::base::serial;
use crate::base::team::Team;
use crate::base::unwind::drop_payload;
use crate::driver::collective::exchanged::carry_out;
use crate::driver::{DriverResult, HostBody, Tag, fault};

/// Copies and fills of so many bytes are worth several threads.
const LARGE: usize = 1 << 20;

/// Threads that copy. The memory of one socket can hardly feed more.
const COPY_THREADS: usize = 12;

/// The threads of a device, beside those that wait for it.
#[derive(Clone, Copy)]
pub(super) struct Hands {
    pool: &'static Pool,
    copiers: &'static Workers,
}

/// Threads that run bodies. These take turns: each has all of the threads, so there are never more at work than
/// were asked for.
struct Pool {
    /// For any body, while the thread that waits for it sleeps.
    crews: Crews,
    /// For kernels in Rust, which the thread that waits for them runs, too.
    team: Team,
}

/// The pools of the process's CPU devices, one for each number of threads.
static POOLS: Mutex<Vec<&'static Pool>> = Mutex::new(Vec::new());

/// The pool of this size.
fn pool(threads: usize) -> &'static Pool {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pools.iter().find(|pool| pool.crews.threads() == threads) {
        return pool;
    }
    let pool: &'static Pool = Box::leak(Box::new(Pool {
        crews: Crews::new("thalweg-cpu", threads, true),
        team: Team::new("thalweg-helper", threads - 1),
    }));
    pools.push(pool);
    pool
}

impl Hands {
    pub(super) fn new(threads: usize) -> Self {
        let copiers = Workers::near(None);
        copiers.employ(0, threads.min(COPY_THREADS));
        Self { pool: pool(threads), copiers }
    }

    pub(super) fn threads(&self) -> usize {
        self.pool.crews.threads()
    }

    /// Whether work of so many bytes is for several threads.
    fn is_large(&self, bytes: usize) -> bool {
        self.threads() > 1 && bytes >= LARGE
    }

    /// Carries out work that was taken from a stream, on the calling thread and the device's. The result is the
    /// time of a host body that was called for one thread after another, though there are several cores.
    ///
    /// # Safety
    /// The memory of the action stays allocated until this returns, and nothing that conflicts with it
    /// accesses it meanwhile. All addresses have their provenance exposed.
    pub(super) unsafe fn carry_out(&self, action: Action, tag: Tag) -> DriverResult<Option<Duration>> {
        match action {
            // SAFETY: the caller's promise. The ranges do not overlap, as `work::planned` has checked.
            Action::Copy { to, from, bytes } => unsafe { self.copy(to, from, bytes) },
            Action::Rows(rows) => {
                // SAFETY: the caller's promise, and the command's that the rows do not overlap.
                let copy = move |row| unsafe { copy_row(rows, row) };
                let is_large = self.is_large(rows.width.saturating_mul(rows.height));
                self.each(rows.height, is_large, copy, tag)?;
            }
            Action::Fill { to, pattern, bytes } => {
                // Whole patterns.
                let piece = (LARGE / pattern.len()).max(1) * pattern.len();
                let fill = move |number: usize| {
                    let start = number * piece;
                    // SAFETY: the caller's promise; pieces do not overlap, and end with the memory.
                    unsafe { fill(to + start, &pattern, piece.min(bytes - start)) }
                };
                self.each(bytes.div_ceil(piece), self.is_large(bytes), fill, tag)?;
            }
            Action::Body { body, code: Code::Any } if self.threads() > 1 => return self.noticed(body, tag),
            Action::Body { body, code } => self.call(body, code, tag)?,
            Action::Host(job) => {
                // A job may block for long, and does not take the threads of bodies.
                AT_ONCE.run(job).unwrap_or_else(drop_payload);
            }
            Action::Collective(collective, exchange) => {
                // It waits for other ranks, as a job may.
                let failed = Arc::new(Mutex::new(None));
                let noted = Arc::clone(&failed);
                let job = move || {
                    // SAFETY: the caller's promise; all memory of the device is initialised.
                    let outcome = unsafe { carry_out(&collective, &exchange) };
                    *noted.lock().unwrap_or_else(PoisonError::into_inner) = outcome.err();
                };
                AT_ONCE.run(Box::new(job)).map_err(|payload| fault::of_panic(tag, payload))?;
                let why = failed.lock().unwrap_or_else(PoisonError::into_inner).take();
                return why.map_or(Ok(None), |why| Err(fault::between_ranks(tag, why)));
            }
            Action::Signal(signal) => crews::run_here(signal).unwrap_or_else(drop_payload),
        }
        Ok(None)
    }

    /// Calls a body of which nothing is known, and notices whether it runs on one core.
    fn noticed(&self, body: HostBody, tag: Tag) -> DriverResult<Option<Duration>> {
        // Nanoseconds, from when the body begins.
        let serial = Arc::new(AtomicU64::new(0));
        let noticed = Arc::clone(&serial);
        let body = move || {
            let since = Instant::now();
            if serial::notice(body) {
                noticed.store(since.elapsed().as_nanos() as u64, Ordering::Relaxed);
            }
        };
        self.call(Box::new(body), Code::Any, tag)?;
        let time = serial.load(Ordering::Relaxed);
        Ok((time > 0).then(|| Duration::from_nanos(time)))
    }

    /// # Safety
    /// As `copy_nonoverlapping`, for memory whose provenance is exposed.
    unsafe fn copy(&self, to: usize, from: usize, bytes: usize) {
        let from = ptr::with_exposed_provenance::<u8>(from);
        let to = ptr::with_exposed_provenance_mut::<u8>(to);
        if bytes > PIECE && self.is_large(bytes) {
            // SAFETY: the caller's promise.
            unsafe { self.copiers.copy(to, from, bytes, Way::Cached) };
        } else {
            // SAFETY: the caller's promise.
            unsafe { to.copy_from_nonoverlapping(from, bytes) };
        }
    }

    /// Calls `work` for each number below `count`, on all threads if it is large.
    fn each(
        &self,
        count: usize,
        is_large: bool,
        work: impl Fn(usize) + Send + Sync + 'static,
        tag: Tag,
    ) -> DriverResult<()> {
        if !is_large {
            (0..count).for_each(work);
            return Ok(());
        }
        self.call(Box::new(move || (0..count).into_par_iter().for_each(work)), Code::Any, tag)
    }

    fn call(&self, body: HostBody, code: Code, tag: Tag) -> DriverResult<()> {
        let Pool { crews, team } = self.pool;
        let outcome = match code {
            Code::Any => crews.run(body),
            Code::InRust => crews.run_here(|| with_hands(in_rust::Hands::Team(team), body)),
            Code::Small => crews::run_here(|| with_hands(in_rust::Hands::Alone, body)),
        };
        outcome.map_err(|payload| fault::of_panic(tag, payload))
    }
}

/// Copies one row.
///
/// # Safety
/// Both rows are live, do not overlap, and nothing that conflicts accesses them meanwhile.
unsafe fn copy_row(rows: Pitched, row: usize) {
    let from = ptr::with_exposed_provenance::<u8>(rows.from + row * rows.from_pitch);
    let to = ptr::with_exposed_provenance_mut::<u8>(rows.to + row * rows.to_pitch);
    // SAFETY: the caller's promise.
    unsafe { to.copy_from_nonoverlapping(from, rows.width) };
}

/// Writes a pattern over and over.
///
/// # Safety
/// The bytes, a multiple of the pattern's, are live, and nothing else accesses them meanwhile.
unsafe fn fill(to: usize, pattern: &[u8], bytes: usize) {
    let to = ptr::with_exposed_provenance_mut::<u8>(to);
    // SAFETY: the caller's promise. The memory of allocations is initialised.
    let memory = unsafe { std::slice::from_raw_parts_mut(to, bytes) };
    match pattern {
        [first, rest @ ..] if rest.iter().all(|byte| byte == first) => memory.fill(*first),
        _ => memory.chunks_exact_mut(pattern.len()).for_each(|place| place.copy_from_slice(pattern)),
    }
}
