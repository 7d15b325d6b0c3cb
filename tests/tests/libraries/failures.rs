//! Errors of routines wherever runs go on: with streams and in graphs, in jobs, in sessions, in explored
//! schedules, on devices that are lost.

use std::error::Error as _;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use thalweg::explore::{explore, replay};
use thalweg::job::spawn;
use thalweg::prelude::*;
use thalweg::routine::Workspace;
use thalweg::session::Session;
use thalweg::sim::{Effect, Fault};
use thalweg_tests::waiting::{everywhere, in_time};
use thalweg_tests::{built_in_mode, leaves_nothing, pinned, small};

#[derive(Debug, Clone, PartialEq)]
struct Broken(usize);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the library broke at {}", self.0)
    }
}

impl std::error::Error for Broken {}

/// How a routine fails, in one chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    /// It returns its library's error.
    Returns,
    /// It returns the error after it has enqueued its work.
    Late,
    /// It refuses the run, and says that all is well.
    Refuses,
    /// What it keeps cannot be made.
    NoState,
    /// It returns an error of [`Error::routine`].
    Named,
    /// It asks for more memory than there is, which is no error of a library's.
    Memory,
    /// Its work panics, which takes place when the device gets to it.
    WorkPanics,
    /// It panics itself.
    Panics,
}

const ERRORS: [Way; 6] = [Way::Returns, Way::Late, Way::Refuses, Way::NoState, Way::Named, Way::WorkPanics];

struct NeverMade;

struct Table(Workspace);

fn unreliable(
    queue: &Enqueue<'_>,
    way: Way,
    at: usize,
    mut x: DeviceSliceMut<'_, i32>,
) -> thalweg::Result<()> {
    let fails = queue.chunk().index == at;
    let broken = || Error::library(Broken(at));
    match way {
        Way::Returns if fails => return Err(broken()),
        Way::Refuses if fails => drop(queue.refuse(broken())),
        Way::NoState if fails => drop(queue.state::<NeverMade>(|| Err(broken()))?),
        Way::Named if fails => return Err(Error::routine("brokenCall", "BROKEN")),
        Way::Memory if fails => {
            queue.state(|| Ok(Table(Workspace::new("the table"))))?.0.get(queue, usize::MAX / 4)?;
        }
        Way::Panics if fails => panic!("the routine"),
        _ => {}
    }
    let worked = queue.simulate((x.reborrow(),), move |(x,)| {
        assert!(!fails || way != Way::WorkPanics, "the work");
        x.iter_mut().for_each(|x| *x += 1);
    });
    match way {
        Way::Late if fails => Err(broken()),
        Way::Refuses if fails => Ok(()),
        _ => worked,
    }
}

stream_pipeline! {
    pipeline Next {
        param way: Way;
        param at: usize;
        input x: [i32];
        output y: [i32];
        chunk c = 4;
        depth = 3;
        stage load { copy x -> dx; }
        stage work { call unreliable(way, at, &mut dx); }
        stage store { copy dx -> y; }
    }
}

const LEN: usize = 26;
const CHUNKS: usize = 7;
const NEVER: usize = usize::MAX;

fn input() -> Vec<i32> {
    (0..LEN as i32).collect()
}

fn expected() -> Vec<i32> {
    (1..=LEN as i32).collect()
}

/// The error is the routine's, with its place, and `y` is as complete as it says.
#[track_caller]
fn is_of(error: &Error, way: Way, at: usize, y: &[i32]) {
    let ErrorKind::Library(library) = error.kind() else { panic!("{way:?} {at}: {error}") };
    let text = match way {
        Way::Named => "`brokenCall` failed: BROKEN".to_owned(),
        Way::WorkPanics => "`unreliable` failed: it panicked: the work".to_owned(),
        _ => {
            assert_eq!(library.downcast_ref(), Some(&Broken(at)), "{error}");
            assert!(error.source().is_some_and(|cause| cause.is::<Broken>()), "{error}");
            Broken(at).to_string()
        }
    };
    assert!(library.to_string().contains(&text), "{error}");
    assert!(library.device().is_none(), "only the routine fails: {error}");
    let place = error.place();
    assert_eq!(
        (place.pipeline, place.stage, place.operation, place.chunk),
        (Some("Next"), Some("work"), Some("call unreliable"), Some(at as u64)),
        "{way:?} {at}: {error}"
    );
    assert!(place.site.is_some_and(|site| site.file.ends_with("failures.rs")), "{error}");
    let items = error.complete().first().map_or(0, |complete| complete.items);
    assert!(items <= 4 * at && items <= y.len(), "{way:?} {at}: {error}");
    assert_eq!(y[..items], expected()[..items], "{way:?} {at}");
}

