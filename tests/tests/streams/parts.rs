//! Parts of device memory are arguments wherever the whole memory is one.

use std::thread;

use thalweg::__private::Detail;
use thalweg::kernel::{DeviceSlice, DeviceSliceMut};
use thalweg::prelude::*;
use thalweg::sim::{DriverCall, Effect, Fault};
use thalweg::streams::{Event, Stream};
use thalweg_tests::kernels::{add_to, axpy_each, double_all, widen};

use super::{is_alone, is_race, kept, on_each, simulated};

on_each!(
    parts_are_arguments_of_runs,
    parts_are_arguments_in_graph_mode,
    parts_are_arguments_of_streams,
    parts_are_written_without_being_read,
    halves_have_a_run_each,
    uses_of_a_part_are_the_whole_buffers,
);

const N: usize = 1000;

stream_pipeline! {
    /// `y += x` and `z = x`, on the device; all of `table` for every chunk, and a sum that goes from chunk to
    /// chunk.
    pipeline OnDevice {
        input x: device [f32];
        inout y: device [f32];
        output z: device [f32];
        resident table: device [f32];
        carry sums: device [f32; 2] = 0.0;
        chunk c = 64;
        stage all {
            axpy_each<<<blocks(c.len, 64), 64>>>(c.len as u32, 1.0, &x, &mut y);
            copy x -> z;
            axpy_each<<<1, 32>>>(2, 1.0, &table, &mut sums);
        }
    }
}

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| i as f32).collect()
}

fn buffer(device: &Device, data: &[f32]) -> DeviceBuf<f32> {
    DeviceBuf::from_slice(device, data).expect("memory")
}

fn check(pipeline: &mut OnDevice, device: &Device) {
    let (x, table) = (buffer(device, &numbers(N)), buffer(device, &[9.0, 9.0, 3.0, 4.0, 9.0]));
    let mut y = buffer(device, &[1.0; N]);
    let mut z = buffer(device, &[2.0; N]);
    let mut sums = buffer(device, &[7.0; 6]);
    for (turn, (start, len)) in
        [(0, 100), (100, 100), (300, 129), (999, 1), (500, 0), (301, 129)].into_iter().enumerate()
    {
        let report = pipeline
            .run(
                x.slice(start..start + len).expect("a part"),
                y.slice_mut(start..start + len).expect("a part"),
                z.slice_mut(N - len..).expect("a part"),
                table.slice(2..4).expect("a part"),
                sums.slice_mut(2..4).expect("a part"),
            )
            .expect("a run");
        let chunks = report.chunks as f32;
        let all = sums.to_vec().expect("a copy");
        assert_eq!(all, [7.0, 7.0, 3.0 * chunks, 4.0 * chunks, 7.0, 7.0], "turn {turn}");
        let part = y.slice(start..start + len).expect("a part").to_vec().expect("a copy");
        let once = |i: usize| if (301..429).contains(&i) && turn == 5 { 2.0 } else { 1.0 };
        let expected: Vec<f32> = (start..start + len).map(|i| 1.0 + once(i) * i as f32).collect();
        assert_eq!(part, expected, "turn {turn}");
        assert_eq!(
            z.slice(N - len..).expect("a part").to_vec().expect("a copy"),
            numbers(N)[start..start + len]
        );
    }
    // Nothing beyond the parts is written.
    let y = y.to_vec().expect("a copy");
    assert_eq!((y[200], y[299], y[430], y[998]), (1.0, 1.0, 1.0, 1.0));
    assert_eq!(z.to_vec().expect("a copy")[N - 130], 2.0);
    // Whole buffers have as many items as parts have.
    let whole = buffer(device, &[5.0; 10]);
    let (mut y, mut z) = (buffer(device, &[1.0; 30]), buffer(device, &[1.0; 10]));
    let (table, mut sums) = (buffer(device, &[0.0; 2]), buffer(device, &[0.0; 2]));
    let part = y.slice_mut(10..20).expect("a part");
    pipeline.run(&whole, part, &mut z, &table, &mut sums).expect("a run");
    assert_eq!(y.to_vec().expect("a copy")[9..21], [[1.0].as_slice(), &[6.0; 10], &[1.0]].concat());
    let too_long = y.slice_mut(10..21).expect("a part");
    let error = pipeline.run(&whole, too_long, &mut z, &table, &mut sums).unwrap_err();
    assert!(matches!(error.detail(), Detail::Length { host: "y", items: 11, .. }), "{error}");
    let error = sums.slice(1..3).expect_err("it has two");
    assert!(matches!(error.detail(), Detail::Range { start: 1, end: 3, len: 2 }), "{error}");
}

