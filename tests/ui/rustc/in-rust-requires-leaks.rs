// A condition hands its memory to a routine, which others use at that time.

use thalweg::prelude::*;
use thalweg::routine::Views;

fn leak<T: Copy + Send + 'static>(_: T) -> bool
where
    (T,): Views,
{
    true
}

#[kernel]
#[requires(leak(x))]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

fn main() {}
