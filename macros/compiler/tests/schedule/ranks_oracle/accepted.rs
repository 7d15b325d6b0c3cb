//! Programs that the compiler accepts: no values and no order let them stand still, but without any of the
//! waits for the order of collectives some order does.

use super::devices::{Order, Standstill, carry_out};
use super::host::{Command, Deciding, Of, Program, Step, What, World};
use super::random::Random;
use super::rules::{self, OrderOnly};
use super::tally::{Case, in_words};
use super::{by_hand, pipeline::Pipeline};

/// Runs of each program.
const RUNS: usize = 5;
/// Runs in which the collectives of an order have to be carried out.
const TRIES: usize = 12;

pub fn judge(case: &mut Case<'_>, random: &mut Random) {
    let code = case.expansion.code();
    if let Some(still) = runs(case, &code.steps, &code.streams, random) {
        case.fail("an accepted program stands still", &still);
        return;
    }
    let orders = rules::order_only(case.pipeline, &code.steps);
    for order in &orders {
        let rest = rules::without(&code.steps, order.wait);
        match stands_still(case.pipeline, &rest, &code.streams, order, random) {
            Tried::StandsStill(mismatch) => {
                case.count("order: without it they stand still");
                case.add("order: without it they meet in two collectives", usize::from(mismatch));
            }
            Tried::NeverTogether => case.count("order: never carried out together"),
            Tried::Ends => {
                case.fail("an order that nothing needs", &format!("{:?} to {:?}", order.from, order.to));
            }
        }
    }
    by_hand::judge(case, &code, random);
}

/// Each operation for itself: ranks may meet in nothing else.
pub fn each(pipeline: &Pipeline) -> Vec<usize> {
    (0..pipeline.ops().len()).collect()
}

/// Carries the code out a few times. Gives a standstill in words.
pub fn runs(
    case: &mut Case<'_>,
    steps: &[Step],
    streams: &[(bool, bool)],
    random: &mut Random,
) -> Option<String> {
    let kinds = each(case.pipeline);
    let program = Program { steps, streams, kinds: &kinds };
    for _ in 0..RUNS {
        let size = *random.pick(&[1, 2, 2, 3, 3, 4]);
        let depth = depth(case.pipeline, random);
        let world = World::new(case.pipeline, depth, size, random);
        let traces = program.traces(&world, Deciding::default());
        let together = traces[0].iter().filter(|command| matches!(command.what, What::Together(..)));
        case.add("accepted: collectives carried out", together.count());
        let ahead = random.chance(40).then(|| 1 + random.below(depth));
        let alone = random.chance(30);
        let mut order = Order::Random { random, ahead, alone };
        if let Some(Standstill { story, mismatch }) = carry_out(&traces, &mut order, &in_words(case.pipeline))
        {
            let how = if mismatch { "two ranks are in different collectives" } else { "nothing goes on" };
            return Some(format!("{how}, with hosts {ahead:?} chunks ahead, in {world:?}\n{story}"));
        }
    }
    None
}

fn depth(pipeline: &Pipeline, random: &mut Random) -> usize {
    // `build` may be given another depth than the declared one.
    pipeline.depth.filter(|_| random.chance(50)).unwrap_or_else(|| 1 + random.below(4))
}

/// What comes of a program without an order.
#[derive(Debug, PartialEq, Eq)]
pub enum Tried {
    /// Whether all ranks are in collectives, but not in the same.
    StandsStill(bool),
    NeverTogether,
    Ends,
}

/// Whether ranks stand still if rank 0 begins the first collectives of an order as late as it can.
pub fn stands_still(
    pipeline: &Pipeline,
    steps: &[Step],
    streams: &[(bool, bool)],
    order: &OrderOnly,
    random: &mut Random,
) -> Tried {
    let kinds = each(pipeline);
    let program = Program { steps, streams, kinds: &kinds };
    let mut tried = Tried::NeverTogether;
    for _ in 0..TRIES {
        // In a ring of one slot, the chunk before is the one that used the slot.
        let depth = if order.of == Of::Previous { 2 + random.below(3) } else { 1 + random.below(4) };
        let mut world = World::new(pipeline, depth, 2, random);
        world.chunks = world.chunks.max(order.of.chunks(depth) + 1);
        world.items.iter_mut().for_each(|items| items.resize(world.chunks, 1));
        // One stream for all slots orders more.
        world.placed = true;
        let traces = program.traces(&world, Deciding::default());
        let Some(chunk) = together(&traces[0], order, depth) else { continue };
        match carry_out(&traces, &mut Order::Late { ops: &order.from, chunk }, &in_words(pipeline)) {
            Some(still) => return Tried::StandsStill(still.mismatch),
            None => tried = Tried::Ends,
        }
    }
    tried
}

/// A chunk of the first collectives, if those of both ends are carried out, in chunks that are so far apart.
fn together(trace: &[Command], order: &OrderOnly, depth: usize) -> Option<usize> {
    let chunks = |ops: &[usize]| -> Vec<usize> {
        let of = |command: &Command| match command.what {
            What::Together(op, _) if ops.contains(&op) => Some(command.chunk),
            _ => None,
        };
        trace.iter().filter_map(of).collect()
    };
    let (first, second) = (chunks(&order.from), chunks(&order.to));
    first.into_iter().find(|chunk| second.contains(&(chunk + order.of.chunks(depth))))
}
