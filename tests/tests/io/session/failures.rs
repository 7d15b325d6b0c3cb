//! An error reaches every caller that pushes, pulls or closes; results that were finished before can be
//! pulled.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::session::{self, Session};
use thalweg::sim::{Effect, Fault};
use thalweg_tests::built_in_mode;
use thalweg_tests::kernels::{REFUSED, add_to, refuses};
use thalweg_tests::waiting::{everywhere, in_time};
use thalweg_tests::{numbers, small};

use super::{Next, Through, next};

/// The error of a source that fails after two chunks.
fn fails_at_chunk_2(c: thalweg::plan::Chunk, slot: &mut [f32]) -> std::io::Result<usize> {
    if c.index == 2 {
        return Err(std::io::ErrorKind::ConnectionReset.into());
    }
    slot.fill(1.0);
    Ok(slot.len())
}

/// Pushes and pulls frames until something fails; returns what was pulled, and the error.
fn until_it_fails<T>(session: &mut Session<f32, f32, T>, x: &[f32]) -> (Vec<f32>, Error) {
    let mut z = Vec::new();
    let mut left = x.chunks(5);
    loop {
        let mut frame = [0.0; 5];
        if let Some(x) = left.next()
            && let Err(error) = session.push(x)
        {
            // The results that were finished before are there all the same.
            while let Ok(pulled @ 1..) = session.pull(&mut frame) {
                z.extend_from_slice(&frame[..pulled]);
            }
            return (z, error);
        }
        match session.pull(&mut frame) {
            Ok(0) => panic!("nothing fails"),
            Ok(pulled) => z.extend_from_slice(&frame[..pulled]),
            Err(error) => return (z, error),
        }
    }
}

/// Devices that were lost are kept, so that a leak checker finds what belongs to them.
static KEPT: Mutex<Vec<Device>> = Mutex::new(Vec::new());

/// A fault at every operation of every chunk.
#[test]
fn faults_of_the_device() {
    let x = numbers(30);
    in_time(|| {
        for (operation, chunk) in (0..Next::PLAN.operations.len()).flat_map(|o| (0..4).map(move |c| (o, c))) {
            for effect in [Effect::Refused, Effect::Fails, Effect::Lost] {
                for (seed, graph) in [(0, false), (1, false), (0, true)] {
                    let spec = Simulation::default();
                    let device = small(if seed == 0 { spec } else { spec.adversarial(seed) });
                    device.inject(Fault::operation(&Next::PLAN, operation, chunk, effect)).unwrap();
                    let mut pipeline = built_in_mode!(Next, &device, graph);
                    let mut session = Session::start(move |x, z| pipeline.run(x, z)).unwrap();
                    let (z, told) = until_it_fails(&mut session, &x);
                    assert!(
                        next(&x).starts_with(&z) && z.len() <= 5 * chunk as usize,
                        "{chunk}: {}",
                        z.len()
                    );
                    // The run stays over.
                    assert_eq!(session.push(&x).unwrap_err().to_string(), told.to_string());
                    assert_eq!(session.flush().unwrap_err().to_string(), told.to_string());
                    assert_eq!(session.pull(&mut [0.0]).unwrap_err().to_string(), told.to_string());
                    let error = session.close().unwrap_err();
                    assert_eq!(told.to_string(), error.to_string());
                    let place = error.place();
                    let at = Next::PLAN.operations[operation].text;
                    assert_eq!((place.operation, place.chunk), (Some(at), Some(chunk)), "{error}");
                    if effect == Effect::Lost {
                        KEPT.lock().unwrap().push(device);
                    }
                }
            }
        }
    });
}

fn looks_at(h: &[i32], worst: i32) -> Result<(), String> {
    if h.contains(&worst) { Err("it is the worst".to_owned()) } else { Ok(()) }
}

stream_pipeline! {
    /// Fails in a kernel, in a function on the CPU, or in an expression.
    pipeline Fragile {
        param worst: i32;
        param most: usize;
        input x: [i32];
        output y: [i32];
        device dy: [i32];
        host h: [i32];
        chunk c = 4;
        depth = 3;
        stage load { copy x -> dx; }
        stage check { copy dx -> h; host looks_at(&h, worst); copy h -> ex; }
        stage work { refuses<<<1, 32>>>(by(most, c), &ex, out dy); }
        stage store { copy dy -> y; }
    }
}

