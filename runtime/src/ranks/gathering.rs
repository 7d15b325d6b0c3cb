//! [`Gathering`]: a gather that goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::members::Members;
use super::shared::Slot;
use crate::base::error::{RanksDetail, Result};

/// How long a gather that is overdue is waited for until it is looked at anew.
const AGAIN: Duration = Duration::from_millis(500);

/// A gather that this rank has come to. All ranks' payloads are there when all of them have come.
///
/// Dropping it leaves the payload with the others, who need it. A rank says goodbye when its handles and its
/// gatherings are gone.
#[derive(Debug)]
#[must_use = "the others' payloads come from `wait`"]
pub(crate) struct Gathering {
    state: State,
}

#[derive(Debug)]
enum State {
    /// It was not begun.
    Refused(RanksDetail),
    Begun(Begun),
}

#[derive(Debug)]
struct Begun {
    members: Arc<Members>,
    slot: Arc<Slot>,
    what: String,
    limit: Duration,
    /// When this rank says by itself that the gather is late; `None` for never.
    deadline: Option<Instant>,
}

impl Gathering {
    pub(super) fn refused(detail: RanksDetail) -> Self {
        Self { state: State::Refused(detail) }
    }

    pub(super) fn begun(members: &Arc<Members>, slot: Arc<Slot>, what: &str, limit: Duration) -> Self {
        let members = Arc::clone(members);
        let deadline =
            limit.checked_add(members.link().grace()).and_then(|wait| Instant::now().checked_add(wait));
        Self { state: State::Begun(Begun { members, slot, what: what.to_owned(), limit, deadline }) }
    }

    /// Whether [`wait`](Self::wait) returns at once. It takes no lock and never fails the world, so that it may be asked
    /// under any lock: only `wait` looks at the clock.
    pub(crate) fn is_over(&self) -> bool {
        match &self.state {
            State::Refused(_) => true,
            State::Begun(Begun { members, slot, .. }) => {
                slot.is_complete() || members.shared().failure().is_some() || members.is_elsewhere()
            }
        }
    }

    /// Waits until every rank has come, and returns the payloads in the order of ranks. It is an error if the
    /// world fails before, or a rank does not come within the limit, or has left.
    pub(crate) fn wait(&self) -> Result<Vec<Vec<u8>>> {
        match &self.state {
            State::Refused(detail) => Err(detail.clone().into()),
            State::Begun(begun) => Ok(begun.wait()?),
        }
    }
}

impl Begun {
    fn wait(&self) -> Result<Vec<Vec<u8>>, RanksDetail> {
        // The thread that would complete it is in the other process.
        if self.members.is_elsewhere() {
            return Err(RanksDetail::Forked);
        }
        let shared = self.members.shared();
        let mut deadline = self.deadline;
        while !shared.wait(&self.slot, deadline) {
            self.members.link().overdue(&self.what, self.limit);
            deadline = Instant::now().checked_add(AGAIN);
        }
        // What is complete is complete, whatever has failed since.
        match (self.slot.payloads(), shared.failure()) {
            (Some(payloads), _) => Ok(payloads.clone()),
            (None, Some(failure)) => Err(failure.clone()),
            // `wait` returns for one of the two.
            (None, None) => Err(RanksDetail::Forked),
        }
    }
}
