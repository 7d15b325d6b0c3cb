//! The types of the language of kernels, and their unification over a whole function.
//!
//! rustc knows types that this crate cannot see: those of `#[device]` functions and of constants outside of the
//! function. They are variables that came from [`Types::foreign`]. A struct and the fields of its values are
//! [`Named`]. What follows for a literal is written into the Rust function as its suffix, so that rustc judges it
//! at the user's token.

mod cpp;
mod number;

use super::named::{Held, Named, Part};

pub(super) use number::{Number, is_exact};

/// A type: an index into [`Types`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Ty(usize);

/// The length of an array, as C++ and as the user wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Length(pub(super) String);

/// What a type is, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    Unknown(Unknown),
    Number(Number),
    Bool,
    Unit,
    /// The type of `return`, `break` and `continue`.
    Never,
    Tuple(Vec<Ty>),
    Array(Ty, Length),
    /// `&[T]`.
    Slice(Ty),
    /// A reference, and whether it is `&mut`.
    Ref(Ty, bool),
    Option(Ty),
    /// `AtomicU32` and its like, by the number that it holds.
    Atomic(Number),
    /// The `Result` of an atomic's `compare_exchange`, whose both outcomes are this number.
    Exchanged(Ty),
    /// `&mut Own<[T]>` and `&mut Out<[T]>`.
    Elements {
        of: Ty,
        /// It is `Out`.
        out: bool,
    },
    /// `Index<D>`.
    Index(usize),
    /// `Block`.
    Block,
    /// `block.index()`.
    BlockIndex,
    /// A tile of a block, with its rows and columns.
    Tile(Length, Length),
    /// A row of a block.
    Row,
    /// A thread's part of a tile: the rows and columns of the tile, and of the part.
    Part([Length; 4]),
    /// A thread of a block, which a phase's closure gets.
    Thread,
    /// An array in shared memory.
    Shared(Ty),
    /// Elements of an array that a block of so many threads has fetched, along its columns first or along its rows.
    Fetched {
        of: Ty,
        threads: u32,
        columns: bool,
    },
    /// A variable of which each thread of a block has its own.
    Private(Ty),
    Closure(usize),
    /// A type that rustc alone knows, but which C++ has by a name.
    Named(Named),
    /// The type of an expression with an error, which was reported: nothing more is said of it.
    Reported,
}

/// A variable of unification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Unknown {
    pub(super) literal: Option<Literal>,
    /// It depends on a type that only rustc knows.
    pub(super) foreign: bool,
}

/// Where a value comes from whose type only rustc knows. C++ finds the type there.
#[derive(Debug)]
pub(super) enum Source {
    /// A constant, by its name in C++.
    Constant(String),
    /// A call of a function, by its name in C++, with arguments of these types; a literal has none.
    Call(String, Vec<Option<Ty>>),
    /// A field of a value of the type.
    Field(Ty, String),
    /// An element of an array of the type.
    Element(Ty),
}

/// The kind of a literal without a suffix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Literal {
    Integer,
    Float,
}

#[derive(Debug, Clone)]
enum Node {
    Same(Ty),
    Is(Shape),
}

/// The types of one function.
#[derive(Debug, Default)]
pub(super) struct Types {
    nodes: Vec<Node>,
    sources: Vec<(Ty, Source)>,
}

impl Types {
    pub(super) fn add(&mut self, shape: Shape) -> Ty {
        self.nodes.push(Node::Is(shape));
        Ty(self.nodes.len() - 1)
    }

    pub(super) fn fresh(&mut self) -> Ty {
        self.add(Shape::Unknown(Unknown::default()))
    }

    /// A type that only rustc knows.
    pub(super) fn foreign(&mut self) -> Ty {
        self.add(Shape::Unknown(Unknown { literal: None, foreign: true }))
    }

    /// The type of what comes from there, which only rustc knows.
    pub(super) fn foreign_of(&mut self, source: Source) -> Ty {
        let ty = self.foreign();
        self.sources.push((ty, source));
        ty
    }

    /// Notes that a type depends on one that only rustc knows, such as that of a parameter elsewhere.
    pub(super) fn depends(&mut self, ty: Ty) {
        let ty = self.root(ty);
        match self.shape(ty).clone() {
            Shape::Unknown(unknown) => {
                self.nodes[ty.0] = Node::Is(Shape::Unknown(Unknown { foreign: true, ..unknown }));
            }
            Shape::Tuple(parts) => parts.into_iter().for_each(|part| self.depends(part)),
            Shape::Array(of, _) | Shape::Slice(of) | Shape::Ref(of, _) | Shape::Option(of) => {
                self.depends(of)
            }
            _ => {}
        }
    }