fn by(most: usize, c: thalweg::plan::Chunk) -> u32 {
    assert!(c.index < most, "an expression panics");
    c.len as u32
}

#[test]
fn kernels_functions_and_expressions() {
    everywhere(|device, graph| {
        for bad in [0, 3, 4, 17] {
            for (worst, most, kind) in [
                (REFUSED, usize::MAX, "HostBody"),
                (REFUSED + 1, usize::MAX, "HostFunction"),
                (0, bad / 4, "Panicked"),
            ] {
                let mut pipeline = built_in_mode!(Fragile, device, graph);
                let mut session = Session::start(move |x, y| pipeline.run(REFUSED + 1, most, x, y)).unwrap();
                let (mut y, mut some) = (Vec::new(), [0; 3]);
                let told = 'over: {
                    for i in 0.. {
                        let item = if i == bad as i32 && worst != 0 { worst } else { i };
                        if let Err(error) = session.push(&[item]) {
                            break 'over error;
                        }
                        match session.try_pull(&mut some) {
                            Ok(pulled) => y.extend_from_slice(&some[..pulled.unwrap()]),
                            Err(error) => break 'over error,
                        }
                    }
                    unreachable!()
                };
                let rest = loop {
                    match session.pull(&mut some) {
                        Ok(pulled) => y.extend_from_slice(&some[..pulled]),
                        Err(error) => break error,
                    }
                };
                assert_eq!(rest.to_string(), told.to_string());
                assert!(y.len() <= bad / 4 * 4 && y.iter().zip(0..).all(|(y, x)| *y == x + 1), "{y:?}");
                let error = session.close().unwrap_err();
                assert!(format!("{:?}", error.detail()).starts_with(kind), "{error:?}");
                if kind == "Panicked" {
                    // The run has unwound: its callers know only that.
                    assert!(matches!(told.detail(), Detail::SessionOver), "{told}");
                } else {
                    assert_eq!(told.to_string(), error.to_string());
                    assert_eq!(error.place().chunk, Some(bad as u64 / 4));
                    assert_eq!(error.complete()[0].items, y.len(), "{error}");
                }
            }
        }
    });
}

stream_pipeline! {
    /// A parameter that is checked before anything begins.
    pipeline Sized {
        input x: [f32];
        input y: [f32];
        input w: [f32];
        output z: [f32];
        chunk c = 4;
        stage all { copy x -> dx; copy y -> _dy; copy w -> _dw; add_to<<<1, 32>>>(c.len as u32, 1.0, &mut dx); copy dx -> z; }
    }
}

#[test]
fn what_was_ended_takes_nothing_more() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Next, device, graph);
        let mut session = Session::start(move |x, z| pipeline.run(x, z)).unwrap();
        session.push(&[1.0, 2.0]).unwrap();
        session.end();
        for error in [session.push(&[3.0]).unwrap_err(), session.flush().unwrap_err()] {
            assert!(matches!(error.kind(), ErrorKind::Closed(_)), "{error}");
            assert_eq!(error.to_string(), "the input was ended: nothing more can be pushed to it");
        }
        let mut z = [0.0; 3];
        assert_eq!(session.pull(&mut z).unwrap(), 2);
        assert_eq!(z, [2.0, 3.0, 0.0]);
        // The run has ended well.
        assert!(matches!(session.push(&[3.0]).unwrap_err().detail(), Detail::InputEnded));
        assert_eq!(session.close().unwrap().chunks, 1);
    });
}

