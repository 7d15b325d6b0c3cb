// A kernel calls a function of a trait.

use thalweg::prelude::*;

trait Shape {
    fn area(side: f32) -> f32;
}

struct Square;

impl Shape for Square {
    fn area(side: f32) -> f32 {
        side * side
    }
}

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = <Square as Shape>::area(x[i]);
}

fn main() {}
