//! What a `for` goes over: ranges of numbers, and the elements of slices and arrays.

use syn::spanned::Spanned;
use syn::{Expr, ExprForLoop, ExprMethodCall, Pat, RangeLimits};

use super::{Lower, Lowered, Reported};
use crate::groups::peel_expr;
use crate::rust_kernels::attribute::unrolled;
use crate::rust_kernels::ir::{
    self, Binary, Block, Kind, LocalId, LoopId, Pattern, Range, Statement, Unroll,
};
use crate::rust_kernels::methods::Method;
use crate::rust_kernels::types::{Number, Shape, Ty};
use crate::text::text;

/// What stands behind `in`, without the adapters.
struct Adapted<'a> {
    over: &'a Expr,
    reversed: bool,
    step: Option<&'a Expr>,
    enumerated: bool,
    /// The elements are counted in the order in which they come, the last one first.
    counts_reversed: bool,
    /// The `iter` behind what it goes over.
    iter: Option<&'a ExprMethodCall>,
}

impl Lower<'_> {
    pub(super) fn for_loop(&mut self, of: &ExprForLoop) -> Lowered<Kind> {
        let outside = self.scope.len();
        let lowered = self.for_in_scope(of);
        self.scope.truncate(outside);
        lowered
    }

    fn for_in_scope(&mut self, of: &ExprForLoop) -> Lowered<Kind> {
        if let Some(share) = self.for_share(of, &of.expr)? {
            return Ok(share);
        }
        if let Some(parts) = self.for_parts(of)? {
            return Ok(parts);
        }
        let adapted = adapted(&of.expr);
        let Adapted { over, reversed, step, enumerated, .. } = adapted;
        if let Expr::Range(range) = over {
            if enumerated {
                return Err(self.absent(
                    &of.expr,
                    "`enumerate` of a range",
                    "count in a variable of its own",
                ));
            }
            return self.for_range(of, range, reversed, step);
        }
        if let Some(step) = step {
            let help = "go over a range of indices, and compute from them what is reversed";
            return Err(self.absent(step, "`step_by` of anything but a range", help));
        }
        self.for_elements(of, adapted)
    }

    fn for_range(
        &mut self,
        of: &ExprForLoop,
        range: &syn::ExprRange,
        reversed: bool,
        step: Option<&Expr>,
    ) -> Lowered<Kind> {
        let (Some(from), Some(to)) = (&range.start, &range.end) else {
            return Err(self.absent(
                range,
                "a loop over a range without an end",
                "write both ends, or use `loop`",
            ));
        };
        let (from, to) = (self.value(from)?, self.value(to)?);
        self.types.unify(from.ty, to.ty);
        let step = match step {
            Some(step) => {
                let value = self.value(step)?;
                let usize = self.types.number(Number::Usize);
                self.types.unify(value.ty, usize);
                if reversed || matches!(range.limits, RangeLimits::Closed(_)) {
                    let what = "`step_by` of a range that is reversed or includes its end";
                    return Err(self.absent(step, what, "compute the number from an index"));
                }
                Some(value)
            }
            None => None,
        };
        let inclusive = matches!(range.limits, RangeLimits::Closed(_));
        let ty = self.types.value(from.ty);
        let name = self.loop_variable(&of.pat, ty)?;
        let (id, body) = self.loop_body(of)?;
        let range = Range { from, to, inclusive, reversed, step, fits: false, unroll: unroll(of) };
        Ok(Kind::For(id, name, Box::new(range), body))
    }

    /// `for x in slice`: a loop over the indices, each of which exists.
    fn for_elements(
        &mut self,
        of: &ExprForLoop,
        Adapted { over, reversed, enumerated, counts_reversed, iter, .. }: Adapted<'_>,
    ) -> Lowered<Kind> {
        let span = of.for_token.span;
        if let Expr::MethodCall(call) = peel_expr(over)
            && !self.is_of_elements(&call.receiver)
        {
            return Err(self.no_adapter(call));
        }
        let mut elements = self.receiver(over, true)?;
        match self.types.shape(elements.ty) {
            Shape::Reported => return Err(Reported),
            Shape::Elements { .. } => return Err(self.all_elements(over, over)),
            _ => {}
        }
        let Some(element) = self.types.element(elements.ty) else {
            if let Kind::Constant(_) = elements.kind {
                let why = ["`#[kernel]` does not see whether it is an array or a reference to one"];
                let help =
                    format!("go over its indices: `for j in 0..{0}.len() {{ … {0}[j] … }}`", text(over));
                return Err(self.absent_since(over, "a loop over a constant", &why, &help));
            }
            let help = "go over a range, a slice or an array, with `rev`, `step_by` or `enumerate`";
            return Err(self.absent(over, "this iterator", help));
        };
        self.array_of(elements.ty, over.span());
        // An array that is taken by value gives its elements by value.
        let is_array = matches!(self.types.shape(elements.ty), Shape::Array(..) | Shape::Named(_));
        let by_value = is_array && iter.is_none();
        if let (true, Some(iter)) = (is_array, iter) {
            self.pin_slice(iter);
            let (ty, span) = (self.types.add(Shape::Ref(elements.ty, false)), over.span());
            elements = self.expr(Kind::Ref(Box::new(elements)), ty, span);
        }
        // `for x in &mut array` lends each element to be changed.
        let changes = iter.is_none() && matches!(self.types.shape(elements.ty), Shape::Ref(_, true));
        let usize = self.types.number(Number::Usize);
        let all = self.hidden("all", elements.ty, over.span());
        let at = self.hidden("at", usize, span);
        let local = |lower: &Self, id: LocalId| lower.expr(Kind::Local(id), lower.locals[id.0].ty, span);
        let from = self.expr(Kind::Integer(0), usize, span);
        let len = Kind::Method(Method::Len, Box::new(local(self, all)), Vec::new());
        let to = self.expr(len, usize, span);
        let found = Kind::Element(Box::new(local(self, all)), Box::new(local(self, at)));
        let found = self.expr(found, element, span);
        let found = if by_value {
            found
        } else {
            let ty = self.types.add(Shape::Ref(element, changes));
            self.expr(Kind::Ref(Box::new(found)), ty, span)
        };
        let pattern = if enumerated {
            let Pat::Tuple(pair) = &*of.pat else {
                return Err(self.absent(&of.pat, "this pattern", "write `(i, x)`"));
            };
            let [index, value] = [0, 1].map(|part| pair.elems.get(part));
            let (Some(index), Some(value)) = (index, value) else {
                return Err(self.absent(&of.pat, "this pattern", "write `(i, x)`"));
            };
            let index = self.pattern(index, usize)?;
            let mut count = local(self, at);
            if counts_reversed {
                let len = Kind::Method(Method::Len, Box::new(local(self, all)), Vec::new());
                let len = self.expr(len, usize, span);
                let one = self.expr(Kind::Integer(1), usize, span);
                let last = Kind::Binary(Binary::Subtract, Box::new(len), Box::new(one));
                let last = self.expr(last, usize, span);
                count =
                    self.expr(Kind::Binary(Binary::Subtract, Box::new(last), Box::new(count)), usize, span);
            }
            vec![Statement::Let(index, count), self.bind_element(value, found)?]
        } else {
            vec![self.bind_element(&of.pat, found)?]
        };
        let (id, Block { mut statements, value }) = self.loop_body(of)?;
        statements.splice(0..0, pattern);
        let body = Block { statements, value };
        let range =
            Range { from, to, inclusive: false, reversed, step: None, fits: false, unroll: unroll(of) };
        let unit = self.types.unit();
        let turns = self.expr(Kind::For(id, at, Box::new(range), body), unit, span);
        Ok(Kind::Block(Block {
            statements: vec![Statement::Let(Pattern::Name(all), elements), Statement::Expr(turns)],
            value: None,
        }))
    }

    /// Whether it is the name of an `Own` or `Out`.
    fn is_of_elements(&self, expr: &Expr) -> bool {
        let of = self.named(expr).map(|local| self.types.shape(self.locals[local.0].ty));
        matches!(of, Some(Shape::Elements { .. }))
    }

    /// Refuses an adapter that loops do not have, or have in another place.
    fn no_adapter(&mut self, call: &ExprMethodCall) -> Reported {
        let name = call.method.to_string();
        let what = match name.as_str() {
            "rev" | "enumerate" | "step_by" => format!("`{name}` in this place of a loop"),
            _ => format!("a loop over `{name}`"),
        };
        let help = match name.as_str() {
            "copied" | "cloned" => "leave it out, and write `for &x in xs`, or `*x`",
            "into_iter" => "leave it out: `for x in xs`",
            "iter_mut" => "write `for x in &mut xs`",
            "skip" | "take" | "zip" | "chain" | "map" | "filter" => {
                "go over a range of indices: `for i in 1..x.len() { … }`"
            }
            "windows" | "chunks" | "chunks_exact" => "take the parts in a loop: `&x[from..to]`",
            _ => "go over a range, a slice or an array, with `rev`, `step_by` or `enumerate`, each once",
        };
        self.absent(&call.method, &what, help)
    }

    /// Binds the element to `x`, or to `&x`, which takes the value out of the reference.
    fn bind_element(&mut self, pattern: &Pat, found: ir::Expr) -> Lowered<Statement> {
        match (pattern, found) {
            (Pat::Reference(reference), ir::Expr { kind: Kind::Ref(value), .. }) => {
                Ok(Statement::Let(self.pattern(&reference.pat, value.ty)?, *value))
            }
            (pattern, found) => Ok(Statement::Let(self.pattern(pattern, found.ty)?, found)),
        }
    }

    /// The variable of a loop that counts, or goes over tiles.
    pub(super) fn loop_variable(&mut self, pattern: &Pat, ty: Ty) -> Lowered<LocalId> {
        match pattern {
            Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
                Ok(self.declare(&name.ident, ty, name.mutability.is_some()))
            }
            Pat::Wild(wild) => Ok(self.hidden("turn", ty, wild.span())),
            other => Err(self.absent(other, "this pattern", "write a name")),
        }
    }

    pub(super) fn loop_body(&mut self, of: &ExprForLoop) -> Lowered<(LoopId, Block)> {
        let id = self.enter(of.label.as_ref(), false);
        let body = self.block(&of.body);
        self.leave();
        Ok((id, body?))
    }

    /// A local that the user has not named.
    pub(super) fn hidden(&mut self, name: &str, ty: Ty, span: proc_macro2::Span) -> LocalId {
        let local =
            ir::Local { name: name.to_owned(), cpp: self.names.unique(name), ty, mutable: false, span };
        self.locals.push(local);
        LocalId(self.locals.len() - 1)
    }
}