#[test]
fn a_run_that_never_begins() {
    in_time(|| {
        let device = Device::simulated(Simulation::default());
        // Its arguments are dropped.
        let mut session = Session::<f32, f32, ()>::start(|_, _| Ok(())).unwrap();
        let error = session.push(&[1.0]).unwrap_err();
        assert!(matches!(error.detail(), Detail::SessionOver), "{error}");
        let error = session.pull(&mut [1.0]).unwrap_err();
        assert_eq!(error.to_string(), "the session is over: its run has ended, or was never begun");
        session.close().unwrap();
        // It refuses its other arguments.
        let mut pipeline = Sized::new(&device).unwrap();
        let mut session =
            Session::start(move |x, z| pipeline.run(x, &[1.0, 2.0], &[1.0, 2.0, 3.0], z)).unwrap();
        let error = session.push(&[1.0]).unwrap_err();
        assert!(matches!(error.detail(), Detail::SessionOver), "{error}");
        let error = session.close().unwrap_err();
        assert!(matches!(error.detail(), Detail::Length { .. }), "{error}");
        // The work panics before it runs a pipeline.
        let mut session = Session::<f32, f32, ()>::start(|_, _| panic!("before the run")).unwrap();
        assert!(session.push(&[1.0]).is_err());
        assert!(matches!(session.close().unwrap_err().detail(), Detail::Panicked { .. }));
    });
}

/// The run ends whatever it waits for: for more, for a caller that pulls, or for nothing yet.
#[test]
fn cancelled() {
    everywhere(|device, graph| {
        for (pushed, pulls) in [(0, false), (3, false), (17, false), (17, true), (100, false)] {
            let mut pipeline = built_in_mode!(Next, device, graph);
            let (mut frames, mut results, job) =
                Session::start(move |x, z| pipeline.run(x, z)).unwrap().split();
            let x = numbers(pushed);
            let (z, told) = thalweg::job::scope(|scope| {
                let pushing = scope.spawn(|| frames.push(&x).and_then(|()| frames.push(&[0.0; 1000])));
                thread::sleep(Duration::from_millis(5));
                let mut z = vec![0.0; if pulls { 5 } else { 0 }];
                assert_eq!(results.pull(&mut z).unwrap(), z.len());
                job.cancel();
                let told = pushing.unwrap().wait().unwrap_err();
                let mut more = [0.0; 4];
                loop {
                    match results.pull(&mut more) {
                        Ok(pulled @ 1..) => z.extend_from_slice(&more[..pulled]),
                        Ok(_) => panic!("it has ended well"),
                        Err(error) => {
                            assert_eq!(error.to_string(), told.to_string());
                            break (z, told);
                        }
                    }
                }
            });
            let error = job.wait().unwrap_err();
            assert!(matches!(error.detail(), Detail::Cancelled), "{error}");
            assert_eq!(told.to_string(), error.to_string());
            // A run that was cancelled before it began has nothing complete.
            assert_eq!(error.complete().first().map_or(0, |complete| complete.items), z.len());
            let mut all = x.clone();
            all.extend([0.0; 1000]);
            assert!(next(&all).starts_with(&z));
        }
    });
}

/// An error that comes between two calls is returned by the next call.
#[test]
fn a_source_beside_it_fails() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(super::Axpy, device, graph);
        let (told, _chunks) = std::sync::mpsc::channel();
        let (mut left, x) = session::input();
        let (z, mut results) = session::output();
        let job =
            thalweg::job::spawn(move || pipeline.run(1.0, told, x, source::from_fn(fails_at_chunk_2), z));
        let x = numbers(1000);
        let told = left.push(&x).unwrap_err();
        let mut z = [0.0; 9];
        assert_eq!(results.pull(&mut z).unwrap(), 8);
        assert!(z[..8].iter().zip(&x).all(|(z, x)| *z == 2.0 * (x + 1.0)));
        assert_eq!(results.pull(&mut z).unwrap_err().to_string(), told.to_string());
        assert!(matches!(told.detail(), Detail::Source { host: "y", .. }), "{told}");
        assert_eq!(job.unwrap().wait().unwrap_err().to_string(), told.to_string());
    });
}

