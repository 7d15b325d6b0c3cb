// A type of the name `bool` is another one than C++ has by that name.

mod sizes {
    #![allow(non_camel_case_types)]
    use thalweg::prelude::*;

    type bool = u8;

    #[kernel]
    fn k(i: Index, y: &mut Out<[u8]>) {
        let Some(y) = y.get_mut(i) else { return };
        let two: bool = 2;
        *y = two;
    }
}

fn main() {}
