use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use thalweg::prelude::*;

#[kernel]
fn count(i: Index, x: &[f32], sum: &[AtomicU32]) {
    let Some(x) = x.get(i.get()) else { return };
    sum[0].fetch_add((*x > 0.0) as u32, Relaxed);
}

#[kernel]
fn k(i: Index, sum: &[u32], y: &mut Out<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = sum[0];
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [u32];
        device sum: [u32; 1] per chunk;
        device dy: [u32];
        chunk c = 64;
        stage all {
            copy x -> dx;
            fill sum = 0;
            count<<<blocks(c.len, 32), 32>>>(&dx, &mut sum);
            k<<<blocks(c.len, 32), 32>>>(&sum, out dy);
            copy dy -> y;
        }
    }
}

pub fn main() -> thalweg::Result<()> {
    let mut y = [0; 128];
    P::new(&Device::open()?)?.run(&[1.0; 128], &mut y)?;
    assert_eq!(y, [64; 128]);
    Ok(())
}
