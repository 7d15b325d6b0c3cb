// A kernel in Rust calls a method of a struct.

use thalweg::prelude::*;

#[device]
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
struct Vector {
    x: f32,
    y: f32,
}

impl Vector {
    fn norm(&self) -> f32 {
        self.x.hypot(self.y)
    }
}

#[kernel]
fn norms(i: Index, x: &[Vector], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i].norm();
}

fn main() {
    let _ = Vector { x: 1.0, y: 2.0 }.norm();
}
