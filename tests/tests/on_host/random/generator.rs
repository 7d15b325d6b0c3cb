//! What random kernels are made of: the names in scope, choices, and pieces of text with their precedence.

use std::collections::BTreeMap;
use std::sync::Arc;

use thalweg_tests::random::Random;

use super::atomics::Atomic;
use super::blocks::{Handle, SharedArray, TileSizes};
use super::types::{Half, NUMBERS, Number, Structure, Ty};

/// How often each construct of the language was written.
pub type Counts = BTreeMap<&'static str, usize>;

/// How loosely the outermost operator of an expression binds.
pub mod binds {
    pub const ATOM: u8 = 0;
    pub const UNARY: u8 = 1;
    pub const CAST: u8 = 2;
    pub const PRODUCT: u8 = 3;
    pub const SUM: u8 = 4;
    pub const SHIFT: u8 = 5;
    pub const BIT_AND: u8 = 6;
    pub const BIT_XOR: u8 = 7;
    pub const BIT_OR: u8 = 8;
    pub const COMPARE: u8 = 9;
    pub const AND: u8 = 10;
    pub const OR: u8 = 11;
    /// `if`, `match` and blocks, which a statement must not begin with.
    pub const BLOCK: u8 = 12;
}

/// An expression.
#[derive(Debug, Clone)]
pub struct Text {
    pub text: String,
    pub binds: u8,
    /// It ends with a type, so that no `<` may follow.
    pub ends_in_type: bool,
}

impl Text {
    pub fn new(text: impl Into<String>, binds: u8) -> Self {
        Self { text: text.into(), binds, ends_in_type: false }
    }

    pub fn atom(text: impl Into<String>) -> Self {
        Self::new(text, binds::ATOM)
    }

    /// The text as an operand of an operator that binds this loosely.
    pub fn within(&self, binds: u8) -> String {
        if self.binds > binds { format!("({})", self.text) } else { self.text.clone() }
    }
}

/// How a name stands for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It is the value.
    Value,
    /// It is a value that nothing may write, since a loop counts with it or a closure has it.
    Kept,
    /// `&T`
    Ref,
    /// `&mut T`
    RefMut,
    /// `&[T]`
    Slice,
    /// `Index<D>`
    Index,
    /// An array in shared memory of elements of the type, in a phase.
    Shared,
    /// A variable of which each thread of a block has its own, outside of phases.
    Private,
}

/// The threads that run what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Each thread by itself, in a kernel of one thread an element and in a function.
    Thread,
    /// All threads of a block, which do the same.
    Block,
    /// Each thread of a block by itself.
    Phase,
}

/// A name in scope.
#[derive(Debug, Clone)]
pub struct Variable {
    pub name: String,
    /// The type of the value, of what it refers to, or of the elements.
    pub ty: Ty,
    pub mutable: bool,
    pub access: Access,
}

/// What `return` gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Return {
    Nothing,
    Value(Ty),
    /// There is no `return`: in a closure whose result is not written.
    Absent,
}

/// A function that kernels call.
#[derive(Debug, Clone)]
pub struct Device {
    pub name: String,
    /// Values, and slices of elements.
    pub parameters: Vec<(Ty, bool)>,
    pub result: Ty,
}

/// A constant outside of a kernel.
#[derive(Debug, Clone)]
pub struct Constant {
    pub name: String,
    pub ty: Ty,
}

/// Writes a kernel and what belongs to it.
pub struct Generator {
    pub random: Random,
    pub counts: Counts,
    pub scope: Vec<Variable>,
    /// Variables before this one are borrowed, and not written.
    pub frozen: usize,
    /// Numbers are of any size, so that much overflows.
    pub wild: bool,
    /// The loops around, within the innermost closure.
    pub loops: usize,
    /// Their labels, and those of blocks which have no value.
    pub labels: Vec<String>,
    pub result: Return,
    pub level: Level,
    pub dimensions: usize,
    pub devices: Vec<Device>,
    pub constants: Vec<Constant>,
    pub structs: Vec<Arc<Structure>>,
    /// There are floats of 16 bits.
    pub has_halves: bool,
    /// The atomics that may be accessed.
    pub atomics: Vec<Atomic>,
    /// Those that may be accessed in the phases of a kernel in blocks.
    pub atomics_of_phases: Vec<Atomic>,
    /// The arrays in the block's shared memory.
    pub shared: Vec<SharedArray>,
    /// Those that may be read.
    pub reads: Vec<SharedArray>,
    /// The thread of a phase.
    pub thread: Option<String>,
    /// The tiles of the data.
    pub tiles: Option<TileSizes>,
    /// The expressions around, in which no phase stands.
    pub expressions: usize,
    /// The `Own`s and `Out`s of a kernel in blocks.
    pub handles: Vec<Handle>,
    pub indent: usize,
    pub names: usize,
}

