//! The line of a fault where several operands of one expression fail, each on a line of its own: Rust evaluates
//! them in their order, and the arguments of a C++ function come in any.

use thalweg::half::f16;
use thalweg::prelude::*;

use super::blocks::{program, run, simulated, slice, slice_mut};

/// Places that lead into `x`, each on a line of its own, as operands of operators.
#[kernel]
fn of_operators(i: Index, x: &[u32], at: &[u32], y: &mut Own<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[at[0] as usize] // The first.
        << (x[at[1] as usize] // The second.
            + x[at[2] as usize]) // The third.
        << x[at[3] as usize];
}

#[device]
fn first(x: &[u32], at: u32) -> u32 {
    x[at as usize]
}

#[device]
fn second(x: &[u32], at: u32) -> u32 {
    x[at as usize]
}

/// What functions and methods give, and their arguments.
#[kernel]
fn of_functions(i: Index, x: &[u32], at: &[u32], y: &mut Own<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let sum = first(x, at[0]) + second(x, at[1]);
    *y = sum.rotate_left(first(x, at[2])) | second(x, at[3]);
}

/// What is assigned comes before the place, and the ends of a loop in their order.
#[kernel]
fn of_places(i: Index, x: &[u32], at: &[u32], y: &mut Own<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut sums = [0_u32; 3];
    sums[at[0] as usize % 256] += // The value comes first.
        x[at[1] as usize];
    for k in x[at[2] as usize] // From here,
        ..x[at[3] as usize]
    // to there.
    {
        sums[0] += k;
    }
    *y = sums[0];
}

/// An operator of a trait has the place before the value.
#[kernel]
fn of_halves(i: Index, x: &[u32], at: &[u32], y: &mut Own<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut sums = [f16::from_f32(1.0); 3];
    sums[at[0] as usize] += // The place comes first.
        f16::from_f32(x[at[1] as usize] as f32);
    sums[at[2] as usize] *= // As it does here.
        f16::from_f32(x[at[3] as usize] as f32);
    *y = sums[0].to_f32() as u32;
}

/// The C++ fails at the line where Rust does, or gives the same.
macro_rules! same {
    ($kernel:ident) => {{
        let ((device, stream), program) = (simulated(), program::<$kernel>());
        let kernel = $kernel::load(&device).unwrap();
        let x = [0_u32, 1, 2];
        let on_x = DeviceBuf::from_slice(&device, &x).unwrap();
        for fails in 0..16_u32 {
            let at: Vec<u32> =
                (0..4).map(|k| if fails >> k & 1 > 0 { 200 + k } else { (k + 1) % 3 }).collect();
            let on_at = DeviceBuf::from_slice(&device, &at).unwrap();
            let mut found = [0_u32];
            let mut y = DeviceBuf::from_slice(&device, &found).unwrap();
            kernel.launch(stream.config(1, 1, 0), &on_x, &on_at, &mut y).unwrap();
            let expected = stream.synchronize().map_err(|error| line_of(&error.to_string()));
            let all = [slice(&x), slice(&at), slice_mut(&mut found)].concat();
            let faults = run::<$kernel>(&program, 1, 1, 0, &all).faults;
            // Functions have their numbers in the upper bits.
            let lines: Vec<u32> = faults.iter().map(|fault| fault.line & 0xf_ffff).collect();
            assert_eq!(lines, Vec::from_iter(expected.err()), "{fails:#b}");
            assert_eq!(lines.is_empty(), fails == 0);
            if fails == 0 {
                assert_eq!(found[..], y.to_vec().unwrap());
            }
        }
    }};
}

/// The line that an error names.
fn line_of(said: &str) -> u32 {
    let (_, after) = said.split_once(concat!(file!(), ":")).unwrap_or_else(|| panic!("no line: {said}"));
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

#[test]
fn operands_of_operators_fail_in_rusts_order() {
    same!(of_operators);
}

#[test]
fn what_functions_give_fails_in_rusts_order() {
    same!(of_functions);
}

#[test]
fn values_fail_before_places_and_ends_of_loops_in_their_order() {
    same!(of_places);
}

#[test]
fn places_of_operators_of_traits_fail_before_values() {
    same!(of_halves);
}
