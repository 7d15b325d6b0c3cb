//! The data of a rank: parts of files that all ranks read, one file that all of them write, and an order of blocks.

#![allow(clippy::single_range_in_vec_init, reason = "one part is a range")]

use std::fs::File;
use std::io::{Cursor, ErrorKind, Write};
use std::ops::Range;
use std::path::Path;

use tempfile::NamedTempFile;
use thalweg::__private::Detail;
use thalweg::io::{Sink, Source, Streamed};
use thalweg::prelude::*;

use super::{add_to, errors, on};

stream_pipeline! {
    /// Items of three numbers.
    pipeline Rows {
        param len: usize;
        input x: [f32; 3];
        output y: [f32; 3];
        chunk c = len;
        depth = 2;
        stage load { copy x -> d; }
        stage work { add_to<<<blocks(3 * c.len, 32), 32>>>(0.5, &mut d); }
        stage store { copy d -> y; }
    }
}

/// Numbers of items that ranks share equally or not, and fewer than there are ranks.
const ROWS: [usize; 6] = [0, 1, 2, 3, 7, 24];
/// Chunks that divide nothing, and one that holds everything.
const CHUNKS: [usize; 3] = [1, 2, 100];

fn numbers(rows: usize) -> Vec<f32> {
    (0..3 * rows).map(|x| x as f32).collect()
}

fn opened(path: &Path) -> File {
    File::open(path).expect("the file is there")
}

/// Opened for writing, with what other ranks have written.
fn shared(path: &Path) -> File {
    File::options().write(true).open(path).expect("the file is there")
}

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("the file is there")
}

fn file(contents: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(contents).expect("there is room");
    file
}

/// Runs a pipeline of a rank from one to the other.
fn run(
    world: &World,
    len: usize,
    x: Streamed<impl Source<f32>>,
    y: Streamed<impl Sink<f32>>,
) -> thalweg::Result<usize> {
    let mut rows = Rows::options(&world.device()?).world(world).build()?;
    Ok(rows.run(len, x, y)?.items)
}

/// What one rank writes that has all of the data.
fn alone(data: &[f32]) -> Vec<u8> {
    let write = |world: &World| {
        let mut file = Cursor::new(Vec::new());
        let y = sink::npy_items(&mut file, &[3]);
        Rows::options(&world.device()?).world(world).build()?.run(5, data, y)?;
        Ok(file.into_inner())
    };
    on(1, write).remove(0)
}

#[test]
fn ranks_read_and_write_one_array() {
    for rows in ROWS {
        let data = numbers(rows);
        let x = file(&alone(&data));
        let expected = alone(&data.iter().map(|x| x + 0.5).collect::<Vec<_>>());
        for (size, len) in (1..=4).flat_map(|size| CHUNKS.map(|len| (size, len))) {
            let y = file(&[]);
            let all = on(size, |world| {
                let mut x = opened(x.path());
                let shape = source::npy_shape(&mut x).expect("a header");
                let own = world.part(shape[0]);
                let (x, y) =
                    (source::npy_parts(x, [own.clone()]), sink::npy_part(shared(y.path()), &shape, own));
                let items = run(world, len, x, y)?;
                world.barrier()?;
                Ok((items, world.part(shape[0]).len()))
            });
            assert!(all.iter().all(|(items, own)| items == own), "{all:?}");
            assert_eq!(bytes(y.path()), expected, "{rows} rows on {size} ranks in chunks of {len}");
        }
    }
}

#[test]
fn ranks_read_and_write_one_file_of_bytes() {
    for rows in ROWS {
        let data = numbers(rows);
        let x = file(thalweg::bytemuck::cast_slice(&data));
        let expected: Vec<f32> = data.iter().map(|x| x + 0.5).collect();
        for (size, len) in (1..=4).flat_map(|size| CHUNKS.map(|len| (size, len))) {
            let y = file(&[]);
            on(size, |world| {
                let own = world.part(rows);
                let (x, y) = (opened(x.path()), shared(y.path()));
                run(world, len, source::read_parts(x, [own.clone()]), sink::write_part(y, own))
            });
            assert_eq!(bytes(y.path()), thalweg::bytemuck::cast_slice::<f32, u8>(&expected));
        }
    }
}

stream_pipeline! {
    pipeline Totals {
        input x: [f32];
        input more: [f32];
        carry w: [f64; 1] = 0.0;
        chunk c = 4;
        device g: [f64; 1] per chunk;
        stage load { copy x -> dx; copy more -> dm; }
        stage add { thalweg_kernels::sum::<f32><<<1, 256>>>(&dx, out g); }
        stage share { all_reduce sum g; }
        stage step { collect<<<1, 1>>>(&g, &mut w); seen<<<blocks(c.len, 32), 32>>>(&dm, &mut dx); }
    }
}

