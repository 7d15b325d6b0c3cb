//! A fault on the GPU. It ends the process's CUDA context, so this test has an executable of its own.

use thalweg::__private::Detail;
use thalweg::prelude::*;

#[kernels("../cu/wild.cu")]
unsafe extern "CUDA" {
    safe fn wild(n: u32, x: &mut [f32]);
}

stream_pipeline! {
    pipeline Wild {
        inout x: [f32];
        chunk c = 10;
        stage all { copy x -> d; wild<<<1, 32>>>(1, &mut d); copy d -> x; }
    }
}

/// With `THALWEG_SYNC=1` the error names the operation; without it, it says how to learn the operation. Run
/// it both ways.
#[test]
#[ignore = "needs a CUDA device"]
fn a_wild_kernel_poisons_what_the_device_may_still_access() {
    let device = Device::cuda(0).expect("a GPU");
    let mut pipeline = Wild::new(&device).expect("the pipeline");
    let mut x = PinnedBuf::from_slice(&device, &[1.0; 100]).expect("pinned memory");
    let error = pipeline.run(&mut x).expect_err("an illegal address");
    println!("{error}");
    assert!(matches!(error.detail(), Detail::Driver(error) if error.code == 700), "{error}");
    assert!(matches!(error.kind(), ErrorKind::DeviceLost(_)), "{error}");
    assert_eq!(error.place().pipeline, Some("Wild"));
    assert_eq!(error.complete()[0].items, 0);
    let help = error.to_string().contains("help: run with THALWEG_SYNC=1");
    if std::env::var("THALWEG_SYNC").is_ok_and(|value| value == "1") {
        assert_eq!((error.place().operation, error.place().chunk), (Some("wild<<<..>>>"), Some(0)));
        assert!(!help);
    } else {
        assert!(help, "{error}");
    }
    assert!(x.is_poisoned() && x.is_empty());
    let mut y = vec![0.0; 10];
    let again = pipeline.run(&mut y).expect_err("a poisoned pipeline");
    assert!(matches!(again.detail(), Detail::PipelinePoisoned), "{again}");
    drop((pipeline, x));
}
