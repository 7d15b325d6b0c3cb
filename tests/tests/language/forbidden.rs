//! Generated code keeps to a crate's `forbid`, which no `allow` may soften: that would be error E0453.

#![forbid(dead_code, unused_labels, unused_variables, unused_imports, non_camel_case_types, missing_docs)]
#![forbid(clippy::too_many_arguments)]
#![deny(warnings, forbidden_lint_groups)]

/// Groups are forbidden like lints.
mod groups {
    #![forbid(unused, nonstandard_style, clippy::all)]

    use thalweg::prelude::*;

    #[kernels("../../cu/elements.cu")]
    unsafe extern "CUDA" {
        /// `y[i] += a`
        #[host(add_on_host)]
        safe fn add_to(n: u32, a: f32, y: &mut [f32]);
    }

    fn add_on_host(_: Grid, n: u32, a: f32, y: &mut [f32]) {
        y[..n as usize].iter_mut().for_each(|y| *y += a);
    }

    stream_pipeline! {
        /// `y <- y + a + b`, run in one way only.
        pipeline Add {
            param a: f32;
            param b: f32;
            inout y: [f32];
            chunk c = 10;
            stage load { copy y -> dy; }
            stage add { add_to<<<1, 32>>>(c.len as u32, a + b, &mut dy); }
            stage store { copy dy -> y; }
        }
    }

    /// Neither `profile` nor `predict` is called.
    pub fn run() -> thalweg::Result<()> {
        let mut y = vec![1.0; 30];
        Add::new(&Device::simulated(Simulation::default()))?.run(1.0, 2.0, &mut y)?;
        assert_eq!(y, vec![4.0; 30]);
        Ok(())
    }
}

#[test]
fn what_is_forbidden_is_not_allowed() -> thalweg::Result<()> {
    groups::run()
}
