//! Two GPUs of one process.

use std::thread;

use thalweg::{Device, DeviceBuf, ErrorKind, PinnedBuf, Stream, blocks};
use thalweg_tests::kernels::add_to;

const N: usize = 1 << 20;

/// Page-locked memory of one is copied by the other: from the first to the host, from the host to the second.
#[test]
#[ignore = "needs two CUDA devices"]
fn data_go_from_one_to_the_other() {
    let devices = Device::all().expect("the driver");
    let [one, other] = &devices[..2] else { panic!("there are two") };
    let (first, second) = (Stream::new(one).expect("a stream"), Stream::new(other).expect("a stream"));
    let mut x = DeviceBuf::<f32>::zeroed(one, N).expect("memory");
    let mut y = DeviceBuf::<f32>::zeroed(other, N).expect("memory");
    let mut host = PinnedBuf::<f32>::zeroed(one, N).expect("memory");
    let add = [one, other].map(|device| add_to::load(device).expect("a kernel"));
    for turn in 1..=3 {
        add[0].launch(first.config(blocks(N, 256), 256, 0), N as u32, 1.0, &mut x).expect("a launch");
        first.download(&x, &mut host).expect("a copy");
        // Streams of two devices have no events in common.
        let error = second.upload(&host, &mut y).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Race { .. }), "{error}");
        first.synchronize().expect("the device");
        second.upload(&host, &mut y).expect("a copy");
        add[1].launch(second.config(blocks(N, 256), 256, 0), N as u32, 100.0, &mut y).expect("a launch");
        assert_eq!(y.to_vec().expect("a copy"), vec![100.0 + turn as f32; N]);
    }
    // What another device is still to read is waited for, too.
    second.upload(&host, &mut y).expect("a copy");
    host.fill(7.0);
    assert_eq!(y.to_vec().expect("a copy")[N - 1], 3.0);
    // Pipelines copy it, too.
    Add::new(other).expect("a pipeline").run(1.0, &mut host).expect("a run");
    assert_eq!(host[..], vec![8.0; N]);
    let wrong = add[0].launch(second.config(1, 256, 0), 1, 1.0, &mut y).unwrap_err();
    assert!(matches!(wrong.kind(), ErrorKind::StreamOfOtherDevice { .. }), "{wrong}");
}

thalweg::stream_pipeline! {
    pipeline Add {
        param a: f32;
        inout y: [f32];
        chunk c = 50_000;
        stage up { copy y -> dy; }
        stage math { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut dy); }
        stage down { copy dy -> y; }
    }
}

#[test]
#[ignore = "needs two CUDA devices"]
fn each_runs_pipelines_of_its_own() {
    let devices = Device::all().expect("the driver");
    assert!(devices.len() >= 2, "there are two");
    thread::scope(|scope| {
        for (index, device) in devices.iter().enumerate() {
            scope.spawn(move || {
                let mut add = Add::new(device).expect("a pipeline");
                let mut y = vec![0.0_f32; N];
                for _ in 0..10 {
                    add.run(index as f32 + 1.0, &mut y).expect("a run");
                }
                assert_eq!(y, vec![10.0 * (index as f32 + 1.0); N]);
            });
        }
    });
}
