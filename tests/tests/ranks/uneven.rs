//! Ranks with fewer items than others take part in all chunks.

use thalweg::prelude::*;

use super::{add_to, errors, on};

stream_pipeline! {
    pipeline Train {
        input x: [f32];
        output echo: [f32];
        output each: [f32; 1] per chunk;
        carry w: [f32; 1] = 0.0;
        chunk c = 4;
        device g: [f64; 1] per chunk;
        device l: [f32; 1] per chunk;
        stage load { copy x -> d; }
        stage back { thalweg_kernels::sum::<f32><<<1, 256>>>(&d, out g); }
        stage share { all_reduce sum g; all_reduce max d; }
        stage step { take<<<1, 1>>>(&g, &mut w); give<<<1, 1>>>(&w, out l); }
        stage store { copy d -> echo; copy l -> each; }
    }
}

#[kernel]
fn take(i: Index, g: &[f64], w: &mut Own<[f32]>) {
    let Some(w) = w.get_mut(i) else { return };
    *w = *w * 10.0 + g[0] as f32;
}

#[kernel]
fn give(i: Index, w: &[f32], l: &mut Out<[f32]>) {
    let Some(l) = l.get_mut(i) else { return };
    *l = w[i];
}

/// Rank 0 has 10 items, rank 1 has 5 and rank 2 none: chunks of 4, 4 and 2, of 4, 1 and 0, and of none.
#[test]
fn ranks_without_items_give_what_changes_nothing() {
    let items = [10, 5, 0];
    let all = on(3, |world| {
        let n = items[world.rank()];
        let x: Vec<f32> = (0..n).map(|item| (item + 1) as f32).collect();
        let (mut echo, mut each, mut w) = (vec![0.0; n], vec![0.0; n.div_ceil(4)], [0.0]);
        let mut train = Train::options(&world.device()?).world(world).build()?;
        train.run(&x, &mut echo, &mut each, &mut w)?;
        // Once more, with what is in the ring's slots now.
        train.run(&x, &mut echo, &mut each, &mut w)?;
        Ok((echo, each, w[0]))
    });
    // Sums of each chunk over the ranks: 10 + 10, 26 + 5, 19.
    let steps = [20.0, 231.0, 2329.0];
    for (rank, (echo, each, w)) in all.into_iter().enumerate() {
        assert_eq!(w, steps[2], "rank {rank} has the same weights as all others");
        assert_eq!(each, steps[..items[rank].div_ceil(4)], "rank {rank}");
        let greatest: Vec<f32> = (0..items[rank]).map(|item| (item + 1) as f32).collect();
        assert_eq!(echo, greatest, "rank {rank}: those who have no item do not count");
    }
}

#[test]
fn no_rank_needs_to_have_items() {
    let all = on(2, |world| {
        let mut w = [7.0];
        let mut train = Train::options(&world.device()?).world(world).build()?;
        let report = train.run(&[], &mut [], &mut [], &mut w)?;
        Ok((report.chunks, w[0]))
    });
    assert_eq!(all, [(0, 0.0); 2]);
}

stream_pipeline! {
    pipeline Gathers {
        input x: [f32];
        output y: [f32; world.size];
        chunk c = 4;
        stage all { copy x -> d; all_gather d -> e; copy e -> y; }
    }
}

#[test]
fn parts_of_items_need_the_same_number_on_all_ranks() {
    let all = on(2, |world| {
        let mut y = [0.0; 12];
        Gathers::options(&world.device()?).world(world).build()?.run(&[world.rank() as f32; 6], &mut y)?;
        Ok(y)
    });
    // Chunks of 4 and of 2, each with the items of rank 0 before those of rank 1.
    assert_eq!(all, [[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0]; 2]);
    for error in errors(2, |world| {
        let n = 6 - world.rank();
        Gathers::options(&world.device()?).world(world).build()?.run(&vec![0.0; n], &mut vec![0.0; 2 * n])
    }) {
        assert!(
            error.to_string().starts_with(
                "the ranks do not agree: `all_gather d -> e` needs as many items on each rank, but rank 0 has 6, \
                 and rank 1 has 5"
            ),
            "{error}"
        );
    }
}