/// A source that has stopped is not asked again, while a caller is still to push what comes before.
#[test]
fn a_source_that_fails_ahead_of_a_caller() {
    for cancels in [false, true] {
        everywhere(|device, graph| {
            let mut pipeline = built_in_mode!(super::Axpy, device, graph, depth(3));
            let (told, _chunks) = std::sync::mpsc::channel();
            let ((mut left, x), (z, mut results)) = (session::input(), session::output());
            let run = move || pipeline.run(1.0, told, x, source::from_fn(fails_at_chunk_2), z);
            let job = thalweg::job::spawn(run).unwrap();
            thread::sleep(Duration::from_millis(5));
            let mut z = [0.0; 4];
            left.push(&[1.0; 4]).unwrap();
            assert_eq!(results.pull(&mut z).unwrap(), 4);
            thread::sleep(Duration::from_millis(30));
            if cancels {
                job.cancel();
                assert!(matches!(job.wait().unwrap_err().detail(), Detail::Cancelled));
                return;
            }
            let _ = left.push(&[1.0; 8]);
            assert_eq!(results.pull(&mut z).unwrap(), 4);
            let error = results.pull(&mut z).unwrap_err();
            assert!(matches!(error.detail(), Detail::Source { host: "y", .. }), "{error}");
            job.wait().unwrap_err();
        });
    }
}

/// An input that ends within an item has ended: results move to ordinary memory.
#[test]
fn an_input_that_ends_within_an_item_while_nobody_pulls() {
    in_time(|| {
        let device = Device::simulated(Simulation::default());
        let mut pipeline = built_in_mode!(Through<u16>, &device, false);
        let ((mut data, x), (z, mut results)) = (session::input(), session::output());
        let job = thalweg::job::spawn(move || pipeline.run(3, x, z)).unwrap();
        data.push(&[7_u16; 3 * 15 + 2]).unwrap();
        thread::sleep(Duration::from_millis(60));
        drop(data);
        let error = job.wait().unwrap_err();
        assert!(matches!(error.detail(), Detail::Source { .. }), "{error}");
        let mut all = [0; 45];
        assert_eq!(results.pull(&mut all).unwrap(), 45);
    });
}

stream_pipeline! {
    /// Sends each chunk over a channel, which must have a receiver.
    pipeline Says {
        param told: std::sync::mpsc::SyncSender<usize>;
        input x: [f32];
        output z: [f32];
        chunk c = 4;
        depth = 2;
        stage load { copy x -> dx; }
        stage store { copy dx -> z; then |c| told.send(c.index); }
    }
}

/// Results do not wait for callbacks, which may wait for the caller that pulls them.
#[test]
fn a_callback_that_waits_for_whoever_pulls() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Says, device, graph);
        let (told, heard) = std::sync::mpsc::sync_channel(0);
        let ((mut data, x), (z, mut results)) = (session::input(), session::output());
        let job = thalweg::job::spawn(move || pipeline.run(told, x, z)).unwrap();
        data.push(&[1.0; 3]).unwrap();
        drop(data);
        let mut z = [0.0; 3];
        assert_eq!(results.pull(&mut z).unwrap(), 3);
        assert_eq!(heard.recv().unwrap(), 0);
        job.wait().unwrap();
    });
}

/// An error that comes later in the same call is returned by the next one.
#[test]
fn what_is_pulled_before_a_part_of_an_item_is_not_lost() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Through<u16>, device, graph);
        let mut session = Session::start(move |x, z| pipeline.run(3, x, z)).unwrap();
        session.push(&[7_u16; 16]).unwrap();
        let mut z = [0; 20];
        assert_eq!(session.pull(&mut z).unwrap(), 15);
        let error = session.pull(&mut z).unwrap_err();
        assert!(matches!(error.detail(), Detail::PartOfItem { .. }), "{error}");
        session.push(&[7; 2]).unwrap();
        assert_eq!(session.pull(&mut z).unwrap(), 3);
        session.close().unwrap();
    });
}

/// Without a source nothing has ended before everything was begun: results wait in their slots.
#[test]
fn a_slice_is_held_back_by_whoever_pulls() {
    in_time(|| {
        let device = Device::simulated(Simulation::default());
        let mut pipeline = built_in_mode!(Next, &device, false);
        let (z, mut results) = session::output();
        let x = numbers(50);
        let job = thalweg::job::spawn({
            let x = x.clone();
            move || pipeline.run(&x, z)
        });
        let job = job.unwrap();
        thread::sleep(Duration::from_millis(500));
        assert!(!job.is_done());
        let mut all = vec![0.0; 50];
        assert_eq!(results.pull(&mut all).unwrap(), 50);
        assert_eq!(all, next(&x));
        job.wait().unwrap();
    });
}
