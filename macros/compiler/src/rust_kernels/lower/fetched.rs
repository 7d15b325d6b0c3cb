//! Fills in two halves: what a block fetches ahead, and writes later.

use syn::visit::{self, Visit};
use syn::{Expr, ExprMethodCall};

use super::{Lower, Lowered, Reported};
use crate::rust_kernels::ir::{Kind, Phase};
use crate::rust_kernels::types::{Shape, Ty};
use crate::text::text;

/// The two halves, and how they are called.
pub(super) const FETCHES: [(&str, &str); 3] = [
    ("fetch", "fetch::<[f32; 256]>(|i| …)"),
    ("fetch_columns", "fetch_columns::<[[f32; 32]; 8]>(|[r, c]| …)"),
    ("fill_fetched", "fill_fetched(&mut tile, &fetched)"),
];

impl Lower<'_> {
    /// A half of a fill, if the method of a block is one and has its arguments.
    pub(super) fn half_of_fill(
        &mut self,
        call: &ExprMethodCall,
        arguments: &[&Expr],
    ) -> Lowered<Option<(Kind, Ty)>> {
        match (call.method.to_string().as_str(), arguments) {
            ("fetch" | "fetch_columns", [value]) => self.fetch(call, value).map(Some),
            ("fill_fetched", [array, fetched]) => {
                let (local, ..) = self.filled(array)?;
                let place = match fetched {
                    Expr::Reference(reference) if reference.mutability.is_none() => Some(&*reference.expr),
                    _ => None,
                };
                let value = place.map(|place| self.value(place)).transpose()?;
                match value.map(|value| (self.types.shape(value.ty).clone(), value)) {
                    Some((Shape::Fetched { .. }, value)) => {
                        let phase = Phase::FillFetched(local, value);
                        Ok(Some((Kind::Phase(Box::new(phase)), self.types.unit())))
                    }
                    Some((Shape::Reported, _)) => Err(Reported),
                    _ => {
                        let what = "this is nothing that a block has fetched";
                        let help = format!("pass what `{}.fetch` has given: `&fetched`", self.index_name);
                        Err(self.report(fetched, "TW0911", what, &[], &help))
                    }
                }
            }
            _ => Ok(None),
        }
    }

    /// `block.fetch::<[f32; 256]>(|i| …)`
    fn fetch(&mut self, call: &ExprMethodCall, value: &Expr) -> Lowered<(Kind, Ty)> {
        let Some(threads) = self.threads else {
            let what = format!("`{}` needs to know the number of threads", call.method);
            let notes = ["each thread has its share of what is fetched in registers"];
            let help = "write how many threads each block has: `#[kernel(threads = 256)]`";
            return Err(self.report(&call.method, "TW0911", &what, &notes, help));
        };
        let written = call.turbofish.as_ref().and_then(|generics| match generics.args.first() {
            Some(syn::GenericArgument::Type(ty)) => Some(ty),
            _ => None,
        });
        let Some(ty) = written else {
            let what = "the type of the array that is fetched must be written";
            let help = format!("write it: `{}.{}::<[[f32; 32]; 8]>(…)`", text(&call.receiver), call.method);
            return Err(self.report(&call.method, "TW0911", what, &[], &help));
        };
        let array = self.array_of_elements(ty)?;
        let Some((at, element)) = self.places_of(array) else { return Err(Reported) };
        let closure = self.phase(value, &[at], element)?;
        let in_order = self.reads_what_changes(value);
        let columns = call.method == "fetch_columns";
        let fetched = self.types.add(Shape::Fetched { of: array, threads, columns });
        Ok((Kind::Phase(Box::new(Phase::Fetch { of: array, closure, in_order })), fetched))
    }

    /// Whether threads of the block may write what the closure reads, in the phase after it.
    fn reads_what_changes(&self, closure: &Expr) -> bool {
        let mut found = Changing { lower: self, found: false };
        found.visit_expr(closure);
        found.found
    }

    fn may_change(&self, ty: Ty) -> bool {
        match *self.types.shape(ty) {
            // A closure reads whatever it has captured.
            Shape::Shared(_) | Shape::Elements { .. } | Shape::Atomic(_) | Shape::Closure(_) => true,
            Shape::Slice(of)
            | Shape::Ref(of, _)
            | Shape::Option(of)
            | Shape::Array(of, _)
            | Shape::Private(of) => self.may_change(of),
            Shape::Tuple(ref parts) => parts.iter().any(|&part| self.may_change(part)),
            _ => false,
        }
    }
}

/// Looks for names of what other threads write.
struct Changing<'l, 'e> {
    lower: &'l Lower<'e>,
    found: bool,
}

impl<'ast> Visit<'ast> for Changing<'_, '_> {
    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let local = path.path.get_ident().and_then(|name| self.lower.find(name));
        self.found |= local.is_some_and(|local| self.lower.may_change(self.lower.locals[local.0].ty));
    }

    /// What stands in one is not known here.
    fn visit_macro(&mut self, of: &'ast syn::Macro) {
        self.found = true;
        visit::visit_macro(self, of);
    }
}
