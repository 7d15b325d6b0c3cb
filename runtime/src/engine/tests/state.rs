//! Values that routines keep: when they are made, which routines share them, and when they are dropped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::error::{Detail, Result};
use crate::engine::tests::faulty::{Call, Fault, Faulty, Mode};
use crate::engine::tests::{KEPT, OF_THE_DEVICE};
use crate::prelude::*;
use crate::routine::State;

/// The events in the life of one pipeline's values.
type Log = Arc<Mutex<Vec<String>>>;

fn note(log: &Log, line: String) {
    log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
}

fn take(log: &Log) -> Vec<String> {
    std::mem::take(&mut log.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A value that notes when it is dropped.
struct Noted {
    name: String,
    calls: usize,
    log: Log,
}

impl Drop for Noted {
    fn drop(&mut self) {
        note(&self.log, format!("{} goes after {} calls", self.name, self.calls));
    }
}

/// Another type, and therefore another value.
struct Other(Noted);

fn noted(name: &str, queue: &Enqueue<'_>, log: &Log) -> Noted {
    let name = format!("{name} of chunk {}", queue.chunk().index);
    note(log, format!("{name} comes"));
    Noted { name, calls: 0, log: Arc::clone(log) }
}

/// A routine's use of its values in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Counts,
    /// Fails to make them.
    Fails,
    /// Panics while it makes them.
    Panics,
    /// Forgets the guard.
    Forgets,
    /// Asks a second time.
    AsksAgain,
    /// Asks while it makes them.
    AsksWithin,
}

fn first(queue: &Enqueue<'_>, way: Way, log: Log, x: DeviceSliceMut<'_, u32>) -> Result<()> {
    let mut kept = queue.state(|| match way {
        Way::Fails => Err(Error::routine("create", "NO_MORE")),
        Way::Panics => panic!("cannot be made"),
        Way::AsksWithin => queue.state::<Noted>(|| unreachable!()).map(|_| unreachable!()),
        _ => Ok(noted("a", queue, &log)),
    })?;
    kept.calls += 1;
    let calls = kept.calls as u32;
    match way {
        Way::Forgets => std::mem::forget(kept),
        Way::AsksAgain => inner(queue)?,
        _ => drop(kept),
    }
    queue.simulate((x,), move |(x,)| x.iter_mut().for_each(|x| *x = 100 * *x + calls))
}

fn inner(queue: &Enqueue<'_>) -> Result<()> {
    queue.state::<Noted>(|| unreachable!("there is one")).map(drop)
}

fn second(queue: &Enqueue<'_>, log: Log, x: DeviceSliceMut<'_, u32>) -> Result<()> {
    let mut kept: State<'_, Other> = queue.state(|| Ok(Other(noted("b", queue, &log))))?;
    kept.0.calls += 1;
    queue.simulate((x,), |_| ())
}

stream_pipeline! {
    #![crate = crate]
    /// Two stages on streams of their own, which use a value of the same type and one of another type.
    pipeline Keeps {
        param way: Way;
        param log: Log;
        input x: [u32];
        output y: [u32];
        output z: [u32];
        chunk c = 1;
        depth = 2;
        stage one { copy x -> dx; call first(way, log.clone(), &mut dx); copy dx -> y; }
        stage two { copy x -> dz; call first(Way::Counts, log.clone(), &mut dz); call second(log.clone(), &mut dz); copy dz -> z; }
    }
}

/// Runs it on this many chunks, and returns the results.
fn run(keeps: &mut Keeps, way: Way, log: &Log, chunks: usize) -> Result<(Vec<u32>, Vec<u32>)> {
    let (mut y, mut z) = (vec![0; chunks], vec![0; chunks]);
    keeps.run(way, Arc::clone(log), &vec![0; chunks], &mut y, &mut z)?;
    Ok((y, z))
}

fn pipelines() -> [Keeps; 2] {
    let device = Device::simulated(Simulation::default());
    [Keeps::new(&device).unwrap(), Keeps::options(&device).graph().build().unwrap()]
}

#[test]
fn there_is_one_of_a_type_for_each_slot_and_stream() {
    let [mut keeps, _] = pipelines();
    let log = Log::default();
    assert_eq!(run(&mut keeps, Way::Counts, &log, 5).unwrap(), (vec![1, 1, 2, 2, 3], vec![1, 1, 2, 2, 3]));
    let made =
        ["a of chunk 0", "a of chunk 0", "b of chunk 0", "a of chunk 1", "a of chunk 1", "b of chunk 1"];
    assert_eq!(take(&log), made.map(|name| format!("{name} comes")));
    assert_eq!(run(&mut keeps, Way::Counts, &log, 2).unwrap().0, [4, 3], "kept from run to run");
    assert_eq!(take(&log), [""; 0]);
    drop(keeps);
    let calls = [4, 4, 4, 3, 3, 3];
    let gone: Vec<_> =
        made.iter().zip(calls).map(|(name, n)| format!("{name} goes after {n} calls")).collect();
    assert_eq!(take(&log), gone);
}

/// In graph mode, work that no graph can hold is on the slot's stream.
#[test]
fn in_graph_mode_there_is_one_for_each_slot() {
    let [_, mut keeps] = pipelines();
    let log = Log::default();
    assert_eq!(run(&mut keeps, Way::Counts, &log, 3).unwrap(), (vec![1, 1, 3], vec![2, 2, 4]));
    assert_eq!(take(&log).len(), 4);
    drop(keeps);
    assert_eq!(take(&log).len(), 4);
}

#[test]
fn what_cannot_be_made_is_made_the_next_time() {
    for mut keeps in pipelines() {
        let log = Log::default();
        let error = run(&mut keeps, Way::Fails, &log, 2).unwrap_err();
        let text =
            "`create` failed: NO_MORE\n  in pipeline `Keeps`, stage `one`, operation `call first`, chunk 0\n";
        assert!(error.to_string().starts_with(text), "{error}");
        let panic = catch_unwind(AssertUnwindSafe(|| run(&mut keeps, Way::Panics, &log, 2))).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"cannot be made"));
        let error = run(&mut keeps, Way::AsksWithin, &log, 2).unwrap_err();
        assert!(matches!(error.detail(), Detail::StateInUse { .. }), "{error}");
        assert_eq!(take(&log), [""; 0]);
        assert_eq!(run(&mut keeps, Way::Counts, &log, 2).unwrap().0, [1, 1]);
    }
}

