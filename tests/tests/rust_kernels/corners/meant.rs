//! Names that could mean one thing to rustc and another in C++.

use thalweg::prelude::*;

use super::{both, simulated};

mod library {
    use thalweg::prelude::*;

    #[device]
    pub fn scaled(a: u64) -> u64 {
        a * 2
    }

    #[device(T in [u64, u32])]
    pub fn raised<T, const N: usize>(a: T) -> T {
        a + N as T
    }
}

mod other {
    use thalweg::prelude::*;

    #[device]
    pub fn scaled(a: u64) -> u64 {
        a * 5
    }
}

/// The function of this module is another one than that of the glob, of which the type is in force.
mod globs {
    use thalweg::prelude::*;

    use super::library::*;

    #[allow(dead_code, reason = "kernels call the one that is for kernels")]
    fn scaled(a: u64) -> u64 {
        a * 3
    }

    #[allow(dead_code, reason = "kernels call the one that is for kernels")]
    fn raised<T, const N: usize>(a: T) -> T {
        a
    }

    #[kernel]
    pub fn called(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
        let Some(y) = y.get_mut(i) else { return };
        assert!(scaled(x[1]) == 2_u64);
        *y = scaled(n as u64) + raised::<_, 7>(x[1]);
    }
}

#[test]
fn a_kernel_calls_the_function_beside_the_type() {
    assert_eq!(both!(globs::called, 3), 6 + 8);
}

/// Methods of the user's that come before those of slices and numbers.
trait Own3 {
    fn len(&self) -> usize;
    fn iter(&self) -> std::slice::Iter<'_, u64>;
    fn get(&self, index: usize) -> Option<&u64>;
}

impl Own3 for [u64; 3] {
    fn len(&self) -> usize {
        7
    }

    fn iter(&self) -> std::slice::Iter<'_, u64> {
        self[1..].iter()
    }

    fn get(&self, _: usize) -> Option<&u64> {
        None
    }
}

trait Cloned {
    fn clone(self) -> Self;
}

impl Cloned for u64 {
    fn clone(self) -> Self {
        self + 1
    }
}

#[kernel]
pub fn methods(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let own = [n as u64, x[0], x[1]];
    let mut sum = 0;
    for value in own.iter() {
        sum += value;
    }
    let Some(first) = own.get(0) else { return };
    assert!(own.len() == 3, "it has three");
    *y = 100 * own.len() as u64 + sum.clone() + 1000 * *first;
}

#[test]
fn methods_of_slices_come_before_those_of_traits() {
    let own = [1_u64, 2, 3];
    assert_eq!((Own3::len(&own), Own3::iter(&own).count(), Own3::get(&own, 0)), (7, 2, None));
    assert_eq!(Cloned::clone(1_u64), 2);
    assert_eq!(both!(methods, 9), 300 + 13 + 9000);
}

/// A module of a number's name, with functions of its own.
mod odd {
    pub mod u32 {
        #[allow(dead_code, reason = "kernels call the one of the number")]
        pub fn max(_: u32, _: u32) -> u32 {
            1
        }
    }
}

const STEP: u64 = 3;

mod chain {
    #[allow(unused_imports, reason = "the kernel below means another `chain`")]
    pub use super::other::scaled;
}

#[kernel]
pub fn inside(i: Index, n: u32, _: &[u64], y: &mut Own<[u64]>) {
    use chain::scaled as tenfold;
    use library as chain;
    #[allow(unused_imports, reason = "a function of the number is meant")]
    use odd::u32;

    let Some(y) = y.get_mut(i) else { return };
    // Items are known in all of a block.
    let before = STEP;
    const STEP: u64 = 4;
    {
        let inner = STEP;
        const STEP: u64 = 5;
        assert!(inner == 5);
    }
    *y = tenfold(before + STEP) + 100 * u32::max(n, 2) as u64;
}

#[test]
fn items_of_a_body_are_known_before_they_are_written() {
    assert_eq!(STEP, 3);
    assert_eq!(both!(inside, 7), 16 + 700);
}

/// A trait whose method comes before that of whatever stands for the data.
#[allow(dead_code, reason = "what is required is asked of the data")]
trait Empty: Sized {
    fn len(self) -> usize {
        0
    }

    fn shape(self) -> [usize; 2] {
        [0; 2]
    }
}

impl<T> Empty for T {}

