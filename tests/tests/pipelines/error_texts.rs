//! The texts of errors and reports: which results have arrived, where the call is, and what to do.

use std::panic::Location;

use thalweg::__private::Detail;
use thalweg::Error;
use thalweg::error::Complete;
use thalweg::explore::Explore;
use thalweg::kernel::DeviceSlice;
use thalweg::memory::PinnedSlice;
use thalweg::prelude::*;
use thalweg::sim::{Effect, Fault};
use thalweg::streams::{Event, Rectangle, Stream};
use thalweg::timeline::Engine;
use thalweg_tests::kernels::weigh;
use thalweg_tests::{is, small};

fn device() -> Device {
    small(Simulation::default())
}

fn sum(x: &[f32], sums: &mut [f32]) {
    let chunk: f32 = x.iter().sum();
    sums.fill(chunk);
}

fn pass(x: &[f32], y: &mut [f32]) {
    y.copy_from_slice(x);
}

stream_pipeline! {
    /// Two numbers for each chunk, and rows of four.
    pipeline Sums {
        input x: [f32];
        input rows: [f32; 4];
        output sums: [f32; 2] per chunk;
        output copy: [f32; 4];
        host h: [f32];
        host s: [f32; 2] per chunk;
        chunk c = 10;
        stage load { copy x -> dx; copy rows -> drows; copy dx -> h; }
        stage add { host sum(&h, out s); }
        stage up { copy s -> ds; }
        stage store { copy ds -> sums; copy drows -> copy; }
    }
}

/// For each output the error counts its own items and elements, whatever the run counts.
#[test]
fn what_has_arrived_is_counted_in_what_the_output_has() {
    let device = device();
    let mut pipeline = Sums::new(&device).unwrap();
    let (x, rows) = (vec![1.0; 55], vec![2.0; 220]);
    let (mut sums, mut copy) = (vec![0.0; 12], vec![0.0; 220]);
    device.inject(Fault::at(&Sums::PLAN, "add", 3, Effect::Fails).unwrap()).unwrap();
    let error = pipeline.run(&x, &rows, &mut sums, &mut copy).unwrap_err();
    let known = |complete: &Complete| (complete.host, complete.chunks, complete.items, complete.elements);
    let known: Vec<_> = error.complete().iter().map(known).collect();
    assert_eq!(known, [("sums", 3, 3, 6), ("copy", 3, 30, 120)]);
    assert_eq!(sums[..6], [10.0; 6]);
    assert_eq!(copy[..120], [2.0; 120]);
    let text = error.to_string();
    assert!(text.contains("\n  the first 3 chunks of `sums` (6 elements) have arrived"), "{text}");
    assert!(text.ends_with("\n  the first 3 chunks of `copy` (30 items) have arrived"), "{text}");
}

stream_pipeline! {
    /// Up, down, through the CPU, up and down again.
    pipeline ThroughTheCpu {
        input y: [f32];
        output z: [f32];
        host h: [f32];
        host r: [f32];
        chunk c = 10;
        stage load { copy y -> a; }
        stage down { copy a -> h; }
        stage cpu { host pass(&h, out r); }
        stage up { copy r -> d; }
        stage store { copy d -> z; }
    }
}

/// Each copy over the link counts, including those of `host` scratch.
#[test]
fn copies_of_host_scratch_are_reported() {
    let mut pipeline = ThroughTheCpu::new(&device()).unwrap();
    let (y, mut z) = (vec![1.0; 55], vec![0.0; 55]);
    let predicted = pipeline.predict(&y, &mut z).unwrap().report;
    let profile = pipeline.profile(&y, &mut z).unwrap();
    let over = |engine| {
        profile.spans.iter().filter(|span| span.engine == engine).map(|span| span.bytes).sum::<u64>()
    };
    assert_eq!((over(Engine::ToDevice), over(Engine::ToHost)), (2 * 55 * 4, 2 * 55 * 4));
    let profiled = profile.report.clone();
    let ran = pipeline.run(&y, &mut z).unwrap();
    for report in [&predicted, &profiled, &ran] {
        assert_eq!((report.bytes_to_device, report.bytes_to_host), (2 * 55 * 4, 2 * 55 * 4), "{report}");
    }
    assert_eq!(ran.bytes_staged, 2 * 55 * 4, "what is in `host` scratch is page-locked");
}

