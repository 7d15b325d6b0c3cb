//! Odd pipelines that compile: each gives what its operations give one after another, or an error that says why not.

use thalweg::prelude::*;
use thalweg_tests::kernels::add_to;
use thalweg_tests::{everywhere, numbers, written};

/// The second copy of `y` reads what the first copy to it has written, in ordinary memory as in pinned memory.
mod host_data_read_after_it_is_written {
    use super::*;

    stream_pipeline! {
        pipeline Again {
            inout y: [f32];
            chunk c = auto;
            stream s1;
            stream s2;
            stream s3;
            stage first on s1 { copy y -> d1; add_to<<<1, 1>>>(c.len as u32, 1.0, &mut d1); }
            stage back on s2 { copy d1 -> y; }
            stage second on s3 { copy y -> d2; add_to<<<1, 1>>>(c.len as u32, 10.0, &mut d2); }
            stage store on s2 { copy d2 -> y; }
            stage third on s1 { copy y -> d1; add_to<<<1, 1>>>(c.len as u32, 100.0, &mut d1); copy d1 -> y; }
        }
    }

    #[test]
    fn in_the_same_chunk() {
        everywhere(|device, case| {
            let mut pipeline = Again::options(device).chunk(case.chunk).depth(case.depth).build()?;
            let start = numbers(case.len);
            let (report, y) = written!(device, case.pinned_out, start.clone(), |y| pipeline.run(y));
            report?;
            assert_eq!(y, start.iter().map(|y| y + 1.0 + 10.0 + 100.0).collect::<Vec<_>>());
            Ok(())
        });
    }
}
