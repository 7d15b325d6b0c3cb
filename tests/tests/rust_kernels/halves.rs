//! `f16` and `bf16` in kernels: on the simulated device, and as C++ on the host, which has to compute the same
//! bits as the crate `half`.

use thalweg::half::{bf16, f16};
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::on_each_device;
use thalweg_tests::random::Random;

use crate::both::{cpp, run, simulated, slice};

// ANCHOR: scaled
/// Sums in `f32` of data in half precision.
#[kernel]
fn scaled(i: Index, a: f32, x: &[f16], y: &mut Own<[f16]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = f16::from_f32(a * x[i].to_f32() + y.to_f32());
}
// ANCHOR_END: scaled

/// What a type of `half` has in kernels: each thread writes all results for its pair.
macro_rules! all {
    ($name:ident, $half:ident) => {
        #[kernel]
        fn $name(
            i: Index,
            x: &[$half],
            z: &[f32],
            halves: &mut Out<[[$half; 16]]>,
            tests: &mut Out<[[u8; 14]]>,
            wide: &mut Out<[f64]>,
        ) {
            let Some(y) = halves.get_mut(i) else { return };
            let Some(t) = tests.get_mut(i) else { return };
            let Some(w) = wide.get_mut(i) else { return };
            let (a, b) = (x[i.get()], x[(i.get() + 1) % x.len()]);
            let mut sum = a;
            sum += b;
            sum *= a;
            sum -= b;
            sum /= $half::from_bits(0x4200);
            *y = [
                a + b,
                a - b,
                a * b,
                a / b,
                a % b,
                -a,
                sum,
                a.min(b),
                a.max(b),
                a.signum(),
                a.copysign(b),
                a.clamp($half::NEG_ONE, $half::ONE),
                $half::from_f32(z[i]),
                $half::from_f32(a.to_f32() * 1.5),
                if a < b { $half::MAX } else { $half::MIN_POSITIVE },
                $half::from_bits(a.to_bits() ^ 1),
            ];
            *t = [
                (a == b) as u8,
                (a != b) as u8,
                (a < b) as u8,
                (a <= b) as u8,
                (a > b) as u8,
                (a >= b) as u8,
                a.is_nan() as u8,
                a.is_finite() as u8,
                a.is_infinite() as u8,
                a.is_normal() as u8,
                a.is_sign_positive() as u8,
                a.is_sign_negative() as u8,
                (f32::from(a) == a.to_f32()) as u8,
                $half::DIGITS as u8,
            ];
            *w = a.to_f64() + f64::from(b);
        }
    };
}
all!(of_f16, f16);
all!(of_bf16, bf16);

/// In a struct, through references and in functions.
#[device]
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
struct Pixel {
    rgb: [f16; 3],
    weight: bf16,
}

/// Without an import.
mod paths {
    use thalweg::prelude::*;

    #[device]
    pub fn kept(x: half::f16) -> half::f16 {
        x * half::f16::ONE
    }
}

#[device]
fn brightness(of: &Pixel) -> f16 {
    let [r, g, b] = of.rgb;
    paths::kept((r + g + b) * f16::from_f32(of.weight.to_f32()))
}

#[kernel]
fn pixels(i: Index, least: f16, x: &[Pixel], y: &mut Out<[Pixel]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut pixel = x[i];
    pixel.rgb[1] = brightness(&pixel).max(least);
    pixel.rgb[0] += pixel.rgb[1];
    *y = Pixel { weight: -pixel.weight, ..pixel };
}

/// The same bits, or NaN in both.
#[track_caller]
fn assert_halves(native: &[u16], in_cpp: &[u16], exponent: u16) {
    let is_nan = |bits: u16| bits & 0x7fff > exponent;
    let differs = native.iter().zip(in_cpp).position(|(&a, &b)| a != b && !(is_nan(a) && is_nan(b)));
    if let Some(at) = differs {
        panic!("{:#x} and {:#x} at {at}", native[at], in_cpp[at]);
    }
}

