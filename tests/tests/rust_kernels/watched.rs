//! Kernels with `unsafe`: the simulated device watches them, finds their races, and finds none where there is
//! none.

use thalweg::ErrorKind;
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::book::{in_listing, recorded};
use thalweg_tests::on_each_device;

use crate::both::simulated;

// ANCHOR: scatter
/// `y[places[i]] = x[i]`.
///
/// # Safety
/// No place stands in `places` twice.
#[kernel]
#[requires(places.len() == x.len())]
unsafe fn scatter(i: Index, places: &[u32], x: &[f32], y: &mut Own<[f32]>) {
    let Some(place) = places.get(i.get()) else { return };
    // SAFETY: no other thread has this place.
    unsafe { *y.any_mut(*place as usize) = x[i] };
}

stream_pipeline! {
    pipeline Scatter {
        param n: usize;
        input places: [u32];
        input x: [f32];
        carry y: [f32; n];
        chunk c = 1 << 20;
        stage all {
            copy places -> d_places;
            copy x -> dx;
            // SAFETY: who runs the pipeline passes each place once.
            unsafe { scatter<<<blocks(c.len, 256), 256>>>(&d_places, &dx, &mut y); }
        }
    }
}
// ANCHOR_END: scatter

on_each_device! {
    a_permutation_is_no_race;
    keys_are_sorted;
    columns_are_added;
    places_are_counted_along_the_last_axis_first;
}

fn a_permutation_is_no_race(device: &Device) {
    let (n, places): (usize, Vec<u32>) = (1000, (0..1000).map(|i| i * 7 % 1000).collect());
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let mut y = vec![0.0; n];
    Scatter::new(device).unwrap().run(n, &places, &x, &mut y).unwrap();
    assert!(places.iter().zip(&x).all(|(place, x)| y[*place as usize] == *x));
}

#[test]
fn a_place_twice_is_a_race() {
    let mut scatter = Scatter::new(&Device::simulated(Simulation::default())).unwrap();
    let mut y = [0.0; 5];
    let error = scatter.run(5, &[3, 0, 3, 1], &[1.0, 2.0, 3.0, 4.0], &mut y).unwrap_err();
    let ErrorKind::Race(race) = error.kind() else { panic!("{error:?}") };
    assert!(race.earlier().is_none() && race.later().is_none() && race.users().is_empty());
    recorded("rust-kernels-race.txt", &in_listing(&error, file!(), "scatter"));
    let error = scatter.run(5, &[3, 0, 5, 1], &[1.0, 2.0, 3.0, 4.0], &mut y).unwrap_err();
    assert!(error.to_string().contains("index out of bounds: the len is 5 but the index is 5"), "{error}");
    assert!(error.to_string().contains("it was the thread of index 2"), "{error}");
    // The pipeline goes on.
    scatter.run(5, &[3, 0, 2, 1], &[1.0, 2.0, 3.0, 4.0], &mut y).unwrap();
    assert_eq!(y, [2.0, 4.0, 3.0, 1.0, 0.0]);
}

// ANCHOR: flipped
/// `y` in the other order.
#[kernel]
fn flipped(i: Index, y: &mut Own<[f32]>) {
    let (i, n) = (i.get(), y.len());
    if i >= n / 2 {
        return;
    }
    let j = n - 1 - i;
    // SAFETY: each pair of elements has one thread.
    unsafe {
        let (first, last) = (*y.any(i), *y.any(j));
        *y.any_mut(i) = last;
        *y.any_mut(j) = first;
    }
}
// ANCHOR_END: flipped

#[test]
fn values_of_any_elements_are_exchanged() {
    let (device, stream) = simulated();
    let kernel = flipped::load(&device).unwrap();
    for n in [1, 2, 7, 64] {
        let mut x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let mut y = DeviceBuf::from_slice(&device, &x).unwrap();
        kernel.launch(stream.config(2, 32, 0), &mut y).unwrap();
        x.reverse();
        assert_eq!(y.to_vec().unwrap(), x);
    }
}

