//! Pipelines on a driver with one failing call: every call, in every way.

mod depth;
mod device_buf;
mod faulty;
mod mixed;
mod several;
mod state;
mod streamed;
mod symbols;

use std::sync::{Arc, Mutex};

use crate::base::error::{Detail, Result};
use crate::engine::tests::faulty::{Call, Fault, Faulty, Mode};
use crate::prelude::*;

#[kernels("../../../../tests/cu/by_hand/saxpy.cu", crate = crate)]
unsafe extern "CUDA" {
    #[host(saxpy_on_host)]
    safe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);
}

fn saxpy_on_host(t: Thread, n: u32, a: f32, x: &[f32], y: &mut [f32]) {
    let i = t.global_x();
    if i < n as usize {
        y[i] += a * x[i];
    }
}

stream_pipeline! {
    #![crate = crate]
    /// Every kind of operation, more chunks than slots.
    #[allow(deprecated, reason = "the fill is for the count of calls")]
    pipeline Saxpy {
        input x: [f32];
        inout y: [f32];
        chunk c = 4;
        depth = 2;
        device dy: [f32];
        stage load { copy x -> dx; copy y -> dz; }
        stage work { fill dy = 0.0; copy dz -> dy; saxpy<<<1, 4>>>(c.len as u32, 2.0, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

const LEN: usize = 18;
const X: [f32; LEN] = [1.0; LEN];
const Y: [f32; LEN] = [3.0; LEN];
const RESULT: f32 = 5.0;

/// `CUDA_ERROR_INVALID_VALUE`: caused by the call that returns it.
const OF_THE_CALL: u32 = 1;
const OUT_OF_MEMORY: u32 = 2;
/// `CUDA_ERROR_ILLEGAL_ADDRESS`: caused by something earlier.
const OF_THE_DEVICE: u32 = 700;

/// A way to run a pipeline.
#[derive(Debug, Clone, Copy)]
struct Case {
    /// Whether `x` is in page-locked memory.
    pinned_x: bool,
    /// Whether `y` is in page-locked memory.
    pinned: bool,
    /// Whether it launches graphs.
    graph: bool,
    /// Whether the host polls the device, as it does a GPU.
    polls: bool,
}

/// Single operations, graphs of chunks, and graphs of whole runs.
const CASES: [Case; 8] = [
    Case { pinned_x: false, pinned: false, graph: false, polls: false },
    Case { pinned_x: false, pinned: true, graph: false, polls: false },
    Case { pinned_x: false, pinned: false, graph: true, polls: false },
    Case { pinned_x: false, pinned: true, graph: true, polls: false },
    Case { pinned_x: true, pinned: true, graph: true, polls: false },
    Case { pinned_x: false, pinned: false, graph: false, polls: true },
    Case { pinned_x: true, pinned: false, graph: false, polls: true },
    Case { pinned_x: false, pinned: true, graph: true, polls: true },
];

impl Case {
    /// Whether a run without failure makes such calls.
    fn makes(self, call: Call) -> bool {
        match call {
            Call::CopyToDevice
            | Call::CopyToHost
            | Call::CopyOnDevice
            | Call::Fill
            | Call::Launch
            | Call::Wait => !self.graph,
            // One after each graph of a chunk.
            Call::Record => !(self.graph && self.pinned_x),
            Call::SynchronizeEvent => !self.pinned_x && (self.graph || !self.polls),
            Call::QueryEvent => self.polls && !self.graph,
            Call::BuildGraph | Call::LaunchGraph => self.graph,
            // The last chunk is shorter than those before.
            Call::UpdateGraph => self.graph && !self.pinned_x,
            _ => true,
        }
    }
}

/// The host arguments of one run, each in either kind of memory.
struct Data {
    x: Option<PinnedBuf<f32>>,
    y: Written,
}

enum Written {
    Pageable([f32; LEN]),
    Pinned(PinnedBuf<f32>),
}

impl Data {
    fn new(device: &Device, case: Case) -> Result<Self> {
        let x = if case.pinned_x { Some(PinnedBuf::from_slice(device, &X)?) } else { None };
        let y = match case.pinned {
            true => Written::Pinned(PinnedBuf::from_slice(device, &Y)?),
            false => Written::Pageable(Y),
        };
        Ok(Self { x, y })
    }

    fn run(&mut self, pipeline: &mut Saxpy) -> Result<Report> {
        match (&self.x, &mut self.y) {
            (None, Written::Pageable(y)) => pipeline.run(&X, y),
            (None, Written::Pinned(y)) => pipeline.run(&X, y),
            (Some(x), Written::Pageable(y)) => pipeline.run(x, y),
            (Some(x), Written::Pinned(y)) => pipeline.run(x, y),
        }
    }

    fn y(&self) -> &[f32] {
        match &self.y {
            Written::Pageable(y) => y,
            Written::Pinned(y) => y,
        }
    }
}

/// Runs `check` for every call of these kinds that building and running the pipeline makes, each failing in
/// one way.
fn every_call(calls: &[Call], mode: Mode, code: u32, check: impl Fn(&Faulty, &Device, Fault, Case)) {
    for (call, case) in calls.iter().flat_map(|&call| CASES.map(|case| (call, case))) {
        for nth in 0.. {
            let fault = Fault { call, nth, mode, code };
            let driver = Arc::new(Faulty::new(fault).polled(case.polls));
            let device = Device::with_driver(driver.clone());
            check(&driver, &device, fault, case);
            let failed = driver.state().failed.is_some();
            if mode == Mode::Lost {
                // Memory that was left to the device keeps the device alive.
                KEPT.lock().unwrap().push(device);
            }
            if !failed {
                assert_eq!(nth > 0, case.makes(call), "{call:?} with {case:?}");
                break;
            }
        }
    }
}

/// Devices that were lost, kept so that a leak checker finds the memory that belongs to them.
static KEPT: Mutex<Vec<Device>> = Mutex::new(Vec::new());

/// Builds the pipeline and runs it once.
fn run(device: &Device, case: Case) -> Result<(Saxpy, Data, Result<Report>)> {
    let mut data = Data::new(device, case)?;
    let options = Saxpy::options(device);
    let mut pipeline = if case.graph { options.graph() } else { options }.build()?;
    let result = data.run(&mut pipeline);
    Ok((pipeline, data, result))
}

/// Checks a failed run's statement about `y`: its complete chunks are there, and the rest is old or new.
fn is_complete(error: &Error, y: &[f32]) {
    for complete in error.complete() {
        assert_eq!((complete.host, complete.items), ("y", LEN.min(4 * complete.chunks as usize)));
        assert!(y[..complete.items].iter().all(|&y| y == RESULT), "{error}: {y:?}");
    }
    assert!(y.iter().all(|&y| y == RESULT || y == Y[0]));
}

/// Checks that the error names the operation and the chunk of the failing call.
fn names_its_operation(driver: &Faulty, error: &Error) {
    let Some(Some(tag)) = driver.state().failed else { return };
    // Commands of a graph as a whole belong to no operation.
    let Some(operation) = Saxpy::PLAN.operations.get(tag.operation as usize) else { return };
    let place = error.place();
    assert_eq!(place.stage, Some(Saxpy::PLAN.stages[operation.stage]));
    assert_eq!((place.operation, place.chunk), (Some(operation.text), Some(tag.chunk)));
    assert_eq!(place.site.unwrap().line, operation.line);
}

/// The device can be waited for, so everything is as if the run had not taken place, and all memory is
/// accounted for.
fn recovers(mode: Mode, code: u32, check: impl Fn(&Faulty, &Error)) {
    every_call(&Call::ALL, mode, code, |driver, device, fault, case| {
        match run(device, case) {
            Ok((_, data, Ok(_))) => {
                assert!(driver.state().failed.is_none(), "{fault:?} goes unnoticed");
                assert_eq!(data.y(), [RESULT; LEN]);
            }
            Ok((mut pipeline, mut data, Err(error))) => {
                is_complete(&error, data.y());
                check(driver, &error);
                // Elements that already have their result get another one.
                let again: Vec<f32> = data.y().iter().map(|y| y + 2.0).collect();
                data.run(&mut pipeline).unwrap();
                assert_eq!(data.y(), again, "{fault:?}");
            }
            Err(error) => assert!(matches!(error.detail(), Detail::Driver(_)), "{error:?}"),
        }
        let state = driver.state();
        assert_eq!(state.refused, [], "{fault:?}");
        assert_eq!(state.live(), 0, "{fault:?}: {state:?}");
    });
}

#[test]
fn a_refused_call() {
    recovers(Mode::Refused, OF_THE_CALL, |driver, error| {
        assert!(matches!(error.detail(), Detail::Driver(error) if error.call == "faulty"), "{error:?}");
        assert_eq!(error.place().pipeline, Some("Saxpy"));
        names_its_operation(driver, error);
    });
}

/// The call does its work and fails all the same. An event may be recorded then, or a copy may be under way.
#[test]
fn a_call_that_is_done_and_fails() {
    recovers(Mode::Done, OF_THE_CALL, |driver, error| {
        assert_eq!(error.place().pipeline, Some("Saxpy"));
        names_its_operation(driver, error);
    });
}

/// The call that reports an asynchronous error is not the one that caused it.
#[test]
fn an_asynchronous_error() {
    recovers(Mode::Refused, OF_THE_DEVICE, |_, error| {
        let place = error.place();
        let is_known = place.operation.is_some() || place.chunk.is_some();
        assert!(place.pipeline == Some("Saxpy") && !is_known, "{error}");
        assert!(error.to_string().contains("THALWEG_SYNC=1"), "{error}");
    });
}

#[test]
fn memory_that_is_exhausted() {
    let calls = [Call::Allocate, Call::AllocatePinned];
    every_call(&calls, Mode::Refused, OUT_OF_MEMORY, |driver, device, fault, case| {
        let exhausted = match fault.call {
            Call::Allocate => "device memory is exhausted: `",
            _ => "page-locked host memory is exhausted: ",
        };
        match run(device, case) {
            Ok((_, _, Ok(_))) => assert!(driver.state().failed.is_none()),
            Ok((mut pipeline, mut data, Err(error))) => {
                assert!(error.to_string().starts_with(exhausted), "{error}");
                assert_eq!(data.y(), Y);
                data.run(&mut pipeline).unwrap();
                assert_eq!(data.y(), [RESULT; LEN]);
            }
            Err(error) => assert!(error.to_string().starts_with(exhausted), "{error}"),
        }
        let state = driver.state();
        assert_eq!((&state.refused[..], state.live()), (&[][..], 0), "{fault:?}");
    });
}

/// After a failure the device never answers again: everything that its copies may still reach is left to it
/// for good.
#[test]
fn a_lost_device() {
    every_call(&Call::ALL, Mode::Lost, OF_THE_DEVICE, |driver, device, fault, case| {
        let Ok((mut pipeline, mut data, first)) = run(device, case) else {
            // Nothing was enqueued yet, so nothing is in flight.
            let state = driver.state();
            assert_eq!((&state.refused[..], state.live()), (&[][..], 0), "{fault:?}");
            return;
        };
        if driver.state().failed.is_none() {
            first.unwrap();
            return;
        }
        let mut error = first.unwrap_err();
        is_complete(&error, if pipeline.pipeline.first().poisoned && case.pinned { &Y } else { data.y() });
        if !pipeline.pipeline.first().poisoned {
            // The run failed to allocate before anything was in flight. The next run gets as far as waiting.
            assert!(
                matches!(
                    fault.call,
                    Call::Allocate | Call::AllocatePinned | Call::CreateEvent | Call::CreateStream
                ),
                "{fault:?}"
            );
            error = data.run(&mut pipeline).unwrap_err();
        }
        assert!(matches!(error.detail(), Detail::Driver(error) if error.call == "faulty"), "{error:?}");
        let (device_memory, pinned_memory) = {
            let state = driver.state();
            (state.device.clone(), state.pinned.clone())
        };
        assert!(!device_memory.is_empty() && !pinned_memory.is_empty());

        let mut fresh = Data { x: None, y: Written::Pageable(Y) };
        let refused = fresh.run(&mut pipeline).unwrap_err();
        assert!(matches!(refused.detail(), Detail::PipelinePoisoned), "{refused:?}");
        assert_eq!(
            refused.to_string().lines().next(),
            Some("this pipeline is poisoned: an earlier run failed and the device may still access its ring")
        );
        assert_eq!((refused.place().pipeline, fresh.y()), (Some("Saxpy"), &Y[..]));
        if let Written::Pinned(y) = &mut data.y {
            assert!(y.is_poisoned() && y.is_empty() && y.iter_mut().next().is_none());
            let refused = pipeline.run(&X, y).unwrap_err();
            assert!(matches!(refused.detail(), Detail::Poisoned { host: "y" }), "{refused:?}");
        }

        drop((pipeline, data));
        let state = driver.state();
        assert_eq!((&state.device, &state.pinned), (&device_memory, &pinned_memory), "{fault:?}: freed");
        assert_eq!(state.refused, [], "{fault:?}");
    });
}

/// Other pipelines refuse a buffer that a lost run read, too; they accept one that it did not have.
#[test]
fn other_pipelines_after_a_lost_run() {
    let fault = Fault { call: Call::Launch, nth: 0, mode: Mode::Lost, code: OF_THE_DEVICE };
    let driver = Arc::new(Faulty::new(fault));
    let device = Device::with_driver(driver.clone());
    let mut pipelines = [Saxpy::new(&device).unwrap(), Saxpy::new(&device).unwrap()];
    let buffer = || PinnedBuf::from_slice(&device, &X).unwrap();
    let (shared, mut y, mut other) = (buffer(), buffer(), buffer());
    pipelines[0].run(&shared, &mut y).unwrap_err();
    assert!(shared.is_poisoned() && y.is_poisoned() && !other.is_poisoned());
    let refused = pipelines[1].run(&shared, &mut other).unwrap_err();
    assert!(matches!(refused.detail(), Detail::Poisoned { host: "x" }), "{refused:?}");
    assert_eq!(other[..], X);
    KEPT.lock().unwrap().push(device);
}

stream_pipeline! {
    #![crate = crate]
    /// Each chunk comes after the one before.
    pipeline Carried {
        input x: [f32];
        carry total: [f32; 4];
        chunk c = 4;
        depth = 2;
        stage load { copy x -> dx; }
        stage add { saxpy<<<1, 4>>>(c.len as u32, 1.0, &dx, &mut total); }
    }
}

/// The calls between graphs: the wait for the chunk before, the launch, and the record for which the next
/// chunk waits.
#[test]
fn a_call_between_graphs_names_its_chunk() {
    for (call, chunk) in [(Call::Wait, 3), (Call::LaunchGraph, 2), (Call::Record, 2), (Call::UpdateGraph, 4)]
    {
        // The first chunk does not wait; only the last one, which is shorter, changes a graph.
        let nth = if call == Call::UpdateGraph { 0 } else { 2 };
        let driver = Arc::new(Faulty::new(Fault { call, nth, mode: Mode::Refused, code: OF_THE_CALL }));
        let device = Device::with_driver(driver.clone());
        let mut pipeline = Carried::options(&device).graph().build().unwrap();
        let mut total = [7.0; 4];
        let error = pipeline.run(&X, &mut total).unwrap_err();
        assert_eq!((error.place().pipeline, error.place().chunk), (Some("Carried"), Some(chunk)), "{error}");
        assert_eq!((error.place().operation, total), (None, [7.0; 4]));
        pipeline.run(&X, &mut total).unwrap();
        assert_eq!(total, [12.0, 12.0, 11.0, 11.0]);
        drop(pipeline);
        let state = driver.state();
        assert_eq!((&state.refused[..], state.live()), (&[][..], 0));
    }
}

stream_pipeline! {
    #![crate = crate]
    /// Two inputs, one of which chunks may leave out, and a result that goes through the host twice.
    pipeline Mixed {
        param every: usize;
        input x: [f32];
        input w: [f32];
        inout y: [f32];
        output z: [f32];
        device dw: [f32];
        chunk c = 4;
        depth = 3;
        stage load { copy x -> dx; copy y -> dy; }
        stage sometimes { fill dw = 1.0; if c.index % every == 0 { copy w -> dw; } }
        stage add { saxpy<<<blocks(c.len, 64), 64>>>(c.len as u32, 2.0, &dx, &mut dy); copy dy -> y; }
        stage again { copy y -> dz; saxpy<<<blocks(c.len, 64), 64>>>(c.len as u32, 1.0, &dw, &mut dz); copy dz -> z; }
    }
}

/// The host polls the device, reads ahead of it and delivers behind it, whatever the lengths.
#[test]
fn pageable_data_ahead_of_the_device_and_behind_it() {
    let never = Fault { call: Call::Launch, nth: usize::MAX - 1, mode: Mode::Refused, code: OF_THE_CALL };
    for polls in [false, true] {
        let driver = Arc::new(Faulty::new(never).polled(polls));
        let device = Device::with_driver(driver.clone());
        // The last one is copied in pieces, by several threads.
        let cases: [(usize, usize, usize, &[usize]); 4] = [
            (4, 1, 1, &[0, 1, 3, 4, 5, 12, 13, 61]),
            (4, 2, 2, &[0, 1, 3, 4, 5, 12, 13, 61]),
            (4, 3, 5, &[0, 1, 3, 4, 5, 12, 13, 200]),
            (70_001, 2, 2, &[300_000, 70_001]),
        ];
        for (chunk, depth, every, lens) in cases {
            let mut pipeline = Mixed::options(&device).chunk(chunk).depth(depth).build().unwrap();
            for &len in lens {
                let numbers = |of: usize| (0..len).map(|i| (i * of % 97) as f32).collect::<Vec<_>>();
                let (x, w, before) = (numbers(3), numbers(5), numbers(7));
                let (mut y, mut z) = (before.clone(), vec![f32::NAN; len]);
                pipeline.run(every, &x, &w, &mut y, &mut z).unwrap();
                for i in 0..len {
                    let sum = 2.0 * x[i] + before[i];
                    let added = if (i / chunk) % every == 0 { w[i] } else { 1.0 };
                    assert_eq!((y[i], z[i]), (sum, sum + added), "{i} of {len}, depth {depth}, {polls}");
                }
            }
        }
        assert_eq!(driver.state().refused, []);
    }
}