    pub(super) fn literal(&mut self, kind: Literal) -> Ty {
        self.add(Shape::Unknown(Unknown { literal: Some(kind), foreign: false }))
    }

    pub(super) fn number(&mut self, number: Number) -> Ty {
        self.add(Shape::Number(number))
    }

    pub(super) fn unit(&mut self) -> Ty {
        self.add(Shape::Unit)
    }

    pub(super) fn bool(&mut self) -> Ty {
        self.add(Shape::Bool)
    }

    /// Whether they are one variable, or one type by unification.
    pub(super) fn are_same(&self, a: Ty, b: Ty) -> bool {
        self.root(a) == self.root(b)
    }

    fn root(&self, ty: Ty) -> Ty {
        match self.nodes[ty.0] {
            Node::Same(other) => self.root(other),
            Node::Is(_) => ty,
        }
    }

    /// What the type is, as far as it is known.
    pub(super) fn shape(&self, ty: Ty) -> &Shape {
        match &self.nodes[self.root(ty).0] {
            Node::Is(shape) => shape,
            Node::Same(_) => unreachable!("a root is not the same as another"),
        }
    }

    /// The type behind references: what operators work on.
    pub(super) fn value(&self, ty: Ty) -> Ty {
        match *self.shape(ty) {
            Shape::Ref(to, _) => self.value(to),
            _ => ty,
        }
    }

    /// How many references the value lies behind.
    pub(super) fn references(&self, ty: Ty) -> usize {
        match *self.shape(ty) {
            Shape::Ref(to, _) => 1 + self.references(to),
            _ => 0,
        }
    }

    /// Adds what so many values of the type hold, as far as it is known, without what lies between the parts.
    pub(super) fn held(&self, ty: Ty, values: u64, held: &mut Vec<(u64, Held)>) {
        match self.shape(ty) {
            Shape::Number(number) => held.push((values, Held::Bytes(u64::from(number.bits() / 8)))),
            Shape::Bool => held.push((values, Held::Bytes(1))),
            Shape::Tuple(parts) => parts.iter().for_each(|&part| self.held(part, values, held)),
            Shape::Array(of, Length(length)) => {
                if let Some(values) = length.parse().ok().and_then(|length: u64| values.checked_mul(length)) {
                    self.held(*of, values, held);
                }
            }
            Shape::Named(named) => held.push((values, Held::Named(named.clone()))),
            _ => {}
        }
    }

