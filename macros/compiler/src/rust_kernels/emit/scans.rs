//! Phases in which a block's threads get values of each other.

use super::super::ir::Expr;
use super::super::types::{Shape, Ty};
use super::{Emitter, Value};

impl Emitter<'_> {
    /// A scan: what it gives the thread, and with a start what it gives all threads, too.
    pub(super) fn scan(&mut self, start: Option<&Expr>, value: usize, combine: usize, gives: Ty) -> Value {
        let start = start.map(|start| self.operand(start).text);
        let (function, of) = match *self.types.shape(gives) {
            Shape::Private(of) => ("scan", of),
            Shape::Tuple(ref parts) => ("scan_exclusive", parts[1]),
            _ => ("scan", gives),
        };
        self.combined(function, "scanned", of, start, [value, combine])
    }

    /// An operation of warps: what it gives the thread.
    pub(super) fn of_warps(
        &mut self,
        name: &str,
        closures: &[usize],
        by: Option<&Expr>,
        expr: &Expr,
    ) -> Value {
        let by = by.map(|by| self.operand(by).text);
        let last = match name {
            "shuffle" => Some(self.place(expr.line)),
            _ => by,
        };
        let of = match (name, self.types.shape(expr.ty)) {
            // C++ needs no type where it is always the same.
            ("ballot" | "warp_any" | "warp_all", _) => None,
            (_, Shape::Private(of)) => Some(*of),
            _ => None,
        };
        let closures = closures.iter().map(|closure| self.closure(*closure).text);
        let arguments = closures.chain(last).collect();
        self.ending(name, "of_warp", of, arguments)
    }

    /// A phase that combines the values of all threads.
    pub(super) fn combined(
        &mut self,
        function: &str,
        name: &str,
        of: Ty,
        first: Option<String>,
        closures: [usize; 2],
    ) -> Value {
        let closures = closures.map(|closure| self.closure(closure).text);
        self.ending(function, name, Some(of), first.into_iter().chain(closures).collect())
    }

    /// A function of the headers that says whether a thread of the block has ended: then the block ends, too.
    fn ending(&mut self, function: &str, name: &str, of: Option<Ty>, arguments: Vec<String>) -> Value {
        // C++ alone knows the type that a `#[device]` function gives.
        let ty = of.and_then(|of| self.types.cpp(of)).map(|ty| format!("<{ty}>")).unwrap_or_default();
        let [ended, name] = ["ended", name].map(|name| self.temporary(name));
        let arguments = arguments.join(", ");
        self.write(&format!("bool {ended} = false;"));
        self.write(&format!("const auto {name} = tw::{function}{ty}({ended}, {arguments});"));
        self.return_if(&ended);
        Value::stable(name)
    }
}
