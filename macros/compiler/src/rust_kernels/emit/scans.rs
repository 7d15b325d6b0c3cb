//! Phases that combine the values of a block's threads.

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

    /// A phase with barriers inside, after which the block ends if one of its threads has ended.
    pub(super) fn combined(
        &mut self,
        function: &str,
        name: &str,
        of: Ty,
        first: Option<String>,
        closures: [usize; 2],
    ) -> Value {
        let closures = closures.map(|closure| self.closure(closure).text);
        // C++ alone knows the type that a `#[device]` function gives.
        let ty = self.types.cpp(of).map(|ty| format!("<{ty}>")).unwrap_or_default();
        let [ended, name] = ["ended", name].map(|name| self.temporary(name));
        let arguments: Vec<String> = std::iter::once(ended.clone()).chain(first).chain(closures).collect();
        self.write(&format!("bool {ended} = false;"));
        self.write(&format!("const auto {name} = tw::{function}{ty}({});", arguments.join(", ")));
        self.return_if(&ended);
        Value::stable(name)
    }
}
