//! Writes a function in CUDA C++.
//!
//! An expression of Rust may hold statements; where it does, they are written before the statement that the
//! expression stands in, and what Rust evaluates before them is kept in a constant first.

mod assignments;
mod atomics;
mod choice;
mod faults;
mod flow;
mod jumps;
mod loops;
mod methods;
mod numbers;
mod phases;
mod referred;
mod scans;
mod slices;
mod values;

use super::ir::{Function, Local, LocalId};
use super::names::Names;
use super::role::{Build, Role};
use super::signature::{ParameterKind, Signature};
use super::types::{Shape, Types};
use faults::FaultAt;
use jumps::Around;

/// A function's text, without what only rustc knows: the constants and functions that it names.
pub(super) struct Text {
    pub(super) lines: Vec<Line>,
}

pub(super) struct Line {
    pub(super) text: String,
    /// The line in the Rust file, 0 if there is none.
    pub(super) line: usize,
}

/// Where the value of an expression goes.
#[derive(Clone)]
enum Sink {
    Drop,
    Return,
    /// To a variable that was declared.
    Variable(String),
}

/// A C++ expression.
#[derive(Debug, Clone)]
struct Value {
    text: String,
    /// How loosely its outermost operator binds, 0 for what needs no parentheses anywhere.
    binds: u8,
    /// Whether it is the same wherever it is evaluated: a literal, or a name that does not change.
    stable: bool,
}

impl Value {
    fn of(text: impl Into<String>) -> Self {
        Self { text: text.into(), binds: 0, stable: false }
    }

    fn stable(text: impl Into<String>) -> Self {
        Self { text: text.into(), binds: 0, stable: true }
    }

    /// The text as an operand of an operator that binds this loosely.
    fn within(&self, binds: u8) -> String {
        if self.binds > binds { format!("({})", self.text) } else { self.text.clone() }
    }

    /// The text before `.` or a call.
    fn atom(&self) -> String {
        self.within(0)
    }
}

/// What a unary operator binds.
const UNARY: u8 = 3;
/// The conditional operator.
const CONDITIONAL: u8 = 16;

struct Emitter<'a> {
    function: &'a Function,
    types: &'a Types,
    names: Names,
    role: Role,
    /// Whether overflow is a fault.
    checked: bool,
    lines: Vec<Line>,
    /// Where what was written may fault, in its order.
    faults: Vec<FaultAt>,
    depth: usize,
    /// The line of the statement that is written.
    line: usize,
    /// What is written is run by all threads of a block together.
    together: bool,
    /// The locals of a block whose values come from no thread.
    known: Vec<LocalId>,
    /// The loops around, within the innermost lambda.
    around: Vec<Around>,
    /// The constants of the body that are none for C++.
    made: Vec<LocalId>,
    /// The variables of values that are referred to and have no name, within the innermost lambda: their types and
    /// names.
    referred: Vec<(String, String)>,
}

/// The text of a function whose types are known.
pub(super) fn emit(
    name: &str,
    role: Role,
    signature: &Signature,
    function: &Function,
    types: &Types,
    names: Names,
    build: Build,
) -> Text {
    let checked = build == Build::Debug;
    let together = signature.is_in_blocks();
    let lines = Vec::new();
    let known = function.parameters.clone();
    let mut emitter = Emitter {
        function,
        types,
        names,
        role,
        checked,
        lines,
        faults: Vec::new(),
        depth: 0,
        line: 0,
        together,
        known,
        around: Vec::new(),
        made: Vec::new(),
        referred: Vec::new(),
    };
    emitter.function(name, signature);
    Text { lines: emitter.lines }
}

