//! The kinds of errors that programs tell apart: how a program gets each, and what it says of itself. Only
//! the public interface is used.

use std::error::Error as _;
use std::fmt;
use std::io;
use std::sync::Mutex;

use thalweg::error::DriverError;
use thalweg::explore::explore;
use thalweg::job::{Cancel, spawn};
use thalweg::prelude::*;
use thalweg::session;
use thalweg::sim::{DriverCall, Effect, Fault};
use thalweg::streams::{Event, Stream};
use thalweg_kernels::scale_f32;
use thalweg_tests::by_hand::saxpy;
use thalweg_tests::small;

stream_pipeline! {
    pipeline Axpy {
        param a: f32;
        param n: u32;
        input x: [f32];
        inout y: [f32];
        chunk c = 100;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { saxpy<<<blocks(n as usize, 128), 128>>>(n, a, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

fn fails(x: &[f32], y: &mut [f32]) -> Result<(), String> {
    y.copy_from_slice(x);
    Err("it is what it does".to_owned())
}

stream_pipeline! {
    pipeline Through {
        input x: [f32];
        output y: [f32];
        host h: [f32];
        host r: [f32];
        chunk c = 100;
        stage down { copy x -> dx; copy dx -> h; }
        stage cpu { host fails(&h, out r); }
        stage up { copy r -> dy; }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    pipeline Copy {
        input x: [f32];
        output y: [f32];
        chunk c = 100;
        stage load { copy x -> d; }
        stage store { copy d -> y; }
    }
}

/// Devices that are lost.
static KEPT: Mutex<Vec<Device>> = Mutex::new(Vec::new());

fn sim() -> Device {
    small(Simulation::default())
}

fn axpy(device: &Device, n: u32, x: usize) -> Error {
    let mut pipeline = Axpy::new(device).unwrap();
    pipeline.run(2.0, n, &vec![1.0; x], &mut [2.0; 100]).unwrap_err()
}

#[track_caller]
fn is_said(error: &Error, kind: &dyn fmt::Display) {
    assert!(error.to_string().starts_with(&kind.to_string()), "{error}: {kind}");
    assert_eq!(error.kind().to_string(), kind.to_string());
}

#[test]
fn shape_contract_and_limit() {
    let device = sim();
    let error = axpy(&device, 100, 99);
    let ErrorKind::Shape(shape) = error.kind() else { panic!("{error}") };
    is_said(&error, shape);

    let error = axpy(&device, 101, 100);
    let ErrorKind::Contract(contract) = error.kind() else { panic!("{error}") };
    assert_eq!(contract.kernel(), "saxpy");
    is_said(&error, contract);

    let stream = Stream::new(&device).unwrap();
    let (x, mut y) = (DeviceBuf::zeroed(&device, 1).unwrap(), DeviceBuf::zeroed(&device, 1).unwrap());
    let too_wide = stream.config(1, 4096, 0);
    let error = scale_f32::load(&device).unwrap().launch(too_wide, 2.0, 0.0, &x, &mut y).unwrap_err();
    let ErrorKind::Limit(limit) = error.kind() else { panic!("{error}") };
    is_said(&error, limit);
    let error = Axpy::options(&device).depth(0).build().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit(_)), "{error}");
}

#[test]
fn out_of_memory() {
    let device = sim();
    let error = DeviceBuf::<u8>::zeroed(&device, usize::MAX >> 8).unwrap_err();
    let ErrorKind::OutOfMemory(memory) = error.kind() else { panic!("{error}") };
    assert_eq!(memory.requested(), (usize::MAX >> 8) as u64);
    assert!(memory.free().is_some_and(|free| free < memory.requested()), "{error}");
    is_said(&error, memory);

    device.inject(Fault::nth(DriverCall::AllocatePinned, 0, Effect::Refused)).unwrap();
    let error = PinnedBuf::<u8>::zeroed(&device, 1000).unwrap_err();
    let ErrorKind::OutOfMemory(memory) = error.kind() else { panic!("{error}") };
    assert_eq!((memory.requested(), memory.free()), (1000, None));

    // The driver has no memory for an object of its own.
    device.inject(Fault::nth(DriverCall::CreateStream, 0, Effect::Refused)).unwrap();
    let error = Stream::new(&device).unwrap_err();
    let ErrorKind::OutOfMemory(memory) = error.kind() else { panic!("{error}") };
    assert_eq!((memory.requested(), memory.free()), (0, None));
    assert!(error.source().is_some_and(|cause| cause.is::<DriverError>()), "{error}");
    is_said(&error, memory);
}

#[test]
fn race_and_misuse() {
    let device = sim();
    let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let mut x = DeviceBuf::<f32>::zeroed(&device, 100).unwrap();
    first.fill(&mut x, 1.0).unwrap();
    let error = second.fill(&mut x, 2.0).unwrap_err();
    let ErrorKind::Race(race) = error.kind() else { panic!("{error}") };
    let (earlier, later) = (race.earlier().unwrap(), race.later().unwrap());
    assert!(earlier.writes && later.writes && earlier.place.site != later.place.site, "{error}");
    assert!(race.users().is_empty());
    is_said(&error, race);

    let event = Event::new(&device).unwrap();
    let error = event.elapsed(&event).unwrap_err();
    let ErrorKind::Misuse(misuse) = error.kind() else { panic!("{error}") };
    is_said(&error, misuse);
    first.synchronize().unwrap();
}

#[test]
fn sources_and_sinks() {
    let device = sim();
    let mut copy = Copy::new(&device).unwrap();
    let bytes = source::read(&[0_u8; 10][..]);
    let error = copy.run(bytes, &mut [0.0; 100]).unwrap_err();
    let ErrorKind::Source(source) = error.kind() else { panic!("{error}") };
    assert_eq!(source.argument(), "x");
    assert!(source.error().is_some(), "{error}");
    assert!(error.source().is_some_and(|cause| cause.is::<io::Error>()));
    is_said(&error, source);

    let full = sink::for_each(|_, _: &[f32]| Err(io::Error::other("the disk is full")));
    let error = copy.run(&[1.0; 100], full).unwrap_err();
    let ErrorKind::Sink(sink) = error.kind() else { panic!("{error}") };
    assert_eq!((sink.argument(), sink.error().unwrap().to_string().as_str()), ("y", "the disk is full"));
    is_said(&error, sink);
}

#[test]
fn functions_and_closed_ends() {
    let device = sim();
    let error = Through::new(&device).unwrap().run(&[1.0; 100], &mut [0.0; 100]).unwrap_err();
    let ErrorKind::Function(function) = error.kind() else { panic!("{error}") };
    assert_eq!(function.message(), "it is what it does");
    is_said(&error, function);

    let error = spawn(|| -> thalweg::Result<()> { panic!("a job's") }).unwrap().wait().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Function(panic) if panic.message() == "a job's"), "{error}");

    let (mut end, results) = session::input::<f32>();
    drop(results);
    let error = end.push(&[1.0]).unwrap_err();
    let ErrorKind::Closed(closed) = error.kind() else { panic!("{error}") };
    is_said(&error, closed);
}

#[test]
fn cancelled() {
    let device = sim();
    let mut copy = Copy::new(&device).unwrap();
    let cancel = Cancel::new();
    cancel.cancel();
    let error = cancel.during(|| copy.run(&[1.0; 1000], &mut [0.0; 1000])).unwrap_err();
    let ErrorKind::Cancelled(cancelled) = error.kind() else { panic!("{error}") };
    is_said(&error, cancelled);
}

#[test]
fn lost_devices_and_other_failures_of_the_driver() {
    let device = sim();
    let mut copy = Copy::new(&device).unwrap();
    device.inject(Fault::at(&Copy::PLAN, "load", 0, Effect::Fails).unwrap()).unwrap();
    let error = copy.run(&[1.0; 100], &mut [0.0; 100]).unwrap_err();
    let ErrorKind::Driver(driver) = error.kind() else { panic!("{error}") };
    assert!(driver.error().code != 0 && !driver.error().call.is_empty());
    is_said(&error, driver);

    let device = sim();
    let mut copy = Copy::new(&device).unwrap();
    // What is left to a lost device stays with it: a leak checker finds that here.
    KEPT.lock().unwrap().push(device.clone());
    device.inject(Fault::at(&Copy::PLAN, "load", 0, Effect::Lost).unwrap()).unwrap();
    let error = copy.run(&[1.0; 100], &mut [0.0; 100]).unwrap_err();
    let ErrorKind::DeviceLost(lost) = error.kind() else { panic!("{error}") };
    assert!(lost.error().is_some());
    is_said(&error, lost);
}

/// A crate with routines has errors of its own, which its users get back.
#[test]
fn libraries() {
    #[derive(Debug)]
    struct Singular(usize);
    impl fmt::Display for Singular {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "row {} of the matrix is singular", self.0)
        }
    }
    impl std::error::Error for Singular {}

    let error = Error::library(Singular(3));
    let ErrorKind::Library(library) = error.kind() else { panic!("{error}") };
    assert_eq!(library.downcast_ref::<Singular>().unwrap().0, 3);
    assert!(library.downcast_ref::<fmt::Error>().is_none());
    assert!(error.source().is_some_and(|cause| cause.is::<Singular>()));
    is_said(&error, library);
    let error = Error::routine("sort", "too many keys");
    assert!(
        matches!(error.kind(), ErrorKind::Library(library) if library.downcast_ref::<Singular>().is_none())
    );
}

#[test]
fn environment_and_compile() {
    let error = Device::cuda(usize::MAX).unwrap_err();
    let ErrorKind::Environment(environment) = error.kind() else { panic!("{error}") };
    is_said(&error, environment);
    let error = thalweg::compile_kernels("sm_1").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Compile(_) | ErrorKind::Environment(_)), "{error}");
}

/// The failure of one of many orders is of the kind that it has by itself, and can be had again.
#[test]
fn explored_failures_keep_their_kind() {
    let program = |device: &Device| -> thalweg::Result<()> {
        let x = DeviceBuf::from_slice(device, &[1.0_f32; 10])?;
        let mut y = DeviceBuf::<f32>::zeroed(device, 10)?;
        let stream = Stream::new(device)?;
        scale_f32::load(device)?.launch(stream.config(1, 32, 0), 2.0, 0.0, x.slice(..9)?, &mut y)
    };
    let error = explore(1, 3, program).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Contract(contract) if contract.kernel() == "scale::<f32>"),
        "{error}"
    );
    assert!(error.seed().is_some());
}
