//! [`Shared`]: what one rank knows of its world, which its threads share: gathers, the first failure, and who
//! has left.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::base::error::{Error, RanksDetail};
use crate::base::host_copy::let_a_moment_pass;

/// How long a thread looks before it sleeps. A gather within one machine takes about as long.
const PATIENCE: Duration = Duration::from_micros(50);

/// Called with the first failure.
pub(super) type Hook = Box<dyn FnOnce(&Error) + Send>;

/// The result of a gather, once there is one.
#[derive(Debug, Default)]
pub(super) struct Slot(OnceLock<Vec<Vec<u8>>>);

impl Slot {
    pub(super) fn is_complete(&self) -> bool {
        self.0.get().is_some()
    }

    pub(super) fn payloads(&self) -> Option<&Vec<Vec<u8>>> {
        self.0.get()
    }
}

/// One rank's view of its world.
#[derive(Default)]
pub(super) struct Shared {
    /// The first failure, which stays.
    failure: OnceLock<RanksDetail>,
    state: Mutex<State>,
    changed: Condvar,
    /// Called when the world fails, and when a rank leaves.
    on_news: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
struct State {
    hooks: Vec<Hook>,
    /// Gathers that this rank has come to, and that are not complete.
    open: BTreeMap<u64, Arc<Slot>>,
    /// Ranks that have said goodbye.
    left: BTreeSet<usize>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This rank has come to the gather of this number.
    pub(super) fn begin(&self, number: u64) -> Arc<Slot> {
        let slot = Arc::new(Slot::default());
        self.state().open.insert(number, Arc::clone(&slot));
        slot
    }

    /// The gather of this number is complete.
    pub(super) fn complete(&self, number: u64, payloads: Vec<Vec<u8>>) {
        let mut state = self.state();
        if let Some(slot) = state.open.remove(&number) {
            // It is set once, since the slot is in the map until then.
            let _ = slot.0.set(payloads);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Whether this rank waits for a gather.
    pub(super) fn has_open(&self) -> bool {
        !self.state().open.is_empty()
    }

    /// A rank has said goodbye.
    pub(super) fn has_left(&self, rank: usize) {
        self.state().left.insert(rank);
        self.tell();
    }

    /// Whether a rank has said goodbye.
    pub(super) fn is_gone(&self, rank: usize) -> bool {
        self.state().left.contains(&rank)
    }

    /// Calls `news` from now on when the world fails and when a rank leaves. Only the first one is called.
    pub(super) fn on_news(&self, news: Box<dyn Fn() + Send + Sync>) {
        // There is one mesh for each rank.
        let _ = self.on_news.set(news);
    }

    fn tell(&self) {
        self.changed.notify_all();
        if let Some(news) = self.on_news.get() {
            news();
        }
    }

    /// The world has failed, unless it has failed before. Runs the hooks, under no lock.
    pub(super) fn fail(&self, detail: RanksDetail) {
        let mut state = self.state();
        let hooks = match self.failure.set(detail) {
            Ok(()) => std::mem::take(&mut state.hooks),
            Err(_) => return,
        };
        drop(state);
        self.tell();
        if let Some(error) = self.failure.get().cloned().map(Error::from) {
            hooks.into_iter().for_each(|hook| hook(&error));
        }
    }

    pub(super) fn failure(&self) -> Option<&RanksDetail> {
        self.failure.get()
    }

    /// Calls `hook` with the first failure: now if there was one, otherwise on the thread that notices it.
    pub(super) fn on_failure(&self, hook: Hook) {
        let mut state = self.state();
        let Some(failure) = self.failure.get() else {
            state.hooks.push(hook);
            return;
        };
        drop(state);
        hook(&failure.clone().into());
    }

    /// Waits until the gather is complete or the world has failed. Returns whether that is so before the
    /// deadline.
    pub(super) fn wait(&self, slot: &Slot, deadline: Option<Instant>) -> bool {
        let is_over = || slot.is_complete() || self.failure().is_some();
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if is_over() {
                return true;
            }
            let_a_moment_pass();
        }
        self.wait_until(deadline, |_| is_over())
    }

    /// Waits for what the control plane says about a rank whose connection has ended. Returns the world's
    /// failure, or whether the rank has left.
    pub(super) fn verdict(&self, rank: usize, longest: Duration) -> Option<Verdict> {
        let deadline = Instant::now().checked_add(longest);
        self.wait_until(deadline, |state| self.failure().is_some() || state.left.contains(&rank));
        match self.failure() {
            Some(failure) => Some(Verdict::Failed(failure.clone())),
            None => self.state().left.contains(&rank).then_some(Verdict::Left),
        }
    }

    /// Waits for a condition of the state, which the lock is held for. Returns whether it holds.
    fn wait_until(&self, deadline: Option<Instant>, is_so: impl Fn(&State) -> bool) -> bool {
        let mut state = self.state();
        loop {
            if is_so(&state) {
                return true;
            }
            let Some(deadline) = deadline else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            (state, _) = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What is known of a rank whose connection has ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The world has failed.
    Failed(RanksDetail),
    /// The rank has said goodbye.
    Left,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("failure", &self.failure.get()).finish_non_exhaustive()
    }
}
