//! `budget`: the device memory that a ring may take.

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg_tests::kernels::gather;

const SMALL: usize = 64 * KIB;

stream_pipeline! {
    /// The chunk is made to fit.
    pipeline Auto {
        input x: [u8];
        output y: [u8];
        chunk c = auto;
        depth = 2;
        budget = SMALL;
        stage all { copy x -> a; copy a -> b; copy b -> y; }
    }
}

stream_pipeline! {
    pipeline Given {
        param n: usize;
        input x: [u8];
        output y: [u8];
        chunk c = n;
        depth = 2;
        budget = SMALL;
        stage all { copy x -> a; copy a -> b; copy b -> y; }
    }
}

fn used(device: &Device, before: u64) -> u64 {
    before - device.free_memory().unwrap()
}

#[test]
fn an_auto_chunk_fits_the_budget() {
    let device = Device::simulated(Simulation::default());
    let before = device.free_memory().unwrap();
    let x: Vec<u8> = (0..1_000_000).map(|i| (i % 251) as u8).collect();
    let mut y = vec![0; x.len()];
    for budget in [4096, 10_000, SMALL, MIB] {
        let mut pipeline = Auto::options(&device).budget(budget).build().unwrap();
        let report = pipeline.run(&x, &mut y).unwrap();
        assert_eq!(y, x);
        assert!(used(&device, before) <= budget as u64, "{budget}");
        // One chunk fewer would not fit, apart from rounding: there are 2 buffers of 2 slots.
        let fewer = x.len().div_ceil(report.chunks - 1);
        assert!(fewer * 4 + 6 * 256 + 4 >= budget, "{} chunks in {budget}", report.chunks);
        y.fill(0);
    }
    let report = Auto::new(&device).unwrap().run(&x, &mut y).unwrap();
    assert!(report.chunk * 4 <= SMALL && report.chunk * 8 > SMALL);
}

#[test]
fn a_given_chunk_that_does_not_fit_is_an_error() {
    let device = Device::simulated(Simulation::default());
    let before = device.free_memory().unwrap();
    let mut pipeline = Given::new(&device).unwrap();
    let (x, mut y) = (vec![1; 100_000], vec![0; 100_000]);
    let error = pipeline.run(50_000, &x, &mut y).unwrap_err();
    assert!(matches!(error.detail(), Detail::Budget { needed: 200_704, budget: SMALL, .. }), "{error}");
    assert_eq!(error.place().pipeline, Some("Given"));
    assert_eq!(used(&device, before), 0);
    pipeline.run(10_000, &x, &mut y).unwrap();
    assert_eq!(y, x);
    let said = |error: Error| error.kind().to_string();
    assert_eq!(
        said(Auto::options(&device).chunk(50_000).build().unwrap_err()),
        "the ring needs 200704 bytes of device memory, but its budget is 65536\n  \
         help: it has 2 slots for chunks of 50000 items: reduce either, or make the budget at least 200704 bytes"
    );
    // All items are in one chunk: the depth does not matter.
    assert_eq!(
        said(pipeline.run(40_000, &x[..40_000], &mut y[..40_000]).unwrap_err()),
        "the ring needs 80384 bytes of device memory, but its budget is 65536\n  \
         help: it has 1 slot for chunks of 40000 items: reduce the chunk, or make the budget at least 80384 bytes"
    );
    // Not even one item fits.
    let tiny = |depth| said(Auto::options(&device).budget(100).depth(depth).build().unwrap_err());
    assert_eq!(
        tiny(2),
        "the ring needs 1024 bytes of device memory, but its budget is 100\n  \
         help: it has 2 slots for chunks of 1 item: reduce the depth, or make the budget at least 1024 bytes"
    );
    assert_eq!(
        tiny(1),
        "the ring needs 512 bytes of device memory, but its budget is 100\n  \
         help: it has 1 slot for chunks of 1 item: make the budget at least 512 bytes"
    );
}

stream_pipeline! {
    pipeline LookUp {
        resident table: [f32];
        input index: [u32];
        output y: [f32];
        device dy: [f32];
        chunk c = 1000;
        depth = 2;
        stage all {
            copy index -> d_index;
            gather<<<blocks(c.len, 32), 32>>>(c.len as u32, 1, &d_index, &table, out dy);
            copy dy -> y;
        }
    }
}

