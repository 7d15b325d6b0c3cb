//! Assignments to places, and to tuples and arrays of places.

use syn::Expr;
use syn::spanned::Spanned;

use super::{Lower, Lowered};
use crate::groups::peel_expr;
use crate::rust_kernels::ir::{self, Block, Kind, Statement};
use crate::rust_kernels::types::Shape;

impl Lower<'_> {
    pub(super) fn assign(&mut self, assign: &syn::ExprAssign) -> Lowered<Kind> {
        let value = self.value(&assign.right)?;
        let place = self.assigned(&assign.left)?;
        self.types.unify(place.ty, value.ty);
        self.changes();
        Ok(match place.kind {
            // `_ = value`
            Kind::Unit => Kind::Block(Block { statements: vec![Statement::Expr(value)], value: None }),
            Kind::Tuple(_) | Kind::Array(_) => Kind::AssignParts(Box::new(place), Box::new(value)),
            _ => Kind::Assign(Box::new(place), Box::new(value)),
        })
    }

    /// What an assignment writes: a place, or a tuple or an array of what is written.
    fn assigned(&mut self, left: &Expr) -> Lowered {
        let left = peel_expr(left);
        let (kind, ty) = match left {
            Expr::Tuple(tuple) if !tuple.elems.is_empty() => {
                let parts = self.each_assigned(&tuple.elems)?;
                self.tuple(parts)
            }
            Expr::Array(array) => {
                let parts = self.each_assigned(&array.elems)?;
                self.array(parts)
            }
            // Nothing is written there.
            Expr::Infer(_) => (Kind::Unit, self.types.fresh()),
            _ => {
                self.no_write_elsewhere(left)?;
                let place = self.value(left)?;
                self.no_change_of_block(&place, left)?;
                self.no_change_of_copy(&place, left)?;
                self.no_change_outside(&place, left)?;
                return Ok(place);
            }
        };
        Ok(self.expr(kind, ty, left.span()))
    }

    /// Refuses to write to what a pattern has taken out of a `&mut`: in C++ the name has a copy of it.
    pub(super) fn no_change_of_copy(&mut self, place: &ir::Expr, at: &Expr) -> Lowered<()> {
        let Kind::Deref(of) = &place.kind else { return Ok(()) };
        if !matches!(self.types.shape(of.ty), Shape::Number(_) | Shape::Bool) {
            return Ok(());
        }
        let help = "bind the whole by one name, and write its parts, such as `pair[0]` or `p.x`";
        Err(self.absent(at, "a write to what a pattern has borrowed", help))
    }

    fn each_assigned<'x>(&mut self, parts: impl IntoIterator<Item = &'x Expr>) -> Lowered<Vec<ir::Expr>> {
        parts.into_iter().map(|part| self.assigned(part)).collect()
    }
}