impl Emitter<'_> {
    fn function(&mut self, name: &str, signature: &Signature) {
        let role = self.role;
        let mut parameters = Vec::new();
        let mut first = Vec::new();
        let mut lengths = Vec::new();
        for (parameter, id) in signature.parameters.iter().zip(&self.function.parameters) {
            let local = &self.function.locals[id.0];
            let cpp = local.cpp.clone();
            let ty = |of: Option<String>| of.unwrap_or_else(|| "auto".to_owned());
            let constant = if parameter.mutable { "" } else { "const " };
            match (&parameter.kind, role) {
                // Its methods are functions.
                (ParameterKind::Block(_), _) => {}
                (ParameterKind::Index(1), Role::Kernel) => {
                    first.push(format!("const usize {cpp} = tw::index();"));
                }
                (ParameterKind::Index(dimensions), Role::Kernel) => {
                    let ty = format!("tw::Array<usize, {dimensions}>");
                    first.push(format!("const {ty} {cpp} = tw::index{dimensions}();"));
                }
                (ParameterKind::Slice(_), Role::Kernel) => {
                    let element = ty(self.element(local));
                    let data = self.names.unique(&format!("{cpp}_data"));
                    let (parameter, len) = self.length_parameter(*id, &mut lengths);
                    parameters.push(format!("const {element}* __restrict__ {data}, {parameter}"));
                    first.push(format!("{constant}tw::Slice<{element}> {cpp}{{{data}, {len}}};"));
                }
                // Other threads change what they point to.
                (ParameterKind::Atomics(_), Role::Kernel) => {
                    let element = ty(self.element(local));
                    let [data, len] = ["data", "len"].map(|part| self.names.unique(&format!("{cpp}_{part}")));
                    parameters.push(format!("{element}* {data}, usize {len}"));
                    first.push(format!("{constant}tw::Slice<{element}> {cpp}{{{data}, {len}}};"));
                }
                (ParameterKind::Own(_) | ParameterKind::Out(_), Role::Kernel) => {
                    let element = ty(self.element(local));
                    let data = self.names.unique(&format!("{cpp}_data"));
                    // A barrier orders what other threads have written, if the compiler knows of them.
                    let alone = match self.function.unchecked.scattered.contains(id) {
                        true => "",
                        false => " __restrict__",
                    };
                    let dimensions = signature.dimensions;
                    if dimensions == 1 {
                        let (parameter, len) = self.length_parameter(*id, &mut lengths);
                        parameters.push(format!("{element}*{alone} {data}, {parameter}"));
                        first.push(format!("const tw::Own<{element}> {cpp}{{{data}, {len}}};"));
                    } else {
                        let shape = self.names.unique(&format!("{cpp}_shape"));
                        let of_shape = format!("tw::Array<usize, {dimensions}>");
                        parameters.push(format!("{element}*{alone} {data}, {of_shape} {shape}"));
                        let own = format!("tw::Own<{element}, {dimensions}>");
                        first.push(format!("const {own} {cpp}{{{data}, {shape}}};"));
                    }
                }
                _ => parameters.push(format!("{} {cpp}", ty(self.types.cpp(local.ty)))),
            }
        }
        let parameters = parameters.join(", ");
        match role {
            Role::Kernel => {
                let bounds =
                    signature.threads.map(|most| format!("__launch_bounds__({most}) ")).unwrap_or_default();
                self.write(&format!("extern \"C\" __global__ void {bounds}{name}({parameters})"));
                if let (true, Some(threads)) = (signature.is_in_blocks(), signature.threads) {
                    first.insert(0, format!("tw::has_threads<{threads}>();"));
                }
            }
            Role::Device => {
                let generics =
                    self.function.generics.iter().map(|id| format!("usize {}", self.local(*id).cpp));
                let generics: Vec<_> = generics.collect();
                if !generics.is_empty() {
                    self.write(&format!("template <{}>", generics.join(", ")));
                }
                let result = self.types.cpp(self.function.result).unwrap_or_else(|| "auto".to_owned());
                self.write(&format!("TW_FN {result} {name}({parameters})"));
            }
        }
        self.write("{");
        self.depth = 1;
        first.iter().for_each(|line| self.write(line));
        let function = self.function;
        let sink = match self.types.shape(function.result) {
            Shape::Unit => Sink::Drop,
            _ => Sink::Return,
        };
        let begin = self.lines.len();
        self.block(&function.body, &sink);
        self.declare_referred(begin);
        self.depth = 0;
        self.write("}");
    }

    /// The parameter for a length, and the name of that length. One that each launch has found to be that of a
    /// parameter before has no name of its own, so that C++ knows that they are the same.
    fn length_parameter(&mut self, id: LocalId, known: &mut Vec<(LocalId, String)>) -> (String, String) {
        let same = self.function.same_lengths.iter().find(|(other, _)| *other == id);
        let same = same.and_then(|(_, first)| known.iter().find(|(other, _)| other == first));
        if let Some((_, len)) = same {
            return (format!("usize /* {len} */"), len.clone());
        }
        let len = self.names.unique(&format!("{}_len", self.local(id).cpp));
        known.push((id, len.clone()));
        (format!("usize {len}"), len)
    }

    /// The elements of a slice, in C++.
    fn element(&self, local: &Local) -> Option<String> {
        match *self.types.shape(local.ty) {
            Shape::Slice(of) | Shape::Elements { of, .. } => self.types.cpp(of),
            _ => None,
        }
    }

    fn write(&mut self, text: &str) {
        let indent = "    ".repeat(self.depth);
        // A lambda's body has lines of its own, which are indented already.
        self.lines.push(Line { text: format!("{indent}{text}"), line: self.line });
    }

    fn local(&self, id: LocalId) -> &Local {
        &self.function.locals[id.0]
    }

    /// A constant that no name of the user's stands for.
    fn temporary(&mut self, name: &str) -> String {
        self.names.unique(name)
    }
}
