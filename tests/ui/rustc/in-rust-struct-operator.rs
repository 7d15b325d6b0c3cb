// A kernel in Rust adds structs, which have an operator of their own.

use thalweg::prelude::*;

#[device]
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
struct Vector {
    x: f32,
    y: f32,
}

impl std::ops::Add for Vector {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { x: self.x + other.x, y: self.y + other.y }
    }
}

#[kernel]
fn sums(i: Index, a: &[Vector], b: &[Vector], y: &mut Out<[Vector]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = a[i] + b[i];
}

fn main() {}
