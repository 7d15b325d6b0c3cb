//! Attacks by names on runs that repeat the one before: the user's items have the names of numbers' methods,
//! functions and constants. A stub of CUDA's libraries stands in for the GPU.

use std::ops::Add;
use std::sync::atomic::{AtomicU32, Ordering};

use thalweg::prelude::*;
use thalweg_tests::stubs::Stubs;

const STUBS: Stubs =
    Stubs::driver(module_path!(), concat!(env!("CARGO_TARGET_TMPDIR"), "/attacked-by-names-stubs"));

/// Returns another value each time.
fn tick() -> u32 {
    static TICKS: AtomicU32 = AtomicU32::new(1);
    TICKS.fetch_add(1, Ordering::Relaxed)
}

/// Adding it to a number gives another result each time.
#[derive(Clone, Copy)]
struct Ticking;

impl Add<Ticking> for f32 {
    type Output = f32;

    fn add(self, _: Ticking) -> f32 {
        self + tick() as f32
    }
}

impl From<Ticking> for f32 {
    fn from(_: Ticking) -> f32 {
        tick() as f32
    }
}

macro_rules! filled {
    ($($name:ident($base:ident, $c:ident): $value:expr;)*) => {$(
        ::thalweg::stream_pipeline! {
            pub(crate) pipeline $name {
                param $base: f32;
                output floats: [f32];
                chunk $c = 100;
                mode = graph;
                stage all { fill d_floats = $value; copy d_floats -> floats; }
                device d_floats: [f32];
            }
        }
    )*};
}

/// Runs the pipeline three times, and returns the values in its argument, and whether each run was a
/// repetition.
macro_rules! three_runs {
    ($device:expr, $($name:path),*) => {
        [$({
            let mut pipeline = <$name>::new($device).expect("the pipeline");
            let mut floats = PinnedBuf::<f32>::zeroed($device, 100).expect("pinned memory");
            let runs = [(); 3].map(|()| {
                let report = pipeline.run(1.0, &mut floats).expect("a run");
                assert!(floats.iter().all(|value| *value == floats[0]));
                (floats[0], report.repeated)
            });
            (stringify!($name), runs)
        }),*]
    };
}

/// Each run has evaluated it anew.
fn are_asked(pipelines: &[(&str, [(f32, bool); 3])]) {
    let is_kept = |runs: &[(f32, bool); 3]| runs.windows(2).any(|runs| runs[0].0 >= runs[1].0);
    let kept: Vec<_> = pipelines.iter().filter(|(_, runs)| is_kept(runs)).collect();
    assert!(kept.is_empty(), "{kept:?}");
}

/// Methods and functions of traits that have the names of other numbers' own.
mod of_traits {
    use super::{Ticking, tick};

    trait Noise: Sized {
        const NOW: Ticking = Ticking;

        fn isqrt(self) -> f32;

        fn pow(self) -> f32 {
            self.isqrt()
        }

        /// `f32` has a method of this name, which comes before it. A number whose type is not known yet has
        /// none.
        fn sqrt(self) -> f32 {
            self.isqrt()
        }

        fn next_power_of_two(&self) -> f32 {
            tick() as f32
        }
    }

    impl Noise for f32 {
        fn isqrt(self) -> f32 {
            self + tick() as f32
        }
    }

    trait Root {
        fn sqrt(self) -> f32;
        fn recip(&self) -> f32;
    }

    impl Root for usize {
        fn sqrt(self) -> f32 {
            tick() as f32
        }

        fn recip(&self) -> f32 {
            tick() as f32
        }
    }

    const BASE: f32 = 1.0;