fn parts_are_arguments_of_runs(device: &Device) {
    check(&mut OnDevice::new(device).expect("a pipeline"), device);
}

/// Graphs have the addresses of the parts.
fn parts_are_arguments_in_graph_mode(device: &Device) {
    check(&mut OnDevice::options(device).graph().build().expect("a pipeline"), device);
}

fn parts_are_arguments_of_streams(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    let (x, mut y) = (buffer(device, &numbers(N)), buffer(device, &[0.0; N]));
    let mut host = PinnedBuf::<f32>::zeroed(device, 10).expect("memory");
    let axpy = axpy_each::load(device).expect("a kernel");
    let part = y.slice_mut(10..20).expect("a part");
    let config = stream.config(1, 32, 0);
    axpy.launch(config, 10, 1.0, x.slice(100..110).expect("a part"), part).expect("a launch");
    stream.copy(x.slice(5..10).expect("a part"), y.slice_mut(20..25).expect("a part")).expect("a copy");
    stream.fill(y.slice_mut(25..).expect("a part"), 8.0).expect("a fill");
    stream.download(y.slice(15..25).expect("a part"), &mut host).expect("a copy");
    let expected = [105.0, 106.0, 107.0, 108.0, 109.0, 5.0, 6.0, 7.0, 8.0, 9.0];
    assert_eq!(host.wait().expect("a copy"), expected);
    assert_eq!(y.slice(15..25).expect("a part").to_vec().expect("a copy"), expected);

    // Parts of parts, copied by the CPU.
    let mut part = y.slice_mut(10..30).expect("a part");
    let (mut low, high) = part.split_at_mut(5).expect("within");
    low.copy_from_slice(&[1.0; 5]).expect("a copy");
    let mut back = [0.0; 2];
    high.get(..2).expect("within").copy_to_slice(&mut back).expect("a copy");
    assert_eq!((back, low.to_vec().expect("a copy")), ([105.0, 106.0], vec![1.0; 5]));
    let error = low.copy_from_slice(&[1.0; 6]).expect_err("it is too long");
    assert!(matches!(error.detail(), Detail::DeviceBufLength { len: 5, slice: 6 }), "{error}");
    assert!(high.get(..0).expect("within").to_vec().expect("nothing").is_empty());
}

/// A part for a parameter `Out`, on streams of their own where they do not overlap.
fn parts_are_written_without_being_read(device: &Device) {
    let [one, other] = [(); 2].map(|()| Stream::new(device).expect("a stream"));
    let widen = widen::load(device).expect("a kernel");
    let x = DeviceBuf::from_slice(device, &[1_u16, 2, 3, 4]).expect("memory");
    let mut y = DeviceBuf::from_slice(device, &[-1_i64; 10]).expect("memory");
    let mut out = y.slice_mut(1..9).expect("a part").into_out();
    let (mut low, high) = out.split_at_mut(4).expect("within");
    widen.launch(one.config(1, 32, 0), 4, 10, &x, low.reborrow()).expect("a launch");
    widen.launch(other.config(1, 32, 0), 4, 100, &x, high).expect("other bytes");
    if is_alone(device) {
        is_race(widen.launch(other.config(1, 32, 0), 1, 7, &x, low.get_mut(3..).expect("within")));
    }
    assert_eq!(y.to_vec().expect("a copy"), [-1, 10, 20, 30, 40, 100, 200, 300, 400, -1]);
    // What was written can be read and written from there on.
    let mut again = y.slice_mut(..4).expect("a part").into_out().into_mut();
    one.fill(again.reborrow(), 5).expect("a fill");
    assert_eq!(again.as_slice().to_vec().expect("a copy"), [5; 4]);
}

