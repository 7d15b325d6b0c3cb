//! The timelines of all ranks, brought together by rank 0.

mod encoding;
mod offer;
#[cfg(test)]
mod tests;

use crate::base::error::{RanksDetail, Result};
use crate::engine::ranks::fingerprint;
use crate::observe::timeline::Timeline;
use crate::world::World;
use offer::{Offer, judged};

/// What ranks come to, for messages. The pipelines are no part of it, so that all ranks hear who gives another one.
const TIMELINES: &str = "the timelines of all ranks";
/// What they come to when rank 0 has these.
const END: &str = "the end of the timelines of all ranks";
/// What rank 0 says once it has read all timelines.
const IS_READ: &[u8] = &[1];

impl Timeline {
    // Note 82: the timelines of all ranks are rank 0's.
    /// The timelines that all ranks have of a run as one, on rank 0; the others get `None`. All ranks have to call it,
    /// each with its own timeline of the same run.
    ///
    /// The result is a timeline like any other. Its rows are those of rank 0, then those of rank 1 and so on, and are
    /// named `r0 math`, `r1 math`. A [trace](Self::trace) has a process for each rank. Its [report](Self::report) is of
    /// all ranks: items and bytes are sums, the chunks are those of the rank with the most, and the time is from the
    /// first rank's first call to the last one's last result. [`of_rank`](Self::of_rank) has a rank's own. In a world of
    /// one it is the timeline itself, as that of rank 0.
    ///
    /// Rank 0 alone has it, since one file is written of it, and it may be large: some 70 bytes for each operation of
    /// each chunk of each rank.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use thalweg::sim::{MachineModel, ranks};
    /// use thalweg_kernels::sum;
    ///
    /// stream_pipeline! {
    ///     pipeline Totals {
    ///         input x: [f32];
    ///         output totals: [f64; 1] per chunk;
    ///         chunk c = 256;
    ///         stage load { copy x -> dx; }
    ///         stage add { sum::<f32><<<1, 256>>>(&dx, out own); }
    ///         stage share { all_reduce sum own; }
    ///         stage store { copy own -> totals; }
    ///         device own: [f64; 1] per chunk;
    ///     }
    /// }
    ///
    /// let written = ranks(MachineModel::h200(2), |world| {
    ///     let x = vec![1.0; world.part(2048).len()];
    ///     let mut totals = [0.0; 4];
    ///     let mut pipeline = Totals::options(&world.device()?).world(world).build()?;
    ///     let timeline = pipeline.profile(&x, &mut totals)?;
    ///     let Some(all) = timeline.of_all_ranks(world)? else { return Ok(false) };
    ///     // Rank 0 has the rows of both, and may write `all.svg()` to a file.
    ///     assert_eq!(all.rows.len(), 2 * timeline.rows.len());
    ///     assert!(all.rows.iter().any(|row| row.name == "r1 share" && row.rank == Some(1)));
    ///     assert_eq!(all.report.items, 2048);
    ///     Ok::<_, Error>(true)
    /// });
    /// assert_eq!(written.into_iter().collect::<Result<Vec<_>, _>>()?, [true, false]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Clocks
    ///
    /// Each rank counts time from its own first call. What every rank needs from every other ends on all of them at
    /// once: `all_reduce`, `all_gather`, `reduce_scatter`, `all_to_all` and `barrier`. So the clock of a rank is set by
    /// the median, over those of the run that were timed, of how much earlier or later they end than on rank 0. That is
    /// accurate to what their ends differ by: nothing on a simulated machine, microseconds on GPUs. Clocks that run at
    /// different rates are not told apart. A run that only has other collectives is set by those, which end on some
    /// ranks before others, by as much as their data take.
    ///
    /// A run without collectives, and a prediction, begins on all ranks at once. Its ranks have agreed on it, and then
    /// each has prepared its memory: that takes microseconds, but milliseconds in a first run.
    ///
    /// # Errors
    /// [`ErrorKind::Ranks`](crate::ErrorKind::Ranks): ranks give timelines of different pipelines or runs, or of a run
    /// in another world, and all of them are told which; a rank does not come within the limit, does something else, or
    /// is gone; a run of the world is under way.
    pub fn of_all_ranks(&self, world: &World) -> Result<Option<Self>> {
        if world.size() == 1 {
            let offer = Offer::new(self, [0; 32], world.number(), 0);
            judged(&[offer.write()]).map_err(disagree)?;
            return Ok(Self::of_ranks(vec![self.clone()]));
        }
        // The data of a run in host memory go the same way.
        let _running = world.begin_run(self.plan.pipeline, None)?;
        let own = encoding::write(self);
        let plan = *fingerprint(self.plan, "").as_bytes();
        let offer = Offer::new(self, plan, world.number(), own.len() as u64);
        let lengths = judged(&world.gather(TIMELINES, &offer.write())?).map_err(disagree)?;
        let all = world.collect(own, &lengths)?;
        let read = |(rank, bytes): (usize, &Vec<u8>)| {
            if rank == 0 { Ok(self.clone()) } else { encoding::read(bytes, self).ok_or(rank) }
        };
        let all: Result<Vec<Self>, usize> = all.iter().enumerate().map(read).collect();
        let said = match &all {
            Ok(_) => IS_READ.to_vec(),
            Err(rank) => format!("rank 0 does not understand the timeline of rank {rank}").into_bytes(),
        };
        // All ranks know how it ends, and go on at one time.
        match world.gather(END, &said)?.first() {
            Some(said) if said == IS_READ => Ok(all.ok().and_then(Self::of_ranks)),
            said => Err(disagree(String::from_utf8_lossy(said.map_or(&[], Vec::as_slice)).into_owned())),
        }
    }
}

fn disagree(why: String) -> crate::base::error::Error {
    RanksDetail::Disagree { why }.into()
}
