//! What a turn takes from outside of its phase.
//!
//! A closure that borrows numbers makes the host read them anew in each turn, since a write to any memory may have
//! changed them. So a turn has copies, where all that it takes can be copied.

use std::collections::{BTreeSet, HashMap, HashSet};

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, ExprClosure, ItemFn, Local, Macro, Pat, PatIdent, Token};

use super::super::signature::{ParameterKind, Signature};
use super::super::words::Words;
use super::{is_name, variable};
use crate::groups::peel_expr;

/// The names of a kernel that phases may take.
pub(super) struct Captured {
    outside: HashMap<String, Taken>,
    /// The names that something in the kernel is given beside its parameters.
    given: HashSet<String>,
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
        let mut names = Names {
            block: signature.parameters.first().map(|parameter| &parameter.name),
            outside: parameters.collect(),
            ..Names::default()
        };
        names.visit_block(&item.block);
        Self { outside: names.outside, given: names.given }
    }

    /// What stands before a phase such that its turns can have copies of what they take; `None` if they cannot.
    pub(super) fn before_copies(&self, turn: &TokenStream) -> Option<TokenStream> {
        let taken = |word: &String| self.outside.get(word).copied();
        if Words::of(turn.clone()).names.iter().any(|word| taken(word) == Some(Taken::Borrowed)) {
            return None;
        }
        let shared = identifiers(turn.clone());
        let shared =
            shared.into_iter().filter(|name| taken(&name.unraw().to_string()) == Some(Taken::Shared));
        let shared: BTreeSet<_> = shared.collect();
        let shared = shared.iter();
        Some(quote_spanned!(Span::mixed_site()=> #(let #shared = &*#shared;)*))
    }

    /// Whether a parameter's name stands for the parameter wherever it stands.
    pub(super) fn is_only(&self, parameter: &Ident) -> bool {
        !self.given.contains(&parameter.unraw().to_string())
    }
}

fn identifiers(tokens: TokenStream) -> Vec<Ident> {
    let mut found = Vec::new();
    for token in tokens {
        match token {
            proc_macro2::TokenTree::Ident(name) => found.push(name),
            proc_macro2::TokenTree::Group(group) => found.extend(identifiers(group.stream())),
            _ => {}
        }
    }
    found
}

#[derive(Default)]
struct Names<'a> {
    block: Option<&'a Ident>,
    outside: HashMap<String, Taken>,
    given: HashSet<String>,
    /// How many closures are around.
    closures: usize,
}

impl Names<'_> {
    /// How a variable is taken, by the one statement that declares it.
    fn of_local(&self, local: &Local) -> Taken {
        if variable(local).is_some_and(|(mutable, _)| mutable.is_none()) {
            return Taken::Copied;
        }
        let Some(init) = &local.init else { return Taken::Borrowed };
        match peel_expr(&init.expr) {
            Expr::MethodCall(call)
                if (call.method == "shared" || call.method == "shared_slice")
                    && self.block.is_some_and(|block| is_name(&call.receiver, block)) =>
            {
                Taken::Shared
            }
            _ => Taken::Borrowed,
        }
    }

    fn give(&mut self, name: &Ident, taken: Taken) {
        let name = name.unraw().to_string();
        if self.closures == 0 {
            // Two of one name are told apart by their places, which is not done here.
            let taken = if self.outside.contains_key(&name) { Taken::Borrowed } else { taken };
            self.outside.insert(name.clone(), taken);
        }
        self.given.insert(name);
    }
}

impl<'a> Visit<'a> for Names<'_> {
    fn visit_local(&mut self, local: &'a Local) {
        let pattern = match &local.pat {
            Pat::Type(typed) => &*typed.pat,
            pattern => pattern,
        };
        match pattern {
            Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
                self.give(&name.ident, self.of_local(local));
                local.init.iter().for_each(|init| visit::visit_local_init(self, init));
            }
            _ => visit::visit_local(self, local),
        }
    }

    fn visit_pat_ident(&mut self, pattern: &'a PatIdent) {
        self.give(&pattern.ident, Taken::Borrowed);
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
                self.given.extend(inside.given);
            }
            Err(_) => {
                self.given
                    .extend(identifiers(call.tokens.clone()).iter().map(|name| name.unraw().to_string()));
            }
        }
    }
}
