//! Every fault at every operation of every chunk, and at every call: the error says where, results are as the
//! error claims, and the device goes on, or says that it is lost.

mod pipelines;
mod streams;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::sim::{DriverCall, Effect, Fault};
use thalweg_kernels::saxpy;
use thalweg_tests::{PINNED, numbers, small};

use pipelines::{CHUNKS, COMPLETE, Run, TRIALS, Trial};

/// Says what was tried, past the harness, which keeps what a test that passes prints.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stderr(), $($text)*).expect("a line on the terminal");
    }};
}
use say;

/// Longer than any run takes, on a busy machine and under a checker too.
const PATIENCE: Duration = Duration::from_secs(120);

/// Ends the process if the injections stop.
struct Watchdog {
    done: AtomicU64,
    current: Mutex<String>,
}

impl Watchdog {
    fn new() -> &'static Self {
        let watchdog: &Self =
            Box::leak(Box::new(Self { done: AtomicU64::new(0), current: Mutex::default() }));
        thread::spawn(move || {
            let mut seen = u64::MAX;
            loop {
                let done = watchdog.done.load(Ordering::Relaxed);
                if done == seen {
                    let current = watchdog.current.lock().unwrap();
                    if !current.is_empty() {
                        say!("deadlock: {current}");
                        std::process::abort();
                    }
                }
                seen = done;
                thread::sleep(PATIENCE);
            }
        });
        watchdog
    }

    fn next(&self, what: String) {
        *self.current.lock().unwrap() = what;
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

/// Devices in the order of time, and in two other orders.
fn specs() -> [Simulation; 3] {
    [Simulation::default(), Simulation::default().adversarial(1), Simulation::default().adversarial(2)]
}

/// Devices that were lost are kept, so that a leak checker finds what belongs to them.
static KEPT: Mutex<Vec<Device>> = Mutex::new(Vec::new());

/// The device works as before: it runs, and nothing is left allocated.
fn is_as_good_as_new(device: &Device, trial: &Trial, free: u64) {
    let mut run = (trial.build)(device).unwrap();
    run().unwrap();
    drop(run);
    assert_eq!(device.free_memory().unwrap(), free, "{}: device memory is left allocated", trial.name);
    assert!(PinnedBuf::<u8>::zeroed(device, PINNED).is_ok(), "{}: pinned memory is left", trial.name);
}

/// The device is lost, and says so whatever is called.
fn is_lost(device: &Device, trial: &Trial) {
    let is_said = |error: &Error| matches!(error.detail(), Detail::Driver(error) if error.code == 700);
    let Err(error) = (trial.build)(device) else { panic!("{}: a pipeline on a lost device", trial.name) };
    assert!(is_said(&error), "{error}");
    let error = DeviceBuf::<f32>::zeroed(device, 1).unwrap_err();
    assert!(is_said(&error), "{error}");
    KEPT.lock().unwrap().push(device.clone());
}

#[test]
fn at_every_operation_of_every_chunk() {
    let watchdog = Watchdog::new();
    let (mut injected, mut survived) = (0_u64, 0_u64);
    let effects = [Effect::Refused, Effect::Fails, Effect::Lost, Effect::Slow(Duration::from_millis(7))];
    for trial in &TRIALS {
        let operations = 0..trial.plan.operations.len();
        let places = operations.flat_map(|operation| (0..CHUNKS).map(move |chunk| (operation, chunk)));
        for (operation, chunk) in places {
            for (effect, spec) in effects.into_iter().flat_map(|effect| specs().map(|spec| (effect, spec))) {
                let what = format!("{}: {effect:?} at operation {operation} of chunk {chunk}", trial.name);
                watchdog.next(what.clone());
                let device = small(spec);
                let free = device.free_memory().unwrap();
                let fault = device.inject(Fault::operation(trial.plan, operation, chunk, effect)).unwrap();
                let mut run: Run = (trial.build)(&device).unwrap();
                let first = run();
                assert!(fault.struck(), "{what}");
                injected += 1;
                if let Effect::Slow(_) = effect {
                    first.unwrap();
                } else {
                    let error = first.expect_err(&what);
                    let at = &trial.plan.operations[operation];
                    let place = error.place();
                    let found = (place.pipeline, place.stage, place.operation, place.chunk);
                    let stage = trial.plan.stages[at.stage];
                    let expected = (Some(trial.plan.pipeline), Some(stage), Some(at.text), Some(chunk));
                    assert_eq!(found, expected, "{what}: {error}");
                    assert_eq!(place.site.map(|site| site.line), Some(at.line));
                }
                if effect == Effect::Lost {
                    let error = run().expect_err(&what);
                    let is_poisoned =
                        matches!(error.detail(), Detail::PipelinePoisoned | Detail::Poisoned { .. });
                    let is_driver = matches!(error.detail(), Detail::Driver(error) if error.code == 700);
                    assert!(is_poisoned || is_driver, "{what}: {error}");
                    drop(run);
                    is_lost(&device, trial);
                } else {
                    run().unwrap_or_else(|error| panic!("{what}, again: {error}"));
                    drop(run);
                    is_as_good_as_new(&device, trial, free);
                }
                survived += 1;
            }
        }
    }
    watchdog.next(String::new());
    say!("faults injected: {injected}, survived: {survived}, at operations");
    assert_eq!(injected, survived);
    assert!(injected > 2_000, "{injected}");
    assert!(COMPLETE.load(Ordering::Relaxed) > 1_000, "failed runs say too little of what is complete");
}

/// The outcomes of a trial's steps: building the pipeline, and two runs.
fn steps(device: &Device, trial: &Trial) -> Vec<thalweg::Result<()>> {
    let mut run = match (trial.build)(device) {
        Ok(run) => run,
        Err(error) => return vec![Err(error)],
    };
    vec![Ok(()), run(), run()]
}

#[test]
fn at_every_call() {
    let watchdog = Watchdog::new();
    let (mut injected, mut survived, mut races) = (0_u64, 0_u64, 0_u64);
    let effects = [Effect::Refused, Effect::Lost, Effect::Slow(Duration::from_millis(7)), Effect::Omitted];
    for (trial, call) in TRIALS.iter().flat_map(|trial| DriverCall::ALL.map(|call| (trial, call))) {
        for effect in effects {
            // Other calls that are left out give wrong results, which tests of results have to notice.
            if effect == Effect::Omitted && call != DriverCall::Wait {
                continue;
            }
            for n in 0.. {
                let what = format!("{}: {effect:?} at call {n} of {call:?}", trial.name);
                watchdog.next(what.clone());
                let device = small(specs()[n as usize % 3].clone());
                let free = device.free_memory().unwrap();
                let fault = device.inject(Fault::nth(call, n, effect)).unwrap();
                let steps = steps(&device, trial);
                if !fault.struck() {
                    steps.into_iter().for_each(|step| step.unwrap());
                    break;
                }
                injected += 1;
                let failed = steps.iter().position(Result::is_err);
                match effect {
                    Effect::Slow(_) => assert!(failed.is_none(), "{what}: {steps:?}"),
                    Effect::Omitted => {
                        // This depth does not need every wait, and the host's own waits may order the two.
                        for error in steps.iter().filter_map(|step| step.as_ref().err()) {
                            assert!(matches!(error.detail(), Detail::Race { .. }), "{what}: {error}");
                            races += 1;
                        }
                    }
                    Effect::Lost => {
                        let failed = failed.unwrap_or_else(|| panic!("{what}: {steps:?}"));
                        assert!(steps[failed..].iter().all(Result::is_err), "{what}: {steps:?}");
                        is_lost(&device, trial);
                    }
                    _ => {
                        let count = steps.iter().filter(|step| step.is_err()).count();
                        assert_eq!(count, 1, "{what}: {steps:?}");
                    }
                }
                if effect != Effect::Lost {
                    is_as_good_as_new(&device, trial, free);
                }
                survived += 1;
            }
        }
    }
    watchdog.next(String::new());
    say!("faults injected: {injected}, survived: {survived}, at calls ({races} waits left out are races)");
    assert_eq!(injected, survived);
    assert!(injected > 2_000 && races > 20, "{injected}, {races}");
}

stream_pipeline! {
    pipeline Saxpy {
        input x: [f32];
        inout y: [f32];
        chunk c = 4;
        depth = 2;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { saxpy<<<1, 32>>>(2.0, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    pipeline Other {
        inout y: [f32];
        chunk c = 4;
        stage load { copy y -> dy; }
        stage store { copy dy -> y; }
    }
}

#[test]
fn by_name() {
    let operation = |name: &str| Fault::at(&Saxpy::PLAN, name, 3, Effect::Fails);
    let of = |index| Fault::operation(&Saxpy::PLAN, index, 3, Effect::Fails);
    assert_eq!(operation("load").unwrap(), of(0));
    assert_eq!(operation("copy y -> dy").unwrap(), of(1));
    assert_eq!(operation("axpy").unwrap(), of(2));
    assert_eq!(operation("saxpy").unwrap(), of(2));
    assert_eq!(
        operation("axpi").unwrap_err().to_string(),
        "pipeline `Saxpy` has no stage, operation, kernel or function `axpi`\n  help: it has `axpy`, `saxpy`, `load`, `store`, \
         `saxpy<<<..>>>`,\n    `copy x -> dx`, `copy y -> dy`, `copy dy -> y`"
    );
    assert_ne!(of(0), Fault::operation(&Other::PLAN, 0, 3, Effect::Fails));
}

/// A fault of one pipeline does not strike another one on the same device, and strikes once.
#[test]
fn other_pipelines_are_left_alone() {
    let device = Device::simulated(Simulation::default());
    let (mut saxpy, mut other) = (Saxpy::new(&device).unwrap(), Other::new(&device).unwrap());
    let fault = device.inject(Fault::at(&Saxpy::PLAN, "load", 1, Effect::Fails).unwrap()).unwrap();
    other.run(&mut numbers(20)).unwrap();
    assert!(!fault.struck());
    let error = saxpy.run(&numbers(20), &mut numbers(20)).unwrap_err();
    assert!(fault.struck());
    assert_eq!((error.place().pipeline, error.place().chunk), (Some("Saxpy"), Some(1)));
    saxpy.run(&numbers(20), &mut numbers(20)).unwrap();
}

#[test]
fn a_device_that_is_lost_is_lost_to_all() {
    let device = Device::simulated(Simulation::default());
    let (mut saxpy, mut other) = (Saxpy::new(&device).unwrap(), Other::new(&device).unwrap());
    device.inject(Fault::at(&Saxpy::PLAN, "axpy", 1, Effect::Lost).unwrap()).unwrap();
    let (mut y, untouched) =
        (thalweg_tests::pinned(&device, &numbers(20)), thalweg_tests::pinned(&device, &[1.0_f32]));
    let error = saxpy.run(&numbers(20), &mut y).unwrap_err();
    assert_eq!((error.place().stage, error.place().chunk), (Some("axpy"), Some(1)));
    assert!(y.is_poisoned() && y.is_empty() && !untouched.is_poisoned());
    // The pipeline does not have the operation that the fault names.
    let error = other.run(&mut numbers(20)).unwrap_err();
    assert_eq!((error.place().pipeline, error.place().operation), (Some("Other"), None), "{error}");
    assert!(matches!(error.detail(), Detail::Driver(error) if error.code == 700), "{error}");
    KEPT.lock().unwrap().push(device);
}

#[test]
fn slow_operations_take_virtual_time() {
    let time = |faults: &[Fault]| {
        let spec = faults.iter().fold(Simulation::default(), |spec, &fault| spec.with_fault(fault));
        Saxpy::new(&Device::simulated(spec)).unwrap().run(&numbers(20), &mut numbers(20)).unwrap().time
    };
    let slow = Effect::Slow(Duration::from_secs(3));
    let at = |name, chunk| Fault::at(&Saxpy::PLAN, name, chunk, slow).unwrap();
    let plain = time(&[]);
    let seconds = |faults: &[Fault]| (time(faults) - plain).as_secs_f64().round();
    assert_eq!(seconds(&[at("axpy", 2)]), 3.0);
    // The runs are one after another on one stream, then at the same time on two.
    assert_eq!(seconds(&[at("axpy", 2), at("axpy", 3)]), 6.0);
    assert_eq!(seconds(&[at("axpy", 2), at("load", 3)]), 3.0);
}

#[test]
fn memory_that_is_too_large() {
    let device = Device::simulated(Simulation::default().with_fault(Fault::larger_than(1000)));
    assert!(DeviceBuf::<u8>::zeroed(&device, 1000).is_ok());
    for _ in 0..2 {
        let error = DeviceBuf::<u8>::zeroed(&device, 1001).unwrap_err();
        assert!(matches!(error.detail(), Detail::OutOfDeviceMemory { requested: 1001, .. }), "{error}");
    }
}

/// A test of results notices an operation that was left out.
#[test]
fn an_omitted_operation_leaves_its_work_undone() {
    let device = Device::simulated(Simulation::default());
    device.inject(Fault::at(&Saxpy::PLAN, "axpy", 2, Effect::Omitted).unwrap()).unwrap();
    let mut y = numbers(20);
    Saxpy::new(&device).unwrap().run(&numbers(20), &mut y).unwrap();
    let wrong: Vec<usize> = (0..20).filter(|&i| y[i] != 3.0 * numbers(20)[i]).collect();
    assert_eq!(wrong, [8, 9, 10, 11]);
}

/// Calls its device when it is dropped.
#[derive(Clone)]
struct Calls(Device);

impl Drop for Calls {
    fn drop(&mut self) {
        self.0.free_memory().unwrap();
    }
}

stream_pipeline! {
    pipeline Calling {
        param calls: Calls;
        inout y: [f32];
        chunk c = 4;
        stage all { copy y -> dy; then |_| { let _ = &calls; }; copy dy -> y; }
    }
}

/// A function that is not called is dropped where its device may be called.
#[test]
fn closures_that_are_not_called_are_dropped_outside_of_the_lock() {
    let watchdog = Watchdog::new();
    for effect in [Effect::Refused, Effect::Fails, Effect::Lost, Effect::Omitted] {
        watchdog.next(format!("a closure that is dropped: {effect:?}"));
        let device = Device::simulated(Simulation::default());
        let fault = device.inject(Fault::at(&Calling::PLAN, "then", 2, effect).unwrap()).unwrap();
        let outcome = Calling::new(&device).unwrap().run(Calls(device.clone()), &mut numbers(20));
        assert_eq!((outcome.is_ok(), fault.struck()), (effect == Effect::Omitted, true), "{effect:?}");
        KEPT.lock().unwrap().push(device);
    }
    watchdog.next(String::new());
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_gpu_takes_no_faults() {
    let device = Device::cuda(0).unwrap();
    let error = device.inject(Fault::nth(DriverCall::Allocate, 0, Effect::Refused)).unwrap_err();
    assert!(matches!(error.detail(), Detail::CannotInject), "{error}");
}
