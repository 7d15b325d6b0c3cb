//! Grids that are too small.

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg_kernels::{normalize_chw, normalize_hwc};

use super::simulated;

stream_pipeline! {
    /// Images of 10 pixels of 3 channels.
    #[allow(deprecated, reason = "the fills show in what the grid leaves out")]
    pipeline Partly {
        param grids: [u32; 2];
        resident mean: [f32];
        resident deviation: [f32];
        input x: [u8; 30];
        output hwc: [f32; 30];
        output chw: [f32; 30];
        device d_hwc: [f32; 30];
        device d_chw: [f32; 30];
        chunk c = 100;
        stage work {
            copy x -> dx;
            fill d_hwc = 7.0;
            fill d_chw = 7.0;
            normalize_hwc<<<grids[0], 32>>>(10 * c.len as u32, 3, &mean, &deviation, &dx, out d_hwc);
            normalize_chw<<<grids[1], 32>>>(c.len as u32, 10, 3, &mean, &deviation, &dx, out d_chw);
            copy d_hwc -> hwc;
            copy d_chw -> chw;
        }
    }
}

fn grids_that_are_too_small(device: &Device) {
    let images = 8;
    let mut pipeline = Partly::new(device).unwrap();
    for grid in [1, 2, 3, 7, 8, 100] {
        let results = [(); 2].map(|()| vec![0.0; 30 * images]);
        let [mut hwc, mut chw] = results;
        let threads = 32 * grid as usize;
        let x = vec![255; 30 * images];
        let (mean, deviation) = ([0.0; 3], [0.5; 3]);
        let mut run = |grids| pipeline.run(grids, &mean, &deviation, &x, &mut hwc, &mut chw).map(drop);
        if device.is_simulated() {
            // The simulated device reports the unwritten elements.
            run([100; 2]).unwrap();
            for (which, needed) in [30 * images, 10 * images].into_iter().enumerate() {
                let mut grids = [100; 2];
                grids[which] = grid;
                let result = run(grids);
                if threads >= needed {
                    result.unwrap();
                    continue;
                }
                let error = result.unwrap_err();
                let &Detail::Unwritten { kernel, elements, unwritten, first, .. } = error.detail() else {
                    panic!("{error}");
                };
                assert_eq!(kernel, ["normalize_hwc", "normalize_chw"][which]);
                let left = 30 * images / needed * (needed - threads);
                assert_eq!((elements, unwritten), (30 * images, left), "{error}");
                // For `chw` it is the first channel of the first pixel without a thread.
                assert_eq!(first, if which == 1 { threads / 10 * 30 + threads % 10 } else { threads });
            }
            continue;
        }
        run([grid; 2]).unwrap();
        let value = |is_reached: bool| if is_reached { 2.0 } else { 7.0 };
        for i in 0..30 * images {
            let pixel = i / 30 * 10 + i % 10;
            let expected = [i < threads, pixel < threads].map(value);
            assert_eq!([hwc[i], chw[i]], expected, "element {i} of {grid} blocks");
        }
    }
}

#[test]
fn grids_that_are_too_small_do_less() {
    grids_that_are_too_small(&simulated());
}

#[test]
#[ignore = "needs a CUDA device"]
fn grids_that_are_too_small_do_less_on_a_gpu() {
    grids_that_are_too_small(&Device::cuda(0).expect("a GPU"));
}
