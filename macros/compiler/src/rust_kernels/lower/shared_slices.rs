//! Slices of shared memory, whose size the launch says.

use syn::{Expr, ExprMethodCall};

use super::context::Meaning;
use super::{Lower, Lowered};
use crate::rust_kernels::ir::{Kind, LocalId};
use crate::rust_kernels::types::{Number, Shape};
use crate::text::text;

impl Lower<'_> {
    /// `block.shared_slice::<f32>(n)`, which a `let` names.
    pub(super) fn shared_slice(&mut self, call: &ExprMethodCall, length: &Expr) -> Lowered {
        self.outside_of_phases(call)?;
        let ty = call.turbofish.as_ref().and_then(|generics| match generics.args.first() {
            Some(syn::GenericArgument::Type(ty)) => Some(ty),
            _ => None,
        });
        let Some(ty) = ty else {
            let help = format!("write it: `{}.shared_slice::<f32>({})`", text(&call.receiver), text(length));
            let what = "the type of the elements of this shared slice must be written";
            return Err(self.report(&call.method, "TW0911", what, &[], &help));
        };
        let element = self.ty(ty)?;
        if !matches!(self.types.shape(element), Shape::Number(_) | Shape::Atomic(_)) {
            let help = "write the type of an element: a number or an atomic";
            let what = format!("a shared slice cannot have elements of the type `{}`", text(ty));
            return Err(self.report(ty, "TW0911", &what, &[], help));
        }
        let after = self.last_shared_slice();
        let length = self.value(length)?;
        let usize = self.types.number(Number::Usize);
        self.types.unify(length.ty, usize);
        let slice = self.types.add(Shape::Slice(element));
        let ty = self.types.add(Shape::Shared(slice));
        Ok(self.expr(Kind::NewSharedSlice(after, Box::new(length)), ty, call.method.span()))
    }

    /// The last of the slices that there are: one whose scope has ended has given its memory back.
    fn last_shared_slice(&self) -> Option<LocalId> {
        self.scope.iter().rev().find_map(|(_, meaning)| match meaning {
            Meaning::Local(local) => match *self.types.shape(self.locals[local.0].ty) {
                Shape::Shared(of) if matches!(self.types.shape(of), Shape::Slice(_)) => Some(*local),
                _ => None,
            },
            _ => None,
        })
    }
}
