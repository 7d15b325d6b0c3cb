//! Writes a kernel whose threads divide their index by one number such that the host divides once a row.
//!
//! `let (row, column) = (i.get() / n, i.get() % n);` takes an index as a place in rows of `n` elements. The host goes
//! through the rows and hands both to a twin of the kernel's function. For each thread alone it would divide, and a
//! compiler can do so for one thread at a time only.

use std::collections::HashMap;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{
    Arm, BinOp, Block, Expr, ExprClosure, ExprForLoop, ExprIf, ExprIndex, ExprParen, ExprWhile, ItemFn, Lit,
    Local, Pat, PatIdent, Safety, Type, parse_quote, parse_quote_spanned, token,
};

use super::hygiene::is_same_name;
use super::parts::{allowed, is_name, least};
use super::signature::{ParameterKind, Signature};
use super::words::has_items;
use crate::codegen::many_arguments;
use crate::groups::peel_expr;

/// A kernel's function that takes its index also as a row and a column.
pub(super) struct Divided {
    /// The function `in_rows`.
    pub(super) twin: TokenStream,
    /// The elements of a row.
    pub(super) length: Expr,
    /// The slices that have an element for each row, and for each column.
    by_row: Vec<Ident>,
    by_column: Vec<Ident>,
}

impl Divided {
    /// The rows and the columns that tables have which are indexed by them: up to there loops can be fast.
    pub(super) fn within(&self, private: &TokenStream) -> TokenStream {
        let at = Span::mixed_site();
        let of = |slices: &[Ident]| least(slices.iter().map(|slice| quote_spanned!(at=> #slice.len())));
        let (row, column) = (of(&self.by_row), of(&self.by_column));
        quote_spanned!(at=> #private::RowColumn { row: #row, column: #column })
    }
}

/// The kernel's function in that form; `None` if its threads divide their index by no number that is the same for all.
///
/// rustc has judged the function itself, so this one says nothing of the same code.
pub(super) fn divided(item: &ItemFn, signature: &Signature, private: &TokenStream) -> Option<Divided> {
    let ParameterKind::Index(1) = signature.parameters.first()?.kind else { return None };
    // An item may hide any name.
    if has_items(&item.block) || matches!(item.sig.safety, Safety::Unsafe(_)) {
        return None;
    }
    let mut twin = item.clone();
    let names = signature.parameters.iter().map(|parameter| {
        let name = &parameter.name;
        let meaning = match &parameter.kind {
            _ if parameter.mutable => Meaning::Other,
            ParameterKind::Index(_) => Meaning::Index,
            ParameterKind::Slice(_) => Meaning::Slice(name.clone()),
            ParameterKind::Value(ty) if is_integer(ty) => Meaning::Uniform(parse_quote!(#name)),
            _ => Meaning::Other,
        };
        (name.unraw().to_string(), (name.clone(), meaning))
    });
    let at = Span::mixed_site();
    let position = Ident::new("row_and_column", at);
    let mut divides =
        Divides { names: names.collect(), position, length: None, by_row: Vec::new(), by_column: Vec::new() };
    divides.visit_block_mut(&mut twin.block);
    let Divides { position, length, by_row, by_column, .. } = divides;
    let length = length?;
    let (inputs, statements) = (&twin.sig.inputs, &twin.block.stmts);
    let (many, allowed) = (many_arguments(inputs.len() + 1), allowed(item));
    let twin = quote_spanned! {at=>
        /// What one thread does, with the quotient and the remainder of its index.
        #[inline(always)]
        #[allow(warnings, clippy::all, reason = "rustc judges the function itself")]
        #(#allowed)*
        #many
        fn in_rows(#position: #private::RowColumn, #inputs) {
            #(#statements)*
        }
    };
    Some(Divided { twin, length, by_row, by_column })
}

/// What a name or an expression stands for.
#[derive(Clone)]
enum Meaning {
    /// The thread's `Index`.
    Index,
    /// The index as a number.
    Number,
    /// Its quotient.
    Row,
    /// Its remainder.
    Column,
    /// A number that is the same for all threads, as an expression of the kernel's parameters and of constants.
    Uniform(Expr),
    /// A slice that is a parameter.
    Slice(Ident),
    Other,
}

/// Puts a row and a column in place of divisions.
struct Divides {
    /// The names of parameters and variables at this place of the function, as they were declared.
    names: HashMap<String, (Ident, Meaning)>,
    /// The parameter of the twin that has the quotient and the remainder.
    position: Ident,
    /// The first number that the index is divided by: the length of a row.
    length: Option<Expr>,
    /// The slices that are indexed by the row, and by the column.
    by_row: Vec<Ident>,
    by_column: Vec<Ident>,
}

impl Divides {
    /// What an expression stands for. Divisions have been replaced before.
    fn meaning(&self, expr: &Expr) -> Meaning {
        match peel_expr(expr) {
            // Without a suffix it may have another type where it stands alone.
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) if !number.suffix().is_empty() => Meaning::Uniform(peel_expr(expr).clone()),
                _ => Meaning::Other,
            },
            Expr::Path(path) if path.qself.is_none() => match path.path.get_ident() {
                Some(name) => match self.names.get(&name.unraw().to_string()) {
                    Some((declared, meaning)) if is_same_name(declared, name) => meaning.clone(),
                    // Of a macro's names and others that are written alike, the last one alone is known.
                    Some(_) => Meaning::Other,
                    None => Meaning::Uniform(peel_expr(expr).clone()),
                },
                None => Meaning::Uniform(peel_expr(expr).clone()),
            },
            Expr::MethodCall(call) if is_name(&call.receiver, &self.position) => match call.method == "row" {
                true => Meaning::Row,
                false => Meaning::Column,
            },
            Expr::MethodCall(call) if call.args.is_empty() => {
                match (self.meaning(&call.receiver), call.method.to_string().as_str()) {
                    (Meaning::Index, "get") => Meaning::Number,
                    (Meaning::Slice(slice), "len") => Meaning::Uniform(parse_quote!(#slice.len())),
                    _ => Meaning::Other,
                }
            }
            Expr::Cast(cast) if is_integer(&cast.ty) => match self.meaning(&cast.expr) {
                Meaning::Uniform(number) => {
                    let ty = &cast.ty;
                    Meaning::Uniform(parse_quote!((#number as #ty)))
                }
                _ => Meaning::Other,
            },
            _ => Meaning::Other,
        }
    }

    /// The number that an index is divided by, if all threads have the same.
    fn divisor(&self, divided: &Expr, by: &Expr) -> Option<Expr> {
        let (Meaning::Number, Meaning::Uniform(by)) = (self.meaning(divided), self.meaning(by)) else {
            return None;
        };
        // By a power of two a compiler divides in a vector.
        if let Expr::Lit(number) = &by
            && let Lit::Int(number) = &number.lit
            && number.base10_parse::<usize>().ok()?.is_power_of_two()
        {
            return None;
        }
        let same = |length: &Expr| length.to_token_stream().to_string() == by.to_token_stream().to_string();
        self.length.as_ref().is_none_or(same).then_some(by)
    }

    /// The names of a pattern stand for other things from here on.
    fn bind(&mut self, pattern: &Pat) {
        let mut names = Names(Vec::new());
        names.visit_pat(pattern);
        let other = |name: Ident| (name.unraw().to_string(), (name, Meaning::Other));
        self.names.extend(names.0.into_iter().map(other));
    }

    /// A variable's pattern stands for its value. Those of a tuple have their own.
    fn bind_to(&mut self, pattern: &Pat, value: &Expr) {
        match (pattern, peel_expr(value)) {
            (Pat::Type(typed), _) => self.bind_to(&typed.pat, value),
            (Pat::Paren(inner), _) => self.bind_to(&inner.pat, value),
            (Pat::Tuple(patterns), Expr::Tuple(values)) if patterns.elems.len() == values.elems.len() => {
                // All of the values are from before.
                let known: Vec<_> = values.elems.iter().map(|value| self.meaning(value)).collect();
                self.bind(pattern);
                for (pattern, meaning) in patterns.elems.iter().zip(known) {
                    self.name(pattern, meaning);
                }
            }
            _ => {
                let meaning = self.meaning(value);
                self.bind(pattern);
                self.name(pattern, meaning);
            }
        }
    }

    fn name(&mut self, pattern: &Pat, meaning: Meaning) {
        if let Pat::Ident(name) = pattern
            && name.mutability.is_none()
            && name.by_ref.is_none()
            && name.subpat.is_none()
        {
            self.names.insert(name.ident.unraw().to_string(), (name.ident.clone(), meaning));
        }
    }

    /// Visits something whose names end with it.
    fn within(&mut self, visit: impl FnOnce(&mut Self)) {
        let before = self.names.clone();
        visit(self);
        self.names = before;
    }
}

impl VisitMut for Divides {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        let Expr::Binary(binary) = &*expr else { return };
        let part = match binary.op {
            BinOp::Div(_) => "row",
            BinOp::Rem(_) => "column",
            _ => return,
        };
        if let Some(by) = self.divisor(&binary.left, &binary.right) {
            let (position, part) = (&self.position, Ident::new(part, Span::mixed_site()));
            // A division is a value. What follows from it fails at its line, which parentheses have.
            let value = parse_quote_spanned!(Span::mixed_site()=> #position.#part());
            *expr = Expr::Paren(ExprParen {
                attrs: Vec::new(),
                paren_token: token::Paren(binary.span()),
                expr: Box::new(value),
            });
            self.length = Some(by);
        }
    }

    fn visit_expr_index_mut(&mut self, element: &mut ExprIndex) {
        visit_mut::visit_expr_index_mut(self, element);
        let Meaning::Slice(slice) = self.meaning(&element.expr) else { return };
        match self.meaning(&element.index) {
            Meaning::Row => self.by_row.push(slice),
            Meaning::Column => self.by_column.push(slice),
            _ => {}
        }
    }

    fn visit_local_mut(&mut self, local: &mut Local) {
        visit_mut::visit_local_mut(self, local);
        match &local.init {
            Some(init) if init.diverge.is_none() => self.bind_to(&local.pat, &init.expr),
            _ => self.bind(&local.pat),
        }
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        self.within(|this| visit_mut::visit_block_mut(this, block));
    }

    fn visit_arm_mut(&mut self, arm: &mut Arm) {
        self.within(|this| {
            this.bind(&arm.pat);
            visit_mut::visit_arm_mut(this, arm);
        });
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut ExprClosure) {
        self.within(|this| {
            closure.inputs.iter().for_each(|input| this.bind(input));
            visit_mut::visit_expr_closure_mut(this, closure);
        });
    }

    fn visit_expr_for_loop_mut(&mut self, looped: &mut ExprForLoop) {
        self.visit_expr_mut(&mut looped.expr);
        self.within(|this| {
            this.bind(&looped.pat);
            this.visit_block_mut(&mut looped.body);
        });
    }

    /// `if let`, also in chains: its names are known from its condition on.
    fn visit_expr_if_mut(&mut self, choice: &mut ExprIf) {
        self.within(|this| visit_mut::visit_expr_if_mut(this, choice));
    }

    fn visit_expr_while_mut(&mut self, looped: &mut ExprWhile) {
        self.within(|this| visit_mut::visit_expr_while_mut(this, looped));
    }

    fn visit_expr_let_mut(&mut self, condition: &mut syn::ExprLet) {
        visit_mut::visit_expr_let_mut(self, condition);
        self.bind(&condition.pat);
    }
}

/// The names that a pattern declares.
struct Names(Vec<Ident>);

impl<'a> Visit<'a> for Names {
    fn visit_pat_ident(&mut self, pattern: &'a PatIdent) {
        self.0.push(pattern.ident.clone());
        visit::visit_pat_ident(self, pattern);
    }
}

fn is_integer(ty: &Type) -> bool {
    let names = ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize"];
    matches!(ty, Type::Path(path) if names.iter().any(|name| path.path.is_ident(name)))
}
