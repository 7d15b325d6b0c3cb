//! What is done with an `Option` beside taking it apart.

use syn::{Expr, ExprMethodCall};

use super::{Lower, Lowered, Reported};
use crate::groups::peel_expr;
use crate::rust_kernels::ir::Kind;
use crate::rust_kernels::methods::Method;
use crate::rust_kernels::types::{Shape, Ty};

impl Lower<'_> {
    /// `x.get(i).copied().unwrap_or(value)`: the element, or a value where there is none.
    pub(super) fn copied_or(&mut self, call: &ExprMethodCall) -> Lowered<Option<(Kind, Ty)>> {
        let (Expr::MethodCall(copied), true) =
            (peel_expr(&call.receiver), call.method == "unwrap_or" && call.args.len() == 1)
        else {
            return Ok(None);
        };
        if !(copied.method == "copied" || copied.method == "cloned") || !copied.args.is_empty() {
            return Ok(None);
        }
        let option = self.value(&copied.receiver)?;
        // A `Clone` of the user's may do something else.
        if copied.method == "cloned" {
            self.pins.copied(copied);
        }
        let of = match *self.types.shape(option.ty) {
            Shape::Option(reference) => match *self.types.shape(reference) {
                Shape::Ref(of, _) => of,
                _ => return Err(self.no_method(copied, &option)),
            },
            Shape::Reported => return Err(Reported),
            _ => return Err(self.no_method(copied, &option)),
        };
        let otherwise = self.value(&call.args[0])?;
        self.types.unify(otherwise.ty, of);
        Ok(Some((Kind::Method(Method::CopiedOr, Box::new(option), vec![otherwise]), of)))
    }
}
