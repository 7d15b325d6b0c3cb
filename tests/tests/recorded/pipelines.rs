//! The exact driver calls of whole pipelines, without a GPU: a stub of CUDA's libraries writes them down.

mod by_hand;
mod graphs;
mod lent;
mod repeated;
mod sessions;
mod several;

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg_tests::by_hand::saxpy;
use thalweg_tests::stubs::Stubs;

stream_pipeline! {
    pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = 1000;
        depth = 2;
        stream up: high;
        stream math;
        stream down: low;
        stage load on up { copy x -> dx; copy y -> dy; }
        stage axpy on math { saxpy<<<blocks(c.len, 256), 256, 64>>>(c.len as u32, a, &dx, &mut dy); }
        stage store on down { copy dy -> y; }
    }
}

stream_pipeline! {
    pipeline Mapped {
        param a: f32;
        input x: mapped [f32];
        inout y: [f32];
        chunk c = 1000;
        stage all {
            copy y -> dy;
            saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &x, &mut dy);
            copy dy -> y;
        }
    }
}

stream_pipeline! {
    pipeline PerSlot {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = 1000;
        depth = 2;
        stream s per slot: priority(-3);
        stage all on s {
            copy x -> dx;
            copy y -> dy;
            saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &dx, &mut dy);
            copy dy -> y;
        }
    }
}

stream_pipeline! {
    /// Only fills: one word over and over, and patterns of several.
    pipeline Fills {
        output bytes: [u8; 3];
        output floats: [f32];
        output pairs: [[u16; 3]];
        device d_bytes: [u8; 3];
        device d_floats: [f32];
        device d_pairs: [[u16; 3]];
        chunk c = 100;
        stage all {
            fill d_bytes = 7;
            fill d_floats = 1.5;
            fill d_pairs = [1, 2, 3];
            copy d_bytes -> bytes;
            copy d_floats -> floats;
            copy d_pairs -> pairs;
        }
    }
}

stream_pipeline! {
    /// From a source to a sink.
    pipeline Through {
        input x: [u32];
        output z: [u32];
        chunk c = 10;
        stage there { copy x -> dx; }
        stage back { copy dx -> z; }
    }
}

/// The driver and the compiler.
const STUBS: Stubs = Stubs::driver(module_path!(), concat!(env!("CARGO_TARGET_TMPDIR"), "/recording-stubs"));

fn recorded(test: &str, variables: &[(&str, &str)], body: fn(&Device)) -> Option<String> {
    STUBS.record(test, variables, body)
}

