//! Tests of a depth that each run chooses.

use std::sync::Arc;

use crate::base::error::{Detail, Result};
use crate::engine::staging::Staging;
use crate::engine::tests::{Call, Fault, Faulty, LEN, Mode, OF_THE_CALL, OUT_OF_MEMORY, RESULT, X, Y, saxpy};
use crate::prelude::*;

stream_pipeline! {
    #![crate = crate]
    pipeline Auto {
        input x: [f32];
        inout y: [f32];
        chunk c = 2;
        stream copies; stream kernels per slot;
        stage load on copies { copy x -> dx; copy y -> dy; }
        stage work on kernels { saxpy<<<1, 4>>>(c.len as u32, 2.0, &dx, &mut dy); }
        stage store on copies { copy dy -> y; }
    }
}

/// Runs with both arguments pageable, with one, and with none, on a device that the host polls, and returns
/// the depths.
fn run(device: &Device, graph: bool) -> Result<[usize; 5]> {
    let x = PinnedBuf::from_slice(device, &X)?;
    let options = Auto::options(device);
    let mut pipeline = if graph { options.graph() } else { options }.build()?;
    let mut run = |x_pinned: bool, y_pinned: bool| -> Result<usize> {
        let mut in_pinned = PinnedBuf::from_slice(device, &Y)?;
        let mut y = Y;
        let report = match (x_pinned, y_pinned) {
            (true, true) => pipeline.run(&x, &mut in_pinned),
            (true, false) => pipeline.run(&x, &mut y),
            (false, true) => pipeline.run(&X, &mut in_pinned),
            (false, false) => pipeline.run(&X, &mut y),
        }?;
        assert_eq!(if y_pinned { &in_pinned[..] } else { &y[..] }, [RESULT; LEN]);
        Ok(report.depth)
    };
    Ok([run(true, true)?, run(false, false)?, run(true, true)?, run(false, true)?, run(true, false)?])
}

/// One stream for all slots, and one for each: seven slots use as many streams as the hardware has queues.
#[test]
fn what_is_staged_has_more_slots() {
    for graph in [false, true] {
        for (polls, depths) in [(true, [3, 7, 3, 7, 7]), (false, [3; 5])] {
            let fault = Fault { call: Call::Fill, nth: 0, mode: Mode::Refused, code: OF_THE_CALL };
            let device = Device::with_driver(Arc::new(Faulty::new(fault).polled(polls)));
            assert_eq!(run(&device, graph).unwrap(), depths);
        }
    }
}

/// The same in a run that needs more slots than the one before.
#[test]
fn what_slots_need_cannot_be_had() {
    let calls = [Call::CreateStream, Call::CreateEvent, Call::Allocate, Call::AllocatePinned];
    for call in calls {
        for nth in 0.. {
            let code = if matches!(call, Call::Allocate | Call::AllocatePinned) {
                OUT_OF_MEMORY
            } else {
                OF_THE_CALL
            };
            let driver = Arc::new(Faulty::new(Fault { call, nth, mode: Mode::Refused, code }).polled(true));
            let device = Device::with_driver(driver.clone());
            let mut pipeline = Auto::new(&device);
            for _ in 0..2 {
                let mut y = Y;
                let done = pipeline.as_mut().map(|pipeline| pipeline.run(&X, &mut y));
                match done {
                    Ok(Ok(report)) => assert_eq!((report.depth, y), (7, [RESULT; LEN])),
                    Ok(Err(error)) => assert_eq!((error.place().pipeline, y), (Some("Auto"), Y)),
                    Err(_) => {}
                }
            }
            drop(pipeline);
            let state = driver.state();
            assert_eq!((&state.refused[..], state.live()), (&[][..], 0), "{call:?} {nth}");
            if state.failed.is_none() {
                assert!(nth > 0, "{call:?}");
                break;
            }
        }
    }
}

/// A device that the host polls.
fn polled() -> (Arc<Faulty>, Device) {
    let fault = Fault { call: Call::Fill, nth: 0, mode: Mode::Refused, code: OF_THE_CALL };
    let driver = Arc::new(Faulty::new(fault).polled(true));
    (driver.clone(), Device::with_driver(driver))
}

