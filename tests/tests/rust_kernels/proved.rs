//! Kernels in which some checks are left out, since they cannot fail, and others are not.

use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::{assert_said, on_each_device};

/// All of these are proved.
#[kernel]
#[requires(x.len() == y.len() && z.len() >= x.len() + 2)]
pub(crate) fn without_checks(i: Index, x: &[u32], z: &[u32], y: &mut Own<[u32]>) {
    const TAPS: usize = 5;
    let Some(y) = y.get_mut(i) else { return };
    let here = i.get();
    let mut sum = x[i] ^ z[i] ^ z[here + 1].wrapping_mul(17) ^ z[2 + here].wrapping_mul(257);
    if here > 0 && here + 1 < x.len() {
        sum += x[here - 1] + 2 * x[here + 1];
    }
    let taps = x.len().min(TAPS);
    let (first, weights) = (&x[..taps], [3, 5, 7, 11, 13_u32]);
    for j in (0..taps).rev() {
        sum = sum.wrapping_mul(31).wrapping_add(first[j]) ^ weights[j % TAPS];
    }
    for (j, v) in first.iter().enumerate() {
        sum = sum.wrapping_add(*v ^ x[j]);
    }
    let place = sum as usize;
    *y = sum.wrapping_add(z[place % x.len()]);
}

/// Guards that are none: of another slice, of a name before it was shadowed or changed, and of ends that are
/// included or have wrapped. `way` says which.
#[kernel]
#[requires(x.len() == y.len())]
#[allow(clippy::needless_range_loop, reason = "the indices are what is tried")]
pub(crate) fn with_checks(i: Index, way: u32, n: usize, x: &[u32], z: &[u32], y: &mut Own<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut sum = x[i];
    if way == 0 && n < x.len() {
        sum += z[n];
    }
    if way == 1 && n < x.len() {
        let n = n + 1;
        sum += x[n];
    }
    if way == 2 {
        let mut j = n;
        if j < x.len() {
            j += 1;
            sum += x[j];
        }
    }
    if way == 3 {
        for j in 0..=n {
            sum = sum.wrapping_add(x[j]);
        }
    }
    if way == 4 {
        for j in (0..=x.len().wrapping_sub(n)).rev() {
            sum = sum.wrapping_add(x[j]);
        }
    }
    if way == 5 {
        for mut j in 0..x.len() {
            j += n;
            sum = sum.wrapping_add(x[j]);
        }
    }
    if way == 6 {
        for j in 0..n {
            if j < 2 {
                continue;
            }
            sum = sum.wrapping_add(x[j]);
        }
    }
    if way == 7 {
        let w = &x[x.len() - n..];
        for j in 0..x.len() {
            sum = sum.wrapping_add(w[j]);
        }
    }
    if way == 8 {
        let mut w = x;
        if n < w.len() {
            w = &x[..n];
            sum = sum.wrapping_add(w[n]);
        }
    }
    if way == 9 && (n < x.len() || n < z.len()) {
        sum += x[n] + z[n];
    }
    *y = sum;
}

/// What lies beyond a length by one too many.
#[kernel]
#[requires(y.len() < x.len())]
pub(crate) fn too_far(i: Index, n: usize, x: &[u32], y: &mut Own<[u32]>) {
    let len = y.len();
    let Some(y) = y.get_mut(i) else { return };
    if n < len {
        *y += x[n + 1] + x[n + 2];
    } else if n <= len {
        *y += x[n + 1];
    }
}

on_each_device! {
    indices_that_are_proved_are_those_of_rust;
    an_end_that_is_included_is_checked;
    one_beyond_what_is_required_is_checked;
}

fn one_beyond_what_is_required_is_checked(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let x = DeviceBuf::from_slice(device, &[1_u32, 2, 4, 8]).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(device, 3).unwrap();
    let kernel = too_far::load(device).unwrap();
    for n in [0, 1, 4] {
        kernel.launch(stream.config(1, 4, 0), n, &x, &mut y).unwrap();
    }
    assert_eq!(y.to_vec().unwrap(), [6 + 12; 3]);
    let error = kernel.launch(stream.config(1, 4, 0), 0, x.slice(..3).unwrap(), &mut y).unwrap_err();
    assert!(error.to_string().contains("y.len() < x.len()"), "{error}");
    let launched = kernel.launch(stream.config(1, 4, 0), 2, &x, &mut y);
    let error = launched.and_then(|()| y.to_vec()).unwrap_err();
    assert_said(device, &error.to_string(), "proved.rs", &["the len is 4 but the index is 4"]);
}

fn indices_that_are_proved_are_those_of_rust(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let (x, z) = ([5_u32, 7, 11], [1_u32, 2, 4, 8, 16]);
    let (on_x, on_z) =
        (DeviceBuf::from_slice(device, &x).unwrap(), DeviceBuf::from_slice(device, &z).unwrap());
    let mut y = DeviceBuf::<u32>::zeroed(device, 3).unwrap();
    without_checks::load(device).unwrap().launch(stream.config(1, 4, 0), &on_x, &on_z, &mut y).unwrap();
    let rest = |mut sum: u32| {
        for (j, weight) in [(2, 7), (1, 5), (0, 3)] {
            sum = sum.wrapping_mul(31).wrapping_add(x[j]) ^ weight;
        }
        sum.wrapping_add(z[sum as usize % 3])
    };
    let of = |i: usize| x[i] ^ z[i] ^ (z[i + 1] * 17) ^ (z[i + 2] * 257);
    assert_eq!(y.to_vec().unwrap(), [rest(of(0)), rest(of(1) + 5 + 22), rest(of(2))]);
    let error = without_checks::load(device)
        .and_then(|kernel| kernel.launch(stream.config(1, 4, 0), &on_x, on_z.slice(..4)?, &mut y))
        .unwrap_err();
    assert!(error.to_string().contains("z.len() >= x.len() + 2"), "{error}");
}

fn an_end_that_is_included_is_checked(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let x = DeviceBuf::from_slice(device, &[1_u32; 4]).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(device, 4).unwrap();
    let kernel = with_checks::load(device).unwrap();
    kernel.launch(stream.config(1, 4, 0), 3, 3, &x, &x, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [5; 4]);
    let launched = kernel.launch(stream.config(1, 4, 0), 3, 4, &x, &x, &mut y);
    let error = launched.and_then(|()| y.to_vec()).unwrap_err();
    assert_said(device, &error.to_string(), "proved.rs", &["the len is 4 but the index is 4"]);
}
