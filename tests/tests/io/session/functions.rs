//! A function on the CPU that fails while its caller waits for the result, and pushes nothing more until that
//! comes.

use std::sync::mpsc::channel;

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::session::{self, Session};
use thalweg_tests::built_in_mode;
use thalweg_tests::kernels::add_to;
use thalweg_tests::waiting::everywhere;

/// The values that make a function return an error, and panic.
const BAD: f32 = -1.0;
const WORSE: f32 = -2.0;

fn looks_at(h: &[f32]) -> Result<(), String> {
    assert!(!h.contains(&WORSE), "it is worse");
    if h.contains(&BAD) { Err("it is bad".to_owned()) } else { Ok(()) }
}

stream_pipeline! {
    /// `z <- x + 1`, after a look at `x`.
    pipeline Checked {
        input x: [f32];
        output z: [f32];
        host h: [f32];
        chunk c = 4;
        depth = 3;
        stage load { copy x -> dx; copy dx -> h; }
        stage check { host looks_at(&h); copy h -> e; }
        stage work { add_to<<<1, 32>>>(c.len as u32, 1.0, &mut e); }
        stage store { copy e -> z; }
    }
}

stream_pipeline! {
    /// `z <- x`, and then a callback.
    pipeline Told {
        input x: [f32];
        output z: [f32];
        chunk c = 4;
        depth = 2;
        stage load { copy x -> dx; }
        stage store { copy dx -> z; then |c| if c.index == 2 { Err("nobody listens") } else { Ok(()) }; }
    }
}

/// The number of chunks before the one that fails, the value in it, and the text of its error.
const CASES: [(usize, f32, &str); 6] = [
    (0, BAD, "it is bad"),
    (1, BAD, "it is bad"),
    (7, BAD, "it is bad"),
    (0, WORSE, "it is worse"),
    (1, WORSE, "it is worse"),
    (7, WORSE, "it is worse"),
];

/// Expects the error of the function for this chunk, with this number of complete items.
fn assert_failed(error: &Error, chunk: usize, said: &str, complete: usize) {
    assert!(
        matches!(error.detail(), Detail::HostFunction { function: "looks_at", message } if message == said),
        "{error}"
    );
    assert_eq!(error.place().chunk, Some(chunk as u64));
    assert_eq!(error.complete()[0].items, complete, "{error}");
}

#[test]
fn a_pull_has_the_error() {
    everywhere(|device, graph| {
        for (good, value, said) in CASES {
            let mut pipeline = built_in_mode!(Checked, device, graph);
            let mut session = Session::start(move |x, z| pipeline.run(x, z)).unwrap();
            let mut z = [0.0; 4];
            for _ in 0..good {
                session.push(&[1.0; 4]).unwrap();
                assert_eq!((session.pull(&mut z).unwrap(), z), (4, [2.0; 4]));
            }
            session.push(&[value; 4]).unwrap();
            let error = session.pull(&mut z).unwrap_err();
            assert_failed(&error, good, said, 4 * good);
            assert_eq!(session.close().unwrap_err().to_string(), error.to_string());
        }
    });
}

/// Several chunks are under way. Another order may carry out a later one first, so that earlier results are
/// missing. A chunk need not be full.
#[test]
fn what_is_complete_can_be_pulled() {
    everywhere(|device, graph| {
        for (good, value, said) in CASES {
            let mut pipeline = built_in_mode!(Checked, device, graph);
            let mut session = Session::start(move |x, z| pipeline.run(x, z)).unwrap();
            // It pushes as many chunks as there are slots. A caller that pushes more puts results aside, and
            // may get the error there.
            let good = good.min(1);
            session.push(&[1.0; 4][..4 * good]).unwrap();
            session.push(&[value; 3]).unwrap();
            let (mut z, mut pulled) = ([0.0; 9], 0);
            let error = loop {
                match session.pull(&mut z) {
                    Ok(more) => {
                        assert_eq!(z[..more], [2.0; 4]);
                        pulled += more;
                    }
                    Err(error) => break error,
                }
            };
            assert_failed(&error, good, said, pulled);
            session.close().unwrap_err();
        }
    });
}

#[test]
fn two_threads_have_the_error() {
    everywhere(|device, graph| {
        for (good, value, said) in CASES {
            let mut pipeline = built_in_mode!(Checked, device, graph);
            let (mut frames, mut results, job) =
                Session::start(move |x, z| pipeline.run(x, z)).unwrap().split();
            thalweg::job::scope(|scope| {
                let pulling = scope.spawn(|| {
                    let (mut z, mut pulled) = ([0.0; 4], 0);
                    loop {
                        match results.pull(&mut z) {
                            Ok(more) => {
                                assert_eq!((more, z), (4, [2.0; 4]));
                                pulled += more;
                            }
                            Err(error) => return Ok((pulled, error)),
                        }
                    }
                });
                for _ in 0..good {
                    frames.push(&[1.0; 4]).unwrap();
                }
                frames.push(&[value; 4]).unwrap();
                // The pusher is kept: the input has not ended.
                let (pulled, error) = pulling.unwrap().wait().unwrap();
                assert_failed(&error, good, said, pulled);
            });
            job.wait().unwrap_err();
        }
    });
}

/// A callback delays no result. The run ends although nothing is pushed.
#[test]
fn a_callback_ends_the_run() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Told, device, graph);
        let ((mut frames, x), (z, mut results)) = (session::input(), session::output());
        let job = thalweg::job::spawn(move || pipeline.run(x, z)).unwrap();
        let mut z = [0.0; 4];
        for _ in 0..3 {
            frames.push(&[1.0; 4]).unwrap();
            assert_eq!(results.pull(&mut z).unwrap(), 4);
        }
        let error = job.wait().unwrap_err();
        assert!(
            matches!(error.detail(), Detail::Callback { message } if message == "nobody listens"),
            "{error}"
        );
        assert_eq!(results.pull(&mut z).unwrap_err().to_string(), error.to_string());
    });
}

/// The run also ends where threads fill and empty the slots, and the next input depends on earlier results.
#[test]
fn channels_in_a_loop() {
    everywhere(|device, graph| {
        for (good, value, said) in CASES {
            let mut pipeline = built_in_mode!(Checked, device, graph);
            let ((frames, x), (z, results)) = (channel(), channel());
            let run = move || pipeline.run(source::channel(x), sink::channel(z));
            let job = thalweg::job::spawn(run).unwrap();
            for _ in 0..good {
                frames.send(vec![1.0; 4]).unwrap();
                assert_eq!(results.recv().unwrap(), [2.0; 4]);
            }
            frames.send(vec![value; 4]).unwrap();
            // The sender is there until this is answered.
            results.recv().unwrap_err();
            drop(frames);
            assert_failed(&job.wait().unwrap_err(), good, said, 4 * good);
        }
    });
}
