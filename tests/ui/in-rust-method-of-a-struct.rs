// A method of a struct has the name of one of iterators.

use thalweg::prelude::*;

#[device]
#[repr(C)]
#[derive(Clone, Copy, thalweg::bytemuck::Pod, thalweg::bytemuck::Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
struct Pair {
    a: f32,
    b: f32,
}

impl Pair {
    fn sum(self) -> f32 {
        self.a + self.b
    }
}

#[kernel]
fn k(i: Index, x: &[Pair], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i].sum();
}

fn main() {}