#[kernel]
fn collect(i: Index, g: &[f64], w: &mut Own<[f64]>) {
    let Some(w) = w.get_mut(i) else { return };
    *w += g[0];
}

/// Both are the same items.
#[kernel]
#[requires(more.len() == x.len())]
fn seen(i: Index, more: &[f32], x: &mut Own<[f32]>) {
    let Some(x) = x.get_mut(i) else { return };
    assert!(*x == more[i]);
    *x = 0.0;
}

/// The parts of sources have a length: so ranks agree on their chunks, though nothing else has one.
#[test]
fn an_epoch_covers_each_block_once() {
    let (items, block) = (45_usize, 4);
    let data: Vec<f32> = (0..items).map(|x| x as f32).collect();
    let x = file(thalweg::bytemuck::cast_slice(&data));
    let mut orders = Vec::new();
    for size in 1..=4 {
        let all = on(size, |world| {
            let blocks = items.div_ceil(block);
            let mut seen = Vec::new();
            for epoch in 0..3 {
                let parts = world.shuffled(blocks, 11 + epoch).into_iter();
                let parts: Vec<Range<usize>> = parts.map(|n| n * block..items.min((n + 1) * block)).collect();
                let (one, other) = (opened(x.path()), opened(x.path()));
                let (one, other) =
                    (source::read_parts(one, parts.clone()), source::read_parts(other, parts.clone()));
                let mut w = [0.0];
                let mut totals = Totals::options(&world.device()?).world(world).build()?;
                let report = totals.run(one, other, &mut w)?;
                assert_eq!(report.items, parts.iter().map(Range::len).sum::<usize>());
                assert_eq!(w, [(0..items).sum::<usize>() as f64]);
                seen.push(parts);
            }
            Ok(seen)
        });
        let of_epoch = |epoch: usize| all.iter().flat_map(|seen| seen[epoch].clone()).collect::<Vec<_>>();
        for epoch in 0..3 {
            let mut each: Vec<usize> = of_epoch(epoch).into_iter().flatten().collect();
            each.sort_unstable();
            assert_eq!(each, (0..items).collect::<Vec<_>>(), "epoch {epoch} of {size} ranks");
        }
        assert_ne!(of_epoch(0), of_epoch(1));
        orders.push(of_epoch(0));
    }
    assert!(
        orders.windows(2).all(|two| two[0] == two[1]),
        "the order is that of the seed, on any number of ranks"
    );
}

#[test]
fn all_ranks_get_one_seed() {
    let seeds = on(4, |world| Ok([world.seed()?, world.seed()?]));
    assert!(seeds.iter().all(|of| of == &seeds[0] && of[0] != of[1]), "{seeds:?}");
}

/// The part of one rank is not in the file. It says so, and the others do not wait for it.
#[test]
fn a_file_that_is_too_short_for_a_rank() {
    let x = file(&[0; 7 * 12 + 5]);
    let y = file(&[]);
    let errors = errors(2, |world| {
        let own = world.part(8);
        let x = source::read_parts(opened(x.path()), [own.clone()]);
        run(world, 3, x, sink::write_part(shared(y.path()), own))?;
        world.barrier()
    });
    let Detail::Source { host: "x", error } = errors[1].detail() else { panic!("{}", errors[1]) };
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    let expected = "part 4..8 is not in the file, which has 7 items and 5 bytes of another one";
    assert_eq!(error.to_string(), expected);
    assert!(matches!(errors[0].kind(), thalweg::ErrorKind::Ranks(_)), "{}", errors[0]);
}

/// A run of a rank that does not fill its part fails, and so does one that has a length which is not the part's.
#[test]
fn a_part_is_filled_or_the_run_fails() {
    for (source_items, expected) in [
        (2, "part 0..3 has 3 items, but the run had 2 of them"),
        (4, "part 0..3 has 3 items, and the run has 1 more"),
    ] {
        let mut y = Cursor::new(Vec::new());
        let mut rows = Rows::new(&Device::simulated(Simulation::h200())).expect("a pipeline");
        let error = rows
            .run(2, source::batches([numbers(source_items)]), sink::write_part(&mut y, 0..3))
            .expect_err("the part is another one");
        let Detail::Sink { host: "y", error } = error.detail() else { panic!("{error}") };
        assert_eq!(error.to_string(), expected);
    }
    // A failure elsewhere is the one that is told.
    let fails = source::from_fn(|c, slot: &mut [f32]| match c.index {
        0 => Ok(slot.len()),
        _ => Err(std::io::Error::other("the disk is on fire")),
    });
    let mut y = Cursor::new(Vec::new());
    let mut rows = Rows::new(&Device::simulated(Simulation::h200())).expect("a pipeline");
    let error = rows.run(2, fails, sink::npy_part(&mut y, &[5, 3], 0..5)).expect_err("the source fails");
    assert!(matches!(error.detail(), Detail::Source { .. }), "{error}");
    let y = y.into_inner();
    assert!(source::npy_slice::<f32>(&y).is_err(), "there is no header");
}

