// A type of the name `u32` is another one than C++ has by that name.

mod sizes {
    #![allow(non_camel_case_types)]
    use thalweg::prelude::*;

    pub type u32 = u8;

    #[kernel]
    fn widened(i: Index, x: &[u32], y: &mut Out<[u64]>) {
        let Some(y) = y.get_mut(i) else { return };
        *y = x[i] as u64;
    }
}

fn main() {}
