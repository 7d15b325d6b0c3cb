//! Ranks that fail while others wait for them, and ranks that would wait for ever.

use thalweg::prelude::*;
use thalweg::sim::{Effect, Fault};

use super::{add_to, errors};

stream_pipeline! {
    pipeline Share {
        input x: [f32];
        output y: [f32];
        chunk c = 2;
        stream up;
        stream net;
        stage load on up { copy x -> d; add_to<<<1, 32>>>(1.0, &mut d); }
        stage share on net { all_reduce sum d; }
        stage store on up { copy d -> y; }
    }
}

fn run(world: &World, fault: Option<Fault>) -> thalweg::Result<()> {
    let device = world.device()?;
    let mut share = Share::options(&device).world(world).build()?;
    if let Some(fault) = fault {
        device.inject(fault)?;
    }
    share.run(&[1.0; 10], &mut [0.0; 10]).map(drop)
}

/// Whatever fails on one rank, in whichever chunk: the others end with an error that says who.
#[test]
fn a_failure_of_one_rank_ends_all() {
    for (stage, effect) in [
        ("load", Effect::Fails),
        ("load", Effect::Refused),
        ("load", Effect::Lost),
        ("share", Effect::Fails),
        ("share", Effect::Refused),
        ("share", Effect::Lost),
        ("store", Effect::Lost),
        ("store", Effect::Fails),
    ] {
        // What fails after a rank's last part is no loss to the others.
        let last = if stage == "store" { 3 } else { 4 };
        for chunk in [0, 2, last] {
            let all = errors(3, |world| {
                let fault = Fault::at(&Share::PLAN, stage, chunk, effect)?;
                run(world, (world.rank() == 1).then_some(fault))
            });
            let what = format!("{stage} {effect:?} in chunk {chunk}");
            assert!(!matches!(all[1].kind(), ErrorKind::Ranks(_)), "{what}: {}", all[1]);
            for rank in [0, 2] {
                let text = all[rank].to_string();
                let ErrorKind::Ranks(ranks) = all[rank].kind() else { panic!("{what}: {text}") };
                assert_eq!(ranks.ranks(), [1], "{what}: {text}");
                assert!(text.contains("rank 1"), "{what}: {text}");
            }
        }
    }
}

/// A rank that leaves a collective out stands for a program that the macro would not have let through.
fn omitted(chunk: u64) -> Vec<thalweg::Result<()>> {
    super::ranks(super::MachineModel::h200(2), |world| {
        let fault = Fault::at(&Share::PLAN, "share", chunk, Effect::Omitted)?;
        run(world, (world.rank() == 1).then_some(fault))
    })
}

#[test]
fn ranks_that_wait_for_ever_are_told_who_waits_for_whom() {
    let all = omitted(4);
    assert!(all[1].is_ok(), "it has come to all others");
    let text = all[0].as_ref().unwrap_err().to_string();
    assert!(
        text.starts_with(
            "the ranks wait for each other for ever\n  \
             rank 0 waits in `all_reduce sum d` of 2 f32 of chunk 4, at line 16\n  \
             rank 1 does not come"
        ),
        "{text}"
    );
}

/// On a GPU the next one would take its place.
#[test]
fn ranks_in_different_chunks_are_told() {
    for error in omitted(1).into_iter().map(Result::unwrap_err) {
        let text = error.to_string();
        let expected = "rank 0 is in `all_reduce sum d` of 2 f32 of chunk 1, and rank 1 in that of chunk 2";
        assert!(text.starts_with(expected), "{text}");
    }
}

/// What a broken world is asked for is refused, with the reason.
#[test]
fn a_world_that_is_broken_stays_broken() {
    let all = errors(2, |world| {
        let fault = Fault::at(&Share::PLAN, "load", 1, Effect::Fails)?;
        let first = run(world, (world.rank() == 1).then_some(fault));
        assert!(first.is_err());
        run(world, None)
    });
    for error in all {
        assert!(error.to_string().contains("rank 1"), "{error}");
    }
}

/// A panic of a rank ends the others, and then the program.
#[test]
fn a_panic_of_a_rank_ends_the_others() {
    let texts = std::sync::Mutex::new(Vec::new());
    let panic = std::panic::catch_unwind(|| {
        super::ranks(super::MachineModel::h200(2), |world| {
            assert!(world.rank() == 0, "rank 1 gives up");
            texts.lock().unwrap().push(run(world, None).unwrap_err().to_string());
        })
    });
    assert!(panic.is_err());
    let texts = texts.into_inner().unwrap();
    assert!(texts[0].contains("rank 1") && texts[0].contains("has panicked"), "{texts:?}");
}
