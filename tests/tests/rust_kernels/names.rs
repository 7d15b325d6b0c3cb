//! Names, literals and macros in kernels: what the C++ computes is what rustc has understood.

use thalweg::__private::{Kernel, KernelSource};
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::on_each_device;

use crate::both::simulated;

/// The kernel's C++.
fn cpp<K: Kernel>() -> String {
    let KernelSource::Rust(source) = K::INFO.module.source else { panic!("the kernel is in Rust") };
    let text = source.joined();
    let (_, kernel) = text.split_once("__global__").expect("a kernel");
    kernel.to_owned()
}

/// Kernels of a name that C++ keeps for itself, with such names in them.
#[allow(non_snake_case, reason = "CUDA's names are not Rust's")]
mod keywords {
    use thalweg::prelude::*;

    #[device]
    fn int(float: f32, double: f32, char: f32) -> f32 {
        float + double * char
    }

    #[kernel]
    pub(super) fn template(auto: Index, long: &[f32], short: &mut Out<[f32]>) {
        let Some(unsigned) = short.get_mut(auto) else { return };
        let (new, delete) = (long[auto], 2.0_f32);
        let (threadIdx, tw, line, std) = (new, delete, new + delete, 1.0_f32);
        let (f32, u32) = (threadIdx * tw, line - std);
        *unsigned = int(f32, u32, 0.5);
    }

    #[device]
    fn r#match(r#type: f32) -> f32 {
        let r#x = r#type;
        x + 1.0
    }

    #[kernel]
    pub(super) fn r#fn(i: Index, r#in: &[f32], r#mut: &mut Out<[f32]>) {
        let Some(r#ref) = r#mut.get_mut(i) else { return };
        *r#ref = r#match(r#in[i]);
    }

    #[device]
    fn größe(höhe: f32) -> f32 {
        höhe * 2.0
    }

    #[kernel]
    pub(super) fn длина(i: Index, x: &[f32], 出: &mut Out<[f32]>) {
        let Some(出) = 出.get_mut(i) else { return };
        let (ä, ue4, uE4) = (x[i], 1.0, 3.0);
        *出 = größe(ä) + ue4 + uE4;
    }
}

/// A parameter, a local and a helper may have the kernel's name.
mod same {
    use thalweg::prelude::*;

    #[kernel]
    #[requires(scale > 0.0)]
    pub(super) fn scale(i: Index, scale: f32, _: f32, _: u32, y: &mut Own<[f32]>) {
        let Some(y) = y.get_mut(i) else { return };
        *y *= scale;
    }

    pub(super) mod inner {
        use thalweg::prelude::*;

        #[kernel]
        pub(crate) fn scale(i: Index, y: &mut Own<[f32]>) {
            let Some(y) = y.get_mut(i) else { return };
            let scale = *y + 1.0;
            *y = scale;
        }
    }
}

const TAPS: usize = 3;

/// Lengths of arrays that are constants, and names that the body brings in.
#[kernel]
fn filtered(i: Index, weights: [f32; TAPS], more: [f32; TAPS + 1], y: &mut Out<[f32]>) {
    use std::f32::consts::{self, PI as HALF_A_TURN};
    let Some(y) = y.get_mut(i) else { return };
    let mut sum = 0.0;
    for (tap, weight) in weights.iter().enumerate() {
        sum += weight * more[tap + 1];
    }
    *y = sum + HALF_A_TURN - consts::PI;
}

/// Literals in all forms.
#[kernel]
fn literals(i: Index, y: &mut Out<[f64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let floats = 1. + 1e3 + 1_000.5 + 2E-3 + 1f64 + 2_f64 + 3e+2;
    let (least, most): (i32, u64) = (-2147483648, 18_446_744_073_709_551_615);
    let (tiny, wide): (i8, i64) = (-128, -9223372036854775808);
    let bits = 0xFFFF_FFFF_u32 ^ 0b1010 ^ 0o17;
    *y = floats + least as f64 + most as f64 + tiny as f64 + wide as f64 + bits as f64;
}

macro_rules! kernels {
    ($($name:ident: $ty:ty, $of:ident, $value:expr;)*) => {$(
        /// The macro's own `t` is another name than the caller's.
        #[kernel]
        fn $name(i: Index, $of: &[$ty], y: &mut Out<[$ty]>) {
            let Some(y) = y.get_mut(i) else { return };
            let t: $ty = 3 as $ty;
            *y = t * $value;
        }
    )*};
}

kernels! {
    thrice_f32: f32, t, t[0] + t[1];
    thrice_u32: u32, x, x[0] + 1;
}

macro_rules! shadowed {
    ($name:ident, $outer:ident) => {
        #[kernel]
        fn $name(i: Index, y: &mut Out<[f32]>) {
            let Some(y) = y.get_mut(i) else { return };
            let $outer = 1.0;
            let t = 30.0;
            *y = $outer + t + t;
        }
    };
}

shadowed!(hygienic, t);

macro_rules! twins {
    ($first:ident, $last:ident, $x:ident) => {
        /// The macro's own `x` is another parameter than the caller's.
        #[kernel]
        fn $first(i: Index, $x: &[f32], x: &[f32], y: &mut Out<[f32]>) {
            let Some(y) = y.get_mut(i) else { return };
            *y = 10.0 * $x[i] + x[i];
        }

        #[kernel]
        fn $last(i: Index, x: &[f32], $x: &[f32], y: &mut Out<[f32]>) {
            let Some(y) = y.get_mut(i) else { return };
            *y = 10.0 * x[i] + $x[i];
        }
    };
}

twins!(callers_first, callers_last, x);

fn run(launch: impl FnOnce(&Device, &Stream, &mut DeviceBuf<f32>)) -> Vec<f32> {
    let (device, stream) = simulated();
    let mut y = DeviceBuf::from_slice(&device, &[1.0, 2.0]).unwrap();
    launch(&device, &stream, &mut y);
    y.to_vec().unwrap().to_vec()
}

/// An operation that nothing orders with the launch may write none of its arguments.
#[test]
fn arguments_for_parameters_of_the_same_letters_are_both_in_use() {
    let (device, stream) = simulated();
    let other = Stream::new(&device).unwrap();
    let (first, last) = (callers_first::load(&device).unwrap(), callers_last::load(&device).unwrap());
    for is_first in [true, false] {
        let mut of = [1.0_f32, 2.0].map(|value| DeviceBuf::from_slice(&device, &[value; 64]).unwrap());
        let mut y = DeviceBuf::<f32>::zeroed(&device, 64).unwrap();
        let at = stream.config(2, 32, 0);
        let launched = match is_first {
            true => first.launch(at, &of[0], &of[1], &mut y),
            false => last.launch(at, &of[0], &of[1], &mut y),
        };
        launched.unwrap();
        for argument in &mut of {
            let error = other.fill(argument, 5.0).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Race(_)), "{error}");
        }
        stream.synchronize().unwrap();
        assert_eq!(y.to_vec().unwrap(), [12.0; 64]);
    }
}