/// The record from the allocation of the pipeline's memory to its release: streams, events and the context
/// come before and after, in every test alike.
fn body(record: &str) -> String {
    let lines = record.lines().skip_while(|line| !line.starts_with("cuMemAlloc"));
    lines.take_while(|line| !line.starts_with("cuStreamDestroy")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn three_streams_with_pinned_buffers() {
    let record = recorded("three_streams_with_pinned_buffers", &[], |device| {
        let mut saxpy = Saxpy::new(device).expect("the pipeline");
        let x = PinnedBuf::from_slice(device, &[1.0; 2500]).expect("pinned memory");
        let mut y = PinnedBuf::from_slice(device, &[2.0; 2500]).expect("pinned memory");
        saxpy.run(3.0, &x, &mut y).expect("a run");
    });
    let Some(record) = record else { return };
    let before: Vec<_> = record.lines().take_while(|line| !line.starts_with("cuMemAlloc")).collect();
    assert_eq!(
        before[..5],
        [
            "cuInit",
            "cuDevicePrimaryCtxRetain 0",
            "cuStreamCreateWithPriority s1 flags=1 priority=-5",
            "cuStreamCreateWithPriority s2 flags=1 priority=0",
            "cuStreamCreateWithPriority s3 flags=1 priority=0",
        ],
        "non-blocking streams with the device's greatest, default and least priority"
    );
    // Two slots of 1,000 floats, each aligned to 256 bytes. Chunk 2 waits for the kernel and the copy of
    // chunk 0, whose slot it takes.
    assert_eq!(
        body(&record),
        "\
cuMemAlloc d1 8192
cuMemAlloc d2 8192
cuMemHostAlloc h1 10000 flags=1
cuMemHostAlloc h2 10000 flags=1
cuMemcpyHtoDAsync d1 h1 4000 s1
cuMemcpyHtoDAsync d2 h2 4000 s1
cuEventRecord e1 s1
cuStreamWaitEvent s2 e1
cuLaunchKernel saxpy <<<(4, 1, 1), (256, 1, 1), 64, s2>>>
cuEventRecord e2 s2
cuStreamWaitEvent s3 e2
cuMemcpyDtoHAsync h2 d2 4000 s3
cuEventRecord e3 s3
cuMemcpyHtoDAsync d1+4096 h1+4000 4000 s1
cuMemcpyHtoDAsync d2+4096 h2+4000 4000 s1
cuEventRecord e4 s1
cuStreamWaitEvent s2 e4
cuLaunchKernel saxpy <<<(4, 1, 1), (256, 1, 1), 64, s2>>>
cuEventRecord e5 s2
cuStreamWaitEvent s3 e5
cuMemcpyDtoHAsync h2+4000 d2+4096 4000 s3
cuEventRecord e6 s3
cuStreamWaitEvent s1 e2
cuMemcpyHtoDAsync d1 h1+8000 2000 s1
cuStreamWaitEvent s1 e3
cuMemcpyHtoDAsync d2 h2+8000 2000 s1
cuEventRecord e1 s1
cuStreamWaitEvent s2 e1
cuLaunchKernel saxpy <<<(2, 1, 1), (256, 1, 1), 64, s2>>>
cuEventRecord e2 s2
cuStreamWaitEvent s3 e2
cuMemcpyDtoHAsync h2+8000 d2 2000 s3
cuEventRecord e3 s3
cuStreamSynchronize s1
cuStreamSynchronize s2
cuStreamSynchronize s3
cuMemFreeHost h2
cuMemFreeHost h1
"
    );
}

#[test]
fn a_stream_per_slot_needs_no_event() {
    let record = recorded("a_stream_per_slot_needs_no_event", &[], |device| {
        let mut pipeline = PerSlot::new(device).expect("the pipeline");
        let x = PinnedBuf::from_slice(device, &[1.0; 2001]).expect("pinned memory");
        let mut y = PinnedBuf::from_slice(device, &[2.0; 2001]).expect("pinned memory");
        pipeline.run(3.0, &x, &mut y).expect("a run");
    });
    let Some(record) = record else { return };
    assert!(record.contains("cuStreamCreateWithPriority s2 flags=1 priority=-3"), "{record}");
    assert!(!record.contains("cuEvent") && !record.contains("cuStreamWaitEvent"), "{record}");
    assert_eq!(
        body(&record),
        "\
cuMemAlloc d1 8192
cuMemAlloc d2 8192
cuMemHostAlloc h1 8004 flags=1
cuMemHostAlloc h2 8004 flags=1
cuMemcpyHtoDAsync d1 h1 4000 s1
cuMemcpyHtoDAsync d2 h2 4000 s1
cuLaunchKernel saxpy <<<(4, 1, 1), (256, 1, 1), 0, s1>>>
cuMemcpyDtoHAsync h2 d2 4000 s1
cuMemcpyHtoDAsync d1+4096 h1+4000 4000 s2
cuMemcpyHtoDAsync d2+4096 h2+4000 4000 s2
cuLaunchKernel saxpy <<<(4, 1, 1), (256, 1, 1), 0, s2>>>
cuMemcpyDtoHAsync h2+4000 d2+4096 4000 s2
cuMemcpyHtoDAsync d1 h1+8000 4 s1
cuMemcpyHtoDAsync d2 h2+8000 4 s1
cuLaunchKernel saxpy <<<(1, 1, 1), (256, 1, 1), 0, s1>>>
cuMemcpyDtoHAsync h2+8000 d2 4 s1
cuStreamSynchronize s1
cuStreamSynchronize s2
cuMemFreeHost h2
cuMemFreeHost h1
"
    );
}

#[test]
fn pageable_data_goes_through_pinned_slots() {
    let record = recorded("pageable_data_goes_through_pinned_slots", &[], |device| {
        let mut pipeline = PerSlot::options(device).depth(1).build().expect("the pipeline");
        let (x, mut y) = (vec![1.0; 1500], vec![2.0; 1500]);
        pipeline.run(3.0, &x, &mut y).expect("a run");
        // The stub's kernels do nothing: the data come back unchanged.
        assert_eq!(y, [2.0; 1500]);
    });
    let Some(record) = record else { return };
    // h1 and h2 stage x and y on their way in, h3 y on its way out. Before a slot is used again, when a chunk
    // begins, the host asks for the event recorded after the device's last copy from or to it, and the stub's
    // device is always done.
    let copies: Vec<_> =
        body(&record).lines().filter(|line| !line.contains("EventCreate")).map(str::to_owned).collect();
    assert_eq!(
        copies,
        [
            "cuMemAlloc d1 4096",
            "cuMemAlloc d2 4096",
            "cuMemHostAlloc h1 4000 flags=1",
            "cuMemHostAlloc h2 4000 flags=1",
            "cuMemHostAlloc h3 4000 flags=1",
            "cuMemcpyHtoDAsync d1 h1 4000 s1",
            "cuEventRecord e1 s1",
            "cuMemcpyHtoDAsync d2 h2 4000 s1",
            "cuEventRecord e2 s1",
            "cuLaunchKernel saxpy <<<(4, 1, 1), (256, 1, 1), 0, s1>>>",
            "cuMemcpyDtoHAsync h3 d2 4000 s1",
            "cuEventRecord e3 s1",
            "cuEventQuery e3",
            "cuEventQuery e1",
            "cuEventQuery e2",
            "cuMemcpyHtoDAsync d1 h1 2000 s1",
            "cuEventRecord e1 s1",
            "cuMemcpyHtoDAsync d2 h2 2000 s1",
            "cuEventRecord e2 s1",
            "cuLaunchKernel saxpy <<<(2, 1, 1), (256, 1, 1), 0, s1>>>",
            "cuMemcpyDtoHAsync h3 d2 2000 s1",
            "cuEventRecord e3 s1",
            // The device is done with the last copy when it is done with everything.
            "cuStreamSynchronize s1",
        ]
    );
}

/// While a run waits for the slot that a source is to fill next, the device may finish with it: the source is
/// asked only once all the same.
#[test]
fn sources_are_asked_once_for_each_chunk() {
    for every in ["2", "3", "5"] {
        let busy = [("THALWEG_BUSY", every)];
        let record = recorded("sources_are_asked_once_for_each_chunk", &busy, |device| {
            for depth in [1, 2, 3, 8] {
                let mut through = Through::options(device).depth(depth).build().expect("the pipeline");
                let mut z = Vec::new();
                through.run(source::iter(0..2005_u32), sink::extend(&mut z)).expect("a run");
                assert!(z.iter().copied().eq(0..2005), "depth {depth}: {z:?}");
            }
        });
        if record.is_none() {
            return;
        }
    }
}

#[test]
fn what_does_not_fit_is_given_back_and_a_smaller_pipeline_runs() {
    let record = recorded(
        "what_does_not_fit_is_given_back_and_a_smaller_pipeline_runs",
        &[("THALWEG_MEMORY", "1000000")],
        |device| {
            // The first buffer's two slots of 400,000 bytes fit, the second's do not.
            let error = Saxpy::options(device).chunk(100_000).build().expect_err("more memory than there is");
            let Detail::OutOfDeviceMemory { what, requested, free } = error.detail() else {
                panic!("{error}")
            };
            assert_eq!((what.as_str(), *requested, *free), ("`dy`", 800_256, 199_744));
            assert_eq!(error.place().pipeline, Some("Saxpy"));
            assert_eq!(device.free_memory().expect("an answer"), 1_000_000);
            let (x, mut y) = (vec![1.0; 10], vec![2.0; 10]);
            Saxpy::new(device).expect("a pipeline that fits").run(1.0, &x, &mut y).expect("a run");
        },
    );
    let Some(record) = record else { return };
    assert!(
        record.contains("cuMemAlloc d2 800256 -> 2") || record.contains("cuMemAlloc 800256 -> 2"),
        "{record}"
    );
    assert!(record.trim_end().ends_with("cuDevicePrimaryCtxRelease 0"), "{record}");
}

#[test]
fn memory_of_a_device_that_no_longer_answers_is_never_freed() {
    // Every synchronisation fails as after an illegal address: nothing shows whether the copies are over.
    let record = recorded(
        "memory_of_a_device_that_no_longer_answers_is_never_freed",
        &[("THALWEG_FAIL", "cuStreamSynchronize:700:1+")],
        |device| {
            let mut saxpy = Saxpy::new(device).expect("the pipeline");
            let x = PinnedBuf::from_slice(device, &[1.0; 2500]).expect("pinned memory");
            let mut y = vec![2.0; 2500];
            let error = saxpy.run(3.0, &x, &mut y).expect_err("a lost device");
            assert!(matches!(error.detail(), Detail::Driver(error) if error.code == 700), "{error}");
            assert!(matches!(error.kind(), ErrorKind::DeviceLost(_)), "{error}");
            assert_eq!(error.complete()[0].chunks, 3, "delivered as soon as the device was done");
            assert!(x.is_poisoned() && x.is_empty());
            let again = saxpy.run(3.0, &x, &mut y).expect_err("a poisoned buffer");
            assert!(matches!(again.detail(), Detail::Poisoned { host: "x" }), "{again}");
            let again = saxpy.run(3.0, &vec![1.0; 10], &mut vec![2.0; 10]).expect_err("a poisoned pipeline");
            assert!(matches!(again.detail(), Detail::PipelinePoisoned), "{again}");
        },
    );
    let Some(record) = record else { return };
    assert!(record.contains("cuStreamSynchronize s1 -> 700"), "{record}");
    assert!(!record.contains("cuMemFree"), "{record}");
}

/// GPUs of one machine often have the same name.
#[test]
fn a_buffer_of_another_gpu_names_both() {
    recorded("a_buffer_of_another_gpu_names_both", &[("THALWEG_GPUS", "2")], |device| {
        let other = Device::cuda(1).expect("the stub's second device");
        let x = PinnedBuf::from_slice(&other, &[1.0; 10]).expect("pinned memory");
        let error = Mapped::new(device).expect("the pipeline").run(3.0, &x, &mut [2.0; 10]);
        assert_eq!(
            error.expect_err("a foreign buffer").kind().to_string(),
            "`x` belongs to `recording stub` (`cuda:1`), but the pipeline to `recording stub` (`cuda:0`)"
        );
    });
}

/// Page-locked memory is portable: streams and pipelines of one GPU copy from and to memory of another one.
#[test]
fn page_locked_memory_of_another_gpu_is_copied() {
    let test = "page_locked_memory_of_another_gpu_is_copied";
    let record = recorded(test, &[("THALWEG_GPUS", "2")], |device| {
        let other = Device::cuda(1).expect("the stub's second device");
        let x = PinnedBuf::from_slice(&other, &[1.0; 10]).expect("pinned memory");
        let report = Saxpy::new(device).expect("the pipeline").run(3.0, &x, &mut [2.0; 10]).expect("a run");
        assert_eq!(report.bytes_staged, 2 * 40);
    });
    let Some(record) = record else { return };
    assert!(record.contains("cuMemHostAlloc h1 40 flags=1"), "{record}");
    assert!(record.lines().any(|line| line.starts_with("cuMemcpyHtoDAsync d1 h1 40")), "{record}");
}

#[test]
fn a_copy_that_is_refused_names_its_operation_and_chunk() {
    let record = recorded(
        "a_copy_that_is_refused_names_its_operation_and_chunk",
        &[("THALWEG_FAIL", "cuMemcpyDtoHAsync:1:2")],
        |device| {
            let mut saxpy = Saxpy::new(device).expect("the pipeline");
            let (x, mut y) = (vec![1.0; 2500], vec![2.0; 2500]);
            let error = saxpy.run(3.0, &x, &mut y).expect_err("a refused copy");
            assert!(
                matches!(error.detail(), Detail::Driver(error) if error.call == "cuMemcpyDtoHAsync"),
                "{error}"
            );
            let place = error.place();
            assert_eq!(
                (place.stage, place.operation, place.chunk),
                (Some("store"), Some("copy dy -> y"), Some(1))
            );
            assert_eq!((error.complete()[0].host, error.complete()[0].items), ("y", 1000));
            saxpy.run(3.0, &x, &mut y).expect("the next run works");
        },
    );
    let Some(record) = record else { return };
    assert!(record.trim_end().ends_with("cuDevicePrimaryCtxRelease 0"), "{record}");
}

#[test]
fn fills_are_memsets() {
    let record = recorded("fills_are_memsets", &[], |device| {
        let (mut bytes, mut floats, mut pairs) = ([0; 30], [0.0; 10], [[0; 3]; 10]);
        Fills::new(device).expect("the pipeline").run(&mut bytes, &mut floats, &mut pairs).expect("a run");
        assert_eq!((bytes, floats, pairs), ([7; 30], [1.5; 10], [[1, 2, 3]; 10]));
    });
    let Some(record) = record else { return };
    let fills: Vec<_> = record.lines().filter(|line| line.starts_with("cuMemset")).collect();
    assert_eq!(
        fills,
        [
            "cuMemsetD8Async d1 1 7 30 s1",
            "cuMemsetD32Async d2 4 3fc00000 10 s1",
            "cuMemsetD2D16Async d3 6 1 10 s1",
            "cuMemsetD2D16Async d3+2 6 2 10 s1",
            "cuMemsetD2D16Async d3+4 6 3 10 s1",
        ]
    );
}

/// Enqueues nothing, but the run cannot know that.
fn enqueues(queue: &Enqueue<'_>, _: DeviceSlice<'_, f32>) -> thalweg::Result<()> {
    assert!(queue.cuda_stream().is_some());
    Ok(())
}

stream_pipeline! {
    pipeline Called {
        inout y: [f32];
        stage all { copy y -> dy; call enqueues(&dy); copy dy -> y; }
    }
}

/// A routine enqueues by itself, so the run waits for it where it returns.
#[test]
fn thalweg_sync_waits_for_routines() {
    let variables = [("THALWEG_SYNC", "1"), ("THALWEG_FAIL", "cuStreamSynchronize:700:2+")];
    recorded("thalweg_sync_waits_for_routines", &variables, |device| {
        let mut pipeline = Called::new(device).expect("the pipeline");
        let mut y = PinnedBuf::from_slice(device, &[2.0; 25]).expect("pinned memory");
        let error = pipeline.run(&mut y).expect_err("a fault on the device");
        assert_eq!(
            (error.place().operation, error.place().chunk),
            (Some("call enqueues"), Some(0)),
            "{error}"
        );
    });
}
