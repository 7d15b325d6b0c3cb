// A function with `#[device]` does not say which types it is for.

use thalweg::prelude::*;

#[device]
fn twice<T>(x: T) -> T {
    x + x
}

fn main() {}