    filled! {
        Method(base, c): base.isqrt();
        Nested(base, c): (2.0 * base.floor()).isqrt().max(0.0);
        OfAConstant(base, c): base + BASE.isqrt();
        OfALiteral(base, c): base + 2f32.isqrt();
        OfAnInteger(base, c): c.len.sqrt() + base;
        OfAnyLiteral(base, c): (2.0).sqrt() + base;
        OfAnyShift(base, c): base + (1 << c.len.trailing_zeros()).recip();
        ByReference(base, c): base.next_power_of_two() + c.len.recip();
        Function(base, c): f32::pow(base);
        FunctionOfAnInteger(base, c): base + usize::sqrt(c.len);
        Constant(base, c): base + f32::NOW;
    }
}

#[test]
fn methods_of_traits_are_asked_in_every_run() {
    use of_traits::*;
    STUBS.record("methods_of_traits_are_asked_in_every_run", &[], |device| {
        are_asked(&three_runs!(
            device,
            Method,
            Nested,
            OfAConstant,
            OfALiteral,
            OfAnInteger,
            OfAnyLiteral,
            OfAnyShift,
            ByReference,
            Function,
            FunctionOfAnInteger,
            Constant
        ));
    });
}

/// Modules that have the names of numbers' types.
mod of_modules {
    use super::Ticking;

    mod u64 {
        use crate::repeated_names::tick;

        pub(super) fn from(_: usize) -> f32 {
            tick() as f32
        }

        #[allow(non_upper_case_globals, reason = "it is called like a function")]
        pub(super) static pow: std::sync::LazyLock<fn(f32) -> f32> =
            std::sync::LazyLock::new(|| |base| base + tick() as f32);
    }

    mod i64 {
        use super::Ticking;

        pub(super) const NOW2: Ticking = Ticking;
        pub(super) static MAX: Ticking = Ticking;
    }

    filled! {
        Function(base, c): u64::from(c.len) + base;
        Pointer(base, c): u64::pow(base);
        Constant(base, c): base + i64::NOW2;
        Static(base, c): base + i64::MAX;
        Converted(base, c): base + f32::from(i64::NOW2);
    }
}

#[test]
fn modules_called_like_numbers_are_asked_in_every_run() {
    use of_modules::*;
    STUBS.record("modules_called_like_numbers_are_asked_in_every_run", &[], |device| {
        are_asked(&three_runs!(device, Function, Pointer, Constant, Static, Converted));
    });
}

/// A type of the user's with the name of a number's type, used for parameters.
mod of_types {
    use super::{PinnedBuf, STUBS, tick};

    /// It has as many bytes as its namesake, and the same method.
    #[derive(Clone, Copy)]
    #[allow(non_camel_case_types, reason = "what it is taken for")]
    pub(super) struct f64;

    impl f64 {
        const MAX: Self = Self;

        fn sqrt(self) -> f32 {
            tick() as f32
        }

        fn from(_: f32) -> f32 {
            tick() as f32
        }
    }

    macro_rules! pipelines {
        ($($name:ident($base:ident): $value:expr;)*) => {$(
            ::thalweg::stream_pipeline! {
                pipeline $name {
                    param $base: f64;
                    output floats: [f32];
                    chunk c = 100;
                    mode = graph;
                    stage all { fill d_floats = $value; copy d_floats -> floats; }
                    device d_floats: [f32];
                }
            }
        )*};
    }

    pipelines! {
        Parameter(base): base.sqrt();
        Constant(_base): f64::MAX.sqrt();
        Function(_base): f64::from(1.5);
    }

    #[test]
    fn types_called_like_numbers_are_asked_in_every_run() {
        STUBS.record("of_types::types_called_like_numbers_are_asked_in_every_run", &[], |device| {
            let mut floats = PinnedBuf::<f32>::zeroed(device, 100).expect("pinned memory");
            macro_rules! three_runs {
                ($($name:ident),*) => {
                    [$({
                        let mut pipeline = $name::new(device).expect("the pipeline");
                        let runs = [(); 3].map(|()| {
                            let report = pipeline.run(f64, &mut floats).expect("a run");
                            (floats[0], report.repeated)
                        });
                        (stringify!($name), runs)
                    }),*]
                };
            }
            super::are_asked(&three_runs!(Parameter, Constant, Function));
        });
    }
}

