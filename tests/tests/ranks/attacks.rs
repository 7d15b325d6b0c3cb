//! Programs that the macro cannot know to be wrong: nobody waits for ever, and nothing is shared that does not fit.

use std::time::{Duration, Instant};

use thalweg::io::{Source, Streamed};
use thalweg::plan::Chunk;
use thalweg::prelude::*;

use super::{errors, on};

stream_pipeline! {
    /// The elements of an item are each rank's own.
    pipeline PerItem {
        param n: usize;
        input x: [f32; n];
        output y: [f32; n];
        chunk c = 4;
        stage load { copy x -> dx; }
        stage share { all_reduce sum dx; }
        stage store { copy dx -> y; }
    }
}

#[test]
fn items_of_different_sizes_are_noticed_before_a_run() {
    for error in errors(2, |world| {
        let n = 2 + world.rank();
        let mut pipeline = PerItem::options(&world.device()?).world(world).build()?;
        pipeline.run(n, &vec![1.0; 8 * n], &mut vec![0.0; 8 * n]).map(drop)
    }) {
        let text = error.to_string();
        assert!(text.contains("`dx` has 8 bytes an item on rank 0, and 12 on rank 1"), "{text}");
    }
}

stream_pipeline! {
    pipeline Shared {
        input x: [f32];
        carry w: [f32; 1] = 1.0;
        chunk c = 4;
        stage all { copy x -> _d; all_reduce sum w; }
    }
}

/// A source that says that it has more than it has.
struct Lies(usize);

impl Source<f32> for Lies {
    fn read(&mut self, chunk: Chunk, slot: &mut [f32]) -> std::io::Result<usize> {
        slot.fill(1.0);
        Ok(slot.len().min(40_usize.saturating_sub(chunk.start)))
    }

    fn elements(&mut self, _: usize) -> std::io::Result<Option<usize>> {
        Ok(Some(self.0))
    }
}

/// A rank without items does not enqueue all of the run before it notices that another rank has failed.
#[test]
fn a_rank_without_items_keeps_pace() {
    for elements in [1 << 40, usize::MAX] {
        let began = Instant::now();
        let all = errors(2, |world| {
            let mut shared = Shared::options(&world.device()?).world(world).build()?;
            match world.rank() {
                0 => shared.run(Streamed(Lies(elements)), &mut [0.0]).map(drop),
                _ => shared.run(&[], &mut [0.0]).map(drop),
            }
        });
        assert!(all[0].to_string().contains("ended after 40 items"), "{}", all[0]);
        let ErrorKind::Ranks(ranks) = all[1].kind() else { panic!("{}", all[1]) };
        assert_eq!(ranks.ranks(), [0]);
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }
}

stream_pipeline! {
    pipeline Auto {
        input x: [f32];
        output y: [f32];
        chunk c = auto;
        stage all { copy x -> d; all_reduce sum d; copy d -> y; }
    }
}

/// A rank with few items does not cut those of all others into as small chunks.
#[test]
fn the_rank_with_the_most_items_chooses_the_chunks() {
    for items in [[0, 300_000, 600_000], [1, 300_000, 600_000], [600_000, 300_000, 0]] {
        let chunks = on(3, |world| {
            let n = items[world.rank()];
            let mut auto = Auto::options(&world.device()?).world(world).build()?;
            let report = auto.run(&vec![1.0; n], &mut vec![0.0; n])?;
            Ok(report.chunks)
        });
        assert!(chunks.iter().all(|count| *count == chunks[0] && *count < 100), "{items:?}: {chunks:?}");
    }
}

stream_pipeline! {
    pipeline Inner {
        inout x: [f32];
        chunk c = 2;
        stage all { copy x -> d; all_reduce sum d; copy d -> x; }
    }
}

stream_pipeline! {
    pipeline Outer {
        input x: [f32];
        inout y: [f32];
        chunk c = 2;
        stage all { copy x -> _d; copy y -> e; all_reduce sum e; copy e -> y; }
    }
}

/// Two worlds on one device: their collectives would be in an order that may differ from rank to rank.
#[test]
fn runs_of_two_worlds_do_not_mix_on_a_device() {
    let texts = on(2, |world| {
        let own = world.split(Some(0))?.expect("both are in it");
        let device = world.device()?;
        let mut inner = Inner::options(&device).world(&own).build()?;
        let mut outer = Outer::options(&device).world(world).build()?;
        let (mut texts, mut y) = (Vec::new(), [1.0; 8]);
        let x = source::from_fn(|c: Chunk, slot: &mut [f32]| {
            if c.index == 1 {
                texts.extend(inner.run(&mut [1.0; 8]).err().map(|error| error.to_string()));
            }
            slot.fill(1.0);
            Ok(slot.len())
        });
        outer.run(x, &mut y)?;
        assert_eq!(y, [2.0; 8]);
        // After that the other world may have its run.
        let mut x = [1.0; 8];
        inner.run(&mut x)?;
        assert_eq!(x, [2.0; 8]);
        Ok(texts)
    });
    for text in texts.concat() {
        assert!(text.starts_with("another run with collectives is under way on this device"), "{text}");
    }
}

/// A rank that is busy says so to the others.
#[test]
fn a_rank_that_is_busy_is_not_said_to_have_wrong_arguments() {
    let all = errors(2, |world| {
        let device = world.device()?;
        let mut inner = Inner::options(&device).world(world).build()?;
        let mut outer = Outer::options(&device).world(world).build()?;
        if world.rank() == 1 {
            outer.run(&[1.0; 8], &mut [1.0; 8])?;
            return inner.run(&mut [1.0; 8]).map(drop);
        }
        let mut refused = None;
        let x = source::from_fn(|c: Chunk, slot: &mut [f32]| {
            if c.index == 1 {
                refused = inner.run(&mut [1.0; 8]).err();
            }
            slot.fill(1.0);
            Ok(slot.len())
        });
        outer.run(x, &mut [1.0; 8])?;
        Err::<(), _>(refused.expect("it is refused"))
    });
    let text = all[1].to_string();
    assert!(text.contains("rank 0 does not begin run 1 of `Inner`: another run of this world"), "{text}");
}

#[test]
fn sixty_four_ranks_are_a_world() {
    let all = on(64, |world| {
        let mut inner = Inner::options(&world.device()?).world(world).build()?;
        let mut x = [1.0; 6];
        inner.run(&mut x)?;
        Ok((x, world.all_gather(world.rank() as u64)?.iter().sum::<u64>()))
    });
    assert_eq!(all, [([64.0; 6], 64 * 63 / 2); 64]);
}

/// One CPU may be the device of several ranks of a process.
#[test]
fn ranks_of_a_process_may_share_a_cpu() {
    let device = Device::cpu().expect("a CPU");
    let run = |world: World| {
        let mut inner = Inner::options(&device).world(&world).build()?;
        let mut x = [1.0; 8];
        inner.run(&mut x)?;
        Ok::<_, Error>(x)
    };
    let all = std::thread::scope(|scope| {
        let threads: Vec<_> =
            World::together(3).into_iter().map(|world| scope.spawn(|| run(world))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
    });
    for x in all {
        assert_eq!(x.expect("a run"), [3.0; 8]);
    }
}
