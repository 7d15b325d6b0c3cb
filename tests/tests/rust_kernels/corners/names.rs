//! Names that C knows without a declaration, or that are macros of the header.

#![allow(non_snake_case, non_upper_case_globals, reason = "such names are not Rust's")]

use thalweg::prelude::*;

use super::both;

const THALWEG_NUMBERS: u64 = 2;
const CUDART_VERSION: u64 = 3;

#[device]
fn va_start(a: u64) -> u64 {
    a + 1
}

macro_rules! kernels {
    ($($name:ident)*) => {$(
        #[kernel]
        pub fn $name(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
            let Some(y) = y.get_mut(i) else { return };
            let $name = x[0] + n as u64;
            *y = $name;
        }
    )*};
}

kernels!(exp min printf TW_FN);

#[kernel]
pub fn local(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let (TW_UNROLL, TW_UNLIKELY, THALWEG_MEMORY, va_end) = (x[0], 10, 20, 30);
    let va_arg = |a: u64| a + TW_UNROLL;
    *y =
        va_arg(TW_UNLIKELY) + THALWEG_MEMORY + va_end + va_start(n as u64) + THALWEG_NUMBERS + CUDART_VERSION;
}

#[test]
fn kernels_have_names_of_c() {
    assert_eq!([both!(exp, 1), both!(min, 2), both!(printf, 3), both!(TW_FN, 4)], [4, 5, 6, 7]);
}

#[test]
fn variables_have_names_of_macros() {
    assert_eq!(both!(local, 3), 13 + 20 + 30 + 4 + 2 + 3);
}