#[test]
fn names_of_cpp_are_names_of_kernels() {
    let ran = run(|device, stream, y| {
        let x = DeviceBuf::from_slice(device, &[10.0, 20.0]).unwrap();
        let kernel = keywords::template::load(device).unwrap();
        kernel.launch(stream.config(1, 32, 0), &x, &mut *y).unwrap();
    });
    assert_eq!(ran, [25.5, 50.5]);
    let ran = run(|device, stream, y| {
        let x = DeviceBuf::from_slice(device, &[10.0, 20.0]).unwrap();
        keywords::r#fn::load(device).unwrap().launch(stream.config(1, 32, 0), &x, &mut *y).unwrap();
    });
    assert_eq!(ran, [11.0, 21.0]);
    let ran = run(|device, stream, y| {
        let x = DeviceBuf::from_slice(device, &[10.0, 20.0]).unwrap();
        keywords::длина::load(device).unwrap().launch(stream.config(1, 32, 0), &x, &mut *y).unwrap();
    });
    assert_eq!(ran, [24.0, 44.0]);
}

#[test]
fn a_kernel_its_parameter_and_another_kernel_have_one_name() {
    let ran = run(|device, stream, y| {
        let kernel = same::scale::load(device).unwrap();
        kernel.launch(stream.config(1, 32, 0), 3.0, 0.0, 0, &mut *y).unwrap();
        let kernel = same::inner::scale::load(device).unwrap();
        kernel.launch(stream.config(1, 32, 0), &mut *y).unwrap();
    });
    assert_eq!(ran, [4.0, 7.0]);
    assert!(cpp::<same::scale>().contains("*= scale_2;"), "{}", cpp::<same::scale>());
}

#[test]
fn lengths_are_constants_and_a_body_may_use_items() {
    let ran = run(|device, stream, y| {
        let kernel = filtered::load(device).unwrap();
        kernel.launch(stream.config(1, 32, 0), [1.0, 2.0, 3.0], [0.0, 1.0, 10.0, 100.0], &mut *y).unwrap();
    });
    assert_eq!(ran, [321.0; 2]);
    let text = cpp::<filtered>();
    assert!(text.contains("(tw::Array<f32, TAPS> weights, tw::Array<f32, TAPS + 1> more, "), "{text}");
}

on_each_device! {
    literals_have_their_values;
    kernels_that_a_macro_writes;
}

fn literals_have_their_values(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let mut y = DeviceBuf::<f64>::zeroed(device, 1).unwrap();
    literals::load(device).unwrap().launch(stream.config(1, 32, 0), &mut y).unwrap();
    let floats = 1.0 + 1e3 + 1000.5 + 2e-3 + 1.0 + 2.0 + 3e2;
    let integers = [f64::from(i32::MIN), u64::MAX as f64, -128.0, i64::MIN as f64];
    let bits = f64::from(0xFFFF_FFFF_u32 ^ 10 ^ 15);
    assert_eq!(y.to_vec().unwrap()[0], integers.into_iter().fold(floats, |sum, next| sum + next) + bits);
    let text = cpp::<literals>();
    for literal in ["i32(-2147483647 - 1)", "18446744073709551615ull", "i64(-9223372036854775807ll - 1)"] {
        assert!(text.contains(literal), "{literal}: {text}");
    }
}

/// What a macro has matched stays one expression, in both languages.
fn kernels_that_a_macro_writes(device: &Device) {
    let ran = run(|device, stream, y| {
        let t = DeviceBuf::from_slice(device, &[10.0, 20.0]).unwrap();
        thrice_f32::load(device).unwrap().launch(stream.config(1, 32, 0), &t, &mut *y).unwrap();
    });
    assert_eq!(ran, [90.0; 2]);
    let text = cpp::<thrice_f32>();
    assert!(text.contains("= t_2 * (t.at(0ull"), "{text}");

    let ran = run(|device, stream, y| {
        hygienic::load(device).unwrap().launch(stream.config(1, 32, 0), &mut *y).unwrap();
    });
    assert_eq!(ran, [61.0; 2]);
    let text = cpp::<hygienic>();
    assert!(text.contains("= t + t_2 + t_2;"), "{text}");
    let stream = Stream::new(device).unwrap();
    let x = DeviceBuf::from_slice(device, &[4_u32]).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(device, 1).unwrap();
    thrice_u32::load(device).unwrap().launch(stream.config(1, 32, 0), &x, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [15]);
}
