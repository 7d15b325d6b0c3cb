//! User functions, and arguments that are used in place, on a driver with one failing call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::base::error::{Detail, Result};
use crate::engine::tests::{
    Call, Fault, Faulty, KEPT, LEN, Mode, OF_THE_CALL, OF_THE_DEVICE, OUT_OF_MEMORY, saxpy,
};
use crate::prelude::*;

fn add_middle(queue: &Enqueue<'_>, x: DeviceSlice<'_, f32>, m: DeviceSliceMut<'_, f32>) -> Result<()> {
    queue.simulate((x, m), |(x, m)| m.iter_mut().zip(&x[1..]).for_each(|(m, x)| *m += x))
}

fn double(h: &mut [f32]) {
    h.iter_mut().for_each(|h| *h *= 2.0);
}

stream_pipeline! {
    #![crate = crate]
    /// All work that no graph holds, between work that graphs hold.
    pipeline Mixed {
        param called: Arc<AtomicUsize>;
        input x: [f32] halo 1 = clamp;
        input scale: device [f32];
        inout m: mapped [f32];
        output z: device [f32];
        inout y: [f32];
        host h: [f32];
        chunk c = 4;
        depth = 2;
        stage load { copy x -> dx; copy y -> dy; }
        stage work { saxpy<<<1, 4>>>(c.len as u32, 2.0, &scale, &mut dy); call add_middle(&dx, &mut m); }
        stage cpu { copy dy -> h; host double(&mut h); host double(&mut m); copy h -> dh; }
        stage store { copy dh -> y; copy dh -> z; then |_c| { called.fetch_add(1, Ordering::Relaxed); }; }
    }
}

/// Everything for one run.
struct Setup {
    pipeline: Mixed,
    x: PinnedBuf<f32>,
    scale: DeviceBuf<f32>,
    m: PinnedBuf<f32>,
    z: DeviceBuf<f32>,
    y: PinnedBuf<f32>,
    pageable: [f32; LEN],
    called: Arc<AtomicUsize>,
    case: Case,
}

#[derive(Debug, Clone, Copy)]
struct Case {
    graph: bool,
    pinned: bool,
}

const CASES: [Case; 4] = [
    Case { graph: false, pinned: false },
    Case { graph: false, pinned: true },
    Case { graph: true, pinned: false },
    Case { graph: true, pinned: true },
];

impl Setup {
    fn new(device: &Device, case: Case) -> Result<Self> {
        let options = Mixed::options(device);
        Ok(Self {
            pipeline: if case.graph { options.graph() } else { options }.build()?,
            x: PinnedBuf::from_slice(device, &[1.0; LEN])?,
            scale: DeviceBuf::from_slice(device, &[1.0; LEN])?,
            m: PinnedBuf::zeroed(device, LEN)?,
            z: DeviceBuf::zeroed(device, LEN)?,
            y: PinnedBuf::zeroed(device, LEN)?,
            pageable: [0.0; LEN],
            called: Arc::default(),
            case,
        })
    }

    fn run(&mut self) -> Result<Report> {
        let Self { pipeline, x, scale, m, z, y, pageable, called, case } = self;
        m.fill(0.0);
        called.store(0, Ordering::Relaxed);
        let called = Arc::clone(called);
        if case.pinned {
            y.fill(3.0);
            pipeline.run(called, &*x, &*scale, m, z, y)
        } else {
            *pageable = [3.0; LEN];
            pipeline.run(called, &x.to_vec(), &*scale, m, z, pageable)
        }
    }

    fn y(&self) -> &[f32] {
        if self.case.pinned { &self.y } else { &self.pageable }
    }

    /// Checks that everything is as after a run without failure.
    fn is_done(&self, fault: Fault) {
        assert_eq!(self.y(), [10.0; LEN], "{fault:?}");
        assert_eq!(self.m[..], [2.0; LEN], "{fault:?}");
        // This copy may fail.
        assert!(self.z.to_vec().map_or(true, |z| z == [10.0; LEN]), "{fault:?}");
        assert_eq!(self.called.load(Ordering::Relaxed), LEN.div_ceil(4), "{fault:?}");
    }

    /// Checks the error's statement about `y`.
    fn is_complete(&self, error: &Error) {
        for complete in error.complete() {
            assert_eq!((complete.host, complete.items), ("y", LEN.min(4 * complete.chunks as usize)));
            assert!(self.y().iter().take(complete.items).all(|&y| y == 10.0), "{error}: {:?}", self.y());
        }
    }
}

const CALLS: [Call; 19] = [
    Call::Allocate,
    Call::AllocatePinned,
    Call::CreateStream,
    Call::CreateEvent,
    Call::Load,
    Call::CopyToDevice,
    Call::CopyToHost,
    Call::CopyOnDevice,
    Call::Fill,
    Call::Launch,
    Call::Host,
    Call::Signal,
    Call::Record,
    Call::Wait,
    Call::SynchronizeEvent,
    Call::SynchronizeStream,
    Call::BuildGraph,
    Call::UpdateGraph,
    Call::LaunchGraph,
];