const NOT_THERE: &str = "`thalweg::engine::tests::state::Noted`, which a routine keeps, is not there: a routine that called this one has it, or an earlier one has forgotten it (`mem::forget`)";

#[test]
fn a_routine_that_another_has_called_is_refused_what_that_has() {
    for mut keeps in pipelines() {
        let log = Log::default();
        let error = run(&mut keeps, Way::AsksAgain, &log, 2).unwrap_err();
        assert_eq!(error.detail().to_string(), NOT_THERE);
        assert_eq!((error.place().stage, error.place().chunk), (Some("one"), Some(0)));
        // The value is back in its place.
        assert_eq!(run(&mut keeps, Way::Counts, &log, 1).unwrap().0, [2]);
    }
}

#[test]
fn what_is_not_given_back_is_leaked_and_made_anew() {
    let [mut keeps, _] = pipelines();
    let log = Log::default();
    let error = run(&mut keeps, Way::Forgets, &log, 3).unwrap_err();
    assert_eq!(error.detail().to_string(), NOT_THERE, "chunk 2 has the slot of chunk 0");
    assert_eq!(error.place().chunk, Some(2));
    assert_eq!(run(&mut keeps, Way::Counts, &log, 2).unwrap().0, [1, 1]);
    drop(keeps);
    let log = take(&log);
    let count = |what: &str| log.iter().filter(|line| line.starts_with('a') && line.contains(what)).count();
    assert_eq!((count("comes"), count("goes")), (6, 4), "{log:?}");
}

/// Work that uses a value may still be under way.
#[test]
fn a_device_that_does_not_answer_keeps_it() {
    for graph in [false, true] {
        let fault = Fault { call: Call::SynchronizeStream, nth: 0, mode: Mode::Lost, code: OF_THE_DEVICE };
        let driver = Arc::new(Faulty::new(fault));
        let device = Device::with_driver(driver.clone());
        let options = Keeps::options(&device);
        let mut keeps = if graph { options.graph() } else { options }.build().unwrap();
        let log = Log::default();
        run(&mut keeps, Way::Counts, &log, 2).unwrap_err();
        drop(keeps);
        let log = take(&log);
        assert!(!log.is_empty() && log.iter().all(|line| line.ends_with("comes")), "{log:?}");
        KEPT.lock().unwrap().push(device);
    }
}

#[test]
fn a_pipeline_goes_to_other_threads() {
    fn sent<T: Send + Sync>(_: &T) {}
    let [mut keeps, _] = pipelines();
    sent(&keeps);
    let log = Log::default();
    std::thread::scope(|scope| {
        scope.spawn(|| run(&mut keeps, Way::Counts, &log, 2).unwrap());
    });
    assert_eq!(run(&mut keeps, Way::Counts, &log, 2).unwrap().0, [2, 2]);
}
