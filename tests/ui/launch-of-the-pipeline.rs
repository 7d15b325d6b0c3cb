// A launch names the pipeline itself in place of a kernel.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline Scale {
        inout y: [f32];
        chunk c = auto;
        stage all { copy y -> dy; Scale<<<blocks(c.len, 256), 256>>>(c.len as u32, &mut dy); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    Scale::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
