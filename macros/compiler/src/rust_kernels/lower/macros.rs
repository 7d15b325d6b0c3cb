//! The few macros that kernels have: the end of a thread.

use proc_macro2::Span;
use syn::{Expr, Lit, Macro};

use super::{Lower, Lowered, Reported};
use crate::rust_kernels::instead;
use crate::rust_kernels::ir::Kind;
use crate::rust_kernels::types::Shape;

impl Lower<'_> {
    /// `assert!`, `panic!`, `unreachable!`: the end of the thread.
    pub(super) fn macro_call(&mut self, call: &Macro, span: Span) -> Lowered {
        let name = call.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        match name.as_str() {
            "assert" => {
                let parsed = call
                    .parse_body_with(syn::punctuated::Punctuated::<Expr, syn::Token![,]>::parse_terminated);
                let mut arguments = parsed.map(IntoIterator::into_iter).into_iter().flatten();
                let Some(condition) = arguments.next() else {
                    return Err(self.absent(call, "this assertion", "write `assert!(condition)`"));
                };
                self.constant_text(arguments.next())?;
                if let Some(more) = arguments.next() {
                    return Err(self.text_with_values(&more));
                }
                // Literals of the condition stand in a copy, so their types must follow without a suffix.
                let suffixes = self.suffixes.len();
                let condition = self.value(&condition)?;
                self.in_a_copy(suffixes)?;
                let unit = self.types.unit();
                Ok(self.expr(Kind::Assert(Some(Box::new(condition))), unit, span))
            }
            "panic" | "unreachable" => {
                let parsed = call
                    .parse_body_with(syn::punctuated::Punctuated::<Expr, syn::Token![,]>::parse_terminated);
                let mut arguments = parsed.map(IntoIterator::into_iter).into_iter().flatten();
                self.constant_text(arguments.next())?;
                if let Some(more) = arguments.next() {
                    return Err(self.text_with_values(&more));
                }
                let never = self.types.add(Shape::Never);
                Ok(self.expr(Kind::Assert(None), never, span))
            }
            _ => {
                let what = format!("the macro `{name}!`");
                let why: &[&str] = if name == "vec" { &[instead::NO_HEAP] } else { &[] };
                Err(self.absent_since(&call.path, &what, why, instead::of_macro(&name)))
            }
        }
    }

    /// A text without values, or none: on a GPU nobody would write them.
    fn constant_text(&mut self, text: Option<Expr>) -> Lowered<()> {
        match text {
            None => Ok(()),
            Some(Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. })) if !text.value().contains('{') => {
                Ok(())
            }
            Some(other) => Err(self.text_with_values(&other)),
        }
    }

    fn text_with_values(&mut self, at: &Expr) -> Reported {
        self.absent(at, "a text with values", "write a constant text")
    }

    /// Literals in the arguments of a macro cannot get a suffix: rustc decides by itself, and the same way,
    /// where their type follows from the other side of an operator.
    fn in_a_copy(&mut self, from: usize) -> Lowered<()> {
        for suffix in &mut self.suffixes[from..] {
            suffix.address = 0;
        }
        Ok(())
    }
}
