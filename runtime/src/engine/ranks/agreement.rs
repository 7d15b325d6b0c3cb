//! The agreement of all ranks on a run, before it begins.
//!
//! Each rank says what it is about to do, and hears what all others say. All of them then come to the same conclusion,
//! since they judge the same words: they begin, or each of them fails with the same reason.

use super::Ranks;
use super::said::{Length, Said};
use crate::base::collective::CollectiveKind;
use crate::base::error::{Error, Result};
use crate::base::plan::Plan;
use crate::engine::arguments::Arguments;
use crate::engine::chunks::chunking::Chunking;

/// What the ranks have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// Items in a chunk.
    pub(crate) chunk: usize,
    /// Items of the rank that has the most.
    pub(crate) most: usize,
}

impl Ranks {
    /// Begins the run that was [counted](Ranks::answers): says what this rank is about to do, or why it does not begin,
    /// and hears what all others say.
    ///
    /// # Errors
    /// A rank does not come, or is gone.
    pub(crate) fn hear(
        &self,
        arguments: &Arguments<'_>,
        plan: &Plan,
        chosen: std::result::Result<&Chunking, &Error>,
        given: Option<usize>,
    ) -> Result<Vec<Vec<u8>>> {
        let said = self.said(arguments, plan, chosen, given);
        self.world.gather(&self.what(plan, self.runs), &said.write())
    }

    fn said(
        &self,
        arguments: &Arguments<'_>,
        plan: &Plan,
        chosen: std::result::Result<&Chunking, &Error>,
        given: Option<usize>,
    ) -> Said {
        let by_item = |buffer: usize| arguments.buffers.get(buffer).map(|shape| shape.is_by_item());
        // Neighbours exchange their borders, however many items they have between them.
        let is_same = |kind, buffer| kind != CollectiveKind::Exchange || by_item(buffer) == Some(true);
        let of_all = plan
            .collectives()
            .flat_map(|(index, kind)| plan.buffers_of(index).filter(move |&buffer| is_same(kind, buffer)));
        let mut buffers: Vec<usize> = of_all.collect();
        buffers.sort_unstable();
        buffers.dedup();
        let length = |buffer: usize| {
            let by_item = by_item(buffer)?;
            let bytes = arguments.buffers[buffer].bytes(usize::from(by_item)) as u64;
            Some(Length { name: plan.buffers[buffer].name.to_owned(), by_item, bytes })
        };
        // A rank that has nothing to cut leaves its chunks to the others.
        let items = arguments.items.map_or(0, |(items, _)| items) as u64;
        let chosen_chunk = chosen.map_or(0, |chunking| if items == 0 { 0 } else { chunking.largest() });
        Said {
            pipeline: plan.pipeline.to_owned(),
            plan: *self.plan.as_bytes(),
            run: self.runs,
            refused: chosen.err().map(Error::summary),
            chunk: given.unwrap_or(chosen_chunk) as u64,
            is_auto: given.is_none(),
            items,
            uniform: arguments.uniform.clone(),
            buffers: buffers.into_iter().filter_map(length).collect(),
        }
    }
}

/// The conclusion from what all ranks have said. `parts`: an operation that needs the same number of items on all
/// ranks, if there is one.
pub(crate) fn judged(all: &[Vec<u8>], parts: Option<&str>) -> std::result::Result<Agreed, String> {
    let read = |(rank, bytes): (usize, &Vec<u8>)| {
        Said::read(bytes).ok_or_else(|| format!("what rank {rank} says is of another version"))
    };
    let all: Vec<Said> = all.iter().enumerate().map(read).collect::<std::result::Result<_, _>>()?;
    let Some(first) = all.first() else { return Err("there are no ranks".to_owned()) };
    for (rank, said) in all.iter().enumerate() {
        if (&said.pipeline, said.plan, said.run) != (&first.pipeline, first.plan, first.run) {
            let of = |said: &Said| format!("run {} of `{}`", said.run, said.pipeline);
            let other = if (&said.pipeline, said.run) == (&first.pipeline, first.run) {
                "another pipeline of this name".to_owned()
            } else {
                of(said)
            };
            return Err(format!("rank 0 begins {}, and rank {rank} {other}", of(first)));
        }
    }
    if let Some((rank, why)) =
        all.iter().enumerate().find_map(|(rank, said)| Some((rank, said.refused.as_ref()?)))
    {
        return Err(format!("rank {rank} does not begin run {} of `{}`: {why}", first.run, first.pipeline));
    }
    for (rank, said) in all.iter().enumerate() {
        disagreement(first, said, rank)?;
        if let Some(parts) = parts.filter(|_| said.items != first.items) {
            return Err(format!(
                "`{parts}` needs as many items on each rank, but rank 0 has {}, and rank {rank} has {}",
                first.items, said.items
            ));
        }
    }
    let most = all.iter().map(|said| said.items).max().unwrap_or(0);
    // The first one with the most items chooses for all, where it is left to the ranks.
    let chunk = all.iter().find(|said| said.items == most).map_or(first.chunk, |said| said.chunk);
    Ok(Agreed { chunk: (chunk as usize).max(1), most: most as usize })
}