/// Checks that an error names the operation and the line of its caller.
#[track_caller]
fn is_here<T>(operation: &str, outcome: thalweg::Result<T>) {
    let (error, here) = (outcome.err().expect("an error"), Location::caller());
    let (place, text) = (error.place(), error.to_string());
    let site = place.site.unwrap_or_else(|| panic!("no place: {text}"));
    assert_eq!((site.file, site.line), (here.file(), here.line()), "{text}");
    assert_eq!(place.operation, Some(operation), "{text}");
    assert!(text.contains(&format!("\n  in operation `{operation}`\n  at {site}")), "{text}");
}

/// Every refused call by hand is named with its place.
#[test]
fn errors_of_what_is_done_by_hand_have_the_line_of_the_call() {
    let device = device();
    let stream = Stream::new(&device).unwrap();
    let mut host = PinnedBuf::from_slice(&device, &[1.0_f32; 4]).unwrap();
    let mut x = DeviceBuf::from_slice(&device, &[1.0_f32; 4]).unwrap();
    let mut short = DeviceBuf::from_slice(&device, &[1.0_f32; 3]).unwrap();
    is_here("upload", stream.upload(&host, &mut short));
    is_here("download", stream.download(&short, &mut host));
    is_here("copy", stream.copy(&x, &mut short));
    let rectangle = Rectangle { width: 2, height: 3, from_pitch: 2, to_pitch: 2 };
    is_here("upload_2d", stream.upload_2d(&host, &mut x, rectangle));
    is_here("download_2d", stream.download_2d(&x, &mut host, rectangle));
    is_here("copy_2d", stream.copy_2d(&x, &mut short, rectangle));

    is_here("DeviceBuf::copy_from_slice", x.copy_from_slice(&[0.0; 3]));
    is_here("DeviceBuf::copy_to_slice", x.copy_to_slice(&mut [0.0; 3]));
    is_here("DeviceBuf::slice", x.slice(2..5));
    is_here("DeviceBuf::slice_mut", x.slice_mut(2..5));
    is_here("PinnedBuf::slice", host.slice(2..5));
    is_here("PinnedBuf::slice_mut", host.slice_mut(2..5));
    let part: DeviceSlice<'_, f32> = x.slice(1..3).unwrap();
    is_here("DeviceSlice::copy_to_slice", part.copy_to_slice(&mut [0.0; 3]));
    is_here("DeviceSliceMut::copy_from_slice", x.slice_mut(1..3).unwrap().copy_from_slice(&[0.0; 3]));
    let part: PinnedSlice<'_, f32> = host.slice(1..3).unwrap();
    is_here("upload", stream.upload(part, &mut short));
    is_here("PinnedBuf::into_vec", PinnedBuf::from_slice(&device, &[1_u8]).unwrap().into_vec());
}

#[test]
fn errors_of_events_by_hand_have_the_line_of_the_call() {
    let device = device();
    let stream = Stream::new(&device).unwrap();
    let (plain, timed) = (Event::new(&device).unwrap(), Event::with_timing(&device).unwrap());
    is_here("elapsed", plain.elapsed(&timed));
    is_here("elapsed", timed.elapsed(&timed));
    let elsewhere = Event::new(&self::device()).unwrap();
    is_here("record", stream.record(&elsewhere));
    is_here("wait", stream.wait(&elsewhere));
    let (mut captured, mut waited, mut asked) = (None, None, None);
    let _graph = stream.capture(|stream| {
        captured = Some(stream.capture(|_| Ok(())).err().unwrap());
        waited = Some(stream.synchronize().unwrap_err());
        asked = Some(stream.query().unwrap_err());
        Ok(())
    });
    let all = [("capture", captured), ("synchronize", waited), ("query", asked)];
    for (operation, error) in all {
        let error = error.unwrap();
        assert_eq!(error.place().operation, Some(operation), "{error}");
        assert_eq!(error.place().site.unwrap().file, file!(), "{error}");
    }
}

