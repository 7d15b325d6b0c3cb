//! How a session learns that the device is done with a frame.

use thalweg::prelude::*;
use thalweg::session::Session;
use thalweg_tests::stubs::Stubs;

use super::{STUBS, Through};

/// Streams can write words.
const WRITES: Stubs = Stubs {
    module: module_path!(),
    folder: concat!(env!("CARGO_TARGET_TMPDIR"), "/recording-stubs-of-sessions"),
    flags: &["-DWRITE_VALUE"],
    ..STUBS
};

/// Frames through a session, one by one, and then a run of the same pipeline from and to ordinary memory.
fn a_session_and_a_run(device: &Device) {
    let mut through = Through::options(device).depth(2).build().expect("the pipeline");
    let mut session = Session::start(move |x, z| {
        through.run(x, z)?;
        Ok(through)
    })
    .expect("a session");
    for frame in 0..20_u32 {
        let (x, mut z) = ([frame; 10], [0; 10]);
        session.push(&x).expect("it goes on");
        session.pull(&mut z).expect("it goes on");
        assert_eq!(z, x);
    }
    let mut through = session.close().expect("it ends well");
    let (x, mut z) = (vec![1_u32; 10], vec![0_u32; 10]);
    through.run(&x, &mut z).expect("a run");
    assert_eq!(z, x);
}

/// How often something begins a line.
fn count(record: &str, call: &str) -> usize {
    record.lines().filter(|line| line.starts_with(call)).count()
}

/// Each frame's two slots are counted; the run's are events.
#[test]
fn what_a_caller_waits_for_is_seen_in_words() {
    let record = WRITES.record("what_a_caller_waits_for_is_seen_in_words", &[], a_session_and_a_run);
    let Some(record) = record else { return };
    let (session, run) = record.split_at(record.rfind("cuMemcpyHtoDAsync").expect("copies"));
    assert_eq!([count(session, "cuStreamWriteValue32"), count(session, "cuEventQuery")], [40, 0], "{record}");
    assert_eq!([count(run, "cuStreamWriteValue32"), count(run, "cuMemcpyDtoHAsync")], [0, 1], "{record}");
}

/// The stub writes no word before the stream is asked for.
#[test]
fn words_that_come_late_are_asked_for() {
    let late = [("THALWEG_LATE_WRITES", "1")];
    let record = WRITES.record("words_that_come_late_are_asked_for", &late, a_session_and_a_run);
    let Some(record) = record else { return };
    assert!(count(&record, "cuStreamQuery") >= 20, "{record}");
}

/// The session ends with the error of the stream.
#[test]
fn a_stream_that_fails_ends_a_session() {
    let fails = [("THALWEG_LATE_WRITES", "1"), ("THALWEG_FAIL", "cuStreamQuery:700:3+")];
    let record = WRITES.record("a_stream_that_fails_ends_a_session", &fails, |device| {
        let mut through = Through::new(device).expect("the pipeline");
        let mut session = Session::start(move |x, z| through.run(x, z)).expect("a session");
        let frame = |session: &mut Session<u32, u32, Report>| {
            session.push(&[1; 10])?;
            session.pull(&mut [0; 10])
        };
        let error = (0..20).find_map(|_| frame(&mut session).err()).expect("the stream fails");
        assert!(matches!(error.kind(), ErrorKind::DeviceLost(_)), "{error}");
        assert_eq!(error.place().pipeline, Some("Through"));
    });
    let Some(record) = record else { return };
    assert!(record.contains("cuStreamQuery s"), "{record}");
}

#[test]
fn where_streams_cannot_write_words_a_session_has_events() {
    let refused = [("THALWEG_FAIL", "cuStreamWriteValue32:801:1+")];
    let name = "where_streams_cannot_write_words_a_session_has_events";
    let record = WRITES.record(name, &refused, a_session_and_a_run);
    let Some(record) = record else { return };
    assert!(count(&record, "cuEventRecord") >= 40, "{record}");
    assert_eq!(count(&record, "cuStreamWriteValue32"), 1, "{record}");
}
