//! The pipelines that are measured.

use rayon::prelude::*;
use thalweg::prelude::*;

#[kernels("../../cu/step.cu")]
unsafe extern "CUDA" {
    /// `z[i]` is `x[i]` after so many steps, for `i < n`; one thread an element.
    #[host(step_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= z.len())]
    pub safe fn step(n: u32, iterations: u32, x: &[f32], z: Out<[f32]>);

    /// Computes what [`step`] does, with any grid and four elements at a time. `n` is a multiple of 4.
    #[host(step_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= z.len())]
    #[requires(n.is_multiple_of(4))]
    safe fn step4(n: u32, iterations: u32, x: &[f32], z: Out<[f32]>);
}

fn step_on_host(_: Grid, n: u32, iterations: u32, x: &[f32], z: &mut [f32]) {
    let n = n as usize;
    z[..n].par_iter_mut().zip(&x[..n]).for_each(|(z, &x)| *z = stepped(x, iterations));
}

/// What the kernels compute of each element, to the bit.
pub fn stepped(x: f32, iterations: u32) -> f32 {
    (0..iterations).fold(x, |v, _| v.mul_add(0.999, 0.001))
}

stream_pipeline! {
    /// A stream for each stage.
    pub pipeline Step {
        param iterations: u32;
        input x: [f32];
        output z: [f32];
        device dz: [f32];
        chunk c = auto;
        stream up: high;
        stream math;
        stream down: low;
        stage load on up { copy x -> dx; }
        stage step on math { step<<<blocks(c.len, 256), 256>>>(c.len as u32, iterations, &dx, out dz); }
        stage store on down { copy dz -> z; }
    }
}

stream_pipeline! {
    /// Streams left out: one for each stage.
    pub pipeline StepAuto {
        param iterations: u32;
        input x: [f32];
        output z: [f32];
        device dz: [f32];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage step { step<<<blocks(c.len, 256), 256>>>(c.len as u32, iterations, &dx, out dz); }
        stage store { copy dz -> z; }
    }
}

stream_pipeline! {
    /// A stream for each ring slot.
    pub pipeline StepBySlot {
        param iterations: u32;
        input x: [f32];
        output z: [f32];
        device dz: [f32];
        chunk c = auto;
        stream s per slot;
        stage load on s { copy x -> dx; }
        stage step on s { step<<<blocks(c.len, 256), 256>>>(c.len as u32, iterations, &dx, out dz); }
        stage store on s { copy dz -> z; }
    }
}

stream_pipeline! {
    /// No copies: the kernel works on the host's memory. For chunks of a multiple of 4 elements.
    pub pipeline StepMapped {
        param iterations: u32;
        input x: mapped [f32];
        output z: mapped [f32];
        chunk c = auto;
        depth = 4;
        stream s per slot;
        stage step on s {
            step4<<<blocks(c.len / 4, 512).min(132), 512>>>(c.len as u32, iterations, &x, out z);
        }
    }
}

stream_pipeline! {
    /// A frame in, three kernels, a frame out.
    pub pipeline Frames {
        input x: [f32];
        output z: [f32];
        device a: [f32];
        device b: [f32];
        chunk c = usize::MAX;
        stream s;
        stage load on s { copy x -> dx; }
        stage steps on s {
            step<<<blocks(c.len, 256), 256>>>(c.len as u32, 1, &dx, out a);
            step<<<blocks(c.len, 256), 256>>>(c.len as u32, 1, &a, out b);
            step<<<blocks(c.len, 256), 256>>>(c.len as u32, 1, &b, out dz);
        }
        stage store on s { copy dz -> z; }
        device dz: [f32];
    }
}

stream_pipeline! {
    /// The three kernels of [`Frames`], on the host's memory.
    pub pipeline FramesMapped {
        input x: mapped [f32];
        output z: mapped [f32];
        device a: [f32];
        device b: [f32];
        chunk c = usize::MAX;
        stream s;
        stage steps on s {
            step<<<blocks(c.len, 256), 256>>>(c.len as u32, 1, &x, out a);
            step<<<blocks(c.len, 256), 256>>>(c.len as u32, 1, &a, out b);
            step<<<blocks(c.len, 256), 256>>>(c.len as u32, 1, &b, out z);
        }
    }
}

stream_pipeline! {
    /// Copy, compute, copy, one after the other.
    pub pipeline StepOneStream {
        param iterations: u32;
        input x: [f32];
        output z: [f32];
        device dz: [f32];
        chunk c = auto;
        depth = 1;
        stream s;
        stage load on s { copy x -> dx; }
        stage step on s { step<<<blocks(c.len, 256), 256>>>(c.len as u32, iterations, &dx, out dz); }
        stage store on s { copy dz -> z; }
    }
}

stream_pipeline! {
    /// Copy, compute, copy, on the default stream.
    #[allow(deprecated, reason = "it is what is measured")]
    pub pipeline StepNull {
        param iterations: u32;
        input x: [f32];
        output z: [f32];
        device dz: [f32];
        chunk c = auto;
        depth = 3;
        stream s = null;
        stage load on s { copy x -> dx; }
        stage step on s { step<<<blocks(c.len, 256), 256>>>(c.len as u32, iterations, &dx, out dz); }
        stage store on s { copy dz -> z; }
    }
}

stream_pipeline! {
    /// Nothing comes back.
    pub pipeline StepUp {
        param iterations: u32;
        input x: [f32];
        device _dz: [f32];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage step { step<<<blocks(c.len, 256), 256>>>(c.len as u32, iterations, &dx, out _dz); }
    }
}

/// Reads a chunk in page-locked memory.
fn look_at(x: &[f32]) {
    std::hint::black_box(x.par_iter().map(|x| f64::from(*x)).sum::<f64>());
}

stream_pipeline! {
    /// The CPU looks at each result before it goes where it belongs.
    pub pipeline StepOnHost {
        param iterations: u32;
        input x: [f32];
        output z: [f32];
        device dz: [f32];
        host h: [f32];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage step { step<<<blocks(c.len, 256), 256>>>(c.len as u32, iterations, &dx, out dz); }
        stage look { copy dz -> h; host look_at(&h); }
        stage store { copy dz -> z; }
    }
}