/// Any kind of argument, in any chunk; the pipeline is of use afterwards.
#[test]
fn a_routine_that_fails_in_one_chunk() {
    everywhere(|device, graph| {
        let (x, locked) = (input(), pinned(device, &input()));
        let mut pipeline = built_in_mode!(Next, device, graph);
        for (way, at) in ERRORS.into_iter().flat_map(|way| [0, 1, 3, CHUNKS - 1].map(|at| (way, at))) {
            let mut y = vec![-1; LEN];
            let error = pipeline.run(way, at, &x, &mut y).expect_err("it fails");
            is_of(&error, way, at, &y);
            let mut y = pinned(device, &[-1; LEN]);
            let error = pipeline.run(way, at, &locked, &mut y).expect_err("it fails");
            is_of(&error, way, at, &y);
            let mut y = Vec::new();
            let error =
                pipeline.run(way, at, source::batches([&x]), sink::extend(&mut y)).expect_err("it fails");
            is_of(&error, way, at, &y);
            assert_eq!(error.complete()[0].items, y.len(), "the sink has what is complete: {error}");
            let mut y = vec![-1; LEN];
            pipeline.run(way, NEVER, &x, &mut y).expect("nothing fails");
            assert_eq!(y, expected());
        }
    });
}

/// A panic of the routine goes on in the caller, and in a job is its error.
#[test]
fn a_routine_that_panics() {
    everywhere(|device, graph| {
        for at in [0, 2, CHUNKS - 1] {
            let (x, mut y) = (input(), Vec::new());
            let mut pipeline = built_in_mode!(Next, device, graph);
            let run = || pipeline.run(Way::Panics, at, source::batches([&x]), sink::extend(&mut y));
            let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("it panics");
            assert_eq!(panic.downcast_ref(), Some(&"the routine"));
            assert_eq!(y, expected()[..y.len()]);
            assert!(y.len() <= 4 * at);
            let mut y = vec![-1; LEN];
            pipeline.run(Way::Panics, NEVER, &x, &mut y).expect("nothing fails");
            assert_eq!(y, expected());
            let job = spawn(move || pipeline.run(Way::Panics, at, &x, &mut y)).expect("a thread");
            let error = job.wait().expect_err("it panics");
            let ErrorKind::Function(function) = error.kind() else { panic!("{error}") };
            assert_eq!(function.message(), "the routine");
        }
    });
}

#[test]
fn in_jobs_and_sessions() {
    everywhere(|device, graph| {
        for (way, at) in ERRORS.into_iter().flat_map(|way| [0, 2, CHUNKS - 1].map(|at| (way, at))) {
            let mut pipeline = built_in_mode!(Next, device, graph);
            let job = spawn(move || {
                let mut y = vec![-1; LEN];
                let outcome = pipeline.run(way, at, &input(), &mut y);
                Ok((outcome, y))
            });
            let (outcome, y) = job.expect("a thread").wait().expect("the run's outcome");
            is_of(&outcome.expect_err("it fails"), way, at, &y);

            let mut pipeline = built_in_mode!(Next, device, graph);
            let mut session = Session::start(move |x, y| pipeline.run(way, at, x, y)).expect("a thread");
            let (mut y, mut some) = (Vec::new(), [0; 3]);
            let told = 'told: {
                for x in (0..).step_by(4) {
                    if let Err(error) = session.push(&[x, x + 1, x + 2, x + 3]) {
                        break 'told error;
                    }
                    match session.try_pull(&mut some) {
                        Ok(pulled) => y.extend_from_slice(&some[..pulled.expect("no end")]),
                        Err(error) => break 'told error,
                    }
                }
                unreachable!()
            };
            while let Ok(pulled @ 1..) = session.pull(&mut some) {
                y.extend_from_slice(&some[..pulled]);
            }
            assert_eq!(y, expected()[..y.len()]);
            assert!(y.len() <= 4 * at, "{way:?} {at}");
            let error = session.close().expect_err("it fails");
            assert_eq!(told.to_string(), error.to_string());
            let ErrorKind::Library(of_told) = told.kind() else { panic!("{told}") };
            let ErrorKind::Library(of_run) = error.kind() else { panic!("{error}") };
            assert_eq!(of_told.downcast_ref::<Broken>(), of_run.downcast_ref::<Broken>());
            is_of(&error, way, at, &expected());
        }
    });
}

