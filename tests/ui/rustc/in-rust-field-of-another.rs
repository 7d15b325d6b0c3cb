// A field is that of another struct, for which a struct stands.

use std::ops::Deref;

use thalweg::prelude::*;

#[device]
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
struct Inner {
    mass: f32,
}

#[device]
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
struct Outer {
    inner: Inner,
}

impl Deref for Outer {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.inner
    }
}

#[kernel]
fn weighed(i: Index, of: Outer, y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = of.mass;
}

fn main() {}
