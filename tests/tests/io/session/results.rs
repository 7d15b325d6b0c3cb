//! Callers pull what a run over all of the data at once would have given.

use std::sync::mpsc;
use std::thread;

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::session::{self, Session};
use thalweg_tests::built_in_mode;
use thalweg_tests::numbers;
use thalweg_tests::random::Random;
use thalweg_tests::waiting::everywhere;

use super::{Axpy, Next, Through, next, rest};

/// Data are pushed and pulled in pieces of any length, flushed now and then, in one thread.
#[test]
fn pieces_of_any_length() {
    everywhere(|device, graph| {
        let mut random = Random::new(7);
        for len in [0, 1, 4, 5, 6, 333] {
            let mut pipeline = built_in_mode!(Next, device, graph);
            let mut session = Session::start(move |x, z| pipeline.run(x, z)).unwrap();
            let x = numbers(len);
            let (mut left, mut z, mut some) = (&x[..], Vec::new(), [0.0; 12]);
            while !left.is_empty() {
                let piece = left.len().min(random.below(13) as usize);
                session.push(&left[..piece]).unwrap();
                left = &left[piece..];
                if random.below(4) == 0 {
                    session.flush().unwrap();
                }
                let wanted = (random.below(13) as usize).min(x.len() - left.len() - z.len());
                let pulled = session.pull(&mut some[..wanted]).unwrap();
                assert_eq!(pulled, wanted);
                z.extend_from_slice(&some[..pulled]);
            }
            session.end();
            loop {
                match session.pull(&mut some).unwrap() {
                    0 => break,
                    pulled => z.extend_from_slice(&some[..pulled]),
                }
            }
            assert_eq!(z, next(&x));
            assert_eq!(session.close().unwrap().items, len);
        }
    });
}

/// One thread pushes, fed by a channel; another one pulls.
#[test]
fn two_threads() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Next, device, graph);
        let (mut frames, mut results, job) =
            Session::start(move |x, z| Ok((pipeline.run(x, z)?, pipeline))).unwrap().split();
        let x = numbers(2003);
        let (sender, receiver) = mpsc::channel::<Vec<f32>>();
        let z = thread::scope(|scope| {
            scope.spawn(move || {
                for frame in receiver {
                    frames.push(&frame).unwrap();
                    frames.flush().unwrap();
                }
            });
            let z = scope.spawn(move || rest(&mut results, 17).unwrap());
            x.chunks(11).for_each(|frame| sender.send(frame.to_vec()).unwrap());
            drop(sender);
            z.join().unwrap()
        });
        assert_eq!(z, next(&x));
        let (report, mut pipeline) = job.wait().unwrap();
        assert_eq!((report.items, report.chunks), (2003, 2003_usize.div_ceil(11) * 3 - 2));
        // The pipeline works as before.
        let mut z = vec![0.0; 2003];
        pipeline.run(&x, &mut z).unwrap();
        assert_eq!(z, next(&x));
    });
}

/// A run that knows its length may be over before its caller flushes: nothing is left to go.
#[test]
fn a_flush_behind_the_last_item_does_nothing() {
    everywhere(|device, graph| {
        let (x, y) = (numbers(8), numbers(8));
        let mut pipeline = built_in_mode!(Axpy, device, graph);
        let (mut left, ends) = session::input();
        let mut z = vec![0.0; 8];
        thalweg::job::scope(|scope| {
            let (right, z) = (&y, &mut z);
            let job = scope.spawn(move || pipeline.run(1.0, mpsc::channel().0, ends, right, z)).unwrap();
            left.push(&x).unwrap();
            assert_eq!(job.wait().unwrap().items, 8);
        });
        left.flush().unwrap();
        let error = left.push(&[1.0]).unwrap_err();
        assert!(matches!(error.detail(), Detail::SessionOver), "{error}");
        assert_eq!(z, x.iter().zip(&y).map(|(x, y)| 2.0 * (y + x)).collect::<Vec<f32>>());
    });
}

/// A caller beside a slice, a source of another kind and a sink: each argument gets its own data.
#[test]
fn beside_other_arguments() {
    everywhere(|device, graph| {
        let (x, y) = (numbers(23), numbers(46).split_off(23));
        let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.0 * (y + 3.0 * x)).collect();
        for with_length in [false, true] {
            let mut pipeline = built_in_mode!(Axpy, device, graph);
            let (told, chunks) = mpsc::channel();
            let (mut left, ends) = session::input();
            let (z, mut results) = session::output();
            let found = thalweg::job::scope(|scope| {
                let (right, pipeline) = (&y, &mut pipeline);
                let job = scope.spawn(move || match with_length {
                    true => pipeline.run(3.0, told, ends, right, z),
                    false => pipeline.run(3.0, told, ends, source::batches(right.chunks(3)), z),
                });
                // The flushes make no difference: another argument decides how long chunks are.
                let x = &x;
                let pushing = scope.spawn(move || {
                    for some in x.chunks(7) {
                        left.push(some)?;
                        if with_length {
                            left.flush()?;
                        }
                    }
                    Ok(())
                });
                let found = rest(&mut results, 8).unwrap();
                pushing.unwrap().wait().unwrap();
                assert_eq!(job.unwrap().wait().unwrap().items, 23);
                found
            });
            assert_eq!(found, expected);
            assert_eq!(chunks.iter().last(), Some((5, 20, 3)));
        }
        let mut pipeline = built_in_mode!(Axpy, device, graph);
        let (told, chunks) = mpsc::channel();
        let ((mut left, x_end), (mut right, y_end)) = (session::input(), session::input());
        let mut z = Vec::new();
        let report = thalweg::job::scope(|scope| {
            let sink = sink::extend(&mut z);
            let pipeline = &mut pipeline;
            let job = scope.spawn(move || pipeline.run(3.0, told, x_end, y_end, sink)).unwrap();
            // Two slots hold eight items, and one chunk is being filled: pushing all before pulling would be
            // a deadlock.
            for (x, y) in x.chunks(3).zip(y.chunks(3)) {
                left.push(x).unwrap();
                right.push(y).unwrap();
            }
            drop((left, right));
            job.wait().unwrap()
        });
        assert_eq!((report.items, report.chunks, z), (23, 6, expected));
        assert_eq!(chunks.iter().last(), Some((5, 20, 3)));
    });
}

