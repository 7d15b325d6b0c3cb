//! The whole kernel: its parameters, what it declares, its statements, and what it has seen.

use super::super::generator::{Access, Generator, Level, Return};
use super::super::module::{Form, Parameter, Takes, noted, parameters};
use super::super::types::{Number, Ty};
use super::{Owner, SharedArray, TileSizes};

/// Writes a kernel in blocks of a grid with so many axes.
pub fn kernel(generator: &mut Generator, seed: u64, dimensions: usize) -> (String, Vec<Parameter>, Form) {
    generator.dimensions = dimensions;
    generator.level = Level::Block;
    generator.count(["", "Block", "Block<2>", "Block<3>"][dimensions]);
    let ty = match dimensions {
        1 if generator.chance(80) => "Block".to_owned(),
        _ => format!("Block<{dimensions}>"),
    };
    let mut list = vec![format!("block: {ty}"), "seen: &mut Own<[u64]>".to_owned()];
    let of_seen = if dimensions == 1 { Owner::Thread } else { generator.pick(&[Owner::Tiles, Owner::Rows]) };
    let u64 = Ty::Number(Number::U64);
    let mut all = vec![Parameter { takes: Takes::Own, ty: u64.clone(), owner: of_seen }];
    generator.handles = parameters(generator, Level::Block, &mut list, &mut all);
    let mut text = format!("pub fn k{seed}({}) {{", list.join(", "));
    if dimensions == 1 {
        for name in ["block.index().get()", "block.blocks()"] {
            generator.declare(name, Ty::Number(Number::Usize), false, Access::Kept);
        }
    } else {
        text += &tile_sizes(generator);
        text += &generator.line();
        text += &shape(generator, dimensions);
    }
    generator.declare("block.threads()", Ty::Number(Number::Usize), false, Access::Kept);
    for _ in 0..generator.weighted(&[25, 45, 20, 10]) {
        text += &generator.line();
        text += &shared(generator);
    }
    for _ in 0..generator.weighted(&[40, 40, 20]) {
        text += &generator.line();
        text += &generator.new_private();
    }
    for _ in 0..3 + generator.below(8) {
        text += &generator.line();
        text += &generator.statement(2);
    }
    text += &last(generator, of_seen);
    text += "\n}\n";
    let threads = generator
        .tiles
        .as_ref()
        .and_then(|tiles| tiles.parts.map(|[down, across]| tiles.rows / down * (tiles.columns / across)));
    (text, all, Form::Blocks { dimensions, threads })
}

/// The sizes of all tiles, some of them by a name.
fn tile_sizes(generator: &mut Generator) -> String {
    let (rows, columns) = generator.pick(&[(4, 8), (2, 2), (3, 5), (1, 4), (8, 4)]);
    let parts = match (generator.chance(80), rows, columns) {
        (true, 4, 8) => Some(generator.pick(&[[2, 4], [1, 1], [4, 2]])),
        (true, 8, 4) => Some(generator.pick(&[[8, 1], [2, 2], [4, 4]])),
        (true, 3, 5) => Some([3, 1]),
        _ => None,
    };
    let (text, written) = match generator.chance(35) {
        true => {
            let name = generator.own_name("C").to_uppercase();
            (format!("\n    const {name}: usize = {rows};"), format!("{name}, {columns}"))
        }
        false => (String::new(), format!("{rows}, {columns}")),
    };
    generator.tiles = Some(TileSizes { rows, columns, written, parts });
    text
}

/// `let [rows, columns] = block.shape(seen);`
fn shape(generator: &mut Generator, dimensions: usize) -> String {
    generator.count("the shape of data");
    let names: Vec<_> = (0..dimensions).map(|_| generator.own_name("n")).collect();
    for name in &names {
        generator.declare(name, Ty::Number(Number::Usize), false, Access::Value);
    }
    format!("let [{}] = block.shape(seen);", names.join(", "))
}

/// Declares a shared array and fills it.
fn shared(generator: &mut Generator) -> String {
    let name = generator.own_name("s");
    let atomic = generator.chance(22).then(|| generator.atomic_number(false));
    let of = match (atomic, generator.in_memory()) {
        (Some(number), _) => Ty::Number(number),
        (None, Ty::Array(of, _)) => *of,
        (None, other) => other,
    };
    let element = match atomic {
        Some(number) => super::super::atomics::name(number),
        None => of.to_string(),
    };
    let (rows, columns) = match generator.chance(35) {
        true => (Some(1 + generator.below(5)), 1 + generator.below(9)),
        false => (None, 1 + generator.below(40)),
    };
    let is_padded = rows.is_some() && atomic.is_none() && generator.chance(35);
    let array = match rows {
        Some(rows) => format!("[[{element}; {columns}]; {rows}]"),
        None => format!("[{element}; {columns}]"),
    };
    generator.count(match (atomic.is_some(), is_padded, &of) {
        (true, ..) => "a shared array of atomics",
        (_, true, _) => "a shared array with padding",
        (.., Ty::Struct(_)) => "a shared array of structs",
        _ => "a shared array",
    });
    let made = match is_padded {
        true => format!("block.shared_padded::<{array}, {}>()", 1 + generator.below(3)),
        false => format!("block.shared::<{array}>()"),
    };
    let array = SharedArray { name: name.clone(), of, rows, columns, is_padded, atomic };
    let fill = generator.fill_of(&array);
    generator.shared.push(array);
    format!("let mut {name} = {made};{}{fill}", generator.line())
}

/// Writes what the threads and the block have seen.
fn last(generator: &mut Generator, of_seen: Owner) -> String {
    let line = generator.line();
    generator.indent += 1;
    let (inner, result) = (generator.line(), Return::Value(Ty::Number(Number::U64)));
    let hash = generator.phase(true, result, None, |this, thread| {
        let noted = noted(this, "hash", 30);
        format!("|{thread}| {{{inner}let mut hash = 1_u64;{noted}{inner}hash{line}}}")
    });
    generator.indent -= 1;
    let mut text = format!(
        "{line}let hash = block.reduce({hash}, |a, b| a.rotate_left(9) ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15));"
    );
    let (loop_, part, place) = match of_seen {
        Owner::Tiles => {
            let sizes = generator.tiles.clone().expect("it has tiles").written;
            (format!("block.tiles::<{sizes}>(seen)"), "tile", "[r, c]")
        }
        Owner::Rows => ("block.rows(seen)".to_owned(), "row", "c"),
        _ => {
            let body =
                "if let Some(seen) = seen.get_mut(t.index()) { *seen = (*seen).rotate_left(5) ^ hash; }";
            text += &format!("{line}block.each(|t| {{ {body} }});");
            return text;
        }
    };
    let value = if part == "tile" { "hash ^ (r * 32 + c) as u64" } else { "hash ^ c as u64" };
    text + &format!("{line}for last in {loop_} {{ block.fill(&mut seen.{part}(last), |{place}| {value}); }}")
}