/// The failure of a schedule is still the library's.
#[test]
fn in_explored_schedules() {
    in_time(|| {
        for (way, graph) in ERRORS.into_iter().flat_map(|way| [(way, false), (way, true)]) {
            let mut y = vec![-1; LEN];
            let mut failing = |device: &Device| {
                y.fill(-1);
                built_in_mode!(Next, device, graph).run(way, 3, &input(), &mut y).map(drop)
            };
            let error = explore(5, 10, &mut failing).expect_err("it fails in each");
            let again = replay(error.seed().expect("a schedule fails"), &mut failing).expect_err("it fails");
            for error in [error, again] {
                is_of(&error, way, 3, &y);
                assert!(error.to_string().starts_with("schedule 0 fails: "), "{error}");
            }
        }
    });
}

/// Devices that were lost are kept, so that a leak checker finds what belongs to them.
static KEPT: Mutex<Vec<Device>> = Mutex::new(Vec::new());

/// The device fails or is lost at some operation, and the routine fails too: the error is of the routine and
/// says what the device reported, or it is of the device.
#[test]
fn on_devices_that_fail() {
    in_time(|| {
        let operations = Next::PLAN.operations.len();
        let ways = ERRORS.into_iter().chain([Way::Memory]);
        for (way, operation) in ways.flat_map(|way| (0..operations).map(move |o| (way, o))) {
            for (effect, chunk, at) in [Effect::Refused, Effect::Fails, Effect::Lost]
                .into_iter()
                .flat_map(|effect| [(effect, 0, 0), (effect, 1, 2), (effect, 2, 1), (effect, 1, 4)])
            {
                for (seed, graph) in [(0, false), (1, false), (0, true), (1, true)] {
                    let spec = Simulation::default();
                    let device = small(if seed == 0 { spec } else { spec.adversarial(seed) });
                    let case = format!("{way:?} {operation} {effect:?} {chunk} {at} {seed} {graph}");
                    let run = || {
                        let mut pipeline = built_in_mode!(Next, &device, graph);
                        let fault = Fault::operation(&Next::PLAN, operation, chunk, effect);
                        let injected = device.inject(fault).expect("simulated");
                        let mut y = vec![-1; LEN];
                        let error = pipeline.run(way, at, &input(), &mut y).expect_err("something fails");
                        let items = error.complete().first().map_or(0, |complete| complete.items);
                        assert_eq!(y[..items], expected()[..items], "{case}");
                        assert!(error.place().stage.is_some(), "{case}: {error}");
                        assert!(error.place().chunk.is_some(), "{case}: {error}");
                        if !injected.struck() {
                            // The routine failed before the device came to it.
                            return;
                        }
                        match pipeline.run(way, NEVER, &input(), &mut y) {
                            Ok(_) => assert_eq!(y, expected(), "{case}"),
                            Err(again) => {
                                assert_eq!(effect, Effect::Lost, "{case}: {again}");
                                let told = match error.kind() {
                                    ErrorKind::DeviceLost(_) => true,
                                    ErrorKind::Library(library) => library.device().is_some(),
                                    _ => false,
                                };
                                assert!(told, "{case}: {error}");
                            }
                        }
                    };
                    if effect == Effect::Lost {
                        run();
                        KEPT.lock().expect("nobody panics").push(device);
                    } else {
                        leaves_nothing(&device, run);
                    }
                }
            }
        }
    });
}
