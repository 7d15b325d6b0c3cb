//! The report names a source or a sink that keeps a run waiting. While the run waits, standard error names
//! it.

use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use thalweg::prelude::*;
use thalweg::report::Awaited;
use thalweg_tests::book::recorded;
use thalweg_tests::test_name;
use thalweg_tests::waiting::in_time;

use super::Through;

/// Longer than a run waits before it reports that.
const LONG: Duration = Duration::from_millis(5500);

fn pipeline() -> Through<u8> {
    let device = Device::simulated(Simulation::default());
    Through::<u8>::options(&device).chunk(10).depth(2).build().unwrap()
}

/// A channel gives a chunk and a half, and its sender lives on for a while.
fn with_a_source_that_rests() -> Report {
    let (sender, batches) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            sender.send(vec![1_u8; 15]).unwrap();
            thread::sleep(LONG);
        });
        let mut z = Vec::new();
        let report = pipeline().run(1, source::channel(batches), sink::extend(&mut z)).unwrap();
        assert_eq!(z, [1; 15]);
        report
    })
}

/// A sink rests over its first chunk, and the source has many more.
fn with_a_sink_that_rests() -> Report {
    let rests = sink::for_each(|c, _: &[u8]| {
        thread::sleep(if c.index == 0 { LONG } else { Duration::ZERO });
        Ok(())
    });
    pipeline().run(1, &[1; 200], rests).unwrap()
}

/// A sink rests over its last chunk, when nothing else is left to do.
fn with_a_sink_that_ends_late() -> Report {
    let rests = sink::for_each(|_, _: &[u8]| {
        thread::sleep(LONG);
        Ok(())
    });
    pipeline().run(1, &[1; 10], rests).unwrap()
}

/// A sink fails while a source waits for its sender: the run is over, but for the source's thread.
fn with_a_source_that_outlives_its_run() {
    let (sender, batches) = mpsc::channel::<Vec<u8>>();
    thread::scope(|scope| {
        scope.spawn(move || {
            sender.send(vec![1; 10]).unwrap();
            thread::sleep(LONG + Duration::from_secs(1));
        });
        let fails = sink::for_each(|_, _: &[u8]| Err(std::io::Error::other("full")));
        let error = pipeline().run(1, source::channel(batches), fails).unwrap_err();
        assert!(error.to_string().contains("full"), "{error}");
    });
}

fn is_named(report: &Report, host: &str, is_sink: bool) {
    let [Awaited { host: named, is_sink: sink, time, .. }] = report.awaited[..] else {
        panic!("{:?}", report.awaited)
    };
    assert_eq!((named, sink), (host, is_sink));
    assert!(time > Duration::from_secs(4) && time < Duration::from_secs(60), "{time:?}");
    let what = if is_sink { "sink" } else { "source" };
    let line = format!("\n  waited {:.1} s for {what} `{host}`", time.as_secs_f64());
    assert!(report.to_string().ends_with(&line), "{report}");
}

/// The variable for the process whose output [`a_run_says_whom_it_waits_for`] reads.
const CHILD: &str = "THALWEG_TEST_OF_WAITING";

#[test]
fn a_run_says_whom_it_waits_for() {
    if std::env::var_os(CHILD).is_some() {
        in_time(|| {
            thread::scope(|scope| {
                scope.spawn(|| is_named(&with_a_source_that_rests(), "x", false));
                scope.spawn(|| is_named(&with_a_sink_that_rests(), "z", true));
                scope.spawn(|| is_named(&with_a_sink_that_ends_late(), "z", true));
                scope.spawn(with_a_source_that_outlives_its_run);
            });
        });
        return;
    }
    let this = std::env::current_exe().unwrap();
    let name = &test_name(module_path!(), "a_run_says_whom_it_waits_for");
    let output = Command::new(this).args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let mut lines: Vec<_> = said.lines().filter(|line| line.starts_with("thalweg: ")).collect();
    lines.sort_unstable();
    if cfg!(debug_assertions) {
        let sink = "thalweg: `Through` has waited 5 s for sink `z`, which has not accepted chunk 0";
        assert_eq!(
            lines,
            [
                sink,
                sink,
                "thalweg: `Through` has waited 5 s for source `x`, which has neither filled chunk 1 nor ended",
                "thalweg: `Through` has waited 5 s for source `x`, whose thread is at work though the run is over",
            ]
        );
        let with_hint = format!("{}\n  (a channel ends when its last sender is dropped)", lines[2]);
        assert!(said.contains(&with_hint), "{said}");
        recorded("sources-awaited.txt", &with_hint);
    } else {
        assert!(lines.is_empty(), "{lines:?}");
    }
}

/// A run that hardly waits names no source or sink.
#[test]
fn a_quick_source_is_not_named() {
    let report = pipeline().run(1, source::iter(0..200_u8), sink::for_each(|_, _: &[u8]| Ok(()))).unwrap();
    assert_eq!(report.awaited, []);
}
