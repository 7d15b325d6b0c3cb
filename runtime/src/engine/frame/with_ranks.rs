//! What ranks agree on before a run begins: its chunks.

use crate::base::collective::CollectiveKind;
use crate::base::error::{Detail, Error, RanksDetail, Result};
use crate::engine::arguments::answers::Answers;
use crate::engine::call::Call;
use crate::engine::chunks::chunking::Chunking;
use crate::engine::ranks::agreement::{Agreed, judged};
use crate::engine::{ChunkSize, Pipeline};

impl Call<'_, '_> {
    // Note 77: ranks agree before each run.
    /// Agrees with all other ranks, if there are any, on this run and its chunks. `chosen`: the chunks that this rank
    /// would choose alone, or the reason why it does not begin, which it tells the others.
    ///
    /// # Errors
    /// Ranks disagree, or do not come; or the reason.
    pub(crate) fn agree(&mut self, declared: ChunkSize, chosen: Result<Chunking>) -> Result<Chunking> {
        // A rank with few items still says what was given.
        let given = if self.is_auto(declared) { None } else { self.chunk(declared).ok() };
        let Pipeline { ranks, plan, .. } = &mut *self.pipeline;
        let Some(ranks) = ranks.as_ref().filter(|ranks| ranks.size() > 1) else { return chosen };
        // What follows is this rank's answer.
        self.arguments.answers.take().into_iter().for_each(Answers::settle);
        let all = ranks.hear(&self.arguments, plan, chosen.as_ref(), given);
        let place = || self.pipeline.place();
        let all = match (all, chosen) {
            (_, Err(refused)) => return Err(refused),
            (Err(error), Ok(_)) => return Err(error.at(place())),
            (Ok(all), Ok(_)) => all,
        };
        match judged(&all, self.needs_equal_items()) {
            Ok(Agreed { chunk, most }) => {
                // Without collectives no rank waits for this one in chunks of which it has no item.
                let has_collectives = self.pipeline.plan.collectives().next().is_some();
                let most = if has_collectives { most } else { self.items() };
                Ok(Chunking::agreed(self.items(), chunk, most))
            }
            Err(why) => Err(Error::new(Detail::Ranks(RanksDetail::Disagree { why })).at(place())),
        }
    }

    /// Refuses a run whose length nobody knows: ranks agree on the number of chunks before the first one.
    pub(crate) fn with_known_length(&self, chosen: Result<Chunking>) -> Result<Chunking> {
        if self.is_endless() {
            let pipeline = self.pipeline.plan.pipeline;
            return Err(
                Error::new(Detail::Ranks(RanksDetail::UnknownLength { pipeline })).at(self.pipeline.place())
            );
        }
        chosen
    }

    /// An operation that needs the same number of items on all ranks: one that gives each rank a part of data which are
    /// counted by items, or their ends; or that uses an argument where it lies, which has no room for the items that
    /// others have more.
    fn needs_equal_items(&self) -> Option<&'static str> {
        let plan = self.pipeline.plan;
        let needs = |(index, kind): &(usize, CollectiveKind)| {
            plan.buffers_of(*index).any(|buffer| {
                let shape = &self.arguments.buffers[buffer];
                shape.is_by_item() && (kind.has_parts() || kind.has_ends() || shape.is_in_place())
            })
        };
        plan.collectives().find(needs).map(|(index, _)| plan.operations[index].text)
    }
}