#[kernel]
#[requires(x.len() == y.len())]
fn required(i: Index, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

#[test]
fn what_is_required_is_asked_of_the_data() {
    let (device, stream) = simulated();
    let x = DeviceBuf::from_slice(&device, &[1_u64; 4]).unwrap();
    let mut y = DeviceBuf::<u64>::zeroed(&device, 32).unwrap();
    let kernel = required::load(&device).unwrap();
    let error = kernel.launch(stream.config(1, 32, 0), &x, &mut y).unwrap_err();
    assert!(error.to_string().contains("x.len() == y.len()"), "{error}");
}

#[kernel]
#[requires(y.shape()[1] == columns as usize)]
fn required_of_a_shape(at: Index<2>, columns: u32, y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(at) else { return };
    *y = columns as u64;
}

#[test]
fn what_is_required_of_a_shape_is_asked_of_the_data() {
    let (device, stream) = simulated();
    let mut y = DeviceBuf::<u64>::zeroed(&device, 32).unwrap();
    let kernel = required_of_a_shape::load(&device).unwrap();
    let y = kernel::Shaped::new(&mut y, [4, 8]);
    let error = kernel.launch(stream.config((1, 1), (8, 4), 0), 0, y).unwrap_err();
    assert!(error.to_string().contains("y.shape()[1] == columns as usize"), "{error}");
}

#[device]
#[repr(C)]
#[derive(Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
pub struct Odd {
    value: u64,
}

/// It is no copy.
impl Clone for Odd {
    fn clone(&self) -> Self {
        Odd { value: 77 }
    }
}

/// Methods that come before those of an option and of an `Own`, since they take the value.
trait Early {
    fn is_some(self) -> bool;
    fn len(self) -> usize;
}

impl Early for Option<&u64> {
    fn is_some(self) -> bool {
        false
    }

    fn len(self) -> usize {
        0
    }
}

impl Early for &mut Own<[u64]> {
    fn is_some(self) -> bool {
        false
    }

    fn len(self) -> usize {
        7
    }
}

mod deep {
    pub trait Deep {
        fn len(&self) -> usize;
    }

    impl Deep for &[u64] {
        fn len(&self) -> usize {
            70
        }
    }
}

/// Constants whose names are those of numbers.
pub struct Sized64;

impl Sized64 {
    const BITS: u64 = (1 << 40) + 5;
    const RADIX: i64 = -3;
}

#[kernel]
pub fn early(i: Index, _: u32, x: &[u64], y: &mut Own<[u64]>) {
    let threads = y.len();
    let Some(y) = y.get_mut(i) else { return };
    let odd = [Odd { value: 3 }, Odd { value: 4 }];
    *y = odd.get(1).cloned().unwrap_or(odd[0]).value + odd[0].clone().value * 10;
    *y += 100 * x.get(1).is_some() as u64 + 1000 * threads as u64;
    let (bits, radix) = (Sized64::BITS, Sized64::RADIX);
    *y += bits + (radix as u64 & 7);
}

pub mod behind {
    use thalweg::prelude::*;

    use super::deep::Deep;

    pub fn of_the_trait(part: &[u64]) -> usize {
        (&part).len()
    }

    #[kernel]
    pub fn lengths(i: Index, _: u32, x: &[u64], y: &mut Own<[u64]>) {
        let Some(y) = y.get_mut(i) else { return };
        for part in [&x[..1], &x[..3]].iter() {
            *y += part.len() as u64;
        }
    }
}

#[test]
fn methods_of_values_come_before_those_of_traits() {
    assert!(!Early::is_some(Some(&1)) && Early::len(None) == 0 && behind::of_the_trait(&[1]) == 70);
    assert_eq!(Odd { value: 1 }.clone().value, 77);
    assert_eq!(both!(early, 1), 4 + 30 + 100 + 40_000 + (1 << 40) + 5 + 5);
    assert_eq!(both!(behind::lengths, 1), 4);
}

mod three {
    pub const LENGTH: usize = 3;
}

mod five {
    pub const LENGTH: usize = 5;
}

/// Constants and imports of the same names in two blocks, of which one is too large for a shared array.
#[kernel]
pub fn scoped(block: Block, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    {
        use three::LENGTH;
        const SIDE: u64 = 100_000;
        let mut tile = block.shared::<[u64; LENGTH]>();
        block.fill(&mut tile, |at| SIDE + at as u64);
        block.each(|t| {
            let Some(y) = y.get_mut(t.index()) else { return };
            *y = tile[2] + x[1];
        });
    }
    use five::LENGTH;
    const SIDE: usize = 4;
    let mut tile = block.shared::<[[u64; SIDE]; LENGTH]>();
    block.fill(&mut tile, |[row, column]| (row * 10 + column) as u64);
    let sum = block.reduce(|_| n as u64, |a, b| a + b);
    block.each(|t| {
        let Some(y) = y.get_mut(t.index()) else { return };
        *y += tile[4][3] * 1_000_000 + sum;
    });
}

#[test]
fn shared_arrays_have_the_constants_of_their_blocks() {
    assert_eq!(both!(scoped, 2), 100_002 + 1 + 43_000_000 + 64);
}

/// A constant of a type has the name of a kernel's parameter.
pub struct Sides;

impl Sides {
    const N: u64 = 40;
}

#[kernel(N in [3])]
pub fn listed(i: Index, n: u32, x: &[u64], y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = N as u64 * 100 + Sides::N + x[1] + n as u64;
}

#[test]
fn parameters_of_a_kernel_are_not_parts_of_paths() {
    assert_eq!(both!(listed::<3>, 1), 300 + 40 + 1 + 1);
}
