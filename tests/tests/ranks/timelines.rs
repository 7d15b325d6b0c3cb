//! What is seen of a run of ranks: plans, predictions, findings, and the timelines of all ranks as one.

use std::time::Duration;

use thalweg::prelude::*;
use thalweg::sim::{LinkModel, MachineModel, SimulatedMachine, ranks};
use thalweg::timeline::{Cause, Engine, Timeline};

use super::{add_to, gradient, on, sgd};

const WEIGHTS: usize = 1 << 16;
const STEPS: usize = 4;

stream_pipeline! {
    /// Steps of training two layers, whose gradients all ranks share.
    pipeline Train {
        input x: [f32; 4096];
        carry w1: [f32; WEIGHTS];
        carry w2: [f32; WEIGHTS];
        device g1: [f32; WEIGHTS] per chunk;
        device g2: [f32; WEIGHTS] per chunk;
        chunk c = 1;
        stream math;
        stream comm;
        stage load { copy x -> _dx; }
        stage begin on comm { if c.index == 0 { broadcast w1 from 0; broadcast w2 from 0; } }
        stage back2 on math { repeat 4 { gradient<<<blocks(WEIGHTS, 256), 256>>>(&w2, out g2); } }
        stage share2 on comm { all_reduce mean g2; }
        stage back1 on math { repeat 4 { gradient<<<blocks(WEIGHTS, 256), 256>>>(&w1, out g1); } }
        stage share1 on comm { all_reduce mean g1; }
        stage step on math {
            sgd<<<blocks(WEIGHTS, 256), 256>>>(&g2, &mut w2);
            sgd<<<blocks(WEIGHTS, 256), 256>>>(&g1, &mut w1);
        }
    }
}

stream_pipeline! {
    /// The same without anything that ranks do together.
    pipeline Alone {
        input x: [f32];
        output y: [f32];
        chunk c = 100;
        stage load { copy x -> d; }
        stage add { add_to<<<1, 128>>>(1.0, &mut d); }
        stage store { copy d -> y; }
    }
}

stream_pipeline! {
    pipeline Share {
        input x: [f32];
        output y: [f32];
        chunk c = 1;
        stage load { copy x -> d; }
        stage share { all_reduce sum d; }
        stage store { copy d -> y; }
    }
}

/// A machine of so many ranks, the links between which have this rate. `slow`: how many times slower rank 1 is.
fn machine(size: usize, rate: f64, slow: f64) -> MachineModel {
    let mut machine = MachineModel::h200(size);
    machine.links = LinkModel::mesh(size, rate, Duration::from_micros(3));
    machine.devices.iter_mut().for_each(|device| device.memory_rate /= 16.0);
    machine.devices.iter_mut().skip(1).take(1).for_each(|device| device.memory_rate /= slow);
    machine
}

/// A prediction and a profile of so many steps on this rank, and the timelines that rank 0 has of all.
struct Observed {
    predicted: Timeline,
    measured: Timeline,
    all: Option<[Timeline; 2]>,
}

fn observe(world: &World, steps: usize) -> thalweg::Result<Observed> {
    let mut train = Train::options(&world.device()?).world(world).build()?;
    let [mut w1, mut w2] = [(); 2].map(|()| vec![1.0; WEIGHTS]);
    let x = vec![0.0; 4096 * steps];
    let predicted = train.predict(&x, &mut w1, &mut w2)?;
    let measured = train.profile(&x, &mut w1, &mut w2)?;
    let both = [predicted.of_all_ranks(world)?, measured.of_all_ranks(world)?];
    let [predictions, measurements] = both;
    Ok(Observed { predicted, measured, all: predictions.zip(measurements).map(|(one, other)| [one, other]) })
}

/// The same on all ranks of a machine.
fn observed(machine: MachineModel, steps: impl Fn(&World) -> usize + Sync) -> Vec<Observed> {
    let all = ranks(SimulatedMachine::from(machine), |world| observe(world, steps(world)));
    all.into_iter().map(|one| one.unwrap_or_else(|error| panic!("{error}"))).collect()
}

/// What rank 0 has of all: predicted, and measured.
fn whole(observed: &[Observed]) -> &[Timeline; 2] {
    assert!(observed[1..].iter().all(|other| other.all.is_none()), "rank 0 alone has it");
    observed[0].all.as_ref().expect("rank 0 has it")
}

/// The begins and the ends of the collectives on a rank.
fn collectives(timeline: &Timeline, rank: usize) -> Vec<[Duration; 2]> {
    let of_rank = timeline.spans.iter().filter(|span| timeline.rows[span.row].rank == Some(rank));
    let network = of_rank.filter(|span| span.engine == Engine::Network);
    network.map(|span| [span.start, span.end]).collect()
}

