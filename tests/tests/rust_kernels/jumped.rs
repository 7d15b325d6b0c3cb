//! Kernels with labels, loops that have values, and several conditions with `let`.

use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::on_each_device;

/// The first place of a table of `width` columns, from `start` on, whose element is at least that of the thread.
#[kernel]
pub(crate) fn searched(i: Index, width: usize, table: &[u32], least: &[u32], y: &mut Out<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut skipped = 0;
    let mut found = u64::MAX;
    'rows: for row in 0..table.len() / width {
        let mut sum = 0;
        'columns: for column in 0..width {
            let here = table[row * width + column];
            let mut left = here;
            while left > 0 {
                left /= 2;
                if here == 13 {
                    skipped += 1;
                    continue 'rows;
                }
                if left == 6 {
                    continue 'columns;
                }
                if here >= least[i] {
                    found = (row * width + column) as u64;
                    break 'rows;
                }
            }
            sum += here;
            // After declarations that a jump passes over.
            let twice = 2 * sum;
            if twice > 1000 {
                break 'columns;
            }
        }
        skipped += 100 * u64::from(sum > 400);
    }
    *y = found.wrapping_mul(1000).wrapping_add(skipped);
}

/// Steps of Collatz's sequence until it reaches 1 or has taken `most`, and the way in which it ended.
#[kernel]
#[allow(clippy::never_loop, reason = "a loop in a loop has a value")]
pub(crate) fn collatz(i: Index, most: u32, x: &[u32], y: &mut Out<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let (mut at, mut steps) = (x[i], 0);
    let (taken, way) = loop {
        if at == 1 {
            break (steps, 1);
        }
        let next = match at % 2 {
            0 => at / 2,
            _ => loop {
                if at > 1_000_000 {
                    break 0;
                }
                break 3 * at + 1;
            },
        };
        if next == 0 || steps == most {
            break (steps, 2);
        }
        at = next;
        steps += 1;
    };
    let kind = 'kind: {
        if taken == 0 {
            break 'kind 7;
        }
        for divisor in 2..taken {
            if divisor * divisor > taken {
                break;
            }
            if taken % divisor == 0 {
                break 'kind divisor;
            }
        }
        1
    };
    *y = taken * 100 + way * 10 + kind;
}

/// Tells of two tables what is there in both, in one, or in none.
#[kernel]
#[allow(clippy::manual_is_multiple_of, reason = "the condition is one of several")]
pub(crate) fn chained(i: Index, limit: u32, a: &[u32], b: &[u32], y: &mut Own<[u32]>) {
    if let Some(own) = y.get_mut(i)
        && *own < limit
    {
        let at = *own as usize;
        let mut sum = if let Some(in_a) = a.get(at)
            && *in_a > 2
            && let Some(in_b) = b.get(*in_a as usize)
        {
            in_a * 100 + in_b
        } else if at % 2 == 0
            && let Some(in_b) = b.get(at / 2)
            && *in_b != 3
        {
            *in_b
        } else {
            9999
        };
        let mut k = at;
        while let Some(in_b) = b.get(k)
            && *in_b < limit
            && k < at + 3
        {
            sum += *in_b;
            k += 1;
        }
        *own = sum + k as u32;
    }
}

/// A value of several conditions is returned.
#[device]
fn clamped(x: &[u32], at: usize, most: u32) -> u32 {
    if at > 0
        && let Some(before) = x.get(at - 1)
        && let Some(here) = x.get(at)
        && *here > *before
    {
        (*here - *before).min(most)
    } else {
        most
    }
}

/// Labels in the phases of a block, and around phases.
#[kernel]
#[allow(clippy::needless_range_loop, reason = "the index is a part of the value")]
pub(crate) fn in_phases(block: Block, most: u32, x: &[u32], y: &mut Own<[u32]>) {
    let mut sums = block.private(0_u32);
    'rounds: for round in 0..most {
        for part in 0..3_u32 {
            block.each(|t| {
                let rank = t.rank();
                sums[t] += 'sum: {
                    for k in 0..4 {
                        for j in 0..x.len() {
                            if x[j] == round * 3 + part + k {
                                break 'sum (j * 5 + k as usize + rank % 2) as u32;
                            }
                        }
                    }
                    clamped(x, rank, round + 1)
                };
            });
            if block.any(|t| sums[t] > 40) {
                break 'rounds;
            }
            if part == 1 && block.count(|t| sums[t] > 10) > 2 {
                continue 'rounds;
            }
        }
    }
    block.each(|t| {
        if let Some(y) = y.get_mut(t.index())
            && sums[t] != 3
        {
            *y = sums[t];
        }
    });
}

/// What the macro knows by its name alone.
pub(crate) mod elsewhere {
    use thalweg::prelude::*;

