// A function has the name of a struct, which it does not make as the struct says.

use shapes::*;
use thalweg::prelude::*;

mod shapes {
    use thalweg::prelude::*;

    #[device]
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    #[bytemuck(crate = "thalweg::bytemuck")]
    pub struct Side(pub f32);
}

#[allow(non_snake_case)]
fn Side(length: f32) -> Side {
    Side { 0: 2.0 * length }
}

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[Side]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = Side(x[i]);
}

fn main() {}