/// Runs `check` for every call that building and running the pipeline makes, each failing in one way, and
/// counts them.
fn every_call(mode: Mode, code: u32, check: impl Fn(&Faulty, &Device, Fault, Case)) -> usize {
    let mut faults = 0;
    for (call, case) in CALLS.iter().flat_map(|&call| CASES.map(|case| (call, case))) {
        for nth in 0.. {
            let fault = Fault { call, nth, mode, code };
            let driver = Arc::new(Faulty::new(fault));
            let device = Device::with_driver(driver.clone());
            check(&driver, &device, fault, case);
            let failed = driver.state().failed.is_some();
            if mode == Mode::Lost {
                KEPT.lock().unwrap().push(device);
            }
            if !failed {
                let always = [Call::Host, Call::Signal, Call::Launch, Call::SynchronizeStream];
                assert!(nth > 0 || !always.contains(&call), "{call:?} is never called with {case:?}");
                break;
            }
            faults += 1;
        }
    }
    faults
}

#[test]
fn a_device_that_can_be_waited_for_is_as_good_as_new() {
    let ways = [
        (Mode::Refused, OF_THE_CALL),
        (Mode::Done, OF_THE_CALL),
        (Mode::Refused, OF_THE_DEVICE),
        (Mode::Done, OF_THE_DEVICE),
        (Mode::Refused, OUT_OF_MEMORY),
    ];
    for (mode, code) in ways {
        let faults = every_call(mode, code, |driver, device, fault, case| {
            if let Ok(mut setup) = Setup::new(device, case) {
                let result = setup.run();
                let failed = driver.state().failed.is_some();
                assert_eq!(result.is_err(), failed, "{fault:?} {case:?}");
                match result {
                    Ok(_) => setup.is_done(fault),
                    Err(error) => {
                        setup.is_complete(&error);
                        assert!(setup.called.load(Ordering::Relaxed) <= LEN.div_ceil(4), "{fault:?}");
                        setup.run().unwrap_or_else(|error| panic!("{fault:?} {case:?}: {error}"));
                        setup.is_done(fault);
                    }
                }
                assert_eq!(Arc::strong_count(&setup.called), 1, "{fault:?}: a callback is left");
            }
            let state = driver.state();
            assert_eq!((&state.refused[..], state.live()), (&[][..], 0), "{fault:?} {case:?}");
        });
        assert!(faults > 400, "{faults} faults");
    }
}

/// Memory that is used in place is given up with the rest, and never freed.
#[test]
fn a_lost_device_keeps_what_is_used_in_place() {
    let faults = every_call(Mode::Lost, OF_THE_DEVICE, |driver, device, fault, case| {
        let Ok(mut setup) = Setup::new(device, case) else { return };
        let Err(error) = setup.run() else {
            assert!(driver.state().failed.is_none(), "{fault:?}");
            return setup.is_done(fault);
        };
        let poisoned = setup.pipeline.pipeline.first().poisoned;
        let arguments = [
            setup.scale.is_poisoned(),
            setup.m.is_poisoned(),
            setup.z.is_poisoned(),
            case.pinned && setup.y.is_poisoned(),
        ];
        assert_eq!(arguments, [poisoned, poisoned, poisoned, poisoned && case.pinned], "{fault:?}");
        if !poisoned {
            // Nothing was in flight yet.
            return;
        }
        if !case.pinned {
            setup.is_complete(&error);
        }
        assert!(setup.run().is_err());
        let before = {
            let state = driver.state();
            (state.device.clone(), state.pinned.clone())
        };
        // Memory that the run did not use is freed.
        let others =
            [&setup.x, &setup.y].map(|buffer| (buffer.is_poisoned(), buffer.core().ptr.addr().get()));
        drop(setup);
        let state = driver.state();
        let is_freed = |address: &usize| others.contains(&(false, *address));
        let kept: Vec<_> = before.1.into_iter().filter(|address| !is_freed(address)).collect();
        assert_eq!((&state.device, &state.pinned), (&before.0, &kept), "{fault:?} {case:?}: freed");
        assert_eq!(state.refused, [], "{fault:?} {case:?}");
    });
    assert!(faults > 400, "{faults} faults");
}

/// Ignores every result.
fn careless(queue: &Enqueue<'_>, y: DeviceSliceMut<'_, f32>) -> Result<()> {
    // This is like a GPU, where a library's routine knows nothing of the run.
    let _ = queue.simulate((y,), |(y,)| y.fill(1.0));
    Ok(())
}

stream_pipeline! {
    #![crate = crate]
    pipeline Careless {
        inout y: [f32];
        chunk c = 4;
        depth = 2;
        stage all { copy y -> d; call careless(&mut d); copy d -> y; }
    }
}

/// The failure is the run's error, whatever the routine makes of it.
#[test]
fn a_routine_that_hides_an_error() {
    for (call, graph) in [(Call::LaunchGraph, true), (Call::Launch, true), (Call::Launch, false)] {
        let driver = Arc::new(Faulty::new(Fault { call, nth: 0, mode: Mode::Refused, code: OF_THE_CALL }));
        let device = Device::with_driver(driver.clone());
        let options = Careless::options(&device);
        let mut pipeline = if graph { options.graph() } else { options }.build().unwrap();
        let mut y = [0.0; LEN];
        let error = pipeline.run(&mut y).unwrap_err();
        assert!(
            matches!(error.detail(), Detail::Driver(error) if error.call == "faulty"),
            "{call:?}: {error}"
        );
        assert_eq!((error.place().chunk, y), (Some(0), [0.0; LEN]));
        pipeline.run(&mut y).unwrap();
        assert_eq!(y, [1.0; LEN]);
    }
}