impl Generator {
    pub fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            counts: Counts::new(),
            scope: Vec::new(),
            frozen: 0,
            wild: false,
            loops: 0,
            labels: Vec::new(),
            result: Return::Nothing,
            level: Level::Thread,
            dimensions: 1,
            devices: Vec::new(),
            constants: Vec::new(),
            structs: Vec::new(),
            has_halves: false,
            atomics: Vec::new(),
            atomics_of_phases: Vec::new(),
            shared: Vec::new(),
            reads: Vec::new(),
            thread: None,
            tiles: None,
            expressions: 0,
            handles: Vec::new(),
            indent: 1,
            names: 0,
        }
    }

    pub fn count(&mut self, construct: &'static str) {
        *self.counts.entry(construct).or_default() += 1;
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.random.below(end as u64) as usize
    }

    /// Yes in so many of 100 cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    /// The number of a case by its weight.
    pub fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut at = self.below(weights.iter().sum());
        for (case, &weight) in weights.iter().enumerate() {
            if at < weight {
                return case;
            }
            at -= weight;
        }
        unreachable!("it is below the sum")
    }

    /// Another pick of the numbers, integers more often.
    pub fn number(&mut self) -> Number {
        match self.weighted(&[60, 40]) {
            0 => self.pick(&[Number::U8, Number::U32, Number::I32, Number::Usize, Number::F32, Number::I64]),
            _ => NUMBERS[self.below(NUMBERS.len())].0,
        }
    }

    pub fn integer(&mut self) -> Number {
        loop {
            let number = self.number();
            if !number.is_float() {
                return number;
            }
        }
    }

    pub fn float(&mut self) -> Number {
        if self.chance(65) { Number::F32 } else { Number::F64 }
    }

    pub fn half(&mut self) -> Half {
        self.pick(&[Half::F16, Half::Bf16])
    }

    /// A number or a `bool`.
    pub fn simple(&mut self) -> Ty {
        if self.has_halves && self.chance(18) {
            return Ty::Half(self.half());
        }
        if self.chance(15) { Ty::Bool } else { Ty::Number(self.number()) }
    }

    /// A type of data in memory: a number, a struct, or perhaps an array.
    pub fn in_memory(&mut self) -> Ty {
        let one = if !self.structs.is_empty() && self.chance(25) {
            let structs = self.structs.clone();
            Ty::Struct(self.pick(&structs))
        } else if self.has_halves && self.chance(25) {
            Ty::Half(self.half())
        } else {
            Ty::Number(self.number())
        };
        if self.chance(12) { Ty::array(one, 1 + self.below(3)) } else { one }
    }

    /// A type of values.
    pub fn ty(&mut self, depth: usize) -> Ty {
        if depth == 0 {
            return self.simple();
        }
        let structs = if self.structs.is_empty() { 0 } else { 15 };
        match self.weighted(&[75, 12, 13, structs]) {
            0 => self.simple(),
            3 => {
                let structs = self.structs.clone();
                Ty::Struct(self.pick(&structs))
            }
            1 => {
                let parts = 2 + self.below(3);
                Ty::Tuple((0..parts).map(|_| self.ty(depth - 1)).collect())
            }
            _ => {
                let length = 1 + self.below(4);
                Ty::Array(Box::new(self.ty(depth - 1)), length)
            }
        }
    }

    /// Runs `write` in a scope of its own.
    pub fn scoped<R>(&mut self, write: impl FnOnce(&mut Self) -> R) -> R {
        let (scope, frozen) = (self.scope.clone(), self.frozen);
        let result = write(self);
        (self.scope, self.frozen) = (scope, frozen);
        result
    }

    /// Runs `write` while nothing that is in scope may be written.
    pub fn while_frozen<R>(&mut self, write: impl FnOnce(&mut Self) -> R) -> R {
        let frozen = std::mem::replace(&mut self.frozen, self.scope.len());
        let result = write(self);
        self.frozen = frozen;
        result
    }

    pub fn line(&self) -> String {
        format!("\n{}", "    ".repeat(self.indent))
    }
}
