//! `fill`: device memory set to one value.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    /// `y <- a * x + start`: the memory that a kernel adds to is filled anew for each chunk.
    pipeline FromValue {
        param a: f32;
        param start: f32;
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = 64;
        stream up;
        stream math;
        stream down;
        stage load on up { copy x -> dx; }
        stage begin on down { fill dy = start; }
        stage axpy on math { saxpy<<<blocks(c.len, 64), 64>>>(a, &dx, &mut dy); }
        stage store on down { copy dy -> y; }
    }
}

stream_pipeline! {
    pipeline Pattern {
        output z: [[u8; 5]; 2];
        device t: [[u8; 5]; 2];
        chunk c = 7;
        stage all { fill t = [1, 2, 3, 4, 5]; copy t -> z; }
    }
}

#[test]
fn a_kernel_adds_to_the_filled_value_in_many_orders() {
    for seed in 0..40 {
        let spec = if seed == 0 { Simulation::default() } else { Simulation::default().adversarial(seed) };
        let device = Device::simulated(spec);
        for depth in [1, 2, 3] {
            let mut pipeline = FromValue::options(&device).depth(depth).build().unwrap();
            for len in [0, 1, 63, 64, 65, 401] {
                let x: Vec<f32> = (0..len).map(|i| i as f32).collect();
                let mut y = vec![f32::NAN; len];
                pipeline.run(2.0, 0.5, &x, &mut y).unwrap();
                assert!(y.iter().zip(&x).all(|(y, x)| *y == 2.0 * x + 0.5), "{len} at depth {depth}");
            }
        }
    }
}

#[test]
fn patterns_of_any_size() {
    let mut z = [[0; 5]; 46];
    Pattern::new(&Device::simulated(Simulation::default())).unwrap().run(&mut z).unwrap();
    assert_eq!(z, [[1, 2, 3, 4, 5]; 46]);
}

#[test]
fn the_plan_orders_a_fill_as_any_write() {
    let text = FromValue::PLAN.to_string();
    assert!(text.contains("    fill dy\n    record begin_done"), "{text}");
    assert!(text.contains("wait begin_done"), "{text}");
}