/// Macros, about which the compiler knows nothing.
mod of_macros {
    macro_rules! ticks {
        () => {
            crate::repeated_names::tick() as f32
        };
    }

    filled! {
        Value(_base, c): ticks!();
        Block(_base, c): { 1.0 + ticks!() };
        Argument(base, c): base.max(ticks!());
    }
}

#[test]
fn macros_are_asked_in_every_run() {
    use of_macros::*;
    STUBS.record("macros_are_asked_in_every_run", &[], |device| {
        are_asked(&three_runs!(device, Value, Block, Argument));
    });
}

stream_pipeline! {
    /// Its parameter is named like a constant.
    #[allow(non_snake_case, reason = "that is the point")]
    pipeline Upper {
        param A: f32;
        output floats: [f32];
        chunk c = 100;
        mode = graph;
        stage all { fill d_floats = A; copy d_floats -> floats; }
        device d_floats: [f32];
    }
}

#[test]
fn a_parameter_called_like_a_constant_is_compared() {
    STUBS.record("a_parameter_called_like_a_constant_is_compared", &[], |device| {
        let mut upper = Upper::new(device).expect("the pipeline");
        let mut floats = PinnedBuf::<f32>::zeroed(device, 100).expect("pinned memory");
        for (value, repeated) in [(1.0, false), (1.0, true), (2.0, false), (2.0, true)] {
            let report = upper.run(value, &mut floats).expect("a run");
            assert_eq!((floats[0], report.repeated), (value, repeated));
        }
    });
}

/// Numbers' own methods, beside traits of the user's with the same names.
mod of_numbers {
    use thalweg::prelude::blocks;

    use super::tick;

    /// It is for all types without a method of the name.
    #[allow(dead_code, reason = "numbers' own come before them")]
    trait Noise: Copy {
        fn sqrt(self) -> f32 {
            tick() as f32
        }

        fn pow(self) -> f32 {
            tick() as f32
        }

        fn from_bits(_: u32) -> f32 {
            tick() as f32
        }
    }

    impl<T: Copy> Noise for T {}

    const HALF: f32 = 0.5;

    filled! {
        Methods(base, c): base.sqrt() + HALF.max(base).powi(2) + (2.0 * base).floor().mul_add(2.0, 1.0).min(f32::MAX);
        Integers(base, c): base + (c.len / 7).pow(2).isqrt().min(50).clamp(1, 9).div_ceil(2).max(c.index) as f32;
        Grids(base, c): base + (blocks(c.len, 8).min(132) * 2).saturating_sub(1).next_power_of_two() as f32;
        Literals(base, c): base + 3_u32.pow(2).abs_diff(7).trailing_zeros() as f32 + 2.5_f32.ceil();
        Functions(base, c): f32::from_bits(f32::to_bits(base)) + f32::from(c.index == 0)
            + u64::from(7_u8).min(4) as f32 + f32::max(base, usize::min(c.len, 3) as f32) + f32::sqrt(base);
        Constants(base, c): base + if c.len.is_multiple_of(3) { f32::EPSILON } else { -std::f32::consts::PI };
    }
}

#[test]
fn numbers_own_are_asked_once() {
    use of_numbers::*;
    STUBS.record("numbers_own_are_asked_once", &[], |device| {
        let runs = three_runs!(device, Methods, Integers, Grids, Literals, Functions, Constants);
        let expected = [
            1.0 + 1.0 + 5.0,
            1.0 + 5.0,
            1.0 + 32.0,
            1.0 + 1.0 + 3.0,
            1.0 + 1.0 + 4.0 + 3.0 + 1.0,
            1.0 - std::f32::consts::PI,
        ];
        for ((name, runs), expected) in runs.into_iter().zip(expected) {
            assert_eq!(runs, [(expected, false), (expected, true), (expected, true)], "{name}");
        }
    });
}