/// Fewer or smaller slots help only if there is room for at least one.
#[test]
fn what_the_whole_run_shares_is_told_apart() {
    let device = Device::simulated(Simulation::default());
    let mut pipeline = LookUp::options(&device).budget(20_000).build().unwrap();
    let mut said = |entries: usize| {
        let error = pipeline.run(&vec![1.0; entries], &[0; 2000], &mut [0.0; 2000]).unwrap_err();
        error.kind().to_string()
    };
    assert_eq!(
        said(1000),
        "the ring needs 20480 bytes of device memory (4096 of them for what is `resident` or `carry`), but its budget is 20000\n  \
         help: it has 2 slots for chunks of 1000 items: reduce either, or make the budget at least 20480 bytes"
    );
    assert_eq!(
        said(5000),
        "the ring needs 36608 bytes of device memory (20224 of them for what is `resident` or `carry`), but its budget is 20000\n  \
         help: what is `resident` or `carry` leaves no room for slots: make the budget at least 36608 bytes"
    );
}

/// A buffer has a slot for each chunk in flight, whatever the length of the run, and each staged copy has as
/// many.
#[test]
fn a_pipeline_holds_no_more_than_its_slots() {
    let device = Device::simulated(Simulation::default());
    let before = device.free_memory().unwrap();
    let mut pipeline = Given::options(&device).budget(MIB).build().unwrap();
    let (x, mut y) = (vec![1; 100_000], vec![0; 100_000]);
    for items in [4000, 100_000] {
        let report = pipeline.run(1000, &x[..items], &mut y[..items]).unwrap();
        assert_eq!(report.device_memory, 2 * 2 * 1024, "two buffers of two slots, rounded up to 256 bytes");
        assert_eq!(used(&device, before), report.device_memory);
        assert_eq!(report.pinned_memory, 2 * 2 * 1000, "two copies");
    }
    let x = PinnedBuf::from_slice(&device, &x).unwrap();
    let mut y = PinnedBuf::zeroed(&device, 100_000).unwrap();
    let report = Given::new(&device).unwrap().run(1000, &x, &mut y).unwrap();
    assert_eq!((report.device_memory, report.pinned_memory), (2 * 2 * 1024, 0));
    assert!(report.enqueuing > std::time::Duration::ZERO && report.enqueuing <= report.time);
}

stream_pipeline! {
    /// The depth is made to fit.
    pipeline AutoDepth {
        param n: usize;
        input x: [u8];
        output y: [u8];
        chunk c = n;
        budget = SMALL;
        stage load { copy x -> a; }
        stage work { copy a -> b; }
        stage store { copy b -> y; }
    }
}

#[test]
fn an_auto_depth_fits_the_budget() {
    let device = Device::simulated(Simulation::default());
    let x: Vec<u8> = (0..1_000_000).map(|i| (i % 251) as u8).collect();
    let mut pipeline = AutoDepth::new(&device).unwrap();
    let mut depth = |chunk: usize, items: usize| -> thalweg::Result<usize> {
        let mut y = vec![0; items];
        let report = pipeline.run(chunk, &x[..items], &mut y)?;
        assert_eq!(y, x[..items]);
        assert!(report.device_memory <= SMALL as u64, "{report:?}");
        Ok(report.depth)
    };
    // There are two buffers.
    for (chunk, slots) in
        [(8 * KIB, 3), (10 * KIB, 3), (11 * KIB, 2), (16 * KIB, 2), (17 * KIB, 1), (32 * KIB, 1)]
    {
        assert_eq!(depth(chunk, x.len()).unwrap(), slots, "{chunk}");
    }
    // A short run needs fewer slots.
    assert_eq!(depth(32 * KIB, 100).unwrap(), 3);
    // With one chunk or many, there is no slot for it.
    for items in [x.len(), 33 * KIB, 40 * KIB] {
        let error = depth(33 * KIB, items).unwrap_err();
        assert!(matches!(error.detail(), Detail::Budget { slots: 1, .. }), "{error}");
    }
    assert_eq!(depth(8 * KIB, x.len()).unwrap(), 3);
}
