//! Graphs that are captured.

use thalweg::__private::Detail;
use thalweg::kernel::blocks;
use thalweg::streams::{Event, Stream};
use thalweg::{Device, DeviceBuf, PinnedBuf};
use thalweg_tests::kernels::{add_to, axpy_each, double_all};

use super::{is_race, on_each, simulated};

on_each!(
    a_graph_does_what_its_stream_would,
    streams_join_a_graph,
    a_graph_keeps_what_it_uses,
    a_graph_is_ordered_with_streams,
    what_is_on_the_host_is_lent,
    what_a_graph_cannot_have,
    a_capture_that_fails_is_over,
    empty_graphs,
);

const N: usize = 4000;

fn a_graph_does_what_its_stream_would(device: &Device) {
    let (stream, add) = (Stream::new(device).expect("a stream"), add_to::load(device).expect("a kernel"));
    let (mut x, mut y) = (
        DeviceBuf::<f32>::zeroed(device, N).expect("memory"),
        DeviceBuf::<f32>::zeroed(device, N).expect("memory"),
    );
    let graph = stream.capture(|stream| {
        for _ in 0..3 {
            add.launch(stream.config(blocks(N, 256), 256, 0), N as u32, 1.0, &mut x)?;
        }
        stream.copy(&x, &mut y)?;
        stream.fill(x.slice_mut(..10)?, 100.0)
    });
    let graph = graph.expect("a graph");
    assert_eq!((graph.len(), graph.is_empty()), (5, false));
    assert_eq!(y.to_vec().expect("a copy")[0], 0.0, "nothing was carried out");
    for turn in 1..=4 {
        graph.launch(&stream).expect("a launch");
        let y = y.to_vec().expect("a copy");
        assert_eq!(
            [y[0], y[9], y[10]],
            [if turn == 1 { 3.0 } else { 103.0 }, if turn == 1 { 3.0 } else { 103.0 }, 3.0 * turn as f32]
        );
    }
}

/// A fork and a join.
fn streams_join_a_graph(device: &Device) {
    let [one, other] = [(); 2].map(|()| Stream::new(device).expect("a stream"));
    let (axpy, double) =
        (axpy_each::load(device).expect("a kernel"), double_all::load(device).expect("a kernel"));
    let (forked, joined) = (Event::new(device).expect("one"), Event::new(device).expect("one"));
    let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
    let mut y = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
    let graph = one.capture(|one| {
        one.fill(&mut x, 1.0)?;
        one.record(&forked)?;
        other.wait(&forked)?;
        other.fill(&mut y, 5.0)?;
        double.launch(one.config(blocks(N, 128), 128, 0), N as u32, &mut x)?;
        // The other stream is independent of `x` as long as nothing orders it.
        is_race(double.launch(other.config(blocks(N, 128), 128, 0), N as u32, &mut x));
        other.record(&joined)?;
        one.wait(&joined)?;
        axpy.launch(one.config(blocks(N, 128), 128, 0), N as u32, 1.0, &x, &mut y)
    });
    let graph = graph.expect("a graph");
    assert_eq!(graph.len(), 4);
    graph.launch(&one).expect("a launch");
    // The streams have left the capture: this is carried out.
    other.wait_stream(&one).expect("a wait");
    other.fill(&mut x, 9.0).expect("a fill");
    assert_eq!((y.to_vec().expect("a copy")[N - 1], x.to_vec().expect("a copy")[0]), (7.0, 9.0));
    assert!(matches!(other.wait(&joined).unwrap_err().detail(), Detail::NotInGraph { .. }));
}

fn a_graph_keeps_what_it_uses(device: &Device) {
    let (stream, add) = (Stream::new(device).expect("a stream"), add_to::load(device).expect("a kernel"));
    let mut total = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
    let axpy = axpy_each::load(device).expect("a kernel");
    let graph = {
        let mut x = DeviceBuf::from_slice(device, &[1.0_f32; N]).expect("memory");
        let graph = stream.capture(|stream| {
            add.launch(stream.config(blocks(N, 256), 256, 0), N as u32, 1.0, &mut x)?;
            axpy.launch(stream.config(blocks(N, 256), 256, 0), N as u32, 1.0, &x, &mut total)
        });
        graph.expect("a graph")
    };
    // Memory that others allocate is elsewhere.
    let other = DeviceBuf::from_slice(device, &[77.0_f32; N]).expect("memory");
    for _ in 0..3 {
        graph.launch(&stream).expect("a launch");
    }
    // The graph is dropped while it is under way.
    drop(graph);
    assert_eq!(total.to_vec().expect("a copy"), [2.0 + 3.0 + 4.0; N]);
    assert_eq!(other.to_vec().expect("a copy"), [77.0; N]);
}

