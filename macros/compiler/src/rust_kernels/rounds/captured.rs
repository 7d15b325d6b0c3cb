//! What a turn takes from outside of its phase.
//!
//! A closure that borrows numbers makes the host read them anew in each turn, since a write to any memory may have
//! changed them. So a turn has copies, where all that it takes can be copied.

use std::collections::{BTreeMap, HashMap, HashSet};

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::quote_spanned;
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, ExprClosure, ExprMethodCall, ItemFn, Local, Macro, Pat, PatIdent, Token};

use super::super::parts::is_name;
use super::super::signature::{ParameterKind, Signature};
use super::super::words::{Words, has_items};
use super::variable;
use crate::groups::peel_expr;

/// The names of a kernel that phases may take.
pub(super) struct Captured {
    outside: HashMap<String, Taken>,
    /// Names that the kernel declares beside its parameters, and parameters that it changes.
    declared: HashSet<String>,
    slices: Slices,
    /// Whether it has items, such as constants, whose names may hide any other.
    has_items: bool,
}

/// How a name outside of all phases is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// It can be copied.
    Copied,
    /// It is an array or a slice in shared memory, of which phases read elements or change atomics.
    Shared,
    /// It is borrowed.
    Borrowed,
}

/// How a phase has its closure for turns.
pub(super) struct Captures {
    /// What stands before the phase.
    pub(super) before: TokenStream,
    /// The name of what tells the runtime so.
    pub(super) takes: TokenStream,
    /// `move`, if the closure has copies.
    pub(super) moved: TokenStream,
}

impl Captured {
    pub(super) fn of(item: &ItemFn, signature: &Signature) -> Self {
        let parameters = signature.parameters.iter().map(|parameter| {
            let is_copied = matches!(
                parameter.kind,
                ParameterKind::Slice(_) | ParameterKind::Atomics(_) | ParameterKind::Value(_)
            );
            let taken = if is_copied && !parameter.mutable { Taken::Copied } else { Taken::Borrowed };
            (parameter.name.unraw().to_string(), taken)
        });
        let changed = signature.parameters.iter().filter(|parameter| parameter.mutable);
        let mut names = Names {
            block: signature.parameters.first().map(|parameter| &parameter.name),
            outside: parameters.collect(),
            declared: changed.map(|parameter| parameter.name.unraw().to_string()).collect(),
            slices: Slices::of(signature),
            is_of_parts: false,
            closures: 0,
        };
        names.visit_block(&item.block);
        let Names { outside, declared, slices, .. } = names;
        Self { outside, declared, slices, has_items: has_items(&item.block) }
    }

    /// How a phase has this turn, if variables of these names are in scope before it.
    pub(super) fn captures(&self, turn: TokenStream, in_scope: &HashSet<String>) -> Captures {
        let at = Span::mixed_site();
        let by_reference = Captures {
            before: TokenStream::new(),
            takes: quote_spanned!(at=> ByReference),
            moved: TokenStream::new(),
        };
        if self.has_items {
            return by_reference;
        }
        let mut shared = BTreeMap::new();
        for name in paths(turn) {
            let said = name.unraw().to_string();
            match self.outside.get(&said) {
                Some(Taken::Borrowed) => return by_reference,
                Some(Taken::Shared) if in_scope.contains(&said) => drop(shared.insert(said, name)),
                _ => {}
            }
        }
        let shared = shared.values();
        Captures {
            before: quote_spanned!(at=> #(let #shared = &*#shared;)*),
            takes: quote_spanned!(at=> ByCopy),
            moved: quote_spanned!(at=> move),
        }
    }

    /// Whether a parameter's name stands for a slice, which may be a part of what the launch has passed, wherever it stands.
    pub(super) fn is_slice(&self, parameter: &Ident) -> bool {
        !self.has_items && self.slices.has(&parameter.unraw().to_string())
    }

    /// Whether a parameter's name stands for what the launch has passed, wherever it stands.
    pub(super) fn is_only(&self, parameter: &Ident) -> bool {
        !self.has_items && !self.declared.contains(&parameter.unraw().to_string())
    }
}

/// Parameters that are slices, and their names.
#[derive(Default)]
struct Slices {
    parameters: HashSet<String>,
    /// Names that are declared as parts of others, `let x = &x[first..end]`, and these.
    parts: Vec<(String, String)>,
    /// Names that are declared in another way.
    others: HashSet<String>,
}

impl Slices {
    fn of(signature: &Signature) -> Self {
        let slices = signature
            .parameters
            .iter()
            .filter(|parameter| matches!(parameter.kind, ParameterKind::Slice(_)) && !parameter.mutable);
        let parameters = slices.map(|parameter| parameter.name.unraw().to_string()).collect();
        Self { parameters, ..Self::default() }
    }

    /// Whether a parameter's name stands for a slice, or for a part of one, wherever it stands.
    fn has(&self, name: &str) -> bool {
        let is_slice = |name: &str| self.parameters.contains(name) && !self.others.contains(name);
        is_slice(name) && self.parts.iter().all(|(part, of)| part != name || is_slice(of))
    }

