//! Writes the phases of a kernel in blocks such that the host reads memory in order.
//!
//! A phase whose threads share a loop, `for i in t.of_grid(n)`, is taken apart: into what a thread does
//! before the loop, in a turn of it, and afterwards. The runtime then runs a turn of each thread, and the
//! next turn of each. The variables before the loop are handed from part to part by value. So a phase stays
//! whole where this could be seen: where the loop is left by a jump, where a variable is or may hold a
//! reference to another, and where two parts would borrow what one of them changes.

mod atomics;
mod captured;

use std::collections::HashSet;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ExprClosure, ExprForLoop, ExprMethodCall, ItemFn, Local, Pat, Stmt};

use self::atomics::Atomics;
use self::captured::{Captured, Captures};
use super::parts::{allowed, is_name, least};
use super::signature::{ParameterKind, Signature};
use super::words::{Words, holds_no_reference, is_indexed, referred};
use crate::codegen::many_arguments;
use crate::groups::peel_expr;

/// A kernel's function with such phases.
pub(super) struct InRounds {
    /// The function `in_rounds`.
    pub(super) twin: TokenStream,
    /// Whether the host may take several blocks through such a phase together: one has a share of the whole grid,
    /// and no block waits for another.
    pub(super) goes_together: bool,
}

/// The kernel's function with such phases; `None` if it has none.
///
/// rustc has judged the function itself, so this one says nothing of the same code.
pub(super) fn in_rounds(item: &ItemFn, signature: &Signature, private: &TokenStream) -> Option<InRounds> {
    let ParameterKind::Block(_) = signature.parameters.first()?.kind else { return None };
    // `unsafe` promises something of each thread.
    if Words::of(item.to_token_stream()).names.iter().any(|name| name == "unsafe") {
        return None;
    }
    let mut twin = item.clone();
    let (changed, atomics) = (changed(item, signature), Atomics::of(item, signature));
    let captured = Captured::of(item, signature);
    let mut parts = TakesApart {
        private,
        signature,
        changed,
        atomics,
        captured,
        depth: 0,
        in_scope: HashSet::new(),
        shares: Vec::new(),
    };
    parts.visit_block_mut(&mut twin.block);
    if parts.shares.is_empty() {
        return None;
    }
    let is_of_grid = parts.shares.contains(&ShareOf::Grid);
    let goes_together =
        is_of_grid && Atomics::of_parameters(signature).are_only_added_to(item.block.to_token_stream());
    let at = Span::mixed_site();
    let lengths = lengths(signature).map(|(name, length)| {
        let local = length_of(name);
        quote_spanned!(at=> let #local = #length;)
    });
    let (inputs, statements) = (&twin.sig.inputs, &twin.block.stmts);
    let (many, allowed) = (many_arguments(inputs.len()), allowed(item));
    let twin = quote_spanned! {at=>
        /// What one block does, with threads that take turns in loops.
        #[inline(always)]
        #[allow(warnings, clippy::all, reason = "rustc judges the function itself")]
        #(#allowed)*
        #many
        fn in_rounds(#inputs) {
            #(#lengths)*
            #(#statements)*
        }
    };
    Some(InRounds { twin, goes_together })
}

/// How many elements parameters have.
fn lengths(signature: &Signature) -> impl Iterator<Item = (&Ident, TokenStream)> {
    signature.parameters.iter().filter_map(|parameter| {
        let name = &parameter.name;
        let length = match parameter.kind {
            ParameterKind::Slice(_) => quote_spanned!(Span::mixed_site()=> #name.len()),
            ParameterKind::Own(_) | ParameterKind::Out(_) => {
                quote_spanned!(Span::mixed_site()=> (&*#name).along_x())
            }
            _ => return None,
        };
        Some((name, length))
    })
}

/// The variable that holds a parameter's length, whatever hides the parameter later.
fn length_of(parameter: &Ident) -> Ident {
    format_ident!("length_of_{}", parameter, span = Span::mixed_site())
}

/// The names outside of phases that a phase may change: by these two closures cannot have the same.
fn changed(item: &ItemFn, signature: &Signature) -> HashSet<String> {
    struct Changed(HashSet<String>);

    impl<'a> Visit<'a> for Changed {
        fn visit_local(&mut self, local: &'a Local) {
            let words = Words::of(local.to_token_stream());
            if words.names.iter().any(|name| name == "mut" || name == "private" || self.0.contains(name)) {
                self.0.extend(Words::of(local.pat.to_token_stream()).names);
            }
            visit::visit_local(self, local);
        }
    }

    let own = signature.parameters.iter().filter(|parameter| {
        parameter.mutable || matches!(parameter.kind, ParameterKind::Own(_) | ParameterKind::Out(_))
    });
    let mut changed = Changed(own.map(|parameter| parameter.name.unraw().to_string()).collect());
    changed.visit_block(&item.block);
    changed.0
}

struct TakesApart<'a> {
    private: &'a TokenStream,
    signature: &'a Signature,
    changed: HashSet<String>,
    atomics: Atomics,
    captured: Captured,
    /// The blocks around.
    depth: usize,
    /// The variables that have been declared in the function's own block.
    in_scope: HashSet<String>,
    /// Those of the phases that have been taken apart.
    shares: Vec<ShareOf>,
}

/// The threads that share the elements of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShareOf {
    Grid,
    Block,
}

impl VisitMut for TakesApart<'_> {
    fn visit_block_mut(&mut self, block: &mut Block) {
        self.depth += 1;
        visit_mut::visit_block_mut(self, block);
        self.depth -= 1;
    }

    fn visit_local_mut(&mut self, local: &mut Local) {
        visit_mut::visit_local_mut(self, local);
        if self.depth == 1 {
            self.in_scope.extend(Words::of(local.pat.to_token_stream()).names);
        }
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::MethodCall(call) = &*expr
            && let Some(apart) = self.taken_apart(call)
        {
            *expr = Expr::Verbatim(apart);
            return;
        }
        visit_mut::visit_expr_mut(self, expr);
    }
}

impl TakesApart<'_> {
    /// A phase in rounds, if it may be one.
    fn taken_apart(&mut self, call: &ExprMethodCall) -> Option<TokenStream> {
        let (private, at) = (self.private, Span::mixed_site());
        let block = &self.signature.parameters.first()?.name;
        if !is_name(&call.receiver, block) || call.turbofish.is_some() {
            return None;
        }
        let (method, combine) = match (call.method.to_string().as_str(), call.args.len()) {
            ("each", 1) => ("each_in_rounds", None),
            ("reduce", 2) => ("reduce_in_rounds", Some(&call.args[1])),
            _ => return None,
        };
        let Expr::Closure(closure) = peel_expr(&call.args[0]) else { return None };
        let phase = Phase::read(closure)?;
        if self.clash(&phase) || self.atomics.show_the_order(closure.to_token_stream()) {
            return None;
        }
        let Phase { thread, variables, before, looped, share, elements, after } = &phase;
        let names: Vec<_> = variables.iter().map(|(_, name)| name).collect();
        let taken = variables.iter().map(|(mutable, name)| quote!(#mutable #name));
        let taken = quote_spanned!(at=> (#(#taken,)*));
        let (pattern, body) = (&looped.pat, &looped.body);
        let indexed =
            || lengths(self.signature).filter(|(name, _)| is_indexed(body.to_token_stream(), name, pattern));
        let within = least(indexed().map(|(name, _)| length_of(name).to_token_stream()));
        let exists = indexed().filter(|(name, _)| self.captured.is_only(name));
        // SAFETY of the generated call: `within` is the least of lengths that are read where the kernel begins, and
        // a name that stands for nothing else stands for the same slice here.
        let exists =
            exists.map(|(_, length)| quote_spanned!(at=> unsafe { turn_of_thread.assume_within(#length) };));
        let asked = indexed().map(|(name, _)| name).filter(|name| {
            let is_before = phase.variables.iter().any(|(_, variable)| variable == name);
            *share == ShareOf::Block && !is_before && self.captured.is_slice(name)
        });
        let asked = asked.map(|name| quote_spanned!(at=> #private::ask_ahead(#name, from, elements);));
        let asked = quote_spanned!(at=> |from: usize, elements: usize| { #(#asked)* });
        let Captures { before: before_copies, takes, moved } =
            self.captured.captures(body.to_token_stream(), &self.in_scope);
        let method = Ident::new(method, at);
        self.shares.push(*share);
        let share = match share {
            ShareOf::Grid => quote_spanned!(at=> OfGrid),
            ShareOf::Block => quote_spanned!(at=> OfBlock),
        };
        // The length of what a turn changes is read before.
        let (known, elements) = match phase.is_known_before() {
            true => (Some(quote_spanned!(at=> let elements = #elements;)), quote_spanned!(at=> elements)),
            false => (None, elements.to_token_stream()),
        };
        let combine = combine.map(|combine| quote_spanned!(at=> , #combine));
        Some(quote_spanned! {at=>
            {
                #before_copies
                #known
                #block.#method(
                    #private::#share,
                    #private::#takes,
                    #within,
                    #asked,
                    |#thread| {
                        #(#before)*
                        ((#(#names,)*), #elements)
                    },
                    #moved |#taken, #thread, turn_of_thread: #private::Turn<_>| {
                        #(#exists)*
                        let #pattern = turn_of_thread.at;
                        #body
                        (#(#names,)*)
                    },
                    |#taken, #thread| {
                        #(#after)*
                    }
                    #combine
                )
            }
        })
    }

    /// Whether two closures would borrow something that one of them may change.
    fn clash(&self, phase: &Phase<'_>) -> bool {
        let of = |tokens: TokenStream| {
            let mut names: HashSet<String> = Words::of(tokens).names.into_iter().collect();
            names.retain(|name| self.changed.contains(name));
            for (_, name) in &phase.variables {
                names.remove(&name.unraw().to_string());
            }
            names
        };
        let elements = (!phase.is_known_before()).then_some(phase.elements);
        let before = phase.before;
        let before = of(quote!(#(#before)* #elements));
        let turn = of(phase.looped.body.to_token_stream());
        let after = phase.after;
        let after = of(quote!(#(#after)*));
        !before.is_disjoint(&turn) || !before.is_disjoint(&after) || !turn.is_disjoint(&after)
    }
}

/// The parts of a phase whose threads share a loop.
struct Phase<'a> {
    thread: &'a Ident,
    /// Those that the parts hand on, and whether they are `mut`.
    variables: Vec<(Option<syn::Token![mut]>, &'a Ident)>,
    before: &'a [Stmt],
    looped: &'a ExprForLoop,
    share: ShareOf,
    elements: &'a Expr,
    after: &'a [Stmt],
}

impl<'a> Phase<'a> {
    /// Whether the number of elements is the length of something outside of the phase.
    fn is_known_before(&self) -> bool {
        let is_variable = |measured: &Ident| self.variables.iter().any(|(_, name)| *name == measured);
        measured(self.elements).is_some_and(|measured| !is_variable(&measured))
    }

    fn read(closure: &'a ExprClosure) -> Option<Self> {
        let Some(Pat::Ident(thread)) = closure.inputs.first() else { return None };
        let Expr::Block(body) = &*closure.body else { return None };
        if closure.capture.is_some() || closure.inputs.len() != 1 || body.label.is_some() {
            return None;
        }
        let words = Words::of(body.to_token_stream());
        let jumps = ["return", "break", "continue", "loop", "async", "macro_rules"];
        if words.has_marks || words.names.iter().any(|name| jumps.contains(&&**name)) {
            return None;
        }
        let statements = &body.block.stmts;
        let place = statements.iter().position(|statement| !matches!(statement, Stmt::Local(_)))?;
        let (before, rest) = statements.split_at(place);
        let [Stmt::Expr(Expr::ForLoop(looped), _), after @ ..] = rest else { return None };
        let Expr::MethodCall(share) = peel_expr(&looped.expr) else { return None };
        let share_of = match share.method.to_string().as_str() {
            "of_grid" => ShareOf::Grid,
            "of_block" => ShareOf::Block,
            _ => return None,
        };
        let is_plain_pattern = matches!(&*looped.pat, Pat::Ident(_) | Pat::Wild(_));
        if share.args.len() != 1
            || !is_name(&share.receiver, &thread.ident)
            || looped.label.is_some()
            || !is_plain_pattern
        {
            return None;
        }
        let mut variables: Vec<(_, &Ident)> = Vec::new();
        for statement in before {
            let Stmt::Local(local) = statement else { return None };
            let (mutable, name) = variable(local)?;
            if *name == thread.ident || variables.iter().any(|(_, known)| *known == name) {
                return None;
            }
            variables.push((mutable, name));
        }
        let elements = &share.args[0];
        if !holds_no_reference(elements.to_token_stream()) {
            return None;
        }
        Some(Self { thread: &thread.ident, variables, before, looped, share: share_of, elements, after })
    }
}

/// The variable that a statement declares, if it is a value that holds no reference to another.
fn variable(local: &Local) -> Option<(Option<syn::Token![mut]>, &Ident)> {
    let pattern = match &local.pat {
        Pat::Type(typed) => &*typed.pat,
        pattern => pattern,
    };
    let (Pat::Ident(name), Some(init)) = (pattern, &local.init) else { return None };
    let is_plain = name.by_ref.is_none() && name.subpat.is_none() && local.attrs.is_empty();
    let is_value = init.diverge.is_none() && holds_no_reference(init.expr.to_token_stream());
    (is_plain && is_value).then_some((name.mutability, &name.ident))
}

/// What `x.len()` is the length of, which cannot fail.
fn measured(expr: &Expr) -> Option<Ident> {
    match peel_expr(expr) {
        Expr::MethodCall(call) if call.method == "len" && call.args.is_empty() => {
            match peel_expr(&call.receiver) {
                Expr::Path(path) => path.path.get_ident().cloned(),
                receiver => referred(receiver.to_token_stream()),
            }
        }
        _ => None,
    }
}