    pub const STEP: u16 = 3;
    pub const TABLE: [u16; 3] = [5, 60, 700];
    pub const LIMITS: Limits = Limits { least: -2.5, greatest: [40.0, 8.0] };

    #[device]
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    #[bytemuck(crate = "thalweg::bytemuck")]
    pub struct Limits {
        pub least: f32,
        pub greatest: [f32; 2],
    }

    #[device]
    pub fn squared(x: f32) -> f64 {
        f64::from(x) * f64::from(x)
    }

    #[device]
    pub fn longest<const N: usize>(x: [f32; N], from: usize) -> f32 {
        let mut longest = 0.0;
        for value in &x[from..] {
            longest = value.abs().max(longest);
        }
        longest
    }
}

/// Values of types that rustc alone knows, which statements lead to.
#[kernel]
#[allow(clippy::needless_late_init, reason = "a variable gets its value later")]
pub(crate) fn chosen(i: Index, x: &[f32], y: &mut Out<[f64]>) {
    let Some(y) = y.get_mut(i) else { return };
    let (own, mut turns) = (x[i], 0);
    let value = match i.get() % 4 {
        0 => {
            turns += 1;
            elsewhere::squared(own)
        }
        1 => elsewhere::squared(3.0),
        2 if own > 1.0 => {
            turns += 2;
            elsewhere::squared(own + 1.0)
        }
        _ => elsewhere::squared(0.5),
    };
    let step = loop {
        if turns > 2 {
            break elsewhere::STEP;
        }
        turns += 1;
        if own < 0.0 {
            break elsewhere::TABLE[turns];
        }
    };
    let limit;
    if step > 4_u16 {
        limit = elsewhere::LIMITS.greatest[0];
    } else {
        limit = elsewhere::LIMITS.least;
    }
    let pair = if turns > 1 {
        turns += 5;
        (elsewhere::longest([own, 0.25, limit], 0), elsewhere::STEP)
    } else {
        (elsewhere::longest([own], 0), step)
    };
    *y = value + (step as f64) * (limit as f64) + (pair.0 as f64) + (pair.1 as f64) + turns as f64;
}

on_each_device! {
    loops_have_values_and_are_left_by_their_labels;
    a_condition_may_have_several_parts;
    a_choice_may_be_of_a_type_that_rustc_alone_knows;
}

fn loops_have_values_and_are_left_by_their_labels(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let x = DeviceBuf::from_slice(device, &[1_u32, 6, 27]).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(device, 3).unwrap();
    let collatz = collatz::load(device).unwrap();
    collatz.launch(stream.config(1, 4, 0), 200, &x, &mut y).unwrap();
    // 0, 8 and 111 steps; the least divisor of 8 is 2, and that of 111 is 3.
    assert_eq!(y.to_vec().unwrap(), [17, 812, 11113]);
    collatz.launch(stream.config(1, 4, 0), 5, &x, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [17, 521, 521]);

    let searched = searched::load(device).unwrap();
    let table = DeviceBuf::from_slice(device, &[1_u32, 2, 14, 3, 13, 50, 4, 9, 2, 70]).unwrap();
    let least = DeviceBuf::from_slice(device, &[9_u32, 51, 100]).unwrap();
    let mut y = DeviceBuf::<u64>::zeroed(device, 3).unwrap();
    searched.launch(stream.config(1, 4, 0), 2, &table, &least, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [2_000, 9_001, u64::MAX.wrapping_mul(1000).wrapping_add(1)]);
}

fn a_condition_may_have_several_parts(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let a = DeviceBuf::from_slice(device, &[5_u32, 1, 3]).unwrap();
    let b = DeviceBuf::from_slice(device, &[7_u32, 3, 2, 60]).unwrap();
    let mut y = DeviceBuf::from_slice(device, &[2_u32, 1, 4, 0, 50]).unwrap();
    chained::load(device).unwrap().launch(stream.config(1, 8, 0), 50, &a, &b, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [360 + 2 + 3, 9999 + 5 + 3, 2 + 4, 7 + 12 + 3, 50]);
}

fn a_choice_may_be_of_a_type_that_rustc_alone_knows(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let x = DeviceBuf::from_slice(device, &[2.0_f32, -1.0, 3.0, 0.5]).unwrap();
    let mut y = DeviceBuf::<f64>::zeroed(device, 4).unwrap();
    chosen::load(device).unwrap().launch(stream.config(1, 8, 0), &x, &mut y).unwrap();
    let two = 16.0 + 3.0 * -2.5 + 3.0 + 3.0 + 8.0;
    let expected = [
        4.0 + 3.0 * -2.5 + 2.5 + 3.0 + 8.0,
        9.0 + 60.0 * 40.0 + 1.0 + 60.0 + 1.0,
        two,
        0.25 - 7.5 + 5.5 + 8.0,
    ];
    assert_eq!(y.to_vec().unwrap(), expected);
}