/// A run may use fewer slots than there are.
#[test]
fn what_is_read_ahead_is_for_the_slots_of_the_run() {
    let (_driver, device) = polled();
    let mut staging = Staging::default();
    let data = [7_u8; 4];
    for slots in [5, 2, 3] {
        staging.reset();
        staging.reserve(&device, &[Some(4)], slots, |_| "x").unwrap();
        for chunk in 0..slots {
            let (next, slot) = staging.ahead(0).unwrap().unwrap();
            assert_eq!(next, chunk);
            // SAFETY: both have four bytes, and the copy is waited for below.
            unsafe { slot.fill(chunk, data.as_ptr(), 4) };
            staging.has_read(0, chunk + 1);
            assert!(staging.slot(0, chunk).unwrap().has(chunk));
        }
        assert!(staging.ahead(0).unwrap().is_none(), "{slots} slots are full");
        staging.finish();
    }
}

stream_pipeline! {
    #![crate = crate]
    pipeline Sizes {
        param n: usize;
        input x: [f32];
        output y: [f32];
        chunk c = n;
        stage load { copy x -> dx; }
        stage work { copy dx -> dy; }
        stage store { copy dy -> y; }
    }
}

/// Runs with many small chunks and runs with fewer large ones, in turn.
#[test]
fn slots_of_all_sizes_are_kept() {
    let (driver, device) = polled();
    let mut pipeline = Sizes::new(&device).unwrap();
    let mut counts = Vec::new();
    for chunk in [1, 2, 4, 1, 2, 4, 2, 1] {
        let mut y = [0.0; LEN];
        let report = pipeline.run(chunk, &X, &mut y).unwrap();
        assert_eq!((report.depth, y), (LEN.div_ceil(chunk), X));
        counts.push(driver.state().count(Call::AllocatePinned));
    }
    assert_eq!(counts[2..], [counts[2]; 6]);
}

stream_pipeline! {
    #![crate = crate]
    pipeline Placed {
        input x: [f32];
        inout y: [f32];
        chunk c = 2;
        stage load { copy x -> dx; copy y -> dy; }
        stage work { saxpy<<<1, 4>>>(c.len as u32, 2.0, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

/// The streams that a run with staging has for its slots do not count in a run without staging.
#[test]
fn a_run_of_few_slots_may_have_a_stream_for_each() {
    let (_driver, device) = polled();
    let mut pipeline = Placed::new(&device).unwrap();
    let x = PinnedBuf::from_slice(&device, &X).unwrap();
    let run = |pipeline: &mut Placed| {
        let mut y = PinnedBuf::from_slice(&device, &Y).unwrap();
        // This holds whatever the runs have shown.
        pipeline.pipeline.first().spread.learn(true);
        let report = pipeline.run(&x, &mut y).unwrap();
        assert_eq!(y[..], [RESULT; LEN]);
        (report.depth, report.stream_per_slot)
    };
    let first = run(&mut pipeline);
    assert_eq!(first, (3, true));
    let mut y = Y;
    let report = pipeline.run(&X, &mut y).unwrap();
    assert_eq!((report.depth, report.stream_per_slot, y), (9, false, [RESULT; LEN]));
    assert_eq!(run(&mut pipeline), first);
}

/// Slots that the run does not need do not stand in the way of those that it needs.
#[test]
fn slots_that_are_not_used_go_where_memory_is_short() {
    let spec = Simulation::default().with_pinned_memory(4096);
    let device = Device::simulated(spec);
    let mut staging = Staging::default();
    for (bytes, slots) in [(256, 16), (1024, 3), (2048, 2), (256, 16), (4096, 1)] {
        staging.reset();
        staging.reserve(&device, &[Some(bytes)], slots, |_| "x").unwrap();
        assert!((bytes * slots..=4096).contains(&staging.held()), "{slots} of {bytes}: {staging:?}");
        assert!((0..slots).all(|slot| staging.slot(0, slot).unwrap().bytes() >= bytes));
    }
    let error = staging.reserve(&device, &[Some(4097)], 1, |_| "x").unwrap_err();
    assert!(matches!(error.detail(), Detail::OutOfPinnedMemory { requested: 4097, .. }), "{error}");
}

/// A run of one chunk of which not even one slot fits.
#[test]
fn a_budget_too_small_for_one_slot_says_so() {
    let (_driver, polled) = polled();
    for device in [polled, Device::simulated(Simulation::default())] {
        let mut pipeline = Sizes::options(&device).budget(1000).build().unwrap();
        for items in [LEN, 1] {
            let mut y = [0.0; LEN];
            pipeline.run(LEN * 10, &X[..items], &mut y[..items]).unwrap();
            assert_eq!(y[..items], X[..items]);
            let mut small = Sizes::options(&device).budget(100).build().unwrap();
            let error = small.run(LEN * 10, &X[..items], &mut y[..items]).unwrap_err();
            assert!(matches!(error.detail(), Detail::Budget { slots: 1, needed: 512, .. }), "{error}");
        }
    }
}