    /// The name that is declared, if it is as a part of another, and that.
    fn part(pattern: &Pat, init: &Expr) -> Option<(String, String)> {
        let (Pat::Ident(name), Expr::Reference(reference)) = (pattern, peel_expr(init)) else { return None };
        let Expr::Index(part) = peel_expr(&reference.expr) else { return None };
        let (Expr::Path(of), Expr::Range(_)) = (peel_expr(&part.expr), peel_expr(&part.index)) else {
            return None;
        };
        let is_plain = name.by_ref.is_none() && name.mutability.is_none() && name.subpat.is_none();
        let is_shared = reference.mutability.is_none();
        let of = of.path.get_ident().filter(|_| is_plain && is_shared)?;
        Some((name.ident.unraw().to_string(), of.unraw().to_string()))
    }

    /// Notes what a statement declares, if it is only parts of others.
    fn note(&mut self, local: &Local) -> bool {
        let Some(init) = local.init.as_ref().filter(|init| init.diverge.is_none()) else { return false };
        let parts = match (&local.pat, peel_expr(&init.expr)) {
            (Pat::Tuple(names), Expr::Tuple(values)) if names.elems.len() == values.elems.len() => {
                names.elems.iter().zip(&values.elems).map(|(name, value)| Self::part(name, value)).collect()
            }
            (name, value) => Self::part(name, value).map(|part| vec![part]),
        };
        parts.is_some_and(|parts: Vec<_>| {
            self.parts.extend(parts);
            true
        })
    }
}

/// The names in some code, but for those of fields and methods.
fn paths(tokens: TokenStream) -> Vec<Ident> {
    let (mut found, mut dots) = (Vec::new(), 0);
    for token in tokens {
        dots = match token {
            TokenTree::Punct(mark) if mark.as_char() == '.' => dots + 1,
            TokenTree::Ident(name) => {
                // Two dots are a range.
                if dots != 1 {
                    found.push(name);
                }
                0
            }
            TokenTree::Group(group) => {
                found.extend(paths(group.stream()));
                0
            }
            _ => 0,
        };
    }
    found
}

#[derive(Default)]
struct Names<'a> {
    block: Option<&'a Ident>,
    outside: HashMap<String, Taken>,
    declared: HashSet<String>,
    slices: Slices,
    /// Whether the statement declares parts of slices.
    is_of_parts: bool,
    /// How many closures are around.
    closures: usize,
}

impl Names<'_> {
    /// How a variable is taken, by the one statement that declares it.
    fn of_local(&self, local: &Local) -> Taken {
        let Some(init) = &local.init else { return Taken::Borrowed };
        match peel_expr(&init.expr) {
            Expr::MethodCall(call)
                if (call.method == "shared" || call.method == "shared_slice")
                    && self.block.is_some_and(|block| is_name(&call.receiver, block)) =>
            {
                Taken::Shared
            }
            // What a method of the block gives may be no number: `block.private::<f32>(0.0)`.
            init if has_turbofish(init) => Taken::Borrowed,
            _ => match variable(local) {
                Some((None, _)) => Taken::Copied,
                _ => Taken::Borrowed,
            },
        }
    }

    fn declare(&mut self, name: &Ident, taken: Taken) {
        let name = name.unraw().to_string();
        if self.closures == 0 {
            // Two of one name are told apart by their places, which is not done here.
            let taken = if self.outside.contains_key(&name) { Taken::Borrowed } else { taken };
            self.outside.insert(name.clone(), taken);
        }
        if !self.is_of_parts {
            self.slices.others.insert(name.clone());
        }
        self.declared.insert(name);
    }
}

impl<'a> Visit<'a> for Names<'_> {
    fn visit_local(&mut self, local: &'a Local) {
        self.is_of_parts = self.slices.note(local);
        let pattern = match &local.pat {
            Pat::Type(typed) => &*typed.pat,
            pattern => pattern,
        };
        match pattern {
            Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
                self.declare(&name.ident, self.of_local(local));
                local.init.iter().for_each(|init| visit::visit_local_init(self, init));
            }
            _ => visit::visit_local(self, local),
        }
        self.is_of_parts = false;
    }

    fn visit_pat_ident(&mut self, pattern: &'a PatIdent) {
        self.declare(&pattern.ident, Taken::Borrowed);
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_expr_closure(&mut self, closure: &'a ExprClosure) {
        self.closures += 1;
        visit::visit_expr_closure(self, closure);
        self.closures -= 1;
    }

    /// `assert!` and its like have expressions. What another macro declares is not known.
    fn visit_macro(&mut self, call: &'a Macro) {
        let arguments = call.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
        match arguments {
            Ok(arguments) => {
                let mut inside = Names { closures: 1, ..Names::default() };
                arguments.iter().for_each(|argument| inside.visit_expr(argument));
                self.slices.others.extend(inside.slices.others);
                self.declared.extend(inside.declared);
            }
            Err(_) => {
                let names = Words::of(call.tokens.clone()).names;
                self.slices.others.extend(names.iter().cloned());
                self.declared.extend(names);
            }
        }
    }
}

fn has_turbofish(expr: &Expr) -> bool {
    struct Found(bool);
    impl<'a> Visit<'a> for Found {
        fn visit_expr_method_call(&mut self, call: &'a ExprMethodCall) {
            self.0 |= call.turbofish.is_some();
            visit::visit_expr_method_call(self, call);
        }
    }
    let mut found = Found(false);
    found.visit_expr(expr);
    found.0
}