#[test]
fn the_plan_and_its_explanation_name_collectives() {
    let plan = Train::PLAN.to_string();
    for line in ["    broadcast w1\n", "    all_reduce mean g2\n", "    all_reduce mean g1\n"] {
        assert!(plan.contains(line), "{plan}");
    }
    let explained = Train::PLAN.explain();
    for line in [
        "`all_reduce mean g2` waits for back2_done of this chunk",
        "    g2: it reads what `all_reduce mean g2` writes",
        "    w2: it reads what `broadcast w2` writes",
    ] {
        assert!(explained.contains(line), "{explained}");
    }
    assert!(Train::PLAN.mermaid().contains("all_reduce mean g1"));
    assert!(Train::PLAN.graphviz().contains("all_reduce mean g1"));
}

#[test]
fn collectives_are_at_the_same_time_on_all_ranks() {
    for size in [2, 4] {
        let observed = observed(machine(size, 20e9, 1.0), |_| STEPS);
        let [predicted, measured] = whole(&observed);
        for timeline in [predicted, measured] {
            assert_eq!(collectives(timeline, 0).len(), 2 + 2 * STEPS);
            for rank in 1..size {
                assert_eq!(collectives(timeline, rank), collectives(timeline, 0), "{size} ranks");
            }
        }
        assert_eq!(measured.report.items, size * STEPS);
        assert_eq!(measured.report.chunks, STEPS);
        // Virtual time is one and the same.
        for (rank, own) in observed.iter().enumerate() {
            let of_rank = measured.of_rank(rank).expect("it is one of them");
            assert_eq!(of_rank.spans, own.measured.spans);
            assert_eq!(of_rank.report, own.measured.report);
        }
        assert_eq!(measured.of_rank(size), None);
    }
}

/// Rank 1 is slow, and the others wait for it: they begin with a collective before, and end with it at once.
#[test]
fn ranks_that_wait_do_so_until_the_last_has_come() {
    let observed = observed(machine(3, 100e9, 8.0), |_| STEPS);
    let [_, measured] = whole(&observed);
    let [first, slow, other] = [0, 1, 2].map(|rank| collectives(measured, rank));
    let mut waits = Duration::ZERO;
    for ((first, slow), other) in first.iter().zip(&slow).zip(&other) {
        assert_eq!((first[1], other[1]), (slow[1], slow[1]), "{measured}");
        assert!(first[0] <= slow[0] && other[0] <= slow[0], "{measured}");
        waits += slow[0] - first[0];
    }
    assert!(waits > measured.time() / 4, "{measured}");
    // What is found of all is about the rank that is waited for.
    let found = measured.findings();
    let [waits, others @ ..] = &found[..] else { panic!("{found:?}") };
    assert_eq!(waits.cause, Cause::Ranks);
    assert!(waits.note.ends_with("in collectives for others to come, and rank 1 comes last"), "{waits}");
    assert!(others.iter().all(|finding| finding.note.starts_with("on rank 1, ")), "{found:?}");
}

