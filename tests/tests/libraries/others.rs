//! What `thalweg` has for crates with routines of their own, such as `thalweg-libraries`, on the simulated
//! device.

use std::error::Error as _;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use thalweg::error::DriverError;
use thalweg::prelude::*;
use thalweg::routine::{Workspace, cuda_releases};
use thalweg::sim::{Effect, Fault};

type Routine = Arc<
    dyn Fn(&Enqueue<'_>, DeviceSlice<'_, u32>, DeviceSliceMut<'_, u32>) -> thalweg::Result<()> + Send + Sync,
>;

fn called(
    queue: &Enqueue<'_>,
    routine: Routine,
    x: DeviceSlice<'_, u32>,
    y: DeviceSliceMut<'_, u32>,
) -> thalweg::Result<()> {
    routine(queue, x, y)
}

stream_pipeline! {
    pipeline Called {
        param routine: Routine;
        input x: [u32];
        inout y: [u32];
        chunk c = 4;
        depth = 2;
        stage load { copy x -> dx; copy y -> dy; }
        stage work { call called(routine.clone(), &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

/// A run of three chunks, and what is in `y` after it.
fn run(
    routine: impl Fn(&Enqueue<'_>, DeviceSlice<'_, u32>, DeviceSliceMut<'_, u32>) -> thalweg::Result<()>
    + Send
    + Sync
    + 'static,
) -> thalweg::Result<Vec<u32>> {
    run_on(&thalweg_tests::small(Simulation::default()), routine)
}

/// The same on a device of the caller's.
fn run_on(
    device: &Device,
    routine: impl Fn(&Enqueue<'_>, DeviceSlice<'_, u32>, DeviceSliceMut<'_, u32>) -> thalweg::Result<()>
    + Send
    + Sync
    + 'static,
) -> thalweg::Result<Vec<u32>> {
    thalweg_tests::leaves_nothing(device, || {
        let (x, mut y): (Vec<u32>, _) = ((1..=10).collect(), vec![100; 10]);
        Called::new(device)?.run(Arc::new(routine), &x, &mut y)?;
        Ok(y)
    })
}

#[derive(Debug, PartialEq)]
struct Broken(u32);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the library is broken: {}", self.0)
    }
}

impl std::error::Error for Broken {}

struct Kept(Workspace);

#[test]
fn bytes_are_cleared_and_copied_in_stream_order() {
    let y = run(|queue, x, mut y| {
        let mut kept = queue.state(|| Ok(Kept(Workspace::new("the copies"))))?;
        let (bytes, half) = (4 * x.len(), x.len() / 2);
        let copies = kept.0.get(queue, bytes)?;
        // SAFETY: the workspace has the bytes of `x`, and is kept with the pipeline; it is apart from `x`.
        unsafe { queue.copy_on_device(copies, x.address(), bytes) }?;
        queue.simulate((y.reborrow(),), |(y,)| y.iter_mut().for_each(|y| *y += 1))?;
        queue.zero(y.get_mut(..half).expect("the first half"))?;
        let last = x.len() - 1;
        // SAFETY: both are within their memory, of which one is the run's and one the workspace.
        unsafe { queue.copy_on_device(y.address() + 4 * last as u64, copies + 4 * last as u64, 4) }
    });
    assert_eq!(y.expect("a run"), [0, 0, 101, 4, 0, 0, 101, 8, 0, 10]);
}

#[test]
fn a_workspace_grows_and_keeps_what_it_had() {
    let y = run(|queue, _, _| {
        let mut kept = queue.state(|| Ok(Kept(Workspace::new("the copies"))))?;
        let first = kept.0.get(queue, 1000)?;
        assert_eq!((first % 256, kept.0.get(queue, 10)?), (0, first), "there is room");
        let larger = kept.0.get(queue, 1001)?;
        assert_ne!(larger, first, "the first may be in use still");
        assert_eq!(kept.0.get(queue, 2000)?, larger, "twice as large at least");
        let error = kept.0.get(queue, usize::MAX / 4).expect_err("nobody has so much");
        assert!(matches!(error.kind(), ErrorKind::OutOfMemory(_)), "{error}");
        assert!(error.to_string().starts_with("device memory is exhausted: `the copies` needs "), "{error}");
        // Another chunk of the slot begins anew.
        kept.0 = Workspace::new("the copies");
        Ok(())
    });
    y.expect("a run");
}

#[test]
fn buffers_are_known_by_their_addresses() {
    let y = run(|queue, x, y| {
        assert_eq!(queue.buffer_name(x.address()), Some("dx"));
        let last = y.get(y.len() - 1..).expect("the last element");
        assert_eq!(queue.buffer_name(last.address()), Some("dy"));
        assert_eq!(queue.buffer_name(0), None);
        Ok(())
    });
    y.expect("a run");
}

#[test]
fn what_is_on_the_stream_can_be_waited_for() {
    let y = run(|queue, x, _| {
        let done = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&done);
        queue.simulate((x,), move |_| seen.store(true, Ordering::SeqCst))?;
        queue.wait()?;
        assert!(done.load(Ordering::SeqCst));
        Ok(())
    });
    y.expect("a run");
}

/// However little the routine makes of it.
#[test]
fn a_run_that_is_refused_fails() {
    let error = run(|queue, x, y| {
        if queue.chunk().index == 1 {
            let error = queue.refuse(Error::library(Broken(7)));
            assert_eq!(error.place().operation, Some("call called"));
            let again = queue.admit(&(x, y)).expect_err("the run was refused");
            assert_eq!(again.to_string(), error.to_string());
            // SAFETY: nothing is copied.
            unsafe { queue.copy_on_device(0, 0, 4) }.expect_err("nothing more is enqueued");
        }
        Ok(())
    })
    .expect_err("it was refused");
    let ErrorKind::Library(library) = error.kind() else { panic!("{error}") };
    assert_eq!(library.downcast_ref(), Some(&Broken(7)));
    let text =
        "the library is broken: 7\n  in pipeline `Called`, stage `work`, operation `call called`, chunk 1\n";
    assert!(error.to_string().starts_with(text), "{error}");
    assert!(thalweg_libraries::Error::of(&error).is_none(), "it is another's");
}

/// The routine keeps the first error to itself and returns another one.
#[test]
fn the_error_that_a_run_is_refused_with_is_the_run_s() {
    let error = run(|queue, _, _| {
        drop(queue.refuse(Error::library(Broken(1))));
        Err(Error::routine("other", "it had the library fail"))
    })
    .expect_err("it was refused");
    let ErrorKind::Library(library) = error.kind() else { panic!("{error}") };
    assert_eq!(library.downcast_ref(), Some(&Broken(1)), "{error}");
    assert_eq!(error.place().operation, Some("call called"));
}

/// Whatever fails under a routine that makes nothing of it: the run's error says what it was.
#[test]
fn errors_that_a_routine_drops_are_the_run_s() {
    type Attempt = fn(&Enqueue<'_>, DeviceSlice<'_, u32>, DeviceSliceMut<'_, u32>);
    let attempts: [(&str, Effect, Attempt); 3] = [
        ("zero", Effect::Refused, |queue, _, y| drop(queue.zero(y))),
        ("copy_on_device", Effect::Refused, |queue, x, y| {
            // SAFETY: both are of the run, of the same length and apart.
            drop(unsafe { queue.copy_on_device(y.address(), x.address(), 4 * x.len()) });
        }),
        ("wait", Effect::Fails, |queue, x, _| {
            queue.simulate((x,), |_| ()).expect("it fails later");
            drop(queue.wait());
        }),
    ];
    for (what, effect, attempt) in attempts {
        let device = thalweg_tests::small(Simulation::default());
        device.inject(Fault::at(&Called::PLAN, "work", 1, effect).expect("a stage")).expect("simulated");
        let error = run_on(&device, move |queue, x, y| {
            attempt(queue, x, y);
            Ok(())
        })
        .expect_err("a call of the driver fails");
        assert!(matches!(error.kind(), ErrorKind::Driver(_)), "{what}: {error}");
        assert_eq!((error.place().operation, error.place().chunk), (Some("call called"), Some(1)), "{what}");
    }
}

/// A destructor that panics once.
#[derive(Debug)]
struct Bomb(Arc<AtomicBool>);

impl fmt::Display for Bomb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bomb")
    }
}

impl std::error::Error for Bomb {}

impl Drop for Bomb {
    fn drop(&mut self) {
        if !self.0.swap(true, Ordering::SeqCst) {
            panic!("the error's destructor");
        }
    }
}

/// The run holds the last of the error while the device is at work.
#[test]
fn an_error_whose_destructor_panics_leaves_the_run_to_its_end() {
    let dropped = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&dropped);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        run(move |queue, x, _| {
            queue.simulate((x,), |_| ())?;
            drop(queue.refuse(Error::library(Bomb(Arc::clone(&seen)))));
            panic!("the routine")
        })
    }));
    let panic = outcome.expect_err("the routine panics");
    assert_eq!(panic.downcast_ref(), Some(&"the routine"));
    assert!(dropped.load(Ordering::SeqCst));
}

