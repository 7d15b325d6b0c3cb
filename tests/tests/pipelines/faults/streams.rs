//! Sources and sinks that fail, while the device fails too: the first error is reported, and everything ends.

use std::io;

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::sim::{Effect, Fault};
use thalweg_tests::{leaves_nothing, small};

use super::pipelines::{CHUNKS, Streams, streams_data};
use super::{KEPT, Watchdog, say, specs};

/// The part that fails beside the device, or alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Source,
    Ends,
    Panics,
    Sink,
}

const ENDS: [End; 4] = [End::Source, End::Ends, End::Panics, End::Sink];

/// One run in which something fails at a chunk: returns what the sink has taken, and the run's error.
fn run(pipeline: &mut Streams, end: End, chunk: u64) -> (Vec<f32>, thalweg::Result<Report>) {
    let (x, y, _) = streams_data();
    let chunk = chunk as usize;
    let of_y = source::from_fn(|c, slot: &mut [f32]| {
        match end {
            End::Source if c.index == chunk => return Err(io::ErrorKind::TimedOut.into()),
            End::Ends if c.index == chunk => return Ok(1),
            End::Panics if c.index == chunk => panic!("a source panics"),
            _ => {}
        }
        let len = slot.len().min(y.len() - c.start);
        slot[..len].copy_from_slice(&y[c.start..][..len]);
        Ok(len)
    });
    let mut z = Vec::new();
    let full = sink::for_each(|c, data: &[f32]| {
        if end == End::Sink && c.index == chunk {
            return Err(io::ErrorKind::StorageFull.into());
        }
        z.extend_from_slice(data);
        Ok(())
    });
    let result = pipeline.run(&x, of_y, full);
    (z, result)
}

/// Checks that the error is that end's, at its chunk.
fn is_of(error: &Error, end: End, chunk: u64) -> bool {
    let (stage, kind) = match (end, error.detail()) {
        (End::Source | End::Panics, Detail::Source { host, .. }) => ("load", *host == "y"),
        (End::Ends, &Detail::SourceEnded { host, items, wanted, .. }) => {
            ("load", host == "y" && items == 4 * chunk as usize + 1 && wanted == 18)
        }
        (End::Sink, Detail::Sink { host, .. }) => ("store", *host == "z"),
        _ => return false,
    };
    kind && error.place().stage == Some(stage) && error.place().chunk == Some(chunk)
}

#[test]
fn ends_alone_and_beside_faults() {
    let watchdog = Watchdog::new();
    let (_, _, expected) = streams_data();
    let mut injected = 0;
    let effects = [None, Some(Effect::Refused), Some(Effect::Fails), Some(Effect::Lost)];
    for ((end, at), graph) in ENDS
        .iter()
        .flat_map(|&end| (0..CHUNKS).map(move |at| (end, at)))
        .zip([false, true].into_iter().cycle())
    {
        for (effect, operation) in effects.into_iter().flat_map(|effect| (0..4).map(move |of| (effect, of))) {
            for (chunk, spec) in (0..CHUNKS).zip(specs().into_iter().cycle()) {
                let what =
                    format!("{end:?} at {at}, {effect:?} at operation {operation} of chunk {chunk}, {graph}");
                watchdog.next(what.clone());
                let device = small(spec);
                let lost = effect == Some(Effect::Lost);
                let check = || {
                    let options = Streams::options(&device);
                    let mut pipeline = if graph { options.graph().build() } else { options.build() }.unwrap();
                    let fault = effect.map(|effect| {
                        device.inject(Fault::operation(&Streams::PLAN, operation, chunk, effect)).unwrap()
                    });
                    let (z, result) = run(&mut pipeline, end, at);
                    let error = result.expect_err(&what);
                    let complete = error.complete()[0].items;
                    assert_eq!(z.len(), complete, "{what}: {error}");
                    assert_eq!(z, expected[..complete], "{what}: {error}");
                    if is_of(&error, end, at) {
                        assert_eq!(complete, 4 * at as usize, "{what}: {error}");
                    } else {
                        // The device failed first.
                        assert!(fault.is_some_and(|fault| fault.struck()), "{what}: {error}");
                        let place = error.place();
                        let of = (place.operation, place.chunk);
                        assert_eq!(
                            of,
                            (Some(Streams::PLAN.operations[operation].text), Some(chunk)),
                            "{what}: {error}"
                        );
                        injected += 1;
                    }
                    if !lost {
                        // A fault that is left strikes now or never.
                        let _ = run(&mut pipeline, End::Sink, CHUNKS);
                        let (z, result) = run(&mut pipeline, End::Sink, CHUNKS);
                        result.unwrap_or_else(|error| panic!("{what}, again: {error}"));
                        assert_eq!(z, expected, "{what}");
                    }
                };
                let mut check = check;
                if lost {
                    check();
                    KEPT.lock().unwrap().push(device.clone());
                } else {
                    leaves_nothing(&device, check);
                }
            }
        }
    }
    watchdog.next(String::new());
    say!("the device failed before a source or a sink: {injected} times");
    assert!(injected > 200, "{injected}");
}
