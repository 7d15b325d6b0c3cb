//! The operations of a [`Pusher`](crate::session::Pusher) or a [`Puller`](crate::session::Puller) on its
//! slots. A slot is touched only under the lock of the hand that has its job.

use std::io::{self, ErrorKind as IoErrorKind};

use bytemuck::Pod;

use super::{Hand, Job, Kept, Moved, Outcome, Run, SlotExchange, locked, slots};
use crate::base::error::{Detail, Error, counted};
use crate::base::fork;
use crate::base::sync::Ordering;

impl SlotExchange {
    /// The job in the caller's hand, or the next one.
    fn job_in<'h>(&self, hand: &'h mut Hand) -> Option<&'h Job> {
        if hand.job.is_none() {
            hand.job = locked(&self.state).jobs.pop_front();
            hand.through = 0;
        }
        hand.job.as_ref()
    }

    /// Copies elements into the chunk that is being filled, as far as it has room.
    ///
    /// # Safety
    /// `T` is the type of the argument's elements.
    pub(crate) unsafe fn push<T: Pod>(&self, data: &[T]) -> Moved {
        if fork::is_child() {
            return Moved::Over;
        }
        let mut hand = locked(&self.hand);
        if hand.has_ended || self.has_ended() {
            return Moved::Over;
        }
        let Some(job) = self.job_in(&mut hand) else { return Moved::None };
        let (slot, elements) = (job.slot, job.elements);
        let through = hand.through;
        let len = data.len().min(elements - through);
        // SAFETY: the job's slot has room for as many elements of this type and is aligned for them. The job
        // is in the hand, whose lock this thread has: the run takes it back under that lock, before it lets
        // the memory go.
        unsafe { slots::write(slot, through, &data[..len]) };
        hand.through += len;
        if hand.through == elements {
            self.send(&mut hand, false);
        }
        Moved::Some(len)
    }

    /// Whether the run has ended, or will not begin.
    fn has_ended(&self) -> bool {
        locked(&self.state).outcome.is_some()
    }

    /// Whether the run has ended without an error.
    fn has_ended_well(&self) -> bool {
        matches!(locked(&self.state).outcome, Some(Outcome::Well))
    }

    /// Announces something to a run that may just begin. The run is attached under the same lock, so either
    /// it is attached before and is told, or it sees the announcement.
    fn say<R>(&self, what: impl FnOnce() -> R) -> R {
        let _state = locked(&self.state);
        what()
    }

    /// Sends the chunk in the hand as it is; it has whole items.
    fn send(&self, hand: &mut Hand, is_last: bool) {
        let Some(run) = self.run.get() else { return };
        let Some(job) = hand.job.take() else { return };
        let items = hand.through / run.per_item;
        let bytes = job.bytes / job.elements.max(1) * hand.through;
        hand.through = 0;
        // SAFETY: the job is the caller's, whose lock this thread has; `bytes` of it are filled.
        unsafe { job.fill_others(bytes) };
        self.filled(job.chunk, items, is_last);
    }

    /// Sends pushed data through at once.
    pub(crate) fn flush(&self) -> Result<Moved, Detail> {
        if fork::is_child() {
            return Ok(Moved::Over);
        }
        let mut hand = locked(&self.hand);
        if hand.has_ended || self.has_ended() {
            // A run that knows its length may have ended with the last push.
            let is_through = !hand.has_ended && hand.through == 0 && self.has_ended_well();
            return Ok(if is_through { Moved::None } else { Moved::Over });
        }
        let Some(&Run { host, per_item, is_endless, .. }) = self.run.get() else { return Ok(Moved::None) };
        if !is_endless || hand.job.is_none() || hand.through == 0 {
            return Ok(Moved::None);
        }
        let elements = hand.through % per_item;
        if elements != 0 {
            return Err(Detail::PartOfItem { host, elements, per_item });
        }
        let through = hand.through;
        self.send(&mut hand, false);
        Ok(Moved::Some(through))
    }

    /// Ends the input: nothing more is pushed.
    pub(crate) fn end(&self) {
        if fork::is_child() {
            return;
        }
        let mut hand = locked(&self.hand);
        if std::mem::replace(&mut hand.has_ended, true) {
            return;
        }
        let rest = self.run.get().map_or(0, |run| hand.through % run.per_item);
        if let Some(Job { chunk, .. }) = hand.job.as_ref().filter(|_| rest > 0) {
            let per_item = self.run.get().map_or(1, |run| run.per_item);
            let message = format!("it ended {} into an item of {per_item}", counted(rest, "element"));
            self.failed(Some(chunk.index), io::Error::new(IoErrorKind::UnexpectedEof, message));
            hand.job = None;
        } else if hand.job.is_some() && hand.through > 0 {
            self.send(&mut hand, true);
        } else {
            hand.job = None;
            self.say(|| self.end.store(self.done(), Ordering::Release));
            self.changed();
        }
    }

    /// Copies results, the oldest first, at most those of one chunk.
    ///
    /// # Safety
    /// `T` is the type of the argument's elements.
    pub(crate) unsafe fn pull<T: Pod>(&self, to: &mut [T]) -> Moved {
        if fork::is_child() {
            return Moved::Over;
        }
        let mut hand = locked(&self.hand);
        let hand = &mut *hand;
        if let Some(Kept { elements, bytes }) = hand.kept.front() {
            let (elements, len) = (*elements, to.len().min(elements - hand.through));
            let from = hand.through * size_of::<T>();
            // SAFETY: as many bytes are there, of elements of this type, for which any bytes are valid.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    bytes[from..].as_ptr(),
                    to.as_mut_ptr().cast::<u8>(),
                    len * size_of::<T>(),
                );
            }
            hand.through += len;
            if hand.through == elements {
                (hand.through, hand.pulled) = (0, hand.pulled + 1);
                hand.kept.pop_front();
            }
            return Moved::Some(len);
        }
        let Some(job) = self.job_in(hand) else {
            // The run keeps the remaining results before it announces its end.
            if self.has_ended() {
                return Moved::Over;
            }
            let wanted = self.done() + 1;
            if self.say(|| self.wanted.swap(wanted, Ordering::AcqRel)) != wanted {
                self.changed();
            }
            return Moved::None;
        };
        let (slot, elements, chunk) = (job.slot, job.elements, job.chunk);
        let len = to.len().min(elements - hand.through);
        // SAFETY: the job's slot has as many elements of this type, initialised and aligned. The job is in
        // the hand, whose lock this thread has, as in `push`.
        unsafe { slots::read(slot, hand.through, &mut to[..len]) };
        hand.through += len;
        if hand.through == elements {
            (hand.job, hand.through, hand.pulled) = (None, 0, hand.pulled + 1);
            self.accepted(chunk);
        }
        Moved::Some(len)
    }

    /// Discards current and future results.
    pub(crate) fn discard(&self) {
        if fork::is_child() {
            return;
        }
        let mut hand = locked(&self.hand);
        let mut state = locked(&self.state);
        state.discards = true;
        state.jobs.clear();
        *hand = Hand::default();
        self.done.store(self.given(), Ordering::Release);
        drop((state, hand));
        self.changed();
    }

    /// Whether the caller has ended the input.
    pub(crate) fn was_ended(&self) -> bool {
        locked(&self.hand).has_ended
    }

    /// The reason why there is nothing more: `None` if the run has ended without an error.
    pub(crate) fn why_over(&self) -> Option<Error> {
        if fork::is_child() {
            // The run goes on in the other process.
            return Some(Detail::Forked.into());
        }
        match &locked(&self.state).outcome {
            Some(Outcome::Well) => None,
            Some(Outcome::Failed(error)) => Some(error.clone()),
            Some(Outcome::Unknown) | None => Some(Detail::SessionOver.into()),
        }
    }

    /// The number of chunks pulled to their end.
    pub(crate) fn pulled(&self) -> usize {
        locked(&self.hand).pulled
    }
}