/// Both causes can be had: the library's error as the source, the device's by a method.
#[test]
fn a_library_s_error_and_the_device_s_are_told_apart() {
    let device = thalweg_tests::small(Simulation::default());
    device.inject(Fault::at(&Called::PLAN, "work", 0, Effect::Fails).expect("a stage")).expect("simulated");
    let error = run_on(&device, |queue, x, _| {
        queue.simulate((x,), |_| ())?;
        Err(Error::library(Broken(2)))
    })
    .expect_err("both fail");
    assert!(error.source().is_some_and(|cause| cause.is::<Broken>()), "{:?}", error.source());
    let ErrorKind::Library(library) = error.kind() else { panic!("{error}") };
    assert_eq!(library.downcast_ref(), Some(&Broken(2)));
    let device: &DriverError = library.device().expect("the device failed too");
    assert!(error.to_string().contains(&format!("the device reported: {device}\n")), "{error}");

    let alone = Error::library(Broken(2));
    assert!(matches!(alone.kind(), ErrorKind::Library(library) if library.device().is_none()));
}

/// Its memory is of no use to another device.
#[test]
fn a_workspace_stays_on_its_device() {
    static SHARED: Mutex<Workspace> = Mutex::new(Workspace::new("the shared workspace"));
    let uses = |queue: &Enqueue<'_>, _: DeviceSlice<'_, u32>, _: DeviceSliceMut<'_, u32>| {
        SHARED.lock().expect("nobody panics").get(queue, 100).map(drop)
    };
    let (first, second) =
        (Device::simulated(Simulation::default()), Device::simulated(Simulation::default()));
    let mut y = [0; 4];
    Called::new(&first).expect("a pipeline").run(Arc::new(uses), &[1; 4], &mut y).expect("a run");
    let error = Called::new(&second)
        .expect("a pipeline")
        .run(Arc::new(uses), &[1; 4], &mut y)
        .expect_err("it is the first's");
    assert!(matches!(error.kind(), ErrorKind::Misuse(_)), "{error}");
    assert!(error.to_string().starts_with("`the shared workspace` belongs to "), "{error}");
    assert_eq!(error.place().operation, Some("call called"));
    *SHARED.lock().expect("nobody panics") = Workspace::new("none");
}

#[test]
fn arguments_and_their_parts_are_admitted() {
    let y = run(|queue, x, mut y| {
        queue.admit(&(x, x, y.reborrow())).expect("all of it is the run's");
        queue.admit(&()).expect("nothing");
        let (first, second) = y.split_at_mut(1).expect("an element");
        queue.admit(&(first, second)).expect("they are apart");
        Ok(())
    });
    y.expect("a run");
}

#[test]
fn releases_are_looked_for_each_once() {
    let mut releases = cuda_releases();
    releases.sort_unstable();
    assert_eq!(releases, [11, 12, 13]);
}
