//! A flush makes a short chunk wherever it comes, and everyone sees the chunk's true length.

use std::sync::mpsc::{self, Sender};

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::session::{self, Session};
use thalweg_tests::built_in_mode;
use thalweg_tests::kernels::axpy_each;
use thalweg_tests::numbers;
use thalweg_tests::waiting::everywhere;

use super::{Axpy, Next, Through, Told, next, rest};

/// Flushes after each of these numbers of items.
#[test]
fn flushes_everywhere() {
    everywhere(|device, graph| {
        let lengths = [0, 1, 3, 4, 5, 9];
        for (first, second) in lengths.into_iter().flat_map(|first| lengths.map(|second| (first, second))) {
            let parts = [first, second, 2];
            let (x, y) = (numbers(20), numbers(40).split_off(20));
            let mut pipeline = built_in_mode!(Axpy, device, graph, depth(3));
            let (told, chunks) = mpsc::channel();
            let (mut left, x_end) = session::input();
            let (mut right, y_end) = session::input();
            let (z, mut results) = session::output();
            let job = thalweg::job::spawn(move || pipeline.run(1.0, told, x_end, y_end, z)).unwrap();
            let (mut start, mut expected, mut z) = (0, Vec::<Told>::new(), Vec::new());
            for part in parts {
                for (end, data) in [(&mut left, &x), (&mut right, &y)] {
                    end.push(&data[start..start + part]).unwrap();
                    end.flush().unwrap();
                    end.flush().unwrap();
                }
                for begin in (0..part).step_by(4) {
                    expected.push((expected.len(), start + begin, (part - begin).min(4)));
                }
                let mut some = vec![0.0; part];
                assert_eq!(results.pull(&mut some).unwrap(), part);
                z.extend(some);
                start += part;
            }
            drop((left, right));
            assert_eq!(results.pull(&mut [0.0]).unwrap(), 0);
            assert!(z.iter().zip(x.iter().zip(&y)).all(|(z, (x, y))| *z == 2.0 * (x + y)));
            let report = job.wait().unwrap();
            assert_eq!((report.items, report.chunks), (start, expected.len()));
            assert_eq!(chunks.iter().collect::<Vec<_>>(), expected);
        }
    });
}

/// A chunk has one length for all inputs.
#[test]
fn flushed_at_different_items() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Axpy, device, graph);
        let (told, _chunks) = mpsc::channel();
        let ((mut left, x), (mut right, y)) = (session::input(), session::input());
        let (z, mut results) = session::output();
        let job = thalweg::job::spawn(move || pipeline.run(1.0, told, x, y, z)).unwrap();
        left.push(&[1.0; 6]).unwrap();
        right.push(&[1.0; 7]).unwrap();
        left.flush().unwrap();
        right.flush().unwrap();
        let mut some = [0.0; 4];
        assert_eq!(results.pull(&mut some).unwrap(), 4);
        let pulled = results.pull(&mut some).unwrap_err();
        let error = job.wait().unwrap_err();
        let Detail::SourcesDiffer { host: "x", items: 6, other: "y", given: 7 } = error.detail() else {
            panic!("{error}")
        };
        assert_eq!(error.place().chunk, Some(1));
        let said = "source `x` ended or was flushed after 6 items, but `y` has gone on to 7\n  help: ";
        assert!(error.to_string().starts_with(said), "{error}");
        // Every caller that pushes or pulls sees the same.
        assert_eq!(pulled.to_string(), error.to_string());
        assert_eq!(left.push(&[1.0]).unwrap_err().to_string(), error.to_string());
        assert_eq!(right.flush().unwrap_err().to_string(), error.to_string());
    });
}