/// Whether a rank says something else than rank 0.
fn disagreement(first: &Said, said: &Said, rank: usize) -> std::result::Result<(), String> {
    for (one, other) in first.uniform.iter().zip(&said.uniform) {
        if one.bytes != other.bytes {
            return Err(format!(
                "the `uniform param {}` differs: it is {} on rank 0, and {} on rank {rank}",
                one.name, one.shown, other.shown
            ));
        }
    }
    if first.is_auto != said.is_auto || !first.is_auto && first.chunk != said.chunk {
        let chunk = |said: &Said| if said.is_auto { "auto".to_owned() } else { said.chunk.to_string() };
        return Err(format!(
            "the chunks differ: rank 0 has `chunk = {}`, and rank {rank} `chunk = {}`",
            chunk(first),
            chunk(said)
        ));
    }
    for (one, other) in first.buffers.iter().zip(&said.buffers) {
        if one != other {
            let (name, bytes) = (&one.name, if one.by_item { "bytes an item" } else { "bytes" });
            return Err(format!(
                "`{name}` has {} {bytes} on rank 0, and {} on rank {rank}: collectives need the same length",
                one.bytes, other.bytes
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::arguments::answers::Uniform;

    fn length(name: &str, by_item: bool, bytes: u64) -> Length {
        Length { name: name.to_owned(), by_item, bytes }
    }

    fn said(items: u64) -> Said {
        Said {
            pipeline: "Train".to_owned(),
            plan: [7; 32],
            run: 3,
            refused: None,
            chunk: 100,
            is_auto: false,
            items,
            uniform: vec![Uniform::new("rate", &1_u8)],
            buffers: vec![length("g", false, 64), length("d", true, 8)],
        }
    }

    fn judge(all: &[Said]) -> std::result::Result<Agreed, String> {
        judged(&all.iter().map(Said::write).collect::<Vec<_>>(), None)
    }

    #[test]
    fn ranks_with_fewer_items_take_part_in_all_chunks() {
        assert_eq!(judge(&[said(450), said(0), said(1000)]), Ok(Agreed { chunk: 100, most: 1000 }));
        let auto = |chunk, items| Said { is_auto: true, chunk, ..said(items) };
        assert_eq!(judge(&[auto(64, 10), auto(256, 900)]), Ok(Agreed { chunk: 256, most: 900 }));
        assert_eq!(judge(&[auto(64, 900), auto(256, 900)]), Ok(Agreed { chunk: 64, most: 900 }));
        assert_eq!(judge(&[auto(0, 0), auto(256, 900)]), Ok(Agreed { chunk: 256, most: 900 }));
        assert_eq!(judge(&[auto(0, 0), auto(0, 0)]), Ok(Agreed { chunk: 1, most: 0 }));
    }

    #[test]
    fn all_learn_who_disagrees_about_what() {
        let one = said(1000);
        let cases = [
            (Said { run: 4, ..one.clone() }, "rank 0 begins run 3 of `Train`, and rank 1 run 4 of `Train`"),
            (
                Said { pipeline: "Test".to_owned(), ..one.clone() },
                "rank 0 begins run 3 of `Train`, and rank 1 run 3 of `Test`",
            ),
            (
                Said { plan: [8; 32], ..one.clone() },
                "rank 0 begins run 3 of `Train`, and rank 1 another pipeline of this name",
            ),
            (
                Said { refused: Some("no memory".to_owned()), ..one.clone() },
                "rank 1 does not begin run 3 of `Train`: no memory",
            ),
            (
                Said { uniform: vec![Uniform::new("rate", &2_u8)], ..one.clone() },
                "the `uniform param rate` differs: it is 1 on rank 0, and 2 on rank 1",
            ),
            (
                Said { chunk: 50, ..one.clone() },
                "the chunks differ: rank 0 has `chunk = 100`, and rank 1 `chunk = 50`",
            ),
            (
                Said { is_auto: true, ..one.clone() },
                "the chunks differ: rank 0 has `chunk = 100`, and rank 1 `chunk = auto`",
            ),
            (
                Said { buffers: vec![length("g", false, 32), length("d", true, 8)], ..one.clone() },
                "`g` has 64 bytes on rank 0, and 32 on rank 1: collectives need the same length",
            ),
            (
                Said { buffers: vec![length("g", false, 64), length("d", true, 12)], ..one.clone() },
                "`d` has 8 bytes an item on rank 0, and 12 on rank 1: collectives need the same length",
            ),
        ];
        for (other, expected) in cases {
            assert_eq!(judge(&[one.clone(), other]).as_ref().map_err(String::as_str), Err(expected));
        }
        let all = [one.write(), said(999).write()];
        let why = judged(&all, Some("all_gather a -> b"));
        assert_eq!(
            why.unwrap_err(),
            "`all_gather a -> b` needs as many items on each rank, but rank 0 has 1000, and rank 1 has 999"
        );
        assert!(judged(&[one.write(), vec![1, 2, 3]], None).unwrap_err().contains("rank 1"));
    }
}
