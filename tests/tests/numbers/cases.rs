//! What is tried: a C++ expression, what it is tried with, and what Rust says.

use super::values::Value;

/// How near a result must be to Rust's. A NaN stands for every NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exact {
    /// The same bits.
    Bits,
    /// The same bits, but a zero may have either sign.
    EitherZero,
    /// At most so many floats away, on the same side of 0.
    Near(u64),
}

/// What Rust says: a value's bits, or `None` for a panic.
pub type Expected = Box<dyn Fn([u64; 3]) -> Option<u64>>;

/// A C++ expression of up to three arguments, `a`, `b` and `c`.
pub struct Case {
    /// The name in C++, without namespace.
    pub name: &'static str,
    pub expression: String,
    /// The types of the arguments.
    pub types: Vec<&'static str>,
    pub result: &'static str,
    /// The values of each argument, of which all combinations are tried.
    pub tables: Vec<Vec<u64>>,
    pub exact: Exact,
    pub expected: Expected,
}

impl Case {
    /// How often it is tried.
    pub fn tries(&self) -> usize {
        self.tables.iter().map(Vec::len).product()
    }
}

/// All that is tried. `LINE` in an expression stands for the line of a fault.
#[derive(Default)]
pub struct Cases(pub Vec<Case>);

fn bits<T: Value>(table: &[T]) -> Vec<u64> {
    table.iter().map(|value| value.bits()).collect()
}

impl Cases {
    pub fn one<A: Value, R: Value>(
        &mut self,
        (name, expression): (&'static str, &str),
        table: &[A],
        exact: Exact,
        native: impl Fn(A) -> Option<R> + 'static,
    ) {
        self.0.push(Case {
            name,
            expression: expression.to_owned(),
            types: vec![A::NAME],
            result: R::NAME,
            tables: vec![bits(table)],
            exact,
            expected: Box::new(move |[a, ..]| native(A::of(a)).map(R::bits)),
        });
    }

    pub fn two<A: Value, B: Value, R: Value>(
        &mut self,
        (name, expression): (&'static str, &str),
        (table, other): (&[A], &[B]),
        exact: Exact,
        native: impl Fn(A, B) -> Option<R> + 'static,
    ) {
        self.0.push(Case {
            name,
            expression: expression.to_owned(),
            types: vec![A::NAME, B::NAME],
            result: R::NAME,
            tables: vec![bits(table), bits(other)],
            exact,
            expected: Box::new(move |[a, b, _]| native(A::of(a), B::of(b)).map(R::bits)),
        });
    }

    pub fn three<A: Value, R: Value>(
        &mut self,
        (name, expression): (&'static str, &str),
        table: &[A],
        exact: Exact,
        native: impl Fn(A, A, A) -> Option<R> + 'static,
    ) {
        self.0.push(Case {
            name,
            expression: expression.to_owned(),
            types: vec![A::NAME; 3],
            result: R::NAME,
            tables: vec![bits(table); 3],
            exact,
            expected: Box::new(move |[a, b, c]| native(A::of(a), A::of(b), A::of(c)).map(R::bits)),
        });
    }
}