/// One input ends where the other one was flushed.
#[test]
fn one_ends_where_another_is_flushed() {
    everywhere(|device, graph| {
        for more in [0, 1] {
            let mut pipeline = built_in_mode!(Axpy, device, graph);
            let (told, _chunks) = mpsc::channel();
            let ((mut left, x), (mut right, y)) = (session::input(), session::input());
            let (z, mut results) = session::output();
            let job = thalweg::job::spawn(move || pipeline.run(1.0, told, x, y, z)).unwrap();
            left.push(&[1.0; 3]).unwrap();
            right.push(&[1.0; 3]).unwrap();
            left.end();
            right.flush().unwrap();
            let mut some = [0.0; 3];
            assert_eq!(results.pull(&mut some).unwrap(), 3);
            right.push(&vec![1.0; more]).unwrap();
            drop(right);
            match job.wait() {
                Ok(report) => assert_eq!((more, report.items), (0, 3)),
                Err(error) => {
                    let kind = error.detail();
                    assert!(matches!(kind, Detail::SourcesDiffer { items: 3, given: 4, .. }), "{error}");
                    assert_eq!(more, 1);
                }
            }
        }
    });
}

/// Only whole items can be flushed; a part of one waits for the rest, or is an error at the end.
#[test]
fn parts_of_items() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Through<u16>, device, graph);
        let (mut data, x) = session::input();
        let (z, mut results) = session::output();
        let job = thalweg::job::spawn(move || pipeline.run(3, x, z)).unwrap();
        data.push(&[1_u16, 2, 3, 4]).unwrap();
        let error = data.flush().unwrap_err();
        assert!(
            matches!(error.detail(), Detail::PartOfItem { host: "x", elements: 1, per_item: 3 }),
            "{error}"
        );
        assert_eq!(error.to_string(), "`x` cannot be flushed: its last item has 1 of 3 elements");
        data.push(&[5, 6]).unwrap();
        data.flush().unwrap();
        let mut some = [0; 6];
        assert_eq!(results.pull(&mut some).unwrap(), 6);
        assert_eq!(some, [1, 2, 3, 4, 5, 6]);
        data.push(&[7, 8]).unwrap();
        drop(data);
        let error = job.wait().unwrap_err();
        assert!(
            error.to_string().starts_with("source `x` failed: it ended 2 elements into an item of 3\n"),
            "{error}"
        );
        assert_eq!((error.place().chunk, error.complete()[0].items), (Some(1), 2));
    });
}

/// A sink gets the chunks that were made, and a failed run knows how many items they have.
#[test]
fn sinks_are_told_the_chunks() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Next, device, graph);
        let (mut data, x) = session::input();
        let (sender, chunks) = mpsc::channel();
        let job = thalweg::job::spawn(move || {
            pipeline.run(
                x,
                sink::for_each(|c, data: &[f32]| {
                    assert_eq!(data.len(), c.len);
                    sender.send((c.index, c.start, c.len)).map_err(std::io::Error::other)?;
                    if c.index == 3 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(()) }
                }),
            )
        });
        for len in [2, 5, 1, 4, 3] {
            if data.push(&vec![1.0; len]).is_err() || data.flush().is_err() {
                break;
            }
        }
        drop(data);
        let error = job.unwrap().wait().unwrap_err();
        assert!(matches!(error.detail(), Detail::Sink { .. }), "{error}");
        assert_eq!((error.complete()[0].chunks, error.complete()[0].items), (3, 8), "{error}");
        assert_eq!(chunks.iter().collect::<Vec<_>>(), [(0, 0, 2), (1, 2, 5), (2, 7, 1), (3, 8, 4)]);
    });
}

fn negate(h: &mut [f32]) {
    h.iter_mut().for_each(|h| *h = -*h);
}

stream_pipeline! {
    /// A carried sum, a function on the host, a callback, and a result for each chunk.
    pipeline All {
        param told: Sender<Told>;
        input x: [f32];
        output z: [f32];
        output sums: [f32; 4] per chunk;
        carry total: [f32; 4];
        device so_far: [f32; 4] per chunk;
        host h: [f32];
        chunk c = 4;
        depth = 2;
        stage load { copy x -> dx; }
        stage add {
            axpy_each<<<1, 4>>>(c.len as u32, 1.0, &dx, &mut total);
            fill so_far = 0.0;
            axpy_each<<<1, 4>>>(4, 1.0, &total, &mut so_far);
            copy so_far -> sums;
        }
        stage cpu { copy dx -> h; host negate(&mut h); copy h -> dz; }
        stage store { copy dz -> z; then |c| told.send((c.index, c.start, c.len)); }
    }
}