/// Elements of other sizes, several of which make an item.
#[test]
fn items_of_several_elements() {
    everywhere(|device, graph| {
        let x: Vec<[u8; 3]> = (0..6 * 23).map(|i| [i as u8, 1, (i / 7) as u8]).collect();
        let mut pipeline = built_in_mode!(Through<[u8; 3]>, device, graph);
        let mut session = Session::start(move |from, to| pipeline.run(6, from, to)).unwrap();
        let (mut z, mut some) = (Vec::new(), [[0; 3]; 9]);
        for piece in x.chunks(31) {
            session.push(piece).unwrap();
        }
        session.end();
        loop {
            match session.pull(&mut some).unwrap() {
                0 => break,
                pulled => z.extend_from_slice(&some[..pulled]),
            }
        }
        assert_eq!(z, x);
        assert_eq!(session.close().unwrap().items, 23);
    });
}

/// Elements without bytes are counted all the same.
#[test]
fn elements_without_bytes() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Through<()>, device, graph);
        let mut session = Session::start(move |from, to| pipeline.run(1, from, to)).unwrap();
        session.push(&[(); 23]).unwrap();
        let mut some = [(); 100];
        assert_eq!(session.pull(&mut some).unwrap(), 23);
        assert_eq!(session.close().unwrap().items, 23);
    });
}

// ANCHOR: session
/// The results of two frames, each pulled before the next one is pushed.
fn two_frames(device: &Device, frames: [[f32; 5]; 2]) -> thalweg::Result<[[f32; 5]; 2]> {
    let mut pipeline = Next::new(device)?;
    let mut session = Session::start(move |x, z| pipeline.run(x, z))?;
    let mut results = [[0.0; 5]; 2];
    for (frame, result) in frames.iter().zip(&mut results) {
        session.push(frame)?;
        session.pull(result)?;
    }
    let report = session.close()?;
    assert_eq!(report.items, 10);
    Ok(results)
}
// ANCHOR_END: session

// ANCHOR: ends
/// `z <- 2 * (y + a*x)` of items that come two by two.
fn pairs(device: &Device, a: f32, x: &[f32], y: &[f32]) -> thalweg::Result<Vec<f32>> {
    let mut axpy = Axpy::new(device)?;
    let ((mut xs, x_end), (mut ys, y_end), (z_end, mut zs)) =
        (session::input(), session::input(), session::output());
    let (told, _chunks) = mpsc::channel();
    let job = thalweg::job::spawn(move || axpy.run(a, told, x_end, y_end, z_end))?;
    let mut z = vec![0.0; x.len()];
    for ((x, y), z) in x.chunks(2).zip(y.chunks(2)).zip(z.chunks_mut(2)) {
        xs.push(x)?;
        ys.push(y)?;
        xs.flush()?;
        ys.flush()?;
        zs.pull(z)?;
    }
    drop((xs, ys));
    job.wait()?;
    Ok(z)
}
// ANCHOR_END: ends

#[test]
fn as_the_book_has_it() {
    everywhere(|device, _| {
        let frames = [[1.0, 2.0, 3.0, 4.0, 5.0], [6.0; 5]];
        assert_eq!(two_frames(device, frames).unwrap(), [[2.0, 3.0, 4.0, 5.0, 6.0], [7.0; 5]]);
        let z = pairs(device, 2.0, &[1.0, 2.0, 3.0], &[0.0, 1.0, 2.0]).unwrap();
        assert_eq!(z, [4.0, 10.0, 16.0]);
    });
}

/// Each frame comes back before the next one is pushed.
#[test]
fn one_at_a_time() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Next, device, graph);
        let mut session = Session::start(move |x, z| pipeline.run(x, z)).unwrap();
        let start = std::time::Instant::now();
        for frame in numbers(5 * 200).chunks(5) {
            let mut z = [0.0; 5];
            session.push(frame).unwrap();
            assert_eq!(session.pull(&mut z).unwrap(), 5);
            assert_eq!(z, next(frame)[..]);
        }
        // Nobody has waited for a device that waits for more.
        assert!(start.elapsed() < std::time::Duration::from_secs(2), "{:?}", start.elapsed());
        assert_eq!(session.close().unwrap().chunks, 200);
    });
}
