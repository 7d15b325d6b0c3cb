//! Phases of blocks.

use super::super::ir::{Expr, Filled, LocalId, Phase};
use super::super::types::{Length, Shape, Ty};
use super::{Emitter, Value};

impl Emitter<'_> {
    /// A phase, and the value that it gives to all threads.
    pub(super) fn phase(&mut self, phase: &Phase, expr: &Expr) -> Value {
        match phase {
            Phase::Each(closure) => {
                let closure = self.closure(*closure).text;
                self.write(&format!("tw::each({closure});"));
                Value::stable("tw::Unit{}")
            }
            Phase::Fill(filled, closure) => {
                match filled {
                    Filled::Shared(array) => {
                        let closure = self.closure(*closure).text;
                        let array = self.local(*array).cpp.clone();
                        self.return_if(&format!("tw::fill({array}, {closure})"));
                    }
                    // Nobody waits for what is written there.
                    Filled::Tile(data, at) => self.fill_part("tile", [data, at], *closure),
                    Filled::Row(data, at) => self.fill_part("row", [data, at], *closure),
                }
                Value::stable("tw::Unit{}")
            }
            Phase::FillColumns(array, closure) => {
                let closure = self.closure(*closure).text;
                let array = self.local(*array).cpp.clone();
                self.return_if(&format!("tw::fill_columns({array}, {closure})"));
                Value::stable("tw::Unit{}")
            }
            Phase::Fetch { closure, in_order, .. } => {
                let closure = self.closure(*closure).text;
                let function = if *in_order { "fetch_in_order" } else { "fetch" };
                let ty = self.types.cpp(expr.ty).unwrap_or_default();
                let fetched = self.temporary("fetched");
                self.write(&format!("const auto {fetched} = tw::{function}<{ty}>({closure});"));
                Value::stable(fetched)
            }
            Phase::FillFetched(array, fetched) => {
                let fetched = self.operand(fetched).text;
                let array = self.local(*array).cpp.clone();
                self.return_if(&format!("tw::fill_fetched({array}, {fetched})"));
                Value::stable("tw::Unit{}")
            }
            Phase::FillParts(filled, closure) => {
                if let Filled::Tile(data, at) = filled {
                    let values = self.operands([data, at]);
                    let (closure, line) = (self.closure(*closure).text, self.place(expr.line));
                    let tile = format!("tw::tile({}, {})", values[0].text, values[1].text);
                    self.write(&format!("tw::fill_parts({tile}, {closure}, {line});"));
                }
                Value::stable("tw::Unit{}")
            }
            Phase::Reduce(value, combine) => {
                self.combined("reduce", "reduced", expr.ty, None, [*value, *combine])
            }
            Phase::Scan(start, value, combine) => self.scan(start.as_ref(), *value, *combine, expr.ty),
            Phase::Warps(name, closures, by) => self.of_warps(name, closures, by.as_ref(), expr),
            Phase::Any(closure) => Value::of(format!("tw::any({})", self.closure(*closure).text)),
            Phase::Count(closure) => Value::of(format!("tw::count({})", self.closure(*closure).text)),
        }
    }

    /// The type of a shared array, whose rows are longer by the padding.
    pub(super) fn shared(&self, ty: Ty, padding: Option<&str>) -> Option<String> {
        let (Shape::Shared(array), Some(padding)) = (self.types.shape(ty), padding) else {
            return self.types.cpp(ty);
        };
        let Shape::Array(row, Length(rows)) = self.types.shape(*array) else { return None };
        let Shape::Array(of, Length(columns)) = self.types.shape(*row) else { return None };
        Some(format!("tw::Array<tw::Padded<{}, {columns}, {padding}>, {rows}>", self.types.cpp(*of)?))
    }

    /// A slice of the launch's shared memory, behind the one before it.
    pub(super) fn shared_slice(&mut self, name: LocalId, after: Option<LocalId>, length: &Expr, line: usize) {
        let Shape::Shared(slice) = *self.types.shape(self.local(name).ty) else { return };
        let Shape::Slice(element) = *self.types.shape(slice) else { return };
        let element = self.types.cpp(element).unwrap_or_default();
        let (length, line) = (self.operand(length).text, self.place(line));
        let after = after.map_or_else(|| "0".to_owned(), |after| format!("{}.end", self.local(after).cpp));
        let cpp = self.local(name).cpp.clone();
        let made = format!("tw::shared_slice<{element}>({after}, {length}, {line})");
        self.write(&format!("const tw::SharedSlice<{element}> {cpp} = {made};"));
    }

    fn fill_part(&mut self, part: &str, of: [&Expr; 2], closure: usize) {
        let values = self.operands(of);
        let closure = self.closure(closure).text;
        self.write(&format!("tw::fill(tw::{part}({}, {}), {closure});", values[0].text, values[1].text));
    }

    /// Ends the block where a thread has failed: what it would have given the others may be any number, for
    /// which a loop of theirs might never end.
    pub(super) fn return_if(&mut self, has_faulted: &str) {
        self.write(&format!("if ({has_faulted}) {{"));
        self.depth += 1;
        self.write("return;");
        self.depth -= 1;
        self.write("}");
    }
}
