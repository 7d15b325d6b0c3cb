//! Arrays in shared memory: how they are made, filled and read.

use syn::spanned::Spanned;
use syn::{Expr, ExprMethodCall};

use super::context::Level;
use super::{Lower, Lowered, Reported};
use crate::groups::{peel, peel_expr};
use crate::rust_kernels::ir::{self, Kind, LocalId, Phase, SharedArray};
use crate::rust_kernels::types::{Length, Number, Shape, Ty};
use crate::text::text;

impl Lower<'_> {
    /// Whether the method call makes a shared array or slice.
    pub(super) fn is_shared(&self, call: &ExprMethodCall) -> bool {
        let of_block = |block: ir::Expr| matches!(self.types.shape(block.ty), Shape::Block);
        let is_made = match call.args.len() {
            0 => call.method == "shared" || call.method == "shared_padded",
            count => count == 1 && call.method == "shared_slice",
        };
        is_made && self.position(&call.receiver).is_some_and(of_block)
    }

    /// `block.shared::<[f32; 256]>()`, which a `let` names.
    pub(super) fn shared(&mut self, call: &ExprMethodCall) -> Lowered {
        self.outside_of_phases(call)?;
        let ty = call.turbofish.as_ref().and_then(|generics| match generics.args.first() {
            Some(syn::GenericArgument::Type(ty)) => Some(ty),
            _ => None,
        });
        let Some(ty) = ty else {
            let help = format!("write it: `{}.shared::<[f32; 256]>()`", text(&call.receiver));
            let what = "the type of this shared array must be written";
            return Err(self.report(&call.method, "TW0911", what, &[], &help));
        };
        let array = self.array_of_elements(ty)?;
        let (whole, padding) = match call.method == "shared_padded" {
            true => self.padding(call, ty)?,
            false => (ty.clone(), None),
        };
        self.shared.push(SharedArray { ty: whole, items: self.items.clone() });
        let ty = self.types.add(Shape::Shared(array));
        Ok(self.expr(Kind::NewShared(padding), ty, call.span()))
    }

    /// The type of an array that shared memory can hold.
    pub(super) fn array_of_elements(&mut self, ty: &syn::Type) -> Lowered<Ty> {
        let array = self.ty(ty)?;
        let mut element = array;
        for _ in 0..2 {
            if let Shape::Array(of, _) = *self.types.shape(element) {
                element = of;
            }
        }
        let is_array = matches!(self.types.shape(array), Shape::Array(..));
        let is_held =
            matches!(self.types.shape(element), Shape::Number(_) | Shape::Atomic(_) | Shape::Named(_));
        if !is_array || !is_held {
            let help = "use `[T; N]` or `[[T; C]; R]`, where `T` is a number, a struct or an atomic";
            let what = format!("shared memory cannot hold a `{}`", text(ty));
            return Err(self.report(ty, "TW0911", &what, &[], help));
        }
        Ok(array)
    }

    /// The type of a shared array with its padding, and the padding in C++.
    fn padding(&mut self, call: &ExprMethodCall, array: &syn::Type) -> Lowered<(syn::Type, Option<String>)> {
        let written = call.turbofish.as_ref().and_then(|generics| generics.args.iter().nth(1));
        let padding = written.and_then(super::tiles::as_length);
        let rows = match array {
            syn::Type::Array(rows) => match peel(&rows.elem) {
                syn::Type::Array(row) => Some((&rows.len, row)),
                _ => None,
            },
            _ => None,
        };
        let (Some(padding), Some((rows, syn::TypeArray { elem, len: columns, .. }))) = (padding, rows) else {
            let what = "this padding is of no rows, or it has no number";
            let help =
                "write the array and how much longer each row is: `shared_padded::<[[f32; 32]; 32], 1>()`";
            return Err(self.report(&call.method, "TW0911", what, &[], help));
        };
        let in_cpp = self.length(&padding)?;
        Ok((syn::parse_quote!([[#elem; (#columns) + (#padding)]; #rows]), Some(in_cpp)))
    }

    /// Refuses a reference to a padded array: it has another layout than the type says.
    pub(super) fn no_whole_padded(&mut self, expr: &Expr) -> Lowered<()> {
        if self.named(expr).is_none_or(|local| !self.padded.contains(&local)) {
            return Ok(());
        }
        let what = format!("`{0}` has padding, and is used as a whole", text(expr));
        let help = format!("use its rows, `{0}[r]`, or make it with `shared`", text(expr));
        Err(self.report(expr, "TW0911", &what, &[], &help))
    }

    /// `block.fill(&mut tile, |[r, c]| …)`
    pub(super) fn fill(&mut self, array: &Expr, value: &Expr) -> Lowered<(Kind, Ty)> {
        let place = match array {
            Expr::Reference(reference) if reference.mutability.is_some() => &*reference.expr,
            other => other,
        };
        if let Some((part, at, element)) = self.part_of_data(place)? {
            let value = self.phase(value, &[at], element)?;
            return Ok((Kind::Phase(Box::new(Phase::Fill(part, value))), self.types.unit()));
        }
        let (local, at, element) = self.filled(array)?;
        let value = self.phase(value, &[at], element)?;
        let filled = ir::Filled::Shared(local);
        Ok((Kind::Phase(Box::new(Phase::Fill(filled, value))), self.types.unit()))
    }

    /// The shared array that a block fills, the type of a place in it, and that of its elements.
    pub(super) fn filled(&mut self, array: &Expr) -> Lowered<(LocalId, Ty, Ty)> {
        let place = match array {
            Expr::Reference(reference) if reference.mutability.is_some() => &*reference.expr,
            other => other,
        };
        let local = self.named(place);
        let shape = local.map(|local| self.types.shape(self.locals[local.0].ty).clone());
        let (local, of) = match (local, shape) {
            (Some(local), Some(Shape::Shared(of))) => (local, of),
            (_, Some(Shape::Reported)) => return Err(Reported),
            _ => {
                let help = "pass an array of `block.shared::<[f32; 256]>()`: `&mut tile`";
                return Err(self.report(array, "TW0911", "this is no shared array", &[], help));
            }
        };
        let (at, element) = self.places_of(of).ok_or(Reported)?;
        Ok((local, at, element))
    }

    /// The type of a place in an array or slice of elements, and that of what is written there.
    pub(super) fn places_of(&mut self, of: Ty) -> Option<(Ty, Ty)> {
        let usize = self.types.number(Number::Usize);
        let (Shape::Array(inner, _) | Shape::Slice(inner)) = *self.types.shape(of) else { return None };
        let (at, element) = match *self.types.shape(inner) {
            Shape::Array(element, _) => {
                (self.types.add(Shape::Array(usize, Length("2".to_owned()))), element)
            }
            _ => (usize, inner),
        };
        let element = match *self.types.shape(element) {
            Shape::Atomic(number) => self.types.number(number),
            _ => element,
        };
        Some((at, element))
    }

    /// A shared array as a place, if the expression is its name.
    pub(super) fn shared_place(&mut self, expr: &Expr, is_read: bool) -> Option<Lowered> {
        let local = self.named(expr)?;
        let Shape::Shared(array) = *self.types.shape(self.locals[local.0].ty) else { return None };
        if is_read && !matches!(self.level, Level::Phase(_)) {
            let (name, block) = (text(expr), &self.index_name);
            let what = format!("`{name}` is read outside of a phase");
            let first = match self.types.element(array).map(|element| self.types.shape(element)) {
                Some(Shape::Atomic(_)) => "[0].load(Relaxed)",
                Some(Shape::Array(..)) => "[0][0]",
                _ => "[0]",
            };
            let help = format!(
                "read it in a phase; by this one all threads get the same value: \
                 `let first = {block}.reduce(|_| {name}{first}, |first, _| first);`"
            );
            return Some(Err(self.in_block(expr, &what, &help)));
        }
        Some(Ok(self.expr(Kind::Local(local), array, expr.span())))
    }

    /// Refuses to write to an element of a shared array: other threads may write it, too, or read it.
    pub(super) fn no_write_of_shared(&mut self, element: &Expr, base: &Expr) -> Lowered<()> {
        let base = peel_expr(base);
        if let Expr::Index(index) = base {
            return self.no_write_of_shared(element, &index.expr);
        }
        let shape = self.named(base).map(|local| self.types.shape(self.locals[local.0].ty));
        let Some(Shape::Shared(_)) = shape else { return Ok(()) };
        let message = format!("`{}` is written, but another thread may write or read it", text(element));
        let notes = ["a shared array is written as a whole: each element by one thread, before any reads it"];
        let help = format!(
            "write it in a phase of its own, `block.fill(&mut {0}, |i| …)`; or promise that no other does: \
             `unsafe {{ *{0}.any_mut(i) = … }}`",
            text(base)
        );
        Err(self.report(element, "TW0904", &message, &notes, &help))
    }
}
