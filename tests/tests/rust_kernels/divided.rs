//! Kernels whose threads divide their index by one number: the host goes through rows, and each thread computes what
//! it would compute alone.

use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::on_each_device;
use thalweg_tests::on_host::Argument;

use crate::both::{assert_same, run, simulated, slice};

/// The parts of an index, by tables that may be too short.
#[kernel]
fn spread(i: Index, width: u32, rows: &[u32], columns: &[u32], y: &mut Out<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let width = width as usize;
    let (row, column) = (i.get() / width, i.get() % width);
    *y = rows[row] * 1000 + columns[column];
}

/// The same parts in other places, of names that stand for several things.
#[kernel]
fn nested(i: Index, width: usize, x: &[u32], y: &mut Own<[u32]>) {
    if let Some(y) = y.get_mut(i) {
        let i = i.get();
        for width in 1..4 {
            *y += (i % width) as u32;
        }
        let add = |column: usize| x[(column + i / width) % x.len()];
        if i / width % 2 == 1 {
            let width = width + 1;
            *y ^= add(i % width);
        } else {
            *y ^= add(i % width);
        }
    }
}

const WIDTH: usize = 3;

/// Rows of a constant number, and neighbours in a column.
#[kernel]
fn below(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let above = if i.get() / WIDTH > 0 { x[i.get() - WIDTH] } else { 0.0 };
    *y = x[i] - above * (i.get() % WIDTH) as f32;
}

/// The length of a table is that of a row.
#[kernel]
fn biased(i: Index, bias: &[f32], x: &mut Own<[f32]>) {
    let Some(x) = x.get_mut(i) else { return };
    *x += bias[i.get() % bias.len()];
}

/// Divides only in threads that are asked to.
#[kernel]
fn perhaps(i: Index, width: usize, from: usize, y: &mut Out<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = 7;
    if i.get() >= from {
        *y = (i.get() % width) as u32;
    }
}

/// Which number divides, where several have the name.
#[kernel]
fn hidden(i: Index, y: &mut Out<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let by_three = (i.get() % WIDTH) as u32;
    {
        const WIDTH: usize = 5;
        *y = (i.get() % WIDTH) as u32 * 10 + by_three;
    }
}

macro_rules! with_its_own_name {
    ($n:ident) => {
        #[kernel]
        fn of_macro(i: Index, $n: usize, y: &mut Out<[u32]>) {
            let Some(y) = y.get_mut(i) else { return };
            let n = 3_usize;
            *y = (i.get() % $n) as u32 + n as u32;
        }
    };
}
with_its_own_name!(n);

#[device]
fn raised(n: &mut usize) -> usize {
    *n += 1;
    *n
}

/// A quotient is a value of its own, and lints are allowed as they are for the function.
#[kernel]
#[allow(overflowing_literals, clippy::unnecessary_cast, reason = "it is what is tried")]
fn changed(i: Index, n: usize, y: &mut Out<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = raised(&mut (i.get() / n)) as u32 + (300 as u8) as u32;
}

const WIDTHS: [usize; 9] = [1, 2, 3, 4, 5, 8, 31, 300, 100_000];
const LENGTHS: [usize; 7] = [1, 2, 3, 11, 300, 9000, 30_001];

on_each_device! {
    rows_and_columns_are_those_of_the_index;
    names_stand_for_what_they_stand_for;
    constants_and_lengths_divide;
    names_and_values_are_those_of_the_kernel;
}

fn rows_and_columns_are_those_of_the_index(device: &Device) {
    let (stream, kernel) = (Stream::new(device).unwrap(), spread::load(device).unwrap());
    for (width, len) in WIDTHS.into_iter().flat_map(|width| LENGTHS.map(|len| (width, len))) {
        let rows: Vec<u32> = (0..len.div_ceil(width) as u32).map(|row| row * 7 % 101).collect();
        let columns: Vec<u32> = (0..width.min(len) as u32).map(|column| column * 5 % 103).collect();
        let [on_rows, on_columns] =
            [&rows, &columns].map(|table| DeviceBuf::from_slice(device, table).unwrap());
        let mut y = DeviceBuf::<u32>::zeroed(device, len).unwrap();
        let config = stream.config(blocks(len, 256), 256, 0);
        kernel.launch(config, width as u32, &on_rows, &on_columns, &mut y).unwrap();
        let expected: Vec<u32> = (0..len).map(|i| rows[i / width] * 1000 + columns[i % width]).collect();
        assert_eq!(y.to_vec().unwrap(), expected, "{len} in rows of {width}");
    }
}

fn names_stand_for_what_they_stand_for(device: &Device) {
    let (stream, kernel) = (Stream::new(device).unwrap(), nested::load(device).unwrap());
    let x: Vec<u32> = (0..17).map(|i| i * 7919 % 97).collect();
    let on_device = DeviceBuf::from_slice(device, &x).unwrap();
    for (width, len) in WIDTHS.into_iter().flat_map(|width| LENGTHS.map(|len| (width, len))) {
        let start: Vec<u32> = (0..len as u32).collect();
        let mut y = DeviceBuf::from_slice(device, &start).unwrap();
        kernel.launch(stream.config(blocks(len, 64), 64, 0), width, &on_device, &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), by_nested(width, &x, len), "{len} in rows of {width}");
    }
}

fn by_nested(width: usize, x: &[u32], len: usize) -> Vec<u32> {
    let of = |i: usize| {
        let column = i % (width + usize::from(i / width % 2 == 1));
        let sum = i as u32 + (1..4).map(|width| (i % width) as u32).sum::<u32>();
        sum ^ x[(column + i / width) % x.len()]
    };
    (0..len).map(of).collect()
}

