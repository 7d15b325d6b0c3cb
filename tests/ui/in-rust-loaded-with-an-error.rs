// A kernel with an error, which a program loads and launches by hand.

use thalweg::prelude::*;
use thalweg::streams::Stream;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x.iter().sum();
}

fn main() {
    let device = Device::simulated(Simulation::default());
    let stream = Stream::new(&device).unwrap();
    let x = DeviceBuf::from_slice(&device, &[1.0_f32]).unwrap();
    let mut y = DeviceBuf::<f32>::zeroed(&device, 1).unwrap();
    k::load(&device).unwrap().launch(stream.config(1, 32, 0), &x, &mut y).unwrap();
}