/// The first item, for each element.
#[kernel]
fn spread(i: Index, d: &[f32], own: &mut Out<[f32]>) {
    let Some(own) = own.get_mut(i) else { return };
    *own = d[0];
}

/// Two more digits.
#[kernel]
#[requires(new.len() == seen.len())]
fn append(i: Index, new: &[f32], seen: &mut Own<[f32]>) {
    let Some(seen) = seen.get_mut(i) else { return };
    *seen = *seen * 100.0 + new[i];
}

stream_pipeline! {
    pipeline Parts {
        input x: [f32];
        carry sums: [f32; 2] = 0.0;
        carry all: [f32; world.size] = 0.0;
        carry given: [f32; 2] = 0.0;
        carry mixed: [f32; world.size] = 0.0;
        chunk c = 4;
        device own: [f32; 2 * world.size] per chunk;
        device one: [f32; 1] per chunk;
        device each: [f32; world.size] per chunk;
        device sum: [f32; 2] per chunk;
        device part: [f32; 2] per chunk;
        stage back {
            copy x -> d;
            spread<<<1, 32>>>(&d, out own);
            spread<<<1, 32>>>(&d, out one);
            spread<<<1, 32>>>(&d, out each);
        }
        stage share {
            reduce_scatter sum own -> sum;
            all_gather one -> gathered;
            scatter own -> part from world.size - 1;
            all_to_all each -> turned;
        }
        stage step {
            append<<<1, 32>>>(&sum, &mut sums);
            append<<<1, 32>>>(&gathered, &mut all);
            append<<<1, 32>>>(&part, &mut given);
            append<<<1, 32>>>(&turned, &mut mixed);
        }
    }
}

/// In a chunk of which a rank has no item, its part is what changes nothing, and not what an earlier chunk has left in
/// the ring.
#[test]
fn parts_of_ranks_without_items_are_zeros() {
    let all = on(2, |world| {
        let x: &[f32] = if world.rank() == 0 { &[1.0; 12] } else { &[2.0; 4] };
        let mut parts = Parts::options(&world.device()?).world(world).build()?;
        let mut of = || {
            let (mut sums, mut all, mut given, mut mixed) = ([0.0; 2], [0.0; 2], [0.0; 2], [0.0; 2]);
            parts.run(x, &mut sums, &mut all, &mut given, &mut mixed)?;
            Ok::<_, Error>([sums, all, given, mixed])
        };
        // Twice, so that each ring slot has been used before.
        of()?;
        of()
    });
    // Rank 1 has items in the first of three chunks only.
    let (both, first, second) = (30_101.0, 10_101.0, 20_000.0);
    for of_rank in all {
        assert_eq!(of_rank, [[both; 2], [first, second], [second; 2], [first, second]]);
    }
}

stream_pipeline! {
    pipeline Ends {
        input x: [f32];
        output y: [f32];
        chunk c = 16;
        stage all { copy x -> d; exchange d: halo 1 periodic; copy d -> y; }
    }
}