stream_pipeline! {
    pipeline Add {
        param a: f32;
        inout y: device [f32];
        chunk c = 50;
        stage all { add_to<<<blocks(c.len, 64), 64>>>(c.len as u32, a, &mut y); }
    }
}

/// Two runs at the same time use two parts that do not overlap.
fn halves_have_a_run_each(device: &Device) {
    let mut y = buffer(device, &numbers(N));
    let mut all = y.slice_mut(..).expect("all of it");
    let (low, high) = all.split_at_mut(N / 2).expect("within");
    thread::scope(|scope| {
        for (index, mut half) in [low, high].into_iter().enumerate() {
            scope.spawn(move || {
                let mut add = Add::new(device).expect("a pipeline");
                for _ in 0..20 {
                    add.run(1.0 + index as f32, half.reborrow()).expect("a run");
                }
            });
        }
    });
    let expected: Vec<f32> = (0..N).map(|i| i as f32 + if i < N / 2 { 20.0 } else { 40.0 }).collect();
    assert_eq!(y.to_vec().expect("a copy"), expected);
}

/// Uses of the whole wait for a stream's operations on a part, and the other way round. A slice that is
/// dropped or forgotten changes nothing.
fn uses_of_a_part_are_the_whole_buffers(device: &Device) {
    let (one, other) = (Stream::new(device).expect("one"), Stream::new(device).expect("another"));
    let mut y = DeviceBuf::<f32>::zeroed(device, 1 << 20).expect("memory");
    let part = y.slice_mut(1..).expect("a part");
    one.fill(part, 1.0).expect("a fill");
    if is_alone(device) {
        is_race(other.fill(y.slice_mut(..2).expect("a part"), 2.0));
    }
    other.fill(y.slice_mut(..1).expect("a part"), 2.0).expect("other bytes");
    let mut add = Add::new(device).expect("a pipeline");
    add.run(1.0, y.slice_mut(..3).expect("a part")).expect("a run");
    assert_eq!(y.slice(..4).expect("a part").to_vec().expect("a copy"), [3.0, 2.0, 2.0, 1.0]);
    one.fill(&mut y, 4.0).expect("a fill");
    assert_eq!(y.slice(7..8).expect("a part").to_vec().expect("a copy"), [4.0]);
    one.fill(y.slice_mut(7..).expect("a part"), 5.0).expect("a fill");
    let _forgotten = std::mem::ManuallyDrop::new(y.slice_mut(..).expect("a part"));
    assert_eq!(y.to_vec().expect("a copy")[6..8], [4.0, 5.0]);
    // The buffer is freed after the operations that use a part of it.
    let event = Event::new(device).expect("an event");
    one.fill(y.slice_mut(7..).expect("a part"), 6.0).expect("a fill");
    one.record(&event).expect("a record");
    drop(y);
    assert!(event.query().expect("no failure"), "it was waited for");
}