#[test]
fn memory_of_another_device_has_the_line_of_the_call() {
    let (device, other) = (device(), device());
    let stream = Stream::new(&device).unwrap();
    let host = PinnedBuf::from_slice(&device, &[1.0_f32; 4]).unwrap();
    let mut elsewhere = DeviceBuf::<f32>::zeroed(&other, 4).unwrap();
    is_here("upload", stream.upload(&host, &mut elsewhere));
    is_here("fill", stream.fill(&mut elsewhere, 1.0));
    let error = stream.fill(&mut elsewhere, 1.0).unwrap_err();
    is!(error, StreamOfOtherDevice { .. });
}

#[test]
fn memory_that_is_exhausted_has_the_line_of_the_call() {
    let device = Device::simulated(Simulation::default().with_memory(4096).with_pinned_memory(64));
    is_here("DeviceBuf::zeroed", DeviceBuf::<f32>::zeroed(&device, 1025));
    is_here("DeviceBuf::from_slice", DeviceBuf::from_slice(&device, &[0_u8; 5000]));
    is_here("DeviceBuf::from_slice", DeviceBuf::from_slice(&device, &[0_u8; 1000]));
    is_here("PinnedBuf::zeroed", PinnedBuf::<f32>::zeroed(&device, 1025));
    is_here("PinnedBuf::from_slice", PinnedBuf::from_slice(&device, &[0_u8; 5000]));
    is_here("PinnedBuf::write_combined", PinnedBuf::<f32>::write_combined(&device, 1025));
    let x = DeviceBuf::<u8>::zeroed(&device, 1000).unwrap();
    is_here("DeviceBuf::to_vec", x.to_vec());
    is_here("DeviceSlice::to_vec", x.slice(..500).unwrap().to_vec());
    for call in [thalweg::sim::DriverCall::CreateStream, thalweg::sim::DriverCall::CreateEvent] {
        device.inject(Fault::nth(call, 0, Effect::Refused)).unwrap();
    }
    is_here("Stream::new", Stream::new(&device));
    is_here("Event::new", Event::new(&device));
}

/// An error in the arguments of a run is at the call, which the error names beside the declaration.
#[test]
fn a_run_whose_arguments_do_not_fit_says_where_it_was_called() {
    let mut pipeline = ThroughTheCpu::new(&device()).unwrap();
    let line = line!() + 1;
    let error = pipeline.run(&[1.0; 5], &mut [0.0; 4]).unwrap_err();
    is!(error, Length { .. });
    let run = error.place().run.expect("the call is known");
    assert_eq!((run.file, run.line), (file!(), line));
    assert!(error.to_string().ends_with(&format!("\n  in the run at {run}")), "{error}");
    assert_eq!(error.place().site.unwrap().file, file!());

    let mut pipeline = Sums::new(&device()).unwrap();
    let line = line!() + 1;
    let error = pipeline.profile(&[1.0; 50], &[1.0; 200], &mut [0.0; 4], &mut [0.0; 200]).unwrap_err();
    is!(error, PerChunkLength { .. });
    assert_eq!(error.place().run.unwrap().line, line);
}