/// The ends of a chunk lie elsewhere on a rank with fewer items.
#[test]
fn an_exchange_of_items_needs_the_same_number_on_all_ranks() {
    let run = |world: &World, items: usize| {
        let x: Vec<f32> = (0..items).map(|item| (10 * world.rank() + item) as f32).collect();
        let mut y = vec![0.0; items];
        Ends::options(&world.device()?).world(world).build()?.run(&x, &mut y)?;
        Ok(y)
    };
    let all = on(2, |world| run(world, 4));
    assert_eq!(all, [[12.0, 1.0, 2.0, 11.0], [2.0, 11.0, 12.0, 1.0]]);
    for error in errors(2, |world| run(world, 7 - world.rank())) {
        let expected = "the ranks do not agree: `exchange d` needs as many items on each rank, but \
                        rank 0 has 7, and rank 1 has 6";
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    for error in errors(2, |world| run(world, 2)) {
        let expected = "`d` has 2 elements, but an exchange with a halo of 1 needs 3: 1 at each end for the \
                        neighbours, and as many of its own";
        assert!(error.to_string().contains(expected), "{error}");
    }
}

stream_pipeline! {
    pipeline Unshared {
        input x: [f32];
        output y: [f32];
        chunk c = 2;
        stage all { copy x -> d; add_to<<<blocks(c.len, 32), 32>>>(1.0, &mut d); copy d -> y; }
    }
}

/// A pipeline without collectives joins a world, too, and its ranks run side by side.
#[test]
fn a_pipeline_without_collectives_runs_in_a_world() {
    let all = on(2, |world| {
        let n = 3 + 2 * world.rank();
        let mut y = vec![0.0; n];
        let mut unshared = Unshared::options(&world.device()?).world(world).build()?;
        let report = unshared.run(&vec![1.0; n], &mut y)?;
        assert_eq!(report.chunks, n.div_ceil(2), "no rank waits for another one's chunks");
        // What is streamed has no chunk without items, either.
        let mut taken = Vec::new();
        unshared.run(source::iter(vec![1.0; n]), &mut y)?;
        unshared.run(&vec![1.0; n], sink::extend(&mut taken))?;
        assert_eq!(taken, y);
        Ok(y)
    });
    assert_eq!(all, [vec![2.0; 3], vec![2.0; 5]]);
}

stream_pipeline! {
    pipeline Streamed {
        input x: [f32];
        output y: [f32];
        output sums: [f64; 1] per chunk;
        chunk c = 4;
        device g: [f64; 1] per chunk;
        stage load { copy x -> d; thalweg_kernels::sum::<f32><<<1, 256>>>(&d, out g); }
        stage share { all_reduce sum g; }
        stage store { copy d -> y; copy g -> sums; }
    }
}

/// Sources and sinks of a rank have that rank's items alone.
#[test]
fn sources_and_sinks_of_ranks_differ_in_length() {
    for lengths in [[10_usize, 5, 0], [3, 9, 20]] {
        let all = on(3, |world| {
            let n = lengths[world.rank()];
            let (mut taken, mut sums) = (Vec::new(), vec![0.0; n.div_ceil(4)]);
            let mut y = vec![0.0; n];
            let mut streamed = Streamed::options(&world.device()?).world(world).build()?;
            streamed.run(source::iter((0..n).map(|n| n as f32)), &mut y, &mut sums)?;
            streamed.run(&y, sink::extend(&mut taken), &mut sums)?;
            assert_eq!(taken, y);
            Ok((y, sums))
        });
        for (rank, (y, sums)) in all.into_iter().enumerate() {
            assert_eq!(y, (0..lengths[rank]).map(|n| n as f32).collect::<Vec<_>>(), "rank {rank}");
            let of_chunk = |chunk: usize| -> f64 {
                let of = |n: &usize| (4 * chunk..(4 * chunk + 4).min(*n)).sum::<usize>();
                lengths.iter().map(of).sum::<usize>() as f64
            };
            let expected: Vec<f64> = (0..lengths[rank].div_ceil(4)).map(of_chunk).collect();
            assert_eq!(sums, expected, "rank {rank}");
        }
    }
}

#[test]
fn a_length_that_nobody_knows_cannot_be_agreed_on() {
    for error in errors(2, |world| {
        let (mut taken, mut sums) = (Vec::new(), Vec::new());
        let mut streamed = Streamed::options(&world.device()?).world(world).build()?;
        streamed.run(source::iter([1.0; 5]), sink::extend(&mut taken), sink::extend(&mut sums)).map(drop)
    }) {
        assert!(
            error.to_string().starts_with("the ranks of `Streamed` cannot agree on its chunks"),
            "{error}"
        );
    }
}

stream_pipeline! {
    pipeline InPlace {
        inout x: device [f32];
        chunk c = 4;
        stage all { all_reduce sum x; }
    }
}

/// An argument that is used where it lies has no room for items that other ranks have more.
#[test]
fn data_in_place_need_the_same_number_of_items() {
    let run = |world: &World, items: usize| {
        let device = world.device()?;
        let mut x = DeviceBuf::from_slice(&device, &vec![1.0; items])?;
        InPlace::options(&device).world(world).build()?.run(&mut x)?;
        x.to_vec()
    };
    assert_eq!(on(3, |world| run(world, 10)), [[3.0; 10]; 3]);
    for error in errors(3, |world| run(world, 10 - world.rank())) {
        let expected = "the ranks do not agree: `all_reduce sum x` needs as many items on each rank";
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}
