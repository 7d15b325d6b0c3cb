//! What ranks agree on before each run, and what each of them is told when they do not.

use thalweg::prelude::*;

use super::{errors, on};

stream_pipeline! {
    pipeline Share {
        uniform param rate: f32;
        uniform param steps: u32;
        input x: [f32];
        carry g: [f32; 4] = 0.0;
        chunk c = auto;
        stage all { copy x -> _d; repeat steps { all_reduce sum g; } fill g = rate; }
    }
}

stream_pipeline! {
    pipeline Other {
        input x: [f32];
        carry g: [f32; 4] = 0.0;
        stage all { copy x -> _d; all_reduce max g; }
    }
}

/// The first line of the error of each of two ranks.
fn refused(program: impl Fn(&World) -> thalweg::Result<()> + Sync) -> String {
    let errors = errors(2, program);
    let lines: Vec<String> =
        errors.iter().map(|error| error.to_string().lines().next().unwrap_or_default().to_owned()).collect();
    assert_eq!(lines[0], lines[1], "both are told the same");
    assert!(errors.iter().all(|error| matches!(error.kind(), ErrorKind::Ranks(_))), "{errors:?}");
    lines[0].clone()
}

fn share(world: &World) -> thalweg::Result<Share> {
    Share::options(&world.device()?).world(world).build()
}

#[test]
fn parameters_that_are_uniform_are_compared() {
    let said =
        refused(|world| share(world)?.run(0.5, 1 + world.rank() as u32, &[1.0; 4], &mut [0.0; 4]).map(drop));
    assert_eq!(
        said,
        "the ranks do not agree: the `uniform param steps` differs: it is 1 on rank 0, and 2 on rank 1"
    );
}

#[test]
fn chunks_are_compared_or_rank_0_chooses_them() {
    let said = refused(|world| {
        let options = Share::options(&world.device()?).world(world).chunk(10 + world.rank());
        options.build()?.run(0.5, 1, &[1.0; 40], &mut [0.0; 4]).map(drop)
    });
    assert_eq!(
        said,
        "the ranks do not agree: the chunks differ: rank 0 has `chunk = 10`, and rank 1 `chunk = 11`"
    );
    let all = on(2, |world| {
        let items = 1_000_000 * (1 + world.rank());
        let report = share(world)?.run(0.5, 1, &vec![1.0; items], &mut [0.0; 4])?;
        Ok((report.chunk, report.chunks))
    });
    assert_eq!(all[0], all[1]);
}

#[test]
fn another_pipeline_is_noticed_when_it_is_built() {
    let said = refused(|world| match world.rank() {
        0 => share(world).map(drop),
        _ => Other::options(&world.device()?).world(world).build().map(drop),
    });
    assert_eq!(said, "rank 0 has come to `the building of `Share``, and rank 1 to `the building of `Other``");
}

#[test]
fn another_order_of_runs_is_noticed() {
    let said = refused(|world| {
        let (mut share, mut other) = (share(world)?, Other::options(&world.device()?).world(world).build()?);
        if world.rank() == 1 {
            other.run(&[1.0; 4], &mut [0.0; 4])?;
        }
        share.run(0.5, 1, &[1.0; 4], &mut [0.0; 4]).map(drop)
    });
    assert_eq!(said, "rank 0 has come to `run 1 of `Share``, and rank 1 to `run 1 of `Other``");
}

/// A rank whose arguments do not fit has its own error, and the others are told.
#[test]
fn a_rank_that_does_not_begin_tells_the_others() {
    let all = errors(3, |world| {
        let mut share = share(world)?;
        let g: &mut [f32] = if world.rank() == 1 { &mut [0.0; 3] } else { &mut [0.0; 4] };
        share.run(0.5, 1, &[1.0; 4], g).map(drop)
    });
    assert!(matches!(all[1].kind(), ErrorKind::Shape(_)), "{}", all[1]);
    for rank in [0, 2] {
        let text = all[rank].to_string();
        let expected =
            "the ranks do not agree: rank 1 does not begin run 1 of `Share`: its arguments are refused";
        assert!(text.starts_with(expected), "{text}");
    }
}

/// Afterwards the world still works: nothing had begun.
#[test]
fn a_run_that_has_not_begun_breaks_nothing() {
    let all = on(2, |world| {
        let mut share = share(world)?;
        let refused = share.run(world.rank() as f32, 1, &[1.0; 4], &mut [0.0; 4]);
        assert!(refused.is_err());
        let mut g = [0.0; 4];
        share.run(2.0, 1, &[1.0; 4], &mut g)?;
        Ok(g)
    });
    assert_eq!(all, [[2.0; 4]; 2]);
}

/// The run that a rank has refused counts on all ranks.
#[test]
fn a_rank_that_has_not_begun_comes_to_the_next_run() {
    let all = on(3, |world| {
        let mut share = share(world)?;
        for _ in 0..2 {
            let g: &mut [f32] = if world.rank() == 1 { &mut [0.0; 3] } else { &mut [0.0; 4] };
            assert!(share.run(0.5, 1, &[1.0; 4], g).is_err());
        }
        let mut g = [0.0; 4];
        share.run(2.0, 1, &[1.0; 4], &mut g)?;
        Ok(g)
    });
    assert_eq!(all, [[2.0; 4]; 3]);
}

#[test]
fn a_rank_that_leaves_is_missed() {
    let all = super::ranks(super::MachineModel::h200(2), |world| match world.rank() {
        0 => share(world)?.run(0.5, 1, &[1.0; 4], &mut [0.0; 4]).map(drop),
        _ => Ok(()),
    });
    let error = all[0].as_ref().unwrap_err().to_string();
    assert!(error.contains("rank 1") && error.contains("has left the world"), "{error}");
}

#[test]
fn a_rank_has_one_device_and_its_own() {
    let all = errors(2, |world| {
        let devices = [world.device()?, Device::simulated(Simulation::default())];
        Share::options(&devices).world(world).build().map(drop)
    });
    assert!(all[0].to_string().starts_with("a rank has one device, but this pipeline has 2"), "{}", all[0]);
}