/// Only `Device::open` reads `THALWEG_DEVICE`.
#[test]
fn no_gpu_is_no_reason_to_set_a_variable_that_is_not_read() {
    let missing = [
        Detail::NoCudaDriver { looked_for: vec!["libcuda.so".to_owned()], asked: None },
        Detail::NoSuchDevice { index: 0, count: 0, visible: None },
        Detail::NoSuchDevice { index: 0, count: 0, visible: Some(String::new()) },
    ];
    for kind in missing {
        let text = kind.to_string();
        let help = "\n  help: `Device::open()` goes by `THALWEG_DEVICE`, which may be `cpu` or `sim`\n  \
                    help: `Device::cpu()` and `Device::simulated(Simulation::default())` need no GPU";
        assert!(text.ends_with(help), "{text}");
    }
    let text = Detail::NoSuchDevice { index: 2, count: 2, visible: None }.to_string();
    assert_eq!(text, "there is no CUDA device 2: this machine has 2");
    let text = Detail::NoSuchDevice { index: 1, count: 1, visible: Some("3".to_owned()) }.to_string();
    assert_eq!(
        text,
        "there is no CUDA device 1: this machine has 1\n  help: `CUDA_VISIBLE_DEVICES=3`\n    \
         hides all other devices, and counts these from 0"
    );
}

/// The error about a mistyped name of an operation lists the names that exist.
#[test]
fn a_fault_at_no_operation_lists_the_names_there_are() {
    let error = Fault::at(&ThroughTheCpu::PLAN, "stor", 0, Effect::Fails).unwrap_err();
    is!(error, NoSuchOperation { pipeline: "ThroughTheCpu", .. });
    let text = error.to_string();
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("pipeline `ThroughTheCpu` has no stage, operation, kernel or function `stor`")
    );
    let help = lines.next().unwrap();
    assert!(help.starts_with("  help: it has `store`, "), "{text}");
    for name in ["load", "copy d -> z", "pass", "cpu"] {
        assert!(text.contains(&format!("`{name}`")), "{name}: {text}");
    }
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
}

/// A program that does not use the device that it is given has one order, whatever is tried.
#[test]
fn one_order_in_many_schedules_is_asked_about() {
    let ignores = Explore::new(1, 10).run(|_| Ok(())).unwrap();
    assert_eq!(
        ignores.to_string(),
        "schedules explored: 10 (1 order)\n  help: does the program use the device that it is handed?"
    );
    assert_eq!(Explore::new(1, 1).run(|_| Ok(())).unwrap().to_string(), "schedules explored: 1 (1 order)");
    assert_eq!(
        Explore::new(1, 0).run(|_| Ok(())).unwrap().to_string(),
        "schedules explored: 0 (0 different orders)"
    );
}

stream_pipeline! {
    #[allow(deprecated, reason = "the first result is written over")]
    pipeline Halo {
        input x: [f32] halo 1 = clamp;
        resident table: [f32];
        output z: [f32];
        device dz: [f32];
        chunk c = 4;
        stage load { copy x -> dx; }
        stage weigh { weigh<<<1, 32>>>(c.len as u32, 1, &dx, out dz); weigh<<<1, 32>>>(0, 0, &table, out dz); }
        stage store { copy dz -> z; }
    }
}

/// An argument that cannot be streamed can be given whole.
#[test]
fn what_cannot_be_streamed_can_be_read_or_mapped() {
    let mut pipeline = Halo::new(&device()).unwrap();
    let help = "\n  help: read it into a `Vec`, or map the file: a slice of it can be passed";
    let (x, mut z) = (vec![1.0_f32; 12], vec![0.0; 12]);
    let streamed = |error: Error, host| {
        is!(error, NotStreamed { .. });
        assert!(error.to_string().starts_with(&format!("`{host}` cannot be streamed: ")), "{error}");
        assert!(error.to_string().contains(help), "{error}");
    };
    streamed(pipeline.run(source::batches([&x]), &x, &mut z).unwrap_err(), "x");
    streamed(pipeline.run(&x, source::batches([&x]), &mut z).unwrap_err(), "table");
}
