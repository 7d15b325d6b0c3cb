//! `profile` and `predict` on the simulated device.

use thalweg::prelude::*;
use thalweg::{Engine, Timeline};
use thalweg_tests::kernels::add_to;

stream_pipeline! {
    /// `y <- y + a`.
    pipeline Add {
        param a: f32;
        inout y: [f32];
        chunk c = auto;
        stage load { copy y -> dy; }
        stage add { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut dy); }
        stage store { copy dy -> y; }
    }
}

const LEN: usize = 16 << 20;

#[test]
fn a_look() -> Result<()> {
    let device = Device::simulated(Spec::h200());
    let mut add = Add::options(&device).chunk(1 << 20).build()?;
    let mut y = PinnedBuf::from_slice(&device, &vec![1.0; LEN])?;
    let p = add.predict(1.0, &mut y)?;
    let r = add.run(1.0, &mut y)?;
    let m = add.profile(1.0, &mut y)?;
    println!("{}\n{}\n{}", p.report, r, m.report);
    for (a, b) in p.spans.iter().zip(&m.spans).take(12) {
        println!("{a:?}\n{b:?}");
    }
    let mut y = vec![1.0; LEN];
    let p = add.predict(1.0, &mut y)?;
    let r = add.run(1.0, &mut y)?;
    let m = add.profile(1.0, &mut y)?;
    println!("{}\n{}\n{}", p.report, r, m.report);
    Ok(())
}