macro_rules! assert_all {
    ($kernel:ident, $half:ident, $exponent:expr) => {{
        let (device, stream) = simulated();
        let mut random = Random::new(11);
        // All numbers, in any order, and then pairs that are near each other.
        let mut x: Vec<$half> = (0..=u16::MAX).map($half::from_bits).collect();
        for at in (1..x.len()).rev() {
            x.swap(at, random.below(at as u64 + 1) as usize);
        }
        for _ in 0..1 << 14 {
            let bits = random.bits() as u16;
            x.extend(
                [bits, bits.wrapping_add(random.below(3) as u16) ^ (bits & 0x8000)].map($half::from_bits),
            );
        }
        // Between two numbers, at half of the way and beside it.
        let between = |bits: u16| {
            let [a, b] = [bits, bits.wrapping_add(1)].map(|bits| $half::from_bits(bits).to_f32());
            let middle = a + (b - a) / 2.0;
            f32::from_bits(middle.to_bits().wrapping_add_signed(bits as i32 % 3 - 1))
        };
        let mut z: Vec<f32> = x.iter().map(|x| between(x.to_bits())).collect();
        for (at, z) in z.iter_mut().enumerate().filter(|(at, _)| at % 5 == 0) {
            *z = f32::from_bits(random.bits() as u32 ^ at as u32);
        }
        let n = x.len();
        let (mut halves, mut tests, mut wide) = (vec![0_u16; 16 * n], vec![0_u8; 14 * n], vec![0.0_f64; n]);
        let (dx, dz) =
            (DeviceBuf::from_slice(&device, &x).unwrap(), DeviceBuf::from_slice(&device, &z).unwrap());
        let mut dhalves = DeviceBuf::<$half>::zeroed(&device, 16 * n).unwrap();
        let mut dtests = DeviceBuf::<u8>::zeroed(&device, 14 * n).unwrap();
        let mut dwide = DeviceBuf::<f64>::zeroed(&device, n).unwrap();
        let config = stream.config(blocks(n, 32), 32, 0);
        let kernel = $kernel::load(&device).unwrap();
        kernel.launch(config, &dx, &dz, &mut dhalves, &mut dtests, &mut dwide).unwrap();
        let [a, b] = slice(&mut x);
        let [c, d] = slice(&mut z);
        let e = slice(&mut halves)[0].clone();
        let f = slice(&mut tests)[0].clone();
        let [g, h] = slice(&mut wide);
        run::<$kernel>(n, &[a, b, c, d, e, h.clone(), f, h.clone(), g, h]);
        let native: Vec<u16> = dhalves.to_vec().unwrap().iter().map(|half| half.to_bits()).collect();
        assert_halves(&native, &halves, $exponent);
        assert_eq!(&dtests.to_vec().unwrap()[..], tests);
        let native = dwide.to_vec().unwrap();
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        assert!(native.iter().zip(&wide).all(same));
    }};
}

#[test]
fn each_f16_is_that_of_the_crate_half() {
    assert_all!(of_f16, f16, 0x7c00);
}

#[test]
fn each_bf16_is_that_of_the_crate_half() {
    assert_all!(of_bf16, bf16, 0x7f80);
}

on_each_device! {
    halves_are_elements_fields_and_values;
    halves_are_scaled;
}

fn halves_are_elements_fields_and_values(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let pixel = |at: usize| Pixel {
        rgb: [0.25, 1.5, at as f32].map(f16::from_f32),
        weight: bf16::from_f32(at as f32 - 3.5),
    };
    let mut x: Vec<_> = (0..40).map(pixel).collect();
    let mut y: Vec<Pixel> = vec![Zeroable::zeroed(); 40];
    let dx = DeviceBuf::from_slice(device, &x).unwrap();
    let mut dy = DeviceBuf::from_slice(device, &y).unwrap();
    let least = f16::from_f32(-2.0);
    pixels::load(device).unwrap().launch(stream.config(2, 32, 0), least, &dx, &mut dy).unwrap();
    let native = dy.to_vec().unwrap();
    assert_eq!(native[4].rgb.map(f16::to_f32), [0.25 + 5.75 * 0.5, 5.75 * 0.5, 4.0]);
    let [a, b] = slice(&mut x);
    let [c, d] = slice(&mut y);
    run::<pixels>(40, &[thalweg_tests::on_host::Argument::value(&least), a, b, c, d]);
    crate::both::assert_same(&native, &y);
}

fn halves_are_scaled(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let x: Vec<_> = (0..50).map(|i| f16::from_f32(i as f32 / 3.0)).collect();
    let dx = DeviceBuf::from_slice(device, &x).unwrap();
    let mut dy = DeviceBuf::from_slice(device, &x).unwrap();
    scaled::load(device).unwrap().launch(stream.config(2, 32, 0), 2.0, &dx, &mut dy).unwrap();
    let expected: Vec<_> = x.iter().map(|x| f16::from_f32(2.0 * x.to_f32() + x.to_f32())).collect();
    assert_eq!(&dy.to_vec().unwrap()[..], expected);
    assert!(cpp::<scaled>().contains("tw::from_f32<f16>(a * tw::to_f32("), "{}", cpp::<scaled>());
}
