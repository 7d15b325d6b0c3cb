// A struct has an index of its own.

use std::ops::Index as At;

use thalweg::prelude::*;

#[device]
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
struct Table {
    cells: [f32; 4],
}

impl At<usize> for Table {
    type Output = f32;

    fn index(&self, at: usize) -> &f32 {
        &self.cells[3 - at]
    }
}

#[kernel]
fn looked_up(i: Index, table: Table, y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = table[1];
}

fn main() {}