/// What the loop's `#[unroll]` says, if it has one.
pub(super) fn unroll(of: &ExprForLoop) -> Option<Unroll> {
    let attribute = of.attrs.iter().find(|attribute| attribute.path().is_ident("unroll"))?;
    unrolled(attribute)
}

/// Takes the adapters off an iterator.
fn adapted(iterator: &Expr) -> Adapted<'_> {
    let mut found = Adapted {
        over: iterator,
        reversed: false,
        step: None,
        enumerated: false,
        counts_reversed: false,
        iter: None,
    };
    loop {
        match found.over {
            Expr::Paren(paren) => found.over = &paren.expr,
            Expr::Group(group) => found.over = &group.expr,
            Expr::MethodCall(call @ ExprMethodCall { method, receiver, args, .. }) => {
                match (method.to_string().as_str(), args.first()) {
                    // Only in this order do they have the meaning that the loop gives them.
                    ("rev", None) if !found.reversed && found.step.is_none() => {
                        found.reversed = true;
                        // It stands before.
                        found.counts_reversed = found.enumerated;
                    }
                    ("step_by", Some(step)) if found.step.is_none() => found.step = Some(step),
                    ("enumerate", None) if !found.enumerated && found.step.is_none() => {
                        found.enumerated = true;
                    }
                    ("iter", None) => found.iter = Some(call),
                    _ => return found,
                }
                found.over = receiver;
            }
            _ => return found,
        }
    }
}