fn constants_and_lengths_divide(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let (below, biased) = (below::load(device).unwrap(), biased::load(device).unwrap());
    for len in LENGTHS {
        let x: Vec<f32> = (0..len).map(|i| (i % 1000) as f32 * 0.3).collect();
        let on_device = DeviceBuf::from_slice(device, &x).unwrap();
        let mut y = DeviceBuf::<f32>::zeroed(device, len).unwrap();
        below.launch(stream.config(blocks(len, 128), 128, 0), &on_device, &mut y).unwrap();
        let above = |i: usize| if i >= WIDTH { x[i - WIDTH] } else { 0.0 };
        let expected: Vec<f32> = (0..len).map(|i| x[i] - above(i) * (i % WIDTH) as f32).collect();
        assert_eq!(y.to_vec().unwrap(), expected, "{len}");
        for width in WIDTHS {
            let bias: Vec<f32> = (0..width).map(|column| column as f32 * 0.7).collect();
            let on_bias = DeviceBuf::from_slice(device, &bias).unwrap();
            let mut y = DeviceBuf::from_slice(device, &x).unwrap();
            biased.launch(stream.config(blocks(len, 128), 128, 0), &on_bias, &mut y).unwrap();
            let expected: Vec<f32> = x.iter().enumerate().map(|(i, x)| x + bias[i % width]).collect();
            assert_eq!(y.to_vec().unwrap(), expected, "{len} in rows of {width}");
        }
    }
}

fn names_and_values_are_those_of_the_kernel(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(device, 1000).unwrap();
    let config = || stream.config(blocks(1000, 128), 128, 0);
    hidden::load(device).unwrap().launch(config(), &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), Vec::from_iter((0..1000).map(|i| i % 5 * 10 + i % 3)));
    of_macro::load(device).unwrap().launch(config(), 7, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), Vec::from_iter((0..1000).map(|i| i % 7 + 3)));
    changed::load(device).unwrap().launch(config(), 7, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), Vec::from_iter((0..1000).map(|i| i / 7 + 1 + 44)));
}

/// Fails where something begins with a division.
#[kernel]
fn less(i: Index, n: usize, y: &mut Out<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    // The line of the next statement is told.
    *y = (i.get() / n - 5) as u32;
}

#[test]
fn a_fault_in_what_begins_with_a_division_names_its_line() {
    let (device, stream) = simulated();
    let mut y = DeviceBuf::<u32>::zeroed(&device, 300).unwrap();
    let fails = |line: &str| line.trim() == "*y = (i.get() / n - 5) as u32;";
    let line = include_str!("divided.rs").lines().position(fails).unwrap() + 1;
    less::load(&device).unwrap().launch(stream.config(blocks(300, 64), 64, 0), 3, &mut y).unwrap();
    let outcome = stream.synchronize();
    if cfg!(debug_assertions) {
        let found = outcome.unwrap_err().to_string();
        assert!(found.contains(&format!("divided.rs:{line}")), "{found}");
        assert!(found.contains("the thread of index 0"), "{found}");
    } else {
        outcome.unwrap();
    }
}

#[test]
fn cpp_computes_the_same() {
    let (x, len): (Vec<u32>, _) = ((0..17).map(|i| i * 7919 % 97).collect(), 1000);
    for width in [1_usize, 3, 40] {
        let (mut x, mut y): (_, Vec<u32>) = (x.clone(), (0..len as u32).collect());
        let arguments = [vec![Argument::value(&width)], slice(&mut x).to_vec(), slice(&mut y).to_vec()];
        run::<nested>(len, &arguments.concat());
        assert_same(&by_nested(width, &x, len), &y);
    }
}

/// What is said of a launch over 20,000 elements.
#[track_caller]
fn fault(width: u32, rows: usize, columns: usize) -> String {
    let (device, stream) = simulated();
    let kernel = spread::load(&device).unwrap();
    let [rows, columns] = [rows, columns].map(|len| DeviceBuf::<u32>::zeroed(&device, len).unwrap());
    let mut y = DeviceBuf::<u32>::zeroed(&device, 20_000).unwrap();
    kernel.launch(stream.config(blocks(20_000, 256), 256, 0), width, &rows, &columns, &mut y).unwrap();
    stream.synchronize().unwrap_err().to_string()
}

#[test]
fn a_table_that_is_too_short_is_the_fault_of_the_first_thread_beyond_it() {
    for (width, rows, columns, index, said) in [
        (3, 20_000, 2, 2, "the len is 2 but the index is 2"),
        (3, 5000, 3, 15_000, "the len is 5000 but the index is 5000"),
        (4, 0, 4, 0, "the len is 0 but the index is 0"),
        (1, 19_999, 1, 19_999, "the len is 19999 but the index is 19999"),
        (7, 20_000, 6, 6, "the len is 6 but the index is 6"),
        (9000, 2, 9000, 18_000, "the len is 2 but the index is 2"),
        (9000, 3, 8999, 8999, "the len is 8999 but the index is 8999"),
    ] {
        let found = fault(width, rows, columns);
        assert!(found.contains(said) && found.contains(&format!("the thread of index {index}")), "{found}");
        assert!(found.contains("divided.rs"), "{found}");
    }
}

#[test]
fn a_division_by_0_is_the_fault_of_the_first_thread_that_divides() {
    let (device, stream) = simulated();
    let kernel = perhaps::load(&device).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(&device, 1000).unwrap();
    let config = || stream.config(blocks(1000, 256), 256, 0);
    kernel.launch(config(), 0, 1000, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [7; 1000]);
    kernel.launch(config(), 0, 300, &mut y).unwrap();
    let found = stream.synchronize().unwrap_err().to_string();
    assert!(found.contains("a divisor of zero") && found.contains("the thread of index 300"), "{found}");
}
