//! The kernel that the tutorial's program launches, in Rust and in CUDA C++.

// ANCHOR: kernel
use thalweg::prelude::*;

/// `v[i] = gain * v[i] + offset`.
#[kernel]
pub fn adjust(i: Index, gain: f32, offset: f32, v: &mut Own<[f32]>) {
    let Some(v) = v.get_mut(i) else { return };
    *v = gain * *v + offset;
}

pub const GAIN: f32 = 2.0;
pub const OFFSET: f32 = 1.0;
// ANCHOR_END: kernel

pub mod cuda {
    //! The same in CUDA C++.

    // ANCHOR: cuda
    use thalweg::prelude::*;

    #[kernels("adjust.cu")]
    unsafe extern "CUDA" {
        /// `v[i] = gain * v[i] + offset` for `i < n`, with any grid.
        #[host(adjust_on_host)]
        #[requires(n as usize <= v.len())]
        pub safe fn adjust(n: u32, gain: f32, offset: f32, v: &mut [f32]);
    }

    /// What the simulated device runs.
    fn adjust_on_host(_: Grid, n: u32, gain: f32, offset: f32, v: &mut [f32]) {
        for v in &mut v[..n as usize] {
            *v = gain * *v + offset;
        }
    }
    // ANCHOR_END: cuda
}

/// Both kernels on one device: the same samples, bit for bit.
fn both(device: &Device) -> thalweg::Result<()> {
    let stream = thalweg::streams::Stream::new(device)?;
    let x: Vec<f32> = (0..10_007).map(|i| (i as f32 * 0.37).sin()).collect();
    let (rust, cuda) = (adjust::load(device)?, cuda::adjust::load(device)?);
    let mut expected = DeviceBuf::from_slice(device, &x)?;
    let config = || stream.config(blocks(x.len(), 256), 256, 0);
    rust.launch(config(), GAIN, OFFSET, &mut expected)?;
    let expected = expected.to_vec()?;
    assert!(expected.iter().zip(&x).all(|(z, x)| *z == GAIN * x + OFFSET));
    for grid in [blocks(x.len(), 256), 1, 7] {
        let mut v = DeviceBuf::from_slice(device, &x)?;
        cuda.launch(stream.config(grid, 256, 0), x.len() as u32, GAIN, OFFSET, &mut v)?;
        assert_eq!(v.to_vec()?, expected, "{grid} blocks");
    }
    Ok(())
}

#[test]
fn both_languages_give_the_same_samples() -> thalweg::Result<()> {
    both(&super::simulated())
}

/// A GPU rounds the C++'s product and sum together. Twice a number is exact, so that this changes nothing.
#[test]
#[ignore = "needs a CUDA device"]
fn both_languages_give_the_same_samples_on_a_gpu() -> thalweg::Result<()> {
    both(&Device::cuda(0)?)
}

#[test]
#[ignore = "needs NVRTC"]
fn the_kernels_compile() -> thalweg::Result<()> {
    thalweg::compile_kernels("sm_80")
}
