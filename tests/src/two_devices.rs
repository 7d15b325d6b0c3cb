//! Copies of page-locked memory between two devices of one process, for tests of simulated devices and of
//! GPUs.

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::streams::Stream;

use crate::kernels::add_to;

stream_pipeline! {
    /// `y += a`.
    pub pipeline AddTo {
        param a: f32;
        inout y: [f32];
        chunk c = auto;
        stage up { copy y -> dy; }
        stage math { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut dy); }
        stage down { copy dy -> y; }
    }
}

/// Takes `n` numbers from the first device to the host and on to the second one, by streams and by a
/// pipeline.
pub fn check_data_go_from_one_to_the_other([one, other]: [&Device; 2], n: usize) {
    let (first, second) = (Stream::new(one).expect("a stream"), Stream::new(other).expect("a stream"));
    let mut x = DeviceBuf::<f32>::zeroed(one, n).expect("memory");
    let mut y = DeviceBuf::<f32>::zeroed(other, n).expect("memory");
    let mut host = PinnedBuf::<f32>::zeroed(one, n).expect("memory");
    let add = [one, other].map(|device| add_to::load(device).expect("a kernel"));
    for turn in 1..=3 {
        add[0].launch(first.config(blocks(n, 256), 256, 0), n as u32, 1.0, &mut x).expect("a launch");
        first.download(&x, &mut host).expect("a copy");
        // Streams of two devices have no events in common.
        let error = second.upload(&host, &mut y).unwrap_err();
        assert!(matches!(error.detail(), Detail::Race { .. }), "{error}");
        first.synchronize().expect("the device");
        second.upload(&host, &mut y).expect("a copy");
        add[1].launch(second.config(blocks(n, 256), 256, 0), n as u32, 100.0, &mut y).expect("a launch");
        assert_eq!(y.to_vec().expect("a copy"), vec![100.0 + turn as f32; n]);
    }
    // The CPU waits for memory that another device still reads, and for memory that it still writes.
    second.upload(&host, &mut y).expect("a copy");
    host.fill(7.0);
    assert_eq!(y.to_vec().expect("a copy")[n - 1], 3.0);
    second.download(&y, host.slice_mut(..10).expect("a part")).expect_err("they are not as long");
    second.download(y.slice(..10).expect("a part"), host.slice_mut(..10).expect("a part")).expect("a copy");
    assert_eq!(host.wait().expect("a copy")[..11], [[3.0].repeat(10), vec![7.0]].concat());
    host.fill(7.0);
    let mut pipeline = AddTo::options(other).chunk(n.div_ceil(20)).build().expect("a pipeline");
    pipeline.run(1.0, &mut host).expect("a run");
    assert_eq!(host[..], vec![8.0; n]);
    let wrong = add[0].launch(second.config(1, 256, 0), 1, 1.0, &mut y).unwrap_err();
    assert!(matches!(wrong.detail(), Detail::StreamOfOtherDevice { .. }), "{wrong}");
}