#[test]
fn slow_links_are_found_and_predicted() {
    let observed = observed(machine(2, 2e9, 1.0), |_| 12);
    let [predicted, measured] = whole(&observed);
    for Observed { predicted, measured, .. } in &observed {
        let ratio = predicted.compare(measured).ratio();
        assert!((0.9..1.1).contains(&ratio), "{}", predicted.compare(measured));
        assert_eq!(measured.bottleneck(), Some(Engine::Network));
    }
    let ratio = predicted.compare(measured).ratio();
    assert!((0.9..1.1).contains(&ratio), "{}", predicted.compare(measured));
    let text = measured.to_string();
    assert!(text.contains("Train on 2 ranks (2 x simulated H200), measured, "), "{text}");
    assert!(text.contains("\nr1 busy: link up ") && text.contains(", network "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let plain = measured.trace();
    assert!(
        plain.contains("rank 1: Train on simulated H200, measured") && plain.contains("all_reduce mean g1")
    );
    assert!(measured.svg().contains(">r1 comm</text>"));
    assert!(measured.svg_with(predicted).contains("predicted"));
    assert!(measured.png().len() > 1000);
}

/// Nothing hides the last layer's sum.
#[test]
fn ranks_that_wait_for_links_are_found() {
    for Observed { measured, .. } in observed(machine(2, 20e9, 1.0), |_| 8) {
        let found = measured.findings();
        let ranks = found.iter().find(|finding| finding.cause == Cause::Ranks);
        let text = ranks.unwrap_or_else(|| panic!("{found:?}")).to_string();
        assert!(text.starts_with("streams wait for other ranks: "), "{text}");
        assert!(text.contains("nothing else is at work during `all_reduce mean g"), "{text}");
    }
}

#[test]
fn ranks_may_have_different_numbers_of_chunks() {
    let observed = observed(machine(3, 20e9, 1.0), |world| 3 * world.rank());
    let [_, measured] = whole(&observed);
    let ends = |rank| collectives(measured, rank).iter().map(|[_, end]| *end).collect::<Vec<_>>();
    assert_eq!(ends(0).len(), 2 + 2 * 6);
    assert_eq!((ends(0), ends(1)), (ends(2), ends(2)));
    assert_eq!((measured.report.items, measured.report.chunks), (9, 6));
    let loads = |rank: usize| {
        measured
            .spans
            .iter()
            .filter(move |span| (measured.rows[span.row].rank, measured.stage(span)) == (Some(rank), "load"))
    };
    assert_eq!([0, 1, 2].map(|rank| loads(rank).count()), [0, 3, 6]);
    let text = measured.to_string();
    assert!(text.contains("6 chunks of up to 1 item on each"), "{text}");
    assert!(text.contains("r2 load") && !text.contains("r0 load"), "{text}");
}

#[test]
fn a_world_of_one_has_its_own_timeline() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let own = Alone::new(&device)?.profile(&[1.0; 300], &mut [0.0; 300])?;
    let all = own.of_all_ranks(&World::alone())?.expect("it is rank 0");
    assert_eq!((&all.spans, &all.report), (&own.spans, &own.report));
    assert_eq!((all.rows[0].name.as_str(), all.rows[0].rank), ("r0 load", Some(0)));
    assert_eq!(all.of_rank(0), Some(own));
    assert!(all.trace().contains("\"rank 0: Alone on "));
    Ok(())
}

/// Without anything that ranks do together, and without a world: their runs count as begun at once.
#[test]
fn runs_without_collectives_are_drawn_together() {
    for joins in [true, false] {
        let all = on(2, |world| {
            let options = Alone::options(&world.device()?);
            let mut alone = if joins { options.world(world).build()? } else { options.build()? };
            let items = 100 * (1 + world.rank());
            let own = alone.profile(&vec![1.0; items], &mut vec![0.0; items])?;
            Ok((own.spans.clone(), own.of_all_ranks(world)?))
        });
        let whole = all[0].1.as_ref().expect("rank 0 has it");
        for (rank, (spans, _)) in all.iter().enumerate() {
            let of_rank = |row: usize| whole.rows[row].rank == Some(rank);
            let starts = whole.spans.iter().filter(|span| of_rank(span.row)).map(|span| span.start);
            assert!(starts.eq(spans.iter().map(|span| span.start)), "rank {rank}");
        }
    }
}

fn profile_alone(world: &World) -> thalweg::Result<Timeline> {
    Alone::options(&world.device()?).world(world).build()?.profile(&[1.0; 300], &mut [0.0; 300])
}

/// Every rank is told who gives what, and the world goes on.
#[test]
fn timelines_that_do_not_belong_together_are_refused() {
    type Given = fn(&World) -> thalweg::Result<(Timeline, Option<World>)>;
    let cases: [(Given, &str); 5] = [
        (
            |world| {
                let alone = profile_alone(world)?;
                let train = observe(world, 1)?.measured;
                Ok((if world.rank() == 1 { alone } else { train }, None))
            },
            "rank 0 gives the timeline of `Train`, and rank 1 of `Alone`",
        ),
        (
            |world| {
                let mut alone = Alone::options(&world.device()?).world(world).build()?;
                let mut profile = || alone.profile(&[1.0; 300], &mut [0.0; 300]);
                let runs = [profile()?, profile()?];
                let [first, second] = runs;
                Ok((if world.rank() == 1 { second } else { first }, None))
            },
            "rank 0 gives the timeline of run 1 of `Alone`, and rank 1 of run 2 of `Alone`",
        ),
        (
            |world| {
                let [first, second] = [profile_alone(world)?, profile_alone(world)?];
                Ok((if world.rank() == 1 { second } else { first }, None))
            },
            "rank 0 gives the timeline of run 1 of `Alone`, and rank 1 of a run of another one with this number",
        ),
        (
            |world| {
                let Observed { predicted, measured, .. } = observe(world, 1)?;
                Ok((if world.rank() == 1 { predicted } else { measured }, None))
            },
            "rank 0 gives the timeline of run 1 of `Train`, and rank 1 of a prediction of `Train`",
        ),
        (
            |world| {
                let half = world.split(Some(0))?.expect("it has a colour");
                let timeline = profile_alone(&half)?;
                Ok((timeline, Some(half)))
            },
            "the timeline of rank 0 is of a run in another world: ask that one",
        ),
    ];
    for (given, expected) in cases {
        let all = on(2, |world| {
            let (timeline, half) = given(world)?;
            let error = timeline.of_all_ranks(world).expect_err("they do not belong together");
            assert!(matches!(error.kind(), ErrorKind::Ranks(_)), "{error}");
            world.barrier()?;
            if let Some(half) = half {
                timeline.of_all_ranks(&half)?;
            }
            Ok(error.to_string())
        });
        assert!(all.iter().all(|text| text.contains(expected)), "{all:?}");
    }
}

#[test]
fn a_rank_that_does_something_else_is_told_of() {
    let all = super::errors(3, |world| {
        let timeline = profile_alone(world)?;
        if world.rank() == 1 {
            return world.barrier();
        }
        timeline.of_all_ranks(world).map(drop)
    });
    for error in &all {
        let text = error.to_string();
        assert!(text.contains("rank 1") && text.contains("the timelines of all ranks"), "{text}");
    }
    let all = ranks(MachineModel::h200(2), |world| {
        let timeline = profile_alone(world)?;
        if world.rank() == 1 { Ok(()) } else { timeline.of_all_ranks(world).map(drop) }
    });
    let text = all[0].as_ref().expect_err("rank 1 has left").to_string();
    assert!(text.contains("rank 1") && text.contains("has left the world"), "{text}");
}

/// More than ranks send at once, between processes.
#[cfg(unix)]
pub(crate) fn long(world: &World) -> thalweg::Result<String> {
    const ITEMS: usize = 6000;
    let mut share = Share::options(&world.device()?).world(world).profile_share(1.0).build()?;
    let own = share.profile(&[1.0; ITEMS], &mut [0.0; ITEMS])?;
    // A run in between changes nothing.
    share.run(&[1.0; 3], &mut [0.0; 3])?;
    let Some(all) = own.of_all_ranks(world)? else { return Ok("another rank".to_owned()) };
    let first = all.of_rank(0).expect("it is one of them");
    assert_eq!(first.spans, own.spans);
    let rows: Vec<_> = all.rows.iter().map(|row| row.name.as_str()).collect();
    let sums = all.spans.iter().filter(|span| span.engine == Engine::Network);
    Ok(format!("{} and {} spans of sums", rows.join(", "), sums.count()))
}

/// A rank dies in place of giving its timeline.
#[cfg(unix)]
pub(crate) fn dies(world: &World) -> thalweg::Result<String> {
    let own = profile_alone(world)?;
    if world.rank() == 1 {
        std::process::exit(0);
    }
    own.of_all_ranks(world).map(|_| "there is no rank 1".to_owned())
}

#[cfg(unix)]
#[test]
fn processes_send_long_timelines() {
    let results = super::processes::launch(3, "long timelines", "sim").results();
    let rows = (0..3).map(|rank| ["load", "share", "store"].map(|row| format!("r{rank} {row}")).join(", "));
    let rows: Vec<_> = rows.collect();
    assert_eq!(results[0], format!("{} and 18000 spans of sums", rows.join(", ")));
    assert_eq!(results[1..], ["another rank"; 2]);
}

#[cfg(unix)]
#[test]
fn a_rank_that_dies_has_no_timeline() {
    let mut launched = super::processes::launch(3, "dies before its timeline", "sim");
    launched.ranks.remove(1).wait().expect("it ends");
    for rank in launched.ranks {
        let (code, said) = thalweg_tests::launcher::ended(rank, Duration::from_secs(20));
        assert!(code == Some(7) && said.contains("rank 1") && said.contains("has died"), "{code:?}\n{said}");
    }
}

#[test]
fn what_is_of_all_ranks_or_of_another_world_is_refused() {
    let all = on(2, |world| {
        let mut share = Share::options(&world.device()?).world(world).build()?;
        let own = share.profile(&[1.0; 4], &mut [0.0; 4])?;
        let alone = own.of_all_ranks(&World::alone()).expect_err("it is of a run in a world of two");
        let again = own.of_all_ranks(world)?.unwrap_or(own);
        let again = again.of_all_ranks(world).expect_err("it is of both");
        Ok([alone, again].map(|error| error.to_string().lines().next().unwrap_or_default().to_owned()))
    });
    for (rank, [alone, again]) in all.into_iter().enumerate() {
        let expected = "the ranks do not agree: the timeline of rank 0 is of";
        assert_eq!(alone, format!("{expected} a run in another world: ask that one"), "rank {rank}");
        assert_eq!(again, format!("{expected} all ranks already"), "rank {rank}");
    }
}