#[test]
fn carried_and_by_chunk_and_on_the_host() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(All, device, graph);
        let (told, chunks) = mpsc::channel();
        let (mut data, x) = session::input();
        let ((z, mut results), (sums, mut by_chunk)) = (session::output(), session::output());
        let job = thalweg::job::spawn(move || {
            let mut total = [1.0; 4];
            pipeline.run(told, x, z, sums, &mut total)?;
            Ok(total)
        });
        let (lengths, mut totals, mut start) = ([4, 1, 3, 4, 2, 4, 1], [1.0_f32; 4], 0);
        let x = numbers(lengths.iter().sum());
        let mut expected = Vec::new();
        for (index, len) in lengths.into_iter().enumerate() {
            let part = &x[start..start + len];
            data.push(part).unwrap();
            data.flush().unwrap();
            let (mut z, mut sums) = (vec![0.0; len], [0.0; 4]);
            assert_eq!(results.pull(&mut z).unwrap(), len);
            assert_eq!(by_chunk.pull(&mut sums).unwrap(), 4);
            part.iter().zip(&mut totals).for_each(|(x, total)| *total += x);
            assert_eq!(sums, totals);
            assert!(z.iter().zip(part).all(|(z, x)| *z == -x));
            expected.push((index, start, len));
            start += len;
        }
        drop(data);
        assert!(rest(&mut results, 3).unwrap().is_empty() && rest(&mut by_chunk, 3).unwrap().is_empty());
        assert_eq!(job.unwrap().wait().unwrap(), totals);
        assert_eq!(chunks.iter().collect::<Vec<_>>(), expected);
    });
}

/// A slice with a result for each chunk limits the number of chunks.
#[test]
fn results_by_chunk_in_a_slice() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(All, device, graph);
        let (told, _chunks) = mpsc::channel();
        let job = thalweg::job::spawn(move || {
            let (mut sums, mut total) = ([0.0; 12], [0.0; 4]);
            let (mut data, x) = session::input();
            data_of(&mut data, x, |x| {
                pipeline.run(told, x, sink::for_each(|_, _| Ok(())), &mut sums, &mut total)
            })
        });
        let error = job.unwrap().wait().unwrap_err();
        assert!(matches!(error.detail(), Detail::PerChunkLength { chunks: 4, .. }), "{error}");
        let sums = error.complete().iter().find(|complete| complete.host == "sums").unwrap();
        assert_eq!((sums.chunks, sums.items), (3, 3));
    });
}

/// Runs while another thread pushes single items until it fails.
fn data_of<R>(
    data: &mut session::Pusher<f32>,
    x: session::Pushed<f32>,
    run: impl FnOnce(session::Pushed<f32>) -> R,
) -> R {
    std::thread::scope(|scope| {
        scope.spawn(|| while data.push(&[1.0]).and_then(|()| data.flush()).is_ok() {});
        run(x)
    })
}

/// What one thread has pushed is pulled without a flush by hand, and not before.
#[test]
fn a_session_flushes_before_it_would_wait() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Next, device, graph);
        let mut session = Session::start(move |x, z| pipeline.run(x, z)).unwrap();
        let x = numbers(13);
        let mut z = [0.0; 20];
        assert_eq!(session.pull(&mut z).unwrap(), 0);
        session.push(&x[..7]).unwrap();
        // These are the results of the whole chunk before the incomplete one.
        assert_eq!(session.pull(&mut z[..5]).unwrap(), 5);
        session.push(&x[7..9]).unwrap();
        assert_eq!(session.pull(&mut z[5..]).unwrap(), 4);
        assert_eq!(session.pull(&mut z[9..]).unwrap(), 0);
        session.push(&x[9..]).unwrap();
        session.flush().unwrap();
        assert_eq!(session.pull(&mut z[9..]).unwrap(), 4);
        assert_eq!(z[..13], next(&x));
        let report = session.close().unwrap();
        assert_eq!((report.items, report.chunks), (13, 3));
    });
}
