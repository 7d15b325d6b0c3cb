// A kernel in Rust that is launched by hand has an error, which is the only one.

use thalweg::prelude::*;
use thalweg::streams::Stream;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let wide = 1_i128 << 100;
    *y = x[i];
}

fn main() -> thalweg::Result<()> {
    let device = Device::open()?;
    let stream = Stream::new(&device)?;
    let x = DeviceBuf::from_slice(&device, &[1.0_f32])?;
    let mut y = DeviceBuf::<f32>::zeroed(&device, 1)?;
    k::load(&device)?.launch(stream.config(1, 32, 0), &x, &mut y)
}
