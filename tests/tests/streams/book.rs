//! The book's page on streams by hand: its code, and the error that it shows. `BLESS=1` writes that anew.

// ANCHOR: uses
use std::sync::mpsc;
use std::time::Duration;

use thalweg::kernel::blocks;
use thalweg::streams::{Event, Priority, Stream};
use thalweg::{Device, DeviceBuf, PinnedBuf, Result};
use thalweg_kernels::saxpy;
// ANCHOR_END: uses
use thalweg_tests::book::recorded;

use super::{is_race, on_each, simulated};

on_each!(
    the_first_program_runs,
    events_tell_the_time,
    streams_are_of_all_kinds,
    batches_follow,
    frames_are_graphs
);

// ANCHOR: first
/// `y <- a * x + y`: copies on one stream, the kernel on another.
fn first_program(device: &Device, n: usize) -> Result<Vec<f32>> {
    let (copies, math) = (Stream::new(device)?, Stream::new(device)?);
    let saxpy = saxpy::load(device)?;

    let x = PinnedBuf::from_slice(device, &vec![1.0_f32; n])?;
    let mut y = PinnedBuf::from_slice(device, &vec![2.0_f32; n])?;
    let (mut dx, mut dy) = (DeviceBuf::zeroed(device, n)?, DeviceBuf::zeroed(device, n)?);

    copies.upload(&x, &mut dx)?;
    copies.upload(&y, &mut dy)?;
    let loaded = Event::new(device)?;
    copies.record(&loaded)?;

    math.wait(&loaded)?;
    saxpy.launch(math.config(blocks(n, 256), 256, 0), 3.0, &dx, &mut dy)?;
    math.download(&dy, &mut y)?;
    // This waits for the copy, and reports an error that came on the way.
    Ok(y.wait()?.to_vec())
}
// ANCHOR_END: first

fn the_first_program_runs(device: &Device) {
    assert_eq!(first_program(device, 1000).expect("a run"), [5.0; 1000]);
}

// ANCHOR: time
/// How long a kernel takes.
fn time_of(device: &Device, stream: &Stream, work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let (start, stop) = (Event::with_timing(device)?, Event::with_timing(device)?);
    stream.record(&start)?;
    work()?;
    stream.record(&stop)?;
    stop.synchronize()?;
    start.elapsed(&stop)
}
// ANCHOR_END: time

fn events_tell_the_time(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    let mut x = DeviceBuf::<f32>::zeroed(device, 1 << 22).expect("memory");
    let time = time_of(device, &stream, || stream.fill(&mut x, 1.0)).expect("a time");
    assert!(time > Duration::from_nanos(500), "{time:?}");
}

// ANCHOR: kinds
/// Every kind of stream that exists.
fn every_kind(device: &Device) -> Result<[Stream; 6]> {
    Ok([
        Stream::new(device)?,                           // cudaStreamNonBlocking
        Stream::with_priority(device, Priority::High)?, // the greatest of `device.priorities()`
        Stream::with_priority(device, Priority::Level(-3))?,
        Stream::blocking(device)?,   // cudaStreamCreate
        Stream::null(device)?,       // stream 0
        Stream::per_thread(device)?, // cudaStreamPerThread
    ])
}
// ANCHOR_END: kinds

fn streams_are_of_all_kinds(device: &Device) {
    let mut x = DeviceBuf::<f32>::zeroed(device, 1000).expect("memory");
    for stream in every_kind(device).expect("streams") {
        stream.fill(&mut x, 1.0).expect("a fill");
        stream.synchronize().expect("the device");
    }
}

// ANCHOR: batches
struct Batches {
    stream: Stream,
    saxpy: saxpy,
    x: DeviceBuf<f32>,
    y: DeviceBuf<f32>,
    results: mpsc::Sender<Vec<f32>>,
}

impl Batches {
    /// Launches a batch, and launches the next one when this one is done.
    fn launch(mut self, left: u32) -> Result<()> {
        let n = self.x.len();
        let config = self.stream.config(blocks(n, 256), 256, 0);
        self.saxpy.launch(config, 1.0, &self.x, &mut self.y)?;
        let stream = self.stream.clone();
        stream.then(move |arrived| {
            let next = arrived.and_then(|()| match left {
                0 => self.y.to_vec().map(|y| drop(self.results.send(y))),
                _ => self.launch(left - 1),
            });
            next.expect("nothing has failed");
        })
    }
}
// ANCHOR_END: batches

fn batches_follow(device: &Device) {
    let (results, received) = mpsc::channel();
    let batches = Batches {
        stream: Stream::new(device).expect("a stream"),
        saxpy: saxpy::load(device).expect("a kernel"),
        x: DeviceBuf::from_slice(device, &[1.0; 500]).expect("memory"),
        y: DeviceBuf::zeroed(device, 500).expect("memory"),
        results,
    };
    batches.launch(9).expect("the first batch");
    assert_eq!(received.recv_timeout(Duration::from_secs(20)), Ok(vec![10.0; 500]));
}

// ANCHOR: graph
/// The same operations for each frame, captured once.
fn frames(device: &Device, frames: &[Vec<f32>]) -> Result<Vec<f32>> {
    let (n, stream, saxpy) = (frames[0].len(), Stream::new(device)?, saxpy::load(device)?);
    let (mut frame, mut sum) = (PinnedBuf::zeroed(device, n)?, PinnedBuf::zeroed(device, n)?);
    let (mut x, mut y) = (DeviceBuf::zeroed(device, n)?, DeviceBuf::zeroed(device, n)?);
    let graph = stream.capture(|stream| {
        stream.upload(&frame, &mut x)?;
        saxpy.launch(stream.config(blocks(n, 256), 256, 0), 1.0, &x, &mut y)?;
        stream.download(&y, &mut sum)
    })?;
    for data in frames {
        frame.copy_from_slice(data);
        graph.launch_with(&stream, (&frame, &mut sum))?;
    }
    Ok(sum.wait()?.to_vec())
}
// ANCHOR_END: graph

fn frames_are_graphs(device: &Device) {
    let data: Vec<_> = (1..=4).map(|frame| vec![frame as f32; 300]).collect();
    assert_eq!(frames(device, &data).expect("frames"), [10.0; 300]);
}

/// The error of the first program without its wait.
#[test]
fn the_race_that_is_shown() {
    let device = &simulated();
    let (copies, math) = (Stream::new(device).expect("a stream"), Stream::new(device).expect("a stream"));
    let saxpy = saxpy::load(device).expect("a kernel");
    let x = PinnedBuf::from_slice(device, &[1.0_f32; 100]).expect("memory");
    let [mut dx, mut dy] = [(); 2].map(|()| DeviceBuf::zeroed(device, 100).expect("memory"));
    copies.upload(&x, &mut dx).expect("a copy");
    let race = is_race(saxpy.launch(math.config(1, 128, 0), 3.0, &dx, &mut dy));
    // The error's lines are the page's.
    let lines = |text: &str| {
        let mut sites = [("14:12", 14), ("19:23", 19)].into_iter();
        let text = text.split("tests/tests/streams/book.rs:").enumerate().map(|(index, part)| {
            if index == 0 {
                return part.to_owned();
            }
            let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
            format!("src/main.rs:{}{rest}", sites.next().expect("two places").0)
        });
        text.collect::<String>()
    };
    recorded("streams-race.txt", &lines(&race));
}
