//! Kernels for several types.

use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::on_each_device;

// ANCHOR: dot
/// The dot product of each block's share, in the block's element of `sums`.
#[kernel(T in [f32, f64])]
pub(crate) fn dot(block: Block, x: &[T], y: &[T], sums: &mut Out<[f64]>) {
    let sum = block.reduce(
        |t| {
            let mut sum = 0.0;
            for i in t.of_grid(x.len()) {
                sum += x[i] as f64 * y[i] as f64;
            }
            sum
        },
        |a, b| a + b,
    );
    sums.put(block.index(), sum);
}
// ANCHOR_END: dot

/// `y[i] = x[at[i]]`, or the smallest number where there is none.
#[kernel(T in [u8, i32, f32], I in [u32, u64])]
fn gathered(i: Index, x: &[T], at: &[I], y: &mut Out<[T]>) {
    let Some(y) = y.get_mut(i) else { return };
    let place = at[i] as usize;
    *y = if place < x.len() { x[place] } else { T::MIN };
}

stream_pipeline! {
    pub(crate) pipeline Dot {
        input x: [f32];
        input y: [f32];
        output sums: [f64; 4] per chunk;
        device d_sums: [f64; 4] per chunk;
        chunk c = 1000;
        stage all {
            copy x -> dx;
            copy y -> dy;
            dot::<f32><<<4, 64>>>(&dx, &dy, out d_sums);
            copy d_sums -> sums;
        }
    }
}

on_each_device! {
    a_pipeline_launches_an_instance;
    each_instance_is_a_kernel;
}

fn a_pipeline_launches_an_instance(device: &Device) {
    let x: Vec<f32> = (0..3500).map(|i| (i % 11) as f32).collect();
    let y: Vec<f32> = (0..3500).map(|i| (i % 7) as f32).collect();
    let mut sums = vec![0.0; 16];
    Dot::new(device).unwrap().run(&x, &y, &mut sums).unwrap();
    let expected: f64 = x.iter().zip(&y).map(|(x, y)| f64::from(x * y)).sum();
    assert_eq!(sums.iter().sum::<f64>(), expected);
    assert!(Dot::PLAN.to_string().contains("dot::<f32><<<..>>>"), "{}", Dot::PLAN);
}

fn each_instance_is_a_kernel(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let x = DeviceBuf::from_slice(device, &[1.5_f64; 100]).unwrap();
    let mut sums = DeviceBuf::<f64>::zeroed(device, 2).unwrap();
    let dot = dot::<f64>::load(device).unwrap();
    dot.launch(stream.config(2, 32, 0), &x, &x, &mut sums).unwrap();
    assert_eq!(sums.to_vec().unwrap().iter().sum::<f64>(), 225.0);

    let x = DeviceBuf::from_slice(device, &[7_i32, -8]).unwrap();
    let at = DeviceBuf::from_slice(device, &[1_u64, 0, 5]).unwrap();
    let mut y = DeviceBuf::<i32>::zeroed(device, 3).unwrap();
    gathered::<i32, u64>::load(device).unwrap().launch(stream.config(1, 32, 0), &x, &at, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [-8, 7, i32::MIN]);
    let x = DeviceBuf::from_slice(device, &[7_u8]).unwrap();
    let at = DeviceBuf::from_slice(device, &[0_u32, 3]).unwrap();
    let mut y = DeviceBuf::<u8>::zeroed(device, 2).unwrap();
    gathered::<u8, u32>::load(device).unwrap().launch(stream.config(1, 32, 0), &x, &at, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [7, 0]);
}

#[test]
fn instances_have_names_of_their_own() {
    use thalweg::__private::Kernel;
    let info = |info: &thalweg::__private::KernelInfo| (info.name, info.symbol);
    assert_eq!(info(<dot<f32> as Kernel>::INFO), ("dot::<f32>", "dot_f32"));
    assert_eq!(info(<gathered<u8, u64> as Kernel>::INFO), ("gathered::<u8, u64>", "gathered_u8_u64"));
}
