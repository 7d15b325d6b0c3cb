//! Repeats the run before: launches its graphs again, if nothing differs.

use std::mem;

use crate::base::error::Result;
use crate::base::plan::Plan;
use crate::engine::Pipeline;
use crate::engine::call::Call;
use crate::engine::chunks::chunking::Chunking;
use crate::engine::chunks::dealer::Share;
use crate::engine::chunks::log::ChunkLog;
use crate::engine::explain::explain;
use crate::engine::frame::ending::end_of;
use crate::engine::frame::enqueue::{Enqueued, Launches, MustDrain};
use crate::engine::purpose::Purpose;
use crate::engine::run::arrival::cancelled;
use crate::engine::run::functions::Functions;
use crate::engine::targets::graph::repeat::RunKey;

impl Call<'_, '_> {
    /// Whether the graphs of the run before do what this run has to do, on this device. It holds their memory.
    pub(super) fn may_repeat(&mut self, chunking: Chunking) -> bool {
        if !self.arguments.repeats || !self.arguments.shared.is_empty() || self.purpose != Purpose::Run {
            return false;
        }
        let Call { pipeline, arguments, devices, .. } = self;
        let Pipeline { device, graphs, number, .. } = &mut **pipeline;
        let key = RunKey::new(arguments, chunking, (*number, *devices));
        graphs.as_mut().zip(key).is_some_and(|(graphs, key)| graphs.may_repeat(device, &key))
    }

    /// Launches them, or those before which the run does not end. It [may](Self::may_repeat), and the ring was left
    /// alone since it was asked. `share`: what this device has of a run of several.
    pub(super) fn repeat(&mut self, chunking: Chunking, share: Option<&Share<'_>>) -> Option<Enqueued> {
        let Call { pipeline, arguments, devices, .. } = self;
        let Pipeline { device, plan, graphs, number, .. } = &mut **pipeline;
        let key = RunKey::new(arguments, chunking, (*number, *devices))?;
        let start = share.map_or_else(|| device.driver().clock(), |share| share.began);
        let mut is_going_on = Ok(true);
        let goes_on = |last| {
            is_going_on = share.map_or(Ok(true), |share| deal_graph(share, plan, last));
            matches!(is_going_on, Ok(true))
        };
        // From the first graph on, the device is at work.
        let must_drain = MustDrain;
        // SAFETY: the run holds the ring and its arguments until it has drained, and poisons them if it
        // cannot. It has held them since it was asked whether it may repeat the run before.
        let launched =
            graphs.as_mut().and_then(|graphs| unsafe { graphs.repeat(device, plan, &key, goes_on) });
        let Some((launched, totals)) = launched else {
            // There was nothing to launch.
            mem::forget(must_drain);
            return None;
        };
        if let (Some(share), Ok(()), Ok(true)) = (share, &launched, &is_going_on) {
            // The last graph has the others, if there is one.
            deal_until(share, usize::MAX);
        }
        let outcome = Ok(launched.map_err(|error| explain(plan, error)).and(is_going_on.map(drop)));
        if let (Some(share), Some(end)) = (share, end_of(&outcome, Result::as_ref)) {
            share.hand.stop_before(end);
        }
        Some(Enqueued {
            must_drain,
            chunking,
            log: ChunkLog::default(),
            start,
            outcome,
            totals,
            functions: Functions::default(),
            // It is known already that the next run may repeat them, too.
            graphs: Launches { any: true, only: true, repeated: true, may_repeat: false },
            profiler: None,
        })
    }
}

/// Deals a device of several the chunks of its next graph, of which `last` is the last one with a command, or that has
/// all chunks that are left. Returns whether the run goes on so far: it ends where a recorded one would, before a graph
/// in place of a chunk.
///
/// # Errors
/// The run was asked to end.
fn deal_graph(share: &Share<'_>, plan: &'static Plan, last: Option<u64>) -> Result<bool> {
    let Share { hand, cancels, .. } = share;
    let next = hand.take(hand.len());
    if hand.has_stopped() {
        // What has failed elsewhere is that device's error.
        return Ok(false);
    }
    if let Some(chunk) = next.filter(|_| cancels.any()) {
        return Err(cancelled(plan, Some(chunk.index as u64)));
    }
    if let Some(turn) = last.and_then(|last| hand.turn_of(last as usize)) {
        deal_until(share, turn + 1);
    }
    Ok(true)
}

/// Deals the chunks of the turns before this one, unless there are fewer.
fn deal_until(Share { hand, .. }: &Share<'_>, turn: usize) {
    while hand.len() < turn && hand.take(hand.len()).is_some() {}
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::error::Detail;
    use crate::engine::chunks::dealer::{Dealer, Hand};
    use crate::job::{Cancel, Cancels};

    static PLAN: Plan = Plan {
        pipeline: "P",
        file: "src/main.rs",
        line: 1,
        column: 1,
        streams: &[],
        stages: &[],
        hosts: &[],
        buffers: &[],
        operations: &[],
        events: &[],
        waits: &[],
    };

    fn share(dealer: &Dealer, device: usize) -> Share<'_> {
        let (hand, cancels) = (Hand::new(dealer, device), Cancels::of_this_thread());
        Share { hand, began: Duration::ZERO, cancels }
    }

    /// The second device has the chunks 3 to 6.
    fn dealer() -> Dealer {
        Dealer::by_owner(Chunking::even(65, 10), &[0, 30])
    }

    #[test]
    fn a_graph_has_the_chunks_up_to_its_last() {
        let dealer = dealer();
        let share = share(&dealer, 1);
        assert!(matches!(deal_graph(&share, &PLAN, Some(4)), Ok(true)));
        assert_eq!((share.hand.len(), share.hand.items()), (2, 20));
        assert!(matches!(deal_graph(&share, &PLAN, None), Ok(true)));
        deal_until(&share, usize::MAX);
        assert_eq!((share.hand.len(), share.hand.items()), (4, 35));
        assert_eq!(share.hand.first_missing(4), usize::MAX);
    }

    #[test]
    fn no_graph_is_launched_after_another_devices_failure() {
        let dealer = dealer();
        let share = share(&dealer, 1);
        assert!(matches!(deal_graph(&share, &PLAN, Some(3)), Ok(true)));
        dealer.stop_before(0);
        assert!(matches!(deal_graph(&share, &PLAN, None), Ok(false)));
        assert_eq!((share.hand.len(), share.hand.first_missing(1)), (1, 4));
    }

    #[test]
    fn no_graph_is_launched_after_the_run_was_asked_to_end() {
        let (dealer, cancel) = (dealer(), Cancel::new());
        let share = cancel.during(|| share(&dealer, 1));
        assert!(matches!(deal_graph(&share, &PLAN, Some(4)), Ok(true)));
        cancel.cancel();
        let error = deal_graph(&share, &PLAN, None).unwrap_err();
        assert!(matches!(error.detail(), Detail::Cancelled), "{error}");
        assert_eq!(error.place().chunk, Some(5), "as of a run that is recorded");
    }
}