/// The requirements of kernels.
mod requirements {
    use std::cmp::Ordering;
    use std::fmt;
    use std::ops::Not;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use thalweg::prelude::*;

    use super::STUBS;

    /// Whether the kernels may be launched.
    static MAY: AtomicBool = AtomicBool::new(true);

    /// A trait's method with the name of a method of another number type.
    mod of_a_trait {
        use super::{MAY, Relaxed};

        trait Root {
            fn sqrt(self) -> usize;
        }

        impl Root for u32 {
            fn sqrt(self) -> usize {
                if MAY.load(Relaxed) { 0 } else { usize::MAX }
            }
        }

        #[thalweg::kernels("../../cu/by_hand/saxpy.cu")]
        unsafe extern "CUDA" {
            #[requires(n.sqrt() <= x.len().min(y.len()))]
            pub(super) safe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);
        }
    }

    /// A function of a module that has the name of a number's type.
    mod of_a_module {
        mod u64 {
            pub(super) fn from(_: u32) -> bool {
                super::super::MAY.load(super::super::Relaxed)
            }
        }

        #[thalweg::kernels("../../cu/by_hand/saxpy.cu")]
        unsafe extern "CUDA" {
            #[requires(u64::from(n) && !x.is_empty() && !y.is_empty())]
            pub(super) safe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);
        }
    }

    /// A constant of a trait.
    mod of_a_constant {
        use super::Word;

        trait Now {
            const NOW: Word = Word(1);
            const THEN: Word = Word(2);
        }

        impl Now for u64 {}

        #[thalweg::kernels("../../cu/by_hand/saxpy.cu")]
        unsafe extern "CUDA" {
            #[requires(u64::NOW <= u64::THEN && !x.is_empty() && !y.is_empty())]
            pub(super) safe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);
        }
    }

    /// A type with the name of a number's.
    mod of_a_type {
        #[allow(non_camel_case_types, reason = "what it is taken for")]
        type u32 = super::Word;

        #[thalweg::kernels("../../cu/by_hand/saxpy.cu")]
        unsafe extern "CUDA" {
            #[requires(!n && !x.is_empty() && !y.is_empty())]
            pub(super) safe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);
        }
    }

    /// A function with the name of a parameter, and with a trait's method.
    mod of_a_function {
        use super::{MAY, Relaxed};

        trait Len {
            fn len(&self) -> usize;
        }

        impl<F: Fn()> Len for F {
            fn len(&self) -> usize {
                if MAY.load(Relaxed) { usize::MAX } else { 0 }
            }
        }

        fn x() {}

        macro_rules! with_an_x_of_its_own {
            ($length:expr) => {
                #[thalweg::kernels("../../cu/by_hand/saxpy.cu")]
                unsafe extern "CUDA" {
                    #[requires(x.len() > 0 && n as usize <= $length)]
                    pub(super) safe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);
                }
            };
        }

        with_an_x_of_its_own!(x.len());
    }

    /// A trait's method with the name of the slices' own, for every type and by value.
    mod of_slices {
        #[allow(dead_code, reason = "the slices' own come before them")]
        trait Len: Sized {
            fn len(self) -> usize {
                usize::MAX
            }
        }

        impl<T> Len for T {}

        #[thalweg::kernels("../../cu/by_hand/saxpy.cu")]
        unsafe extern "CUDA" {
            #[requires(n as usize <= x.len())]
            #[requires(n as usize <= y.len())]
            pub(super) safe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);
        }
    }

    /// The user defines how it is compared.
    #[repr(transparent)]
    #[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
    #[bytemuck(crate = "thalweg::bytemuck")]
    pub(super) struct Word(u32);

    impl PartialOrd for Word {
        fn partial_cmp(&self, _: &Self) -> Option<Ordering> {
            MAY.load(Relaxed).then_some(Ordering::Equal)
        }
    }

    impl Not for Word {
        type Output = bool;

        fn not(self) -> bool {
            MAY.load(Relaxed)
        }
    }

    impl fmt::Display for Word {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.fmt(f)
        }
    }

    macro_rules! asking {
        ($($name:ident($saxpy:path): $n:tt;)*) => {$(
            stream_pipeline! {
                pipeline $name {
                    input x: device [f32];
                    inout y: device [f32];
                    chunk c = 100;
                    mode = graph;
                    stage all { $saxpy<<<1, 128>>>($n, 1.0, &x, &mut y); }
                }
            }
        )*};
    }

    const WORD: Word = Word(100);

    asking! {
        OfATrait(of_a_trait::saxpy): 100;
        OfAModule(of_a_module::saxpy): 100;
        OfAConstant(of_a_constant::saxpy): 100;
        OfAType(of_a_type::saxpy): WORD;
        OfAFunction(of_a_function::saxpy): 100;
    }

    #[test]
    fn what_kernels_require_is_asked_in_every_run() {
        STUBS.record("requirements::what_kernels_require_is_asked_in_every_run", &[], |device| {
            let x = DeviceBuf::from_slice(device, &[1.0; 100]).expect("device memory");
            let mut y = DeviceBuf::from_slice(device, &[2.0; 100]).expect("device memory");
            let mut kept = Vec::new();
            macro_rules! check {
                ($($name:ident),*) => {$(
                    let mut asking = $name::new(device).expect("the pipeline");
                    for _ in 0..2 {
                        asking.run(&x, &mut y).expect("a run");
                    }
                    MAY.store(false, Relaxed);
                    match asking.run(&x, &mut y) {
                        Ok(_) => kept.push(stringify!($name)),
                        Err(error) => thalweg_tests::is!(error, Requires { .. }),
                    }
                    MAY.store(true, Relaxed);
                    asking.run(&x, &mut y).expect("a run");
                )*};
            }
            check!(OfATrait, OfAModule, OfAConstant, OfAType, OfAFunction);
            assert!(kept.is_empty(), "{kept:?}");
        });
    }

    asking! {
        OfSlices(of_slices::saxpy): 101;
    }

    #[test]
    fn a_slices_length_is_its_own() {
        STUBS.record("requirements::a_slices_length_is_its_own", &[], |device| {
            let x = DeviceBuf::from_slice(device, &[1.0; 100]).expect("device memory");
            let mut y = DeviceBuf::from_slice(device, &[2.0; 100]).expect("device memory");
            let mut saxpy = OfSlices::new(device).expect("the pipeline");
            let error = saxpy.run(&x, &mut y).expect_err("there are 100");
            thalweg_tests::is!(error, Requires { .. });
        });
    }

    /// Requirements that follow from the kernel's own numbers and lengths.
    mod of_numbers {
        #[thalweg::kernels("../../cu/by_hand/saxpy.cu")]
        unsafe extern "CUDA" {
            #[requires(n as usize <= x.len().min(y.len()))]
            #[requires(u64::from(n) < u64::MAX && n.pow(2) >= n && a.abs() < f32::MAX)]
            pub(super) safe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);
        }
    }

    asking! {
        OfNumbers(of_numbers::saxpy): 100;
    }

    #[test]
    fn what_follows_from_the_arguments_is_asked_once() {
        STUBS.record("requirements::what_follows_from_the_arguments_is_asked_once", &[], |device| {
            let x = DeviceBuf::from_slice(device, &[1.0; 100]).expect("device memory");
            let mut y = DeviceBuf::from_slice(device, &[2.0; 100]).expect("device memory");
            let mut saxpy = OfNumbers::new(device).expect("the pipeline");
            for repeated in [false, true, true] {
                assert_eq!(saxpy.run(&x, &mut y).expect("a run").repeated, repeated);
            }
        });
    }
}
