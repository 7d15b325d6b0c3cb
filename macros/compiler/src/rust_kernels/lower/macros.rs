//! The few macros that kernels have: those that end a thread.

use proc_macro2::Span;
use quote::{ToTokens, quote};
use syn::{Expr, Lit, Macro};

use super::{Lower, Lowered, Reported};
use crate::rust_kernels::instead;
use crate::rust_kernels::ir::Kind;
use crate::rust_kernels::types::Shape;

impl Lower<'_> {
    /// `assert!`, `panic!`, `unreachable!`: the end of the thread.
    pub(super) fn macro_call(&mut self, call: &Macro, span: Span) -> Lowered {
        let names: Vec<_> = call.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let (name, before) =
            names.split_last().map(|(name, before)| (name.clone(), before)).unwrap_or_default();
        // One of that name in a module may be the user's.
        let is_of_std = matches!(before, []) || matches!(before, [root] if root == "std" || root == "core");
        match name.as_str() {
            _ if !is_of_std => {
                let what = format!("the macro `{}!`", crate::text::text(&call.path));
                Err(self.absent(&call.path, &what, instead::of_macro(&name)))
            }
            "assert" => {
                let parsed = call
                    .parse_body_with(syn::punctuated::Punctuated::<Expr, syn::Token![,]>::parse_terminated);
                let mut arguments = parsed.map(IntoIterator::into_iter).into_iter().flatten();
                let Some(mut condition) = arguments.next() else {
                    return Err(self.absent(call, "this assertion", "write `assert!(condition)`"));
                };
                let said = arguments.next();
                self.constant_text(said.as_ref())?;
                if let Some(more) = arguments.next() {
                    return Err(self.text_with_values(&more));
                }
                // Literals of the condition stand in a copy, so their types must follow without a suffix.
                let (suffixes, pins) = (self.suffixes.len(), self.pins.count());
                let lowered = self.value(&condition)?;
                self.in_a_copy(suffixes)?;
                if self.pins.count() > pins {
                    let written = crate::text::text(&condition).replace('{', "{{").replace('}', "}}");
                    let said = match said {
                        Some(said) => said.into_token_stream(),
                        None => format!("assertion failed: {written}").into_token_stream(),
                    };
                    self.pins.write_from(pins, &mut condition);
                    self.pins.arguments(call, quote!(#condition, #said));
                }
                let unit = self.types.unit();
                Ok(self.expr(Kind::Assert(Some(Box::new(lowered))), unit, span))
            }
            "panic" | "unreachable" => {
                let parsed = call
                    .parse_body_with(syn::punctuated::Punctuated::<Expr, syn::Token![,]>::parse_terminated);
                let mut arguments = parsed.map(IntoIterator::into_iter).into_iter().flatten();
                self.constant_text(arguments.next().as_ref())?;
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
    fn constant_text(&mut self, text: Option<&Expr>) -> Lowered<()> {
        match text {
            None => Ok(()),
            Some(Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. })) if !text.value().contains('{') => {
                Ok(())
            }
            Some(other) => Err(self.text_with_values(other)),
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
