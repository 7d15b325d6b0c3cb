//! Functions for several types.

use thalweg::prelude::*;
use thalweg::streams::Stream;

// ANCHOR: mixed
/// The point between `a` and `b` at `t`.
#[device(T in [f32, f64])]
pub(crate) fn mixed<T>(a: T, b: T, t: T) -> T {
    a + (b - a) * t.clamp(0.0, 1.0)
}

#[kernel]
pub(crate) fn between(i: Index, x: &[f32], z: &[f64], y: &mut Out<[f64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let single = mixed(x[0], x[1], x[i]);
    *y = mixed(z[i], 100.0_f64, single as f64);
}
// ANCHOR_END: mixed

pub(crate) mod numbers {
    use thalweg::prelude::*;

    /// The larger one, and the type's own limits.
    #[device(T in [u8, i16, u32, i64, usize, u64, f32])]
    pub fn larger<T>(a: T, b: T) -> T {
        if a > b {
            a
        } else if a == T::MIN {
            T::MAX
        } else {
            b
        }
    }

    /// The sum of the first `N` elements that `places` names, in the type of these.
    #[device(T in [f32, f64], I in [u8, u32])]
    pub fn gathered<T, const N: usize, I>(x: &[T], places: [I; N], sums: &mut [T; 2]) -> (T, I) {
        let mut sum = 0 as T;
        #[unroll]
        for j in 0..N {
            sum += x[places[j] as usize];
        }
        sums[1] = sum;
        sums[0] += twice(sum);
        (sum, larger(places[0], places[N - 1]))
    }

    /// Not the function of that name elsewhere.
    #[device(T in [f32, f64])]
    fn twice<T>(x: T) -> T {
        super::twice(x as f32) as T + x
    }

    /// Of one type.
    #[device]
    pub fn halved(x: f32) -> f32 {
        x * 0.5
    }

    /// # Safety
    /// `place` is within `x`.
    #[device(T in [f32, u32])]
    pub unsafe fn element<T>(x: &[T], _: bool, mut place: usize) -> T {
        place = place.min(x.len());
        // SAFETY: the caller's promise.
        unsafe { *x.get_unchecked(place) }
    }
}

/// Of one type, too.
#[device]
fn twice(x: f32) -> f32 {
    2.0 * numbers::halved(x)
}

use numbers::{gathered as sum_of, larger as other};

/// Calls by other names, with and without generic arguments, of small and of equal types.
#[kernel(T in [f32, f64])]
pub(crate) fn called(i: Index, x: &[T], n: &[u8], y: &mut Own<[T]>, counts: &mut Out<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let Some(count) = counts.get_mut(i) else { return };
    let mut sums = [*y; 2];
    let (sum, place) = sum_of::<_, 2, _>(x, [n[i] % 4, 1], &mut sums);
    let (more, last) = numbers::gathered::<T, 3, u32>(x, [3, 0, (n[i] & 1) as u32], &mut sums);
    *y = mixed(sum, more, sums[0]) + sums[1];
    let small = other(n[i] & 15, n[i] >> 2);
    let wide = other(i.get() + 1, 3_usize) as u64 + other(5_u64, small as u64);
    let table = [7_u32, 9, 11];
    // SAFETY: there is an element for each remainder.
    let own = unsafe { numbers::element(n32(&table), true, i.get() % 3) };
    *count = (wide as u32).wrapping_mul(100) + place as u32 * 10 + last + own + other(-3_i16, 2_i16) as u32;
}

#[device]
fn n32(x: &[u32; 3]) -> &[u32] {
    &x[..]
}

#[test]
fn rustc_chooses_the_function_by_the_arguments() {
    let device = Device::simulated(Simulation::default());
    let stream = Stream::new(&device).unwrap();
    let x = DeviceBuf::from_slice(&device, &[1.0_f32, 3.0, 0.5, 9.0]).unwrap();
    let z = DeviceBuf::from_slice(&device, &[0.0_f64, 10.0, 20.0, 30.0]).unwrap();
    let mut y = DeviceBuf::<f64>::zeroed(&device, 4).unwrap();
    between::load(&device).unwrap().launch(stream.config(1, 32, 0), &x, &z, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [100.0, 100.0, 100.0, 100.0]);
    assert_eq!(mixed(0.0_f64, 10.0, 0.25), 2.5);
    assert_eq!(numbers::larger(u8::MIN, 0), u8::MAX);
    assert_eq!(numbers::gathered(&[1.0_f64, 2.0], [1_u8], &mut [0.0; 2]), (2.0, 1));
}

pub(crate) const N: [u8; 4] = [0, 3, 200, 17];

/// What the simulated device, or another, gives for each type.
pub(crate) fn results(device: &Device) -> (Vec<f32>, Vec<f64>, Vec<u32>) {
    let stream = Stream::new(device).unwrap();
    let data = [0.25, -2.0, 3.5, 0.125];
    let n = DeviceBuf::from_slice(device, &N).unwrap();
    let mut counts = DeviceBuf::<u32>::zeroed(device, 4).unwrap();
    let x = DeviceBuf::from_slice(device, &data.map(|x: f64| x as f32)).unwrap();
    let mut single = DeviceBuf::from_slice(device, &[0.1_f32; 4]).unwrap();
    let kernel = called::<f32>::load(device).unwrap();
    kernel.launch(stream.config(1, 32, 0), &x, &n, &mut single, &mut counts).unwrap();
    let mut all = counts.to_vec().unwrap().to_vec();
    let x = DeviceBuf::from_slice(device, &data).unwrap();
    let mut double = DeviceBuf::from_slice(device, &[0.1_f64; 4]).unwrap();
    let kernel = called::<f64>::load(device).unwrap();
    kernel.launch(stream.config(1, 32, 0), &x, &n, &mut double, &mut counts).unwrap();
    all.extend_from_slice(&counts.to_vec().unwrap());
    (single.to_vec().unwrap().to_vec(), double.to_vec().unwrap().to_vec(), all)
}

#[test]
fn functions_for_several_types_call_each_other() {
    let (single, double, counts) = results(&Device::simulated(Simulation::default()));
    let expected = |i: usize| {
        let n = N[i];
        let places = [n % 4, 1];
        let x = [0.25_f64, -2.0, 3.5, 0.125];
        let sum = x[places[0] as usize] + x[1];
        let more = x[3] + x[0] + x[(n & 1) as usize];
        let first = 0.1 + 3.0 * sum + 3.0 * more;
        mixed(sum, more, first) + more
    };
    for (i, (single, double)) in single.iter().zip(&double).enumerate() {
        assert!((double - expected(i)).abs() < 1e-6, "{i}: {double}, {}", expected(i));
        assert!((f64::from(*single) - expected(i)).abs() < 1e-5, "{i}: {single}, {}", expected(i));
    }
    assert_eq!(counts[..4], counts[4..]);
}
