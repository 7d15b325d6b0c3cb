//! Page-locked memory between two simulated devices: one copies data out, and the other copies them in, as
//! two GPUs of a process do.

use std::thread;

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::streams::{Graph, Stream};
use thalweg_tests::kernels::{add_to, axpy_each};
use thalweg_tests::two_devices::check_data_go_from_one_to_the_other;
use thalweg_tests::{leaves_nothing, numbers};

const N: usize = 1000;

stream_pipeline! {
    pipeline Add {
        param a: f32;
        input x: [f32];
        inout y: pinned [f32];
        output z: [f32];
        resident w: [f32];
        carry sum: [f32; 2];
        chunk c = 128;
        stage up { copy x -> dx; copy y -> dy; }
        stage math {
            add_to<<<blocks(c.len, 128), 128>>>(c.len as u32, a, &mut dx);
            add_to<<<blocks(c.len, 128), 128>>>(c.len as u32, a, &mut dy);
            axpy_each<<<1, 32>>>(2, 1.0, &w, &mut sum);
        }
        stage down { copy dx -> z; copy dy -> y; }
    }
}

fn two() -> [Device; 2] {
    [(); 2].map(|()| Device::simulated(Simulation::h200()))
}

fn buffer(device: &Device, data: &[f32]) -> PinnedBuf<f32> {
    PinnedBuf::from_slice(device, data).expect("memory")
}

#[test]
fn data_go_from_one_to_the_other() {
    let [one, other] = two();
    check_data_go_from_one_to_the_other([&one, &other], N);
}

/// The other device's operations are over before the memory is freed, whichever device is dropped first. The
/// device then forgets the address.
#[test]
fn it_is_freed_after_both() {
    let [one, other] = two();
    leaves_nothing(&one, || {
        leaves_nothing(&other, || {
            let second = Stream::new(&other).expect("a stream");
            let mut y = DeviceBuf::<f32>::zeroed(&other, N).expect("memory");
            for turn in 0..50 {
                let host = buffer(&one, &[turn as f32; N]);
                second.upload(&host, &mut y).expect("a copy");
                drop(host);
                assert_eq!(y.to_vec().expect("a copy")[N - 1], turn as f32);
                // This is likely at the same address.
                let next = DeviceBuf::<f32>::from_slice(&other, &[-1.0; N]).expect("memory");
                second.copy(&next, &mut y).expect("a copy");
            }
            let mut vec = PinnedBuf::register(&one, vec![1.0_f32; 1 << 16]).expect("pages");
            second.download(&y, vec.slice_mut(..N).expect("a part")).expect("a copy");
            let vec = vec.into_vec().expect("it is over");
            assert_eq!((vec[0], vec[N]), (-1.0, 1.0));
            // A graph keeps the buffer, and forgotten memory stays.
            let host = buffer(&one, &[5.0; N]);
            let graph: Graph = second.capture(|second| second.upload(&host, &mut y)).expect("a graph");
            graph.launch_with(&second, &host).expect("a launch");
            drop(host);
            assert_eq!(y.to_vec().expect("a copy")[0], 5.0);
        });
    });
    let host = buffer(&one, &[5.0; N]);
    let second = Stream::new(&other).expect("a stream");
    let mut y = DeviceBuf::<f32>::zeroed(&other, N).expect("memory");
    second.upload(&host, &mut y).expect("a copy");
    drop((one, second, other));
    assert_eq!(y.to_vec().expect("a copy"), [5.0; N]);
    drop(y);
    assert_eq!(host[..], [5.0; N]);
}

/// Runs of one device take the memory of the other, on streams and as graphs, also when both run at once.
#[test]
fn pipelines_of_both_take_it() {
    let [one, other] = two();
    for graph in [false, true] {
        let options = Add::options(&other);
        let mut add = if graph { options.graph().build() } else { options.build() }.expect("a pipeline");
        for len in [N, 17, N] {
            let (x, w) = (buffer(&one, &numbers(len)), buffer(&one, &[1.0; 2]));
            let (mut y, mut z) = (buffer(&one, &numbers(len)), buffer(&one, &vec![0.0; len]));
            let mut sum = buffer(&one, &[1.0, 2.0]);
            let report = add.run(3.0, &x, &mut y, &mut z, &w, &mut sum).expect("a run");
            let expected: Vec<f32> = numbers(len).iter().map(|x| x + 3.0).collect();
            assert_eq!((&y[..], &z[..], report.bytes_staged), (&expected[..], &expected[..], 0));
            let chunks = len.div_ceil(128) as f32;
            assert_eq!(sum[..], [1.0 + chunks, 2.0 + chunks]);
            let part = y.slice_mut(1..4).expect("a part");
            let (x, z) = (x.slice(..3).expect("a part"), z.slice_mut(..3).expect("a part"));
            add.run(1.0, x, part, z, &w, &mut sum).expect("a run");
            assert_eq!((y[0], y[1], y[4]), (expected[0], expected[1] + 1.0, expected[4]));
        }
    }
    // One table for both at the same time.
    let (x, w) = (buffer(&one, &numbers(N)), buffer(&other, &[1.0; 2]));
    thread::scope(|scope| {
        for device in [&one, &other] {
            let (x, w) = (&x, &w);
            scope.spawn(move || {
                let mut add = Add::new(device).expect("a pipeline");
                let (mut y, mut z) = (buffer(device, &[0.0; N]), vec![0.0; N]);
                let mut sum = [0.0; 2];
                for turn in 1..=10 {
                    add.run(1.0, x, &mut y, &mut z, w, &mut sum).expect("a run");
                    assert_eq!((y[N - 1], z[N - 1]), (turn as f32, x[N - 1] + 1.0));
                }
            });
        }
    });
}

/// Kernels reach it through its own device only.
#[test]
fn kernels_of_the_other_do_not_reach_it() {
    let [one, other] = two();
    let mut host = buffer(&one, &[1.0; 8]);
    let stream = Stream::new(&other).expect("a stream");
    let add = add_to::load(&other).expect("a kernel");
    let error = add.launch(stream.config(1, 32, 0), 8, 1.0, &mut host).unwrap_err();
    assert!(matches!(error.detail(), Detail::StreamOfOtherDevice { .. }), "{error}");
    assert!(error.to_string().contains("`PinnedBuf`"), "{error}");
}