/// Each thread reads an element and writes another; those beyond the end are none. With `own` it writes its own.
#[kernel]
fn of_indices(i: Index, read: &[usize], write: &[usize], own: &[u8], y: &mut Own<[u32]>) {
    let mut sum = 0;
    // SAFETY: the tests know which of their launches race.
    unsafe {
        if read[i] < y.len() {
            sum += *y.any(read[i]);
        }
        if write[i] < y.len() {
            *y.any_mut(write[i]) += sum + 1;
        }
    }
    if own[i] != 0 {
        let Some(y) = y.get_mut(i) else { return };
        *y = 7;
    }
}

const NONE: usize = usize::MAX;

/// The elements after a launch, or what its error says.
fn of(read: [usize; 4], write: [usize; 4], own: [u8; 4]) -> Result<Vec<u32>, String> {
    let (device, stream) = simulated();
    let kernel = of_indices::load(&device).unwrap();
    let (read, write) = [read, write].map(|of| DeviceBuf::from_slice(&device, &of).unwrap()).into();
    let own = DeviceBuf::from_slice(&device, &own).unwrap();
    let mut y = DeviceBuf::from_slice(&device, &[10_u32, 20, 30, 40]).unwrap();
    kernel.launch(stream.config(1, 4, 0), &read, &write, &own, &mut y).unwrap();
    match stream.synchronize() {
        Ok(()) => Ok(y.to_vec().unwrap()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn threads_of_indices_race_if_one_writes_what_another_accesses() {
    // All read one element, each writes another: no race.
    assert_eq!(of([0; 4], [NONE; 4], [0, 1, 1, 1]), Ok(vec![10, 7, 7, 7]));
    // Each reads and writes its own, in whatever way.
    assert_eq!(of([3, 2, 1, 0], [3, 2, 1, 0], [0; 4]), Ok(vec![21, 41, 61, 81]));
    assert_eq!(of([0, 1, 2, 3], [0, 1, 2, 3], [1; 4]), Ok(vec![7; 4]));
    for (read, write, own, element, does, threads) in [
        // One reads what another has written, or is to write.
        ([NONE, NONE, 1, NONE], [NONE, 1, NONE, NONE], [0; 4], 1, ["writes", "reads"], [1, 2]),
        ([1, NONE, NONE, NONE], [NONE, NONE, NONE, 1], [0; 4], 1, ["reads", "writes"], [0, 3]),
        // Two write it.
        ([NONE; 4], [2, NONE, 2, NONE], [0; 4], 2, ["writes", "writes"], [0, 2]),
        // A thread's own element is one of those.
        ([NONE, NONE, NONE, 0], [NONE; 4], [1, 0, 0, 0], 0, ["writes", "reads"], [0, 3]),
        ([NONE; 4], [2, NONE, NONE, NONE], [0, 0, 1, 0], 2, ["writes", "writes"], [0, 2]),
        // Many read before one writes, and the first of them is not the last.
        ([3, 3, 3, 3], [NONE, NONE, NONE, 3], [0; 4], 3, ["reads", "writes"], [2, 3]),
    ] {
        let said = of(read, write, own).unwrap_err();
        assert!(said.contains(&format!("`y[{element}]`")), "{said}");
        let lines: Vec<_> = said.lines().filter(|line| line.contains("note: the thread of")).collect();
        for (line, (does, thread)) in lines.iter().zip(does.into_iter().zip(threads)) {
            let who = format!("note: the thread of index {thread} {does} it at {}:", file!());
            assert!(line.contains(&who), "{said}");
        }
        assert_eq!(lines.len(), 2, "{said}");
    }
}

/// Each block of four adds the neighbour of each thread in two steps. If `apart`, a phase ends between the
/// two; if `next`, a block reads the elements of the next one.
#[kernel]
fn in_phases(block: Block, apart: bool, next: bool, y: &mut Own<[u32]>) {
    let mut kept = block.private(0_u32);
    let first = block.index().get() * block.threads();
    block.each(|t| {
        let neighbour = if next { t.rank() + 4 } else { (t.rank() + 1) % 4 };
        // SAFETY: the test knows which of its launches race.
        unsafe {
            if first + neighbour < y.len() {
                kept[t] = *y.any(first + neighbour);
            }
            if !apart {
                *y.any_mut(first + t.rank()) += kept[t];
            }
        }
    });
    block.each(|t| {
        if apart {
            // SAFETY: as above.
            unsafe { *y.any_mut(first + t.rank()) += kept[t] };
        }
    });
}

#[test]
fn the_end_of_a_phase_orders_a_block_and_nothing_orders_two() {
    let (device, stream) = simulated();
    let kernel = in_phases::load(&device).unwrap();
    let run = |apart, next| {
        let mut y = DeviceBuf::from_slice(&device, &[1_u32, 2, 3, 4, 10, 20, 30, 40]).unwrap();
        kernel.launch(stream.config(2, 4, 0), apart, next, &mut y).unwrap();
        stream.synchronize().map(|()| y.to_vec().unwrap()).map_err(|error| error.to_string())
    };
    assert_eq!(run(true, false), Ok(vec![3, 5, 7, 5, 30, 50, 70, 50]));
    let said = run(false, false).unwrap_err();
    let expected = "a thread writes `y[1]`, another reads it, and nothing orders them";
    assert!(said.contains(expected), "{said}");
    assert!(said.contains("note: thread 0 of block 0 reads it at "), "{said}");
    assert!(said.contains("note: thread 1 of block 0 writes it at "), "{said}");
    let said = run(true, true).unwrap_err();
    assert!(said.contains("`y[4]`"), "{said}");
    assert!(said.contains("note: thread 0 of block 0 reads it at "), "{said}");
    assert!(said.contains("note: thread 0 of block 1 writes it at "), "{said}");
    assert!(said.contains("nothing orders two blocks"), "{said}");
}

/// Sorts the block's 64 keys in shared memory: a bitonic network, each step of which is a phase. Without the
/// barriers, if `at_once`, two steps are in one phase.
#[kernel(threads = 32)]
pub(crate) fn sorted(block: Block, at_once: bool, x: &[u32], y: &mut Out<[u32]>) {
    const N: usize = 64;
    let mut keys = block.shared::<[u32; N]>();
    let first = block.index().get() * N;
    block.fill(&mut keys, |i| x[first + i]);
    let mut size = 2;
    while size <= N {
        let mut step = size / 2;
        while step > 0 {
            let steps = if at_once && step > 1 { 2 } else { 1 };
            block.each(|t| {
                for turn in 0..steps {
                    let step = step >> turn;
                    let low = t.rank() / step * step * 2 + t.rank() % step;
                    let (a, b) = (keys[low], keys[low + step]);
                    if (a > b) == (low & size == 0) {
                        // SAFETY: in this step no other thread has these two.
                        unsafe {
                            *keys.any_mut(low) = b;
                            *keys.any_mut(low + step) = a;
                        }
                    }
                }
            });
            step >>= steps;
        }
        size *= 2;
    }
    block.each(|t| {
        for i in t.of_block(N) {
            // SAFETY: the blocks have 64 elements each.
            unsafe { *y.any_mut(first + i) = keys[i] };
        }
    });
}

fn keys() -> Vec<u32> {
    (0..128_u32).map(|i| i.wrapping_mul(2_654_435_761) >> 20).collect()
}

fn keys_are_sorted(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let x = DeviceBuf::from_slice(device, &keys()).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(device, 128).unwrap();
    sorted::load(device).unwrap().launch(stream.config(2, 32, 0), false, &x, &mut y).unwrap();
    let mut expected = keys();
    expected.chunks_mut(64).for_each(<[u32]>::sort_unstable);
    assert_eq!(y.to_vec().unwrap(), expected);
}

#[test]
fn shared_memory_is_watched_too() {
    let (device, stream) = simulated();
    let kernel = sorted::load(&device).unwrap();
    let x = DeviceBuf::from_slice(&device, &keys()).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(&device, 128).unwrap();
    kernel.launch(stream.config(2, 32, 0), true, &x, &mut y).unwrap();
    let said = stream.synchronize().unwrap_err().to_string();
    assert!(said.contains("`keys[1]`"), "{said}");
    assert!(said.contains(" of block 0 "), "{said}");
}

#[device]
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
pub(crate) struct Entry {
    pub(crate) key: u32,
    pub(crate) value: f32,
}

/// Puts the entries of a block at the places that their keys name, of which each is to be there once.
#[kernel]
pub(crate) fn by_key(block: Block, x: &[Entry], y: &mut Out<[Entry]>) {
    let mut table = block.shared::<[Entry; 32]>();
    block.fill(&mut table, |i| Entry { key: i as u32, value: -1.0 });
    block.each(|t| {
        if let Some(entry) = x.get(t.index().get()) {
            // SAFETY: no other thread has this key, unless the test wants a race.
            unsafe { table.any_mut(entry.key as usize).value = entry.value };
        }
    });
    block.each(|t| {
        if let Some(y) = y.get_mut(t.index()) {
            *y = table[t.rank() % table.len()];
        }
    });
}

#[test]
fn structs_in_shared_memory_are_watched() {
    let (device, stream) = simulated();
    let kernel = by_key::load(&device).unwrap();
    let mut x: Vec<_> = (0..20).map(|i| Entry { key: i * 7 % 32, value: i as f32 }).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    let mut y = DeviceBuf::from_slice(&device, &[Entry { key: 0, value: 0.0 }; 32]).unwrap();
    kernel.launch(stream.config(1, 32, 0), &on_device, &mut y).unwrap();
    let found = y.to_vec().unwrap();
    for (key, entry) in (0..).zip(&found) {
        let value = x.iter().find(|entry| entry.key == key).map_or(-1.0, |entry| entry.value);
        assert_eq!(*entry, Entry { key, value });
    }
    x[9].key = x[4].key;
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    kernel.launch(stream.config(1, 32, 0), &on_device, &mut y).unwrap();
    let said = stream.synchronize().unwrap_err().to_string();
    assert!(said.contains("`table[28]`") && said.contains(" of block 0 "), "{said}");
}

/// A matrix in shared memory: each thread adds its column from above, and, if `across`, its left neighbour too.
#[kernel]
pub(crate) fn columns(block: Block, across: bool, x: &[i32], y: &mut Out<[i32]>) {
    const SIDE: usize = 8;
    let mut tile = block.shared::<[[i32; SIDE]; SIDE]>();
    block.fill(&mut tile, |[r, c]| x[r * SIDE + c]);
    block.each(|t| {
        for c in t.of_block(SIDE) {
            for r in 1..SIDE {
                let mut sum = tile[r - 1][c];
                if across && c > 0 {
                    sum += tile[r][c - 1];
                }
                // SAFETY: the column is this thread's, unless the test wants a race.
                unsafe { *tile.any_mut([r, c]) += sum };
            }
        }
    });
    block.each(|t| {
        for i in t.of_block(SIDE * SIDE) {
            let row = &tile[i / SIDE];
            let mut greatest = 0;
            for value in row.iter() {
                greatest = greatest.max(*value);
            }
            // SAFETY: this place is this thread's. The row has eight elements.
            unsafe { *y.any_mut(i) = *row.get_unchecked(i % SIDE) * 1000 + greatest };
        }
    });
}

fn columns_are_added(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = columns::load(device).unwrap();
    let x: Vec<i32> = (0..64).collect();
    let on_device = DeviceBuf::from_slice(device, &x).unwrap();
    let mut y = DeviceBuf::<i32>::zeroed(device, 64).unwrap();
    for threads in [1, 5, 8, 32] {
        kernel.launch(stream.config(1, threads, 0), false, &on_device, &mut y).unwrap();
        let mut sums = x.clone();
        (8..64).for_each(|i| sums[i] += sums[i - 8]);
        let expected = |i: usize| sums[i] * 1000 + sums[i / 8 * 8 + 7];
        assert_eq!(y.to_vec().unwrap(), (0..64).map(expected).collect::<Vec<_>>(), "{threads}");
    }
}

#[test]
fn rows_and_columns_are_told_apart() {
    let (device, stream) = simulated();
    let kernel = columns::load(&device).unwrap();
    let on_device = DeviceBuf::from_slice(&device, &[1; 64]).unwrap();
    let mut y = DeviceBuf::<i32>::zeroed(&device, 64).unwrap();
    kernel.launch(stream.config(1, 8, 0), true, &on_device, &mut y).unwrap();
    let said = stream.synchronize().unwrap_err().to_string();
    assert!(said.contains("a thread writes `tile[1][0]`, another reads it"), "{said}");
    // One thread orders itself.
    kernel.launch(stream.config(1, 1, 0), true, &on_device, &mut y).unwrap();
    stream.synchronize().unwrap();
}

/// What combines the values of a reduction reads what the phase before has written, and the phase after it
/// writes that again: the reduction is a phase of its own.
#[kernel]
fn combined(block: Block, y: &mut Out<[u32]>) {
    let mut tile = block.shared::<[u32; 64]>();
    block.fill(&mut tile, |i| i as u32);
    // SAFETY: each thread has its element.
    block.each(|t| unsafe { *tile.any_mut(t.rank()) += 1 });
    let sum = block.reduce(|t| tile[(t.rank() + 1) % 64], |a, b| a + b + tile[63] - 64);
    // SAFETY: as before.
    block.each(|t| unsafe { *tile.any_mut(63 - t.rank()) = sum });
    let other = block.reduce(|t| tile[t.rank()], |a, b| a.max(b));
    y.put(block.index(), other);
}

#[test]
fn a_reduction_is_a_phase() {
    let (device, stream) = simulated();
    let mut y = DeviceBuf::<u32>::zeroed(&device, 2).unwrap();
    combined::load(&device).unwrap().launch(stream.config(2, 64, 0), &mut y).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(y.to_vec().unwrap(), [64 * 65 / 2; 2]);
}

/// The sum of every third element, each of which is there if the launch keeps its promise.
#[device]
unsafe fn third(x: &[f32], i: usize) -> f32 {
    // SAFETY: the caller's promise.
    unsafe { *x.get_unchecked(3 * i) }
}

/// # Safety
/// `x` has three elements for each of `y`.
#[kernel]
pub(crate) unsafe fn thirds(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut parts = [0.0_f32; 2];
    // SAFETY: the array has two elements, and the rest is the caller's promise.
    unsafe {
        *parts.get_unchecked_mut(1) = third(x, i.get());
        assert!(*parts.get_unchecked(0) == 0.0);
        *y = *parts.get_unchecked(1) + *x.get_unchecked(0);
    }
}

#[test]
fn elements_that_are_not_checked_are_checked_here() {
    let (device, stream) = simulated();
    let kernel = thirds::load(&device).unwrap();
    let x = DeviceBuf::from_slice(&device, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let mut y = DeviceBuf::<f32>::zeroed(&device, 2).unwrap();
    // SAFETY: there are three times as many.
    unsafe { kernel.launch(stream.config(1, 2, 0), &x, &mut y) }.unwrap();
    assert_eq!(y.to_vec().unwrap(), [2.0, 5.0]);
    let mut y = DeviceBuf::<f32>::zeroed(&device, 3).unwrap();
    // SAFETY: none, but the simulated device says so.
    unsafe { kernel.launch(stream.config(1, 3, 0), &x, &mut y) }.unwrap();
    let said = stream.synchronize().unwrap_err().to_string();
    assert!(said.contains("`get_unchecked` is out of bounds: the len is 6 but the index is 6"), "{said}");
    assert!(said.contains("watched.rs:"), "{said}");
    assert!(said.contains("it was the thread of index 2"), "{said}");
}

/// Transposes in rows and columns, and for two types.
#[kernel(T in [f32, u64])]
fn transposed(at: Index<2>, columns: usize, x: &[T], y: &mut Out<[T]>) {
    let [r, c] = at.get();
    let rows = x.len() / columns;
    if r >= rows || c >= columns {
        return;
    }
    // SAFETY: no two places are one after they are exchanged.
    unsafe { *y.any_mut(c * rows + r) = x[r * columns + c] };
}

fn places_are_counted_along_the_last_axis_first(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = transposed::<u64>::load(device).unwrap();
    let x = DeviceBuf::from_slice(device, &[1_u64, 2, 3, 4, 5, 6]).unwrap();
    let mut y = DeviceBuf::<u64>::zeroed(device, 6).unwrap();
    let shaped = kernel::Shaped::new(&mut y, [2, 3]);
    kernel.launch(stream.config(1, (4, 2), 0), 3, &x, shaped).unwrap();
    assert_eq!(y.to_vec().unwrap(), [1, 4, 2, 5, 3, 6]);
}