    /// The number that it is, behind references.
    pub(super) fn as_number(&self, ty: Ty) -> Option<Number> {
        match *self.shape(self.value(ty)) {
            Shape::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The type of the elements of an array or a slice.
    pub(super) fn element(&mut self, ty: Ty) -> Option<Ty> {
        match self.shape(self.value(ty)) {
            Shape::Array(of, _) | Shape::Slice(of) => Some(*of),
            Shape::Named(_) => self.part(ty, Part::Element),
            _ => None,
        }
    }

    /// A part of a type that rustc alone knows.
    pub(super) fn part(&mut self, ty: Ty, part: Part) -> Option<Ty> {
        let part = self.as_named(ty)?.part(part);
        Some(self.add(Shape::Named(part)))
    }

    /// All types that rustc alone knows, and their parts.
    pub(super) fn all_named(&self) -> impl Iterator<Item = &Named> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Is(Shape::Named(named)) => Some(named),
            _ => None,
        })
    }

    /// The type behind references, if rustc alone knows it.
    pub(super) fn as_named(&self, ty: Ty) -> Option<&Named> {
        match self.shape(self.value(ty)) {
            Shape::Named(named) => Some(named),
            _ => None,
        }
    }

    /// Makes the two the same type. What contradicts itself is left as it is: rustc reports it.
    pub(super) fn unify(&mut self, a: Ty, b: Ty) {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return;
        }
        match (self.shape(a).clone(), self.shape(b).clone()) {
            // The value of what diverges is whatever is wanted.
            (Shape::Never | Shape::Reported, _) | (_, Shape::Never | Shape::Reported) => {}
            (Shape::Unknown(one), Shape::Unknown(other)) => {
                let literal = one.literal.or(other.literal);
                let both = Unknown { literal, foreign: one.foreign || other.foreign };
                self.nodes[a.0] = Node::Same(b);
                self.nodes[b.0] = Node::Is(Shape::Unknown(both));
            }
            // A literal is no reference: the operator looks behind it.
            (Shape::Unknown(Unknown { literal: Some(_), .. }), Shape::Ref(to, _)) => self.unify(a, to),
            (Shape::Ref(to, _), Shape::Unknown(Unknown { literal: Some(_), .. })) => self.unify(to, b),
            (Shape::Unknown(unknown), _) if !self.occurs(a, b) => self.decide(a, unknown, b),
            (_, Shape::Unknown(unknown)) if !self.occurs(b, a) => self.decide(b, unknown, a),
            (Shape::Ref(a, _), Shape::Ref(b, _)) => self.unify(a, b),
            (Shape::Ref(to, _), _) => self.unify(to, b),
            (_, Shape::Ref(to, _)) => self.unify(a, to),
            (Shape::Array(a, _) | Shape::Slice(a), Shape::Array(b, _) | Shape::Slice(b))
            | (Shape::Option(a), Shape::Option(b))
            | (Shape::Private(a), Shape::Private(b)) => self.unify(a, b),
            (Shape::Named(named), Shape::Array(of, _) | Shape::Slice(of))
            | (Shape::Array(of, _) | Shape::Slice(of), Shape::Named(named)) => {
                let element = self.add(Shape::Named(named.part(Part::Element)));
                self.unify(element, of);
            }
            (Shape::Named(_), Shape::Tuple(_)) => self.depends(b),
            (Shape::Tuple(_), Shape::Named(_)) => self.depends(a),
            (Shape::Tuple(a), Shape::Tuple(b)) => a.into_iter().zip(b).for_each(|(a, b)| self.unify(a, b)),
            _ => {}
        }
    }

    /// Makes a variable the type. If only rustc knows what it is, it alone knows the parts.
    fn decide(&mut self, variable: Ty, unknown: Unknown, ty: Ty) {
        self.nodes[variable.0] = Node::Same(ty);
        if unknown.foreign {
            self.depends(ty);
        }
    }

    /// The type of what is one value or the other, in this order. rustc makes slices of references to arrays where
    /// one is a slice, or where their lengths differ.
    pub(super) fn joined(&mut self, a: Ty, b: Ty) -> Ty {
        self.unify(a, b);
        match (self.shape(a).clone(), self.shape(b).clone()) {
            (Shape::Never | Shape::Reported, _) => b,
            (Shape::Ref(array, _), Shape::Ref(other, _)) => match (self.shape(array), self.shape(other)) {
                (&Shape::Array(of, ref length), Shape::Array(_, other)) if length != other => {
                    self.add(Shape::Slice(of))
                }
                _ => a,
            },
            (Shape::Ref(..), Shape::Slice(_)) => b,
            (Shape::Tuple(parts), Shape::Tuple(others)) if parts.len() == others.len() => {
                let parts = parts.into_iter().zip(others).map(|(a, b)| self.joined(a, b)).collect();
                self.add(Shape::Tuple(parts))
            }
            _ => a,
        }
    }

    /// Whether the variable is a part of the type, so that the two cannot be the same.
    fn occurs(&self, variable: Ty, ty: Ty) -> bool {
        let ty = self.root(ty);
        if ty == variable {
            return true;
        }
        match self.shape(ty) {
            Shape::Tuple(parts) => parts.iter().any(|&part| self.occurs(variable, part)),
            Shape::Array(of, _)
            | Shape::Slice(of)
            | Shape::Ref(of, _)
            | Shape::Option(of)
            | Shape::Shared(of)
            | Shape::Private(of)
            | Shape::Elements { of, .. } => self.occurs(variable, *of),
            _ => false,
        }
    }

    /// Whether what has such an argument may change something by it: a variable, or an atomic.
    pub(super) fn lends_to_change(&self, ty: Ty) -> bool {
        match self.shape(ty) {
            Shape::Ref(_, true) | Shape::Atomic(_) => true,
            Shape::Tuple(parts) => parts.iter().any(|&part| self.lends_to_change(part)),
            Shape::Array(of, _) | Shape::Slice(of) | Shape::Ref(of, false) | Shape::Option(of) => {
                self.lends_to_change(*of)
            }
            _ => false,
        }
    }

    /// Gives literals that nothing else decides the types that rustc gives them.
    pub(super) fn default_literals(&mut self) {
        for node in &mut self.nodes {
            if let Node::Is(shape) = node
                && let Shape::Unknown(Unknown { literal: Some(literal), foreign: false }) = shape
            {
                *shape = Shape::Number(match literal {
                    Literal::Integer => Number::I32,
                    Literal::Float => Number::F64,
                });
            }
        }
    }
}
