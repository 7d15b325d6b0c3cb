// A pipeline without host data: nothing says how many items there are.

use thalweg::prelude::*;

#[kernels("fill.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= y.len())]
    safe fn fill(n: u32, y: Out<[f32]>);
}

stream_pipeline! {
    pipeline P {
        device t: [f32];
        stage all { fill<<<1, 256>>>(4, out t); copy t -> _u; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run()?;
    Ok(())
}
