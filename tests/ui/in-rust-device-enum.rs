// `#[device]` is on an enum.

use thalweg::prelude::*;

#[device]
enum Kind {
    Fluid,
    Solid,
}

fn main() {
    let _ = [Kind::Fluid, Kind::Solid];
}
