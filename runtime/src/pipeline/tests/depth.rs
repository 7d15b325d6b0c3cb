//! A depth that each run chooses.

use std::sync::Arc;

use super::{Call, Fault, Faulty, LEN, Mode, OF_THE_CALL, OUT_OF_MEMORY, RESULT, X, Y, saxpy};
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

/// Runs with both arguments pageable, with one, and with none, on a device that the host polls: the depths.
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

/// One stream for all slots and one for each: with seven there are as many as the hardware has queues.
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

/// Of a run that needs more slots than the one before, too.
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
