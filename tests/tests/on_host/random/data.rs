//! Data for random kernels.

use thalweg::half::{bf16, f16};
use thalweg_tests::launches::Dim3;
use thalweg_tests::random::Random;

use super::blocks::Owner;
use super::module::{Form, Module, Takes};
use super::types::{Half, Number, Ty};

/// The arguments of one launch.
#[derive(Debug, Clone)]
pub struct Data {
    /// The bytes of each parameter, in memory that is aligned for all types.
    pub arrays: Vec<Vec<u64>>,
    /// The elements of each parameter; 1 of a value.
    pub lengths: Vec<usize>,
    /// The threads along z, y and x.
    pub threads: [usize; 3],
    /// The elements along z, y and x of what threads own, where the index has several dimensions.
    pub shape: [usize; 3],
    pub grid: Dim3,
    pub block: Dim3,
}

/// Rounds of data that differ in kind.
pub const ROUNDS: u64 = 4;

impl Data {
    pub fn new(module: &Module, round: u64) -> Self {
        let mut random = Random::new(module.seed.wrapping_mul(31).wrapping_add(round));
        let (grid, block, shape) = launch(module.form, &mut random);
        let threads = [grid.2 * block.2, grid.1 * block.1, grid.0 * block.0].map(|count: u32| count as usize);
        let all: usize = threads.iter().product();
        let (mut arrays, mut lengths) = (Vec::new(), Vec::new());
        for parameter in &module.parameters {
            let length = match parameter.takes {
                Takes::Value => 1,
                Takes::Atomics { of_threads: true } => all - usize::from(random.below(30) == 0),
                Takes::Slice | Takes::Atomics { .. } => 1 + random.below(40) as usize,
                Takes::Own | Takes::Out if module.form.dimensions() > 1 => shape.iter().product(),
                // A block writes nothing beyond the end.
                Takes::Own | Takes::Out if parameter.owner == Owner::Block => {
                    (grid.0 as u64 + random.below(3) - u64::from(random.below(20) == 0)) as usize
                }
                // Some have fewer elements than there are threads.
                Takes::Own | Takes::Out if random.below(4) > 0 => all,
                Takes::Own | Takes::Out => all / 2 + random.below(all as u64) as usize,
            };
            let bytes: Vec<u8> =
                (0..length).flat_map(|_| value(&mut random, &parameter.ty, module.wild, round)).collect();
            let words = bytes.chunks(8).map(|word| {
                let mut whole = [0; 8];
                whole[..word.len()].copy_from_slice(word);
                u64::from_ne_bytes(whole)
            });
            // Something to point to, also where there are no bytes.
            arrays.push(words.chain([0]).collect());
            lengths.push(length);
        }
        Self { arrays, lengths, threads, shape, grid, block }
    }

    /// The bytes of a parameter.
    pub fn bytes(&self, module: &Module, parameter: usize) -> Vec<u8> {
        let size = module.parameters[parameter].ty.size() * self.lengths[parameter];
        let mut bytes: Vec<u8> = self.arrays[parameter].iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.truncate(size);
        bytes
    }
}

/// The grid, the blocks, and the shape of what has several dimensions.
fn launch(form: Form, random: &mut Random) -> (Dim3, Dim3, [usize; 3]) {
    let mut pick = |of: &[(u32, u32, u32)]| of[random.below(of.len() as u64) as usize];
    match form {
        Form::Threads(1) => ((3, 1, 1), (32, 1, 1), [1, 1, 80]),
        Form::Threads(2) => ((2, 2, 1), (8, 4, 1), [1, 7, 13]),
        Form::Threads(_) => ((2, 1, 2), (4, 3, 2), [3, 3, 7]),
        Form::Blocks { dimensions, threads } => {
            let (x, ..) = pick(&[(1, 1, 1), (7, 1, 1), (32, 1, 1), (33, 1, 1), (40, 1, 1), (64, 1, 1)]);
            let block = (threads.map_or(x, |threads| threads as u32), 1, 1);
            let grids: &[(u32, u32, u32)] = match dimensions {
                1 => &[(1, 1, 1), (2, 1, 1), (3, 1, 1), (5, 1, 1)],
                2 => &[(1, 1, 1), (2, 2, 1), (1, 3, 1), (3, 1, 1)],
                _ => &[(1, 1, 1), (2, 1, 2), (1, 2, 1), (2, 2, 2)],
            };
            let grid = pick(grids);
            let (items, rows, columns) = match dimensions {
                2 => pick(&[(1, 7, 13), (1, 8, 16), (1, 1, 5), (1, 9, 1)]),
                _ => pick(&[(3, 3, 7), (2, 8, 8), (1, 5, 2)]),
            };
            (grid, block, [items, rows, columns].map(|axis| axis as usize))
        }
    }
}

fn value(random: &mut Random, ty: &Ty, wild: bool, round: u64) -> Vec<u8> {
    match ty {
        Ty::Bool => vec![random.below(2) as u8],
        Ty::Array(of, length) => (0..*length).flat_map(|_| value(random, of, wild, round)).collect(),
        Ty::Struct(of) => of.fields.iter().flat_map(|(_, ty)| value(random, ty, wild, round)).collect(),
        Ty::Half(half) => {
            let float = float(random, Number::F32, wild, round);
            let float = f32::from_ne_bytes(float.try_into().expect("4 bytes"));
            let bits = match half {
                Half::F16 => f16::from_f32(float).to_bits(),
                Half::Bf16 => bf16::from_f32(float).to_bits(),
            };
            bits.to_ne_bytes().to_vec()
        }
        Ty::Tuple(_) => panic!("a tuple in memory"),
        Ty::Number(number) if number.is_float() => float(random, *number, wild, round),
        Ty::Number(number) => {
            let edges = if wild { 30 } else { 2 * round };
            let bits = if random.below(100) < edges {
                edge(random, *number)
            } else {
                let most = [6, 12, 60, 120][round as usize % 4];
                let magnitude = random.below(most);
                if number.is_signed() && random.below(3) == 0 { magnitude.wrapping_neg() } else { magnitude }
            };
            bits.to_ne_bytes()[..number.bits() as usize / 8].to_vec()
        }
    }
}

/// The bits of an integer at which something changes.
fn edge(random: &mut Random, number: Number) -> u64 {
    let greatest = number.greatest();
    match random.below(8) {
        0 => greatest,
        1 => greatest - 1,
        // The least of those with a sign, 0 of others.
        2 => !greatest,
        3 => (!greatest).wrapping_add(1),
        4 => u64::MAX,
        5 => 1 << random.below(64),
        _ => random.bits(),
    }
}

fn float(random: &mut Random, number: Number, wild: bool, round: u64) -> Vec<u8> {
    let odd = if wild { 30 } else { 3 * round };
    let value = if random.below(100) < odd {
        if number == Number::F64 && random.below(2) == 0 {
            return random.bits().to_ne_bytes().to_vec();
        }
        let bits = random.any_floats(1)[0].to_bits();
        match number {
            Number::F32 => return bits.to_ne_bytes().to_vec(),
            _ => f64::from(f32::from_bits(bits)),
        }
    } else {
        match random.below(3) {
            0 => random.below(40) as f64 / 4.0 - 5.0,
            1 => random.between(-4.0, 4.0),
            _ => random.between(-1000.0, 1000.0),
        }
    };
    match number {
        Number::F32 => (value as f32).to_ne_bytes().to_vec(),
        _ => value.to_ne_bytes().to_vec(),
    }
}