/// Parts have a length, as slices have.
#[test]
fn a_length_that_differs_is_refused_before_anything_is_read() {
    let mut rows = Rows::new(&Device::simulated(Simulation::h200())).expect("a pipeline");
    let x = file(thalweg::bytemuck::cast_slice(&numbers(5)));
    let mut y = vec![0.0; 12];
    let error = rows.run(2, source::read_parts(opened(x.path()), [0..2, 4..5]), &mut y).expect_err("3 and 4");
    assert!(matches!(error.detail(), Detail::Length { .. }), "{error}");
    rows.run(2, source::read_parts(opened(x.path()), [0..2, 3..5]), &mut y).expect("4 and 4");
    let kept = [0, 1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14].map(|x| x as f32 + 0.5);
    assert_eq!(y[..], kept);
    // Numbers that no run has, and parts that are none.
    for (part, expected) in [
        (0..usize::MAX, "its parts have more elements than can be counted"),
        (Range { start: 3, end: 1 }, "part 3..1 ends before it begins"),
        (0..usize::MAX / 3, "part 0..6148914691236517205 is not in the file, which has 5 items"),
        (6..6 + usize::MAX / 3, "part 6..6148914691236517211 is not in the file, which has 5 items"),
    ] {
        let x = source::read_parts(opened(x.path()), [part]);
        let mut z = Vec::new();
        let error = rows.run(2, x, sink::extend(&mut z)).expect_err("there are not so many");
        let Detail::Source { host: "x", error } = error.detail() else { panic!("{error}") };
        assert_eq!(error.to_string(), expected);
    }
}

/// Each rank has row groups of its own, and of the rows that these have.
#[test]
fn ranks_read_row_groups() {
    let properties = |rows| {
        parquet::file::properties::WriterProperties::builder().set_max_row_group_row_count(Some(rows)).build()
    };
    let data = numbers(8);
    let mut whole = NamedTempFile::new().expect("a file");
    let mut rows = Rows::new(&Device::simulated(Simulation::h200())).expect("a pipeline");
    rows.run(3, &data, thalweg_parquet::sink::parquet_with(&mut whole, "x", properties(9))).expect("a file");
    for size in 1..=4 {
        let all = on(size, |world| {
            let file = opened(whole.path());
            let groups = thalweg_parquet::source::row_groups(&file).expect("a file");
            assert_eq!(groups, 3);
            let x = thalweg_parquet::source::parquet_groups(file, "x", world.part(groups));
            let mut y = Vec::new();
            run(world, 2, x, sink::extend(&mut y))?;
            Ok(y)
        });
        let expected: Vec<f32> = data.iter().map(|x| x + 1.0).collect();
        assert_eq!(all.concat(), expected);
        assert_eq!(all[0].len(), [24, 18, 9, 9][size - 1]);
    }
    // What is not in the file is refused before the run, on all ranks.
    for error in errors(2, |world| {
        let column = ["x", "none"][world.rank()];
        let x = thalweg_parquet::source::parquet_groups(opened(whole.path()), column, 0..3);
        run(world, 2, x, sink::extend(&mut Vec::new()))
    }) {
        let said = error.to_string();
        assert!(said.contains("there is no column `none`") || said.contains("does not begin"), "{said}");
    }
    for (groups, expected) in [
        (1..4, "row groups 1..4 are not in the file, which has 3 row groups"),
        (Range { start: 2, end: 1 }, "row groups 2..1 end before they begin"),
    ] {
        let x = thalweg_parquet::source::parquet_groups(opened(whole.path()), "x", groups);
        let error = rows.run(2, x, sink::extend(&mut Vec::new())).expect_err("there are three");
        let Detail::Source { error, .. } = error.detail() else { panic!("{error}") };
        assert_eq!(error.to_string(), expected);
    }
    thalweg_parquet::source::row_groups(file(b"no Parquet").as_file()).expect_err("it is none");
}