fn a_graph_is_ordered_with_streams(device: &Device) {
    let [one, other] = [(); 2].map(|()| Stream::new(device).expect("a stream"));
    let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
    let graph = one.capture(|stream| stream.fill(&mut x, 1.0)).expect("a graph");
    other.fill(&mut x, 2.0).expect("a fill");
    let race = is_race(graph.launch(&one));
    assert!(race.contains("`a graph` writes memory that `fill` writes"), "{race}");
    one.wait_stream(&other).expect("a wait");
    graph.launch(&one).expect("in order");
    is_race(other.fill(&mut x, 3.0));
    assert_eq!(x.to_vec().expect("a copy"), [1.0; N]);
}

/// Nobody may have references to memory that a graph writes.
fn what_is_on_the_host_is_lent(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    let x = PinnedBuf::from_slice(device, &[3.0_f32; N]).expect("memory");
    let mut y = PinnedBuf::<f32>::zeroed(device, N).expect("memory");
    let mut on_device = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
    let graph = stream.capture(|stream| {
        stream.upload(&x, &mut on_device)?;
        stream.download(&on_device, &mut y)
    });
    let graph = graph.expect("a graph");
    for error in [
        graph.launch(&stream).unwrap_err(),
        graph.launch_with(&stream, (&x,)).unwrap_err(),
        graph.launch_with(&stream, (&x, &y)).unwrap_err(),
        graph.launch_with(&stream, &mut y).unwrap_err(),
    ] {
        assert!(matches!(error.detail(), Detail::NotLent { .. }), "{error}");
    }
    let error = graph.launch_with(&stream, (&x, &y)).unwrap_err().to_string();
    assert!(
        error.contains("the graph's `download` writes a `PinnedBuf` that is lent to this launch with `&`\n"),
        "{error}"
    );
    let error = graph.launch(&stream).unwrap_err().to_string();
    assert!(
        error.contains("the graph's `upload` reads a `PinnedBuf` that is not lent to this launch\n"),
        "{error}"
    );
    assert!(error.contains("help: `graph.launch_with(&stream, (&first, &mut second))`"), "{error}");
    graph.launch_with(&stream, (&mut y, &x)).expect("all of it");
    assert_eq!(y[..], [3.0; N]);
    let gone = y.into_vec().unwrap_err();
    assert_eq!(gone.kind().to_string(), "this `PinnedBuf` is used by a graph");
}

fn what_a_graph_cannot_have(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    let (event, before) = (Event::new(device).expect("one"), Event::new(device).expect("one"));
    stream.record(&before).expect("a record");
    let mut refused = Vec::new();
    let graph = stream.capture(|stream| {
        stream.record(&event)?;
        refused.push(stream.synchronize().unwrap_err());
        refused.push(stream.query().unwrap_err());
        refused.push(stream.then(|_| ()).unwrap_err());
        refused.push(stream.host(|| ()).unwrap_err());
        refused.push(event.synchronize().unwrap_err());
        refused.push(stream.wait(&before).unwrap_err());
        refused.push(stream.capture(|_| Ok(())).map(drop).unwrap_err());
        Ok(())
    });
    assert!(graph.expect("an empty graph").is_empty());
    for error in refused {
        let is_refused = matches!(
            error.detail(),
            Detail::Capturing { .. } | Detail::EventOfAGraph { .. } | Detail::NotInGraph { .. }
        );
        assert!(is_refused, "{error}");
    }
    stream.synchronize().expect("it captures no more");
}

fn a_capture_that_fails_is_over(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
    let error = stream.capture(|_| Err(Detail::Skipped.into())).unwrap_err();
    assert!(matches!(error.detail(), Detail::Skipped));
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = stream.capture(|_| panic!("in a capture"));
    }));
    assert!(panic.is_err());
    stream.fill(&mut x, 1.0).expect("a fill");
    stream.synchronize().expect("the device");
    assert_eq!(x.to_vec().expect("a copy"), [1.0; N]);
}

fn empty_graphs(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    let mut none = DeviceBuf::<f32>::zeroed(device, 0).expect("memory");
    let graph = stream.capture(|stream| stream.fill(&mut none, 1.0)).expect("a graph");
    for _ in 0..3 {
        graph.launch(&stream).expect("a launch");
    }
    stream.capture(|_| Ok(())).expect("a graph").launch(&stream).expect("a launch");
    stream.synchronize().expect("the device");
}

#[test]
fn a_graph_of_another_device() {
    let (device, other) = (simulated(), simulated());
    let graph = Stream::new(&device).expect("a stream").capture(|_| Ok(())).expect("a graph");
    let error = graph.launch(&Stream::new(&other).expect("a stream")).unwrap_err();
    assert!(matches!(error.detail(), Detail::StreamOfOtherDevice { .. }), "{error}");
}