/// A failure belongs to its bytes, for copies and runs of parts too.
#[test]
fn a_part_of_what_has_failed() {
    let device = kept(Simulation::h200());
    let stream = Stream::new(&device).expect("a stream");
    let (x, mut y) = (buffer(&device, &[1.0; N]), buffer(&device, &[0.0; N]));
    device.inject(Fault::nth(DriverCall::Copy, 0, Effect::Fails)).expect("it is simulated");
    stream.copy(x.slice(..10).expect("a part"), y.slice_mut(..10).expect("a part")).expect("later");
    stream.synchronize().expect_err("it fails");
    assert!(y.slice(9..11).expect("a part").to_vec().is_err());
    assert_eq!(y.slice(10..12).expect("a part").to_vec().expect("that is well"), [0.0; 2]);
    let mut add = Add::new(&device).expect("a pipeline");
    add.run(1.0, y.slice_mut(9..11).expect("a part")).expect_err("it has failed");
    add.run(1.0, y.slice_mut(10..).expect("a part")).expect("that is well");
    y.slice_mut(..9).expect("a part").copy_from_slice(&[3.0; 9]).expect("a copy");
    assert!(y.to_vec().is_err(), "one is left");
    y.slice_mut(9..10).expect("a part").copy_from_slice(&[3.0]).expect("a copy");
    assert_eq!(y.to_vec().expect("all are well")[8..11], [3.0, 3.0, 1.0]);
}

/// A launch that does not read a part heals it.
#[test]
fn a_part_of_what_has_failed_is_written_anew() {
    let device = kept(Simulation::h200());
    let (stream, widen) = (Stream::new(&device).expect("a stream"), widen::load(&device).expect("a kernel"));
    let (from, mut y) = ([0_i64; 10], DeviceBuf::<i64>::zeroed(&device, 10).expect("memory"));
    let from = PinnedBuf::from_slice(&device, &from).expect("memory");
    device.inject(Fault::nth(DriverCall::Copy, 0, Effect::Fails)).expect("it is simulated");
    stream.upload(&from, &mut y).expect("later");
    stream.synchronize().expect_err("it fails");
    let x = DeviceBuf::from_slice(&device, &[1_u16, 2]).expect("memory");
    let part = y.slice_mut(4..6).expect("a part").into_out();
    widen.launch(stream.config(1, 32, 0), 2, 10, &x, part).expect("a launch");
    assert_eq!(y.slice(4..6).expect("a part").to_vec().expect("written anew"), [10, 20]);
    assert!(
        y.slice(..4).expect("a part").to_vec().is_err() && y.slice(6..).expect("a part").to_vec().is_err()
    );
}

/// Memory that a run hands to a routine belongs to that run and does not count as a part of a buffer, even if
/// it is one.
#[test]
fn a_routine_cannot_give_its_slices_to_another_run() {
    fn inner(
        queue: &Enqueue<'_>,
        x: DeviceSlice<'_, f32>,
        mut y: DeviceSliceMut<'_, f32>,
    ) -> thalweg::Result<()> {
        let refused = [x.to_vec().map(drop), y.copy_from_slice(&[0.0; 8]), {
            Add::new(queue.device()).and_then(|mut add| add.run(1.0, y.reborrow())).map(drop)
        }];
        for error in refused.map(|refused| refused.expect_err("it is the run's")) {
            assert!(matches!(error.detail(), Detail::OfARun), "{error}");
        }
        queue.simulate((x, y), |(x, y)| y.copy_from_slice(x))
    }
    stream_pipeline! {
        pipeline Outer {
            input x: device [f32];
            inout y: device [f32];
            chunk c = 8;
            stage all { call inner(&x, &mut y); }
        }
    }
    let device = simulated();
    let (x, mut y) = (buffer(&device, &[2.0; 8]), buffer(&device, &[0.0; 8]));
    Outer::new(&device).expect("a pipeline").run(&x, &mut y).expect("a run");
    assert_eq!(y.to_vec().expect("a copy"), [2.0; 8]);
    let double = double_all::load(&device).expect("a kernel");
    let stream = Stream::new(&device).expect("a stream");
    double.launch(stream.config(1, 32, 0), 8, y.slice_mut(..).expect("all")).expect("a launch");
    assert_eq!(y.to_vec().expect("a copy"), [4.0; 8]);
}
