// `max` of an integer is a trait's of the user's, where the prelude with `Ord` is left out.

mod pipelines {
    #![no_implicit_prelude]

    trait Larger {
        fn max(self, other: usize) -> f32;
    }

    impl Larger for usize {
        fn max(self, _: usize) -> f32 {
            0.0
        }
    }

    ::thalweg::stream_pipeline! {
        pub pipeline Fill {
            output y: [f32];
            device d: [f32];
            chunk c = 100;
            stage all { fill d = c.len.max(1); copy d -> y; }
        }
    }
}

fn main() {}
