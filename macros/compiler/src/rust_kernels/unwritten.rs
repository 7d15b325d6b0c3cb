//! Elements of an `Out` that are read before they are written.
//!
//! A kernel has the element of an `Out` to write it: what lies there before is whatever the memory held. So the
//! element is followed as rustc follows a variable without a value. A loop counts as one that turns at least once,
//! a part of an element that is written as all of it, and a function that gets the element as one that writes it.

use std::collections::BTreeSet;

use proc_macro2::Span;

use super::errors::{Errors, error};
use super::ir::{Block, Condition, Expr, Filled, Function, Kind, LocalId, LoopId, Phase, Range, Statement};
use super::methods::Method;
use super::types::{Shape, Types};

/// Reports each element that is read too early, once.
pub(super) fn check(function: &Function, types: &Types, errors: &mut Errors) {
    let mut walk =
        Walk { function, types, unwritten: Some(BTreeSet::new()), around: Vec::new(), found: Vec::new() };
    walk.block(&function.body);
    for (element, span) in walk.found {
        let name = &function.locals[element.0].name;
        let at = syn::Ident::new("_at", span);
        let message = format!("`{name}` is read before it is written");
        let note =
            "it is an element of an `Out`: what lies there before is whatever the memory held".to_owned();
        let help = "write it first on every path, or take the data as `&mut Own<[T]>`, which the launch passes as \
                    `&mut` and not as `out`";
        errors.push(error(at, "TW0913", &message, &[note], Some(help.to_owned())));
    }
}

/// The elements that may be unwritten; `None` where the code does not get.
type Unwritten = Option<BTreeSet<LocalId>>;

struct Walk<'a> {
    function: &'a Function,
    types: &'a Types,
    unwritten: Unwritten,
    /// The loops and labelled blocks around, and the elements that may be unwritten where they are left.
    around: Vec<(LoopId, Unwritten)>,
    found: Vec<(LocalId, Span)>,
}

/// What may be unwritten after one or the other.
fn joined(one: Unwritten, other: Unwritten) -> Unwritten {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.union(&other).copied().collect()),
        (one, other) => one.or(other),
    }
}

impl Walk<'_> {
    fn block(&mut self, block: &Block) {
        block.statements.iter().for_each(|statement| self.statement(statement));
        block.value.iter().for_each(|value| self.expr(value));
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Declare(_) | Statement::Const(..) => {}
            Statement::Let(_, value) | Statement::Expr(value) => self.expr(value),
            Statement::LetElse(_, name, value, otherwise) => {
                self.expr(value);
                let bound = self.unwritten.clone();
                self.block(otherwise);
                self.unwritten = bound;
                self.bind(*name, value);
            }
        }
    }

    /// A name gets the value of an option: if that is an element of an `Out`, nothing has written it.
    fn bind(&mut self, name: LocalId, option: &Expr) {
        if let Kind::Method(Method::GetMut, handle, _) = &option.kind
            && let Shape::Elements { out: true, .. } = self.types.shape(self.types.value(handle.ty))
            && let Some(unwritten) = &mut self.unwritten
        {
            unwritten.insert(name);
        }
    }

    fn is_unwritten(&self, element: LocalId) -> bool {
        self.unwritten.as_ref().is_some_and(|unwritten| unwritten.contains(&element))
    }

    /// The element is written, or lent to what may write it.
    fn written(&mut self, element: LocalId) {
        if let Some(unwritten) = &mut self.unwritten {
            unwritten.remove(&element);
        }
    }

    fn read(&mut self, element: LocalId, span: Span) {
        if self.is_unwritten(element) {
            self.found.push((element, span));
            // Once is enough.
            self.written(element);
        }
    }

    fn each<'x>(&mut self, exprs: impl IntoIterator<Item = &'x Expr>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            Kind::Local(local) => self.written(*local),
            Kind::Deref(_) | Kind::Field(..) | Kind::Index(..) | Kind::Element(..) | Kind::Part(..) => {
                match self.place(expr) {
                    Some(element) => self.read(element, expr.span),
                    None => self.each(parts(expr)),
                }
            }
            Kind::Ref(inner) => match (self.place(inner), self.types.shape(expr.ty)) {
                (Some(element), Shape::Ref(_, false)) => self.read(element, expr.span),
                (Some(element), _) => self.written(element),
                (None, _) => self.expr(inner),
            },
            Kind::Method(method, receiver, arguments) => {
                match (self.place(receiver), method) {
                    (Some(_), Method::Len | Method::IsEmpty) => {}
                    (Some(element), Method::Number(_) | Method::Same | Method::Get) => {
                        self.read(element, receiver.span);
                    }
                    (Some(element), _) => self.written(element),
                    (None, _) => self.expr(receiver),
                }
                self.each(arguments);
            }
            Kind::Assign(place, value) => {
                self.expr(value);
                self.assigned(place);
            }
            Kind::AssignParts(places, value) => {
                self.expr(value);
                self.assigned(places);
            }
            Kind::AssignBinary(_, place, value) => {
                self.expr(value);
                if let Some(element) = self.place(place) {
                    self.read(element, place.span);
                }
                self.assigned(place);
            }
            Kind::And(left, right) | Kind::Or(left, right) => {
                self.expr(left);
                let before = self.unwritten.clone();
                self.expr(right);
                self.unwritten = joined(before, self.unwritten.take());
            }
            Kind::If(condition, then, otherwise) => {
                let before = self.condition(condition);
                self.block(then);
                let after = std::mem::replace(&mut self.unwritten, before);
                otherwise.iter().for_each(|otherwise| self.expr(otherwise));
                self.unwritten = joined(after, self.unwritten.take());
            }
            Kind::Match(value, arms) => {
                self.expr(value);
                let (mut before, mut after) = (self.unwritten.clone(), None);
                for arm in arms {
                    self.unwritten.clone_from(&before);
                    if let Some(guard) = &arm.guard {
                        self.expr(guard);
                        before.clone_from(&self.unwritten);
                    }
                    self.expr(&arm.body);
                    after = joined(after, self.unwritten.take());
                }
                self.unwritten = after;
            }
            Kind::Block(block) => self.block(block),
            Kind::Labelled(id, block) => {
                let after = self.around(*id, |walk| walk.block(block));
                self.unwritten = joined(self.unwritten.take(), after);
            }
            Kind::Loop(id, body) => self.unwritten = self.around(*id, |walk| walk.block(body)),
            Kind::While(id, condition, body) => {
                let ended = self.condition(condition);
                self.turns(*id, ended, |walk| walk.block(body));
            }
            Kind::For(id, _, range, body) => {
                let Range { from, to, step, .. } = &**range;
                self.each([from, to].into_iter().chain(step));
                let ended = self.unwritten.clone();
                self.turns(*id, ended, |walk| walk.block(body));
            }
            Kind::ForTiles(id, _, of, body) => {
                self.expr(of);
                let ended = self.unwritten.clone();
                self.turns(*id, ended, |walk| walk.block(body));
            }
            Kind::Break(id, value) => {
                self.each(value.as_deref());
                self.leave(*id);
            }
            Kind::Continue(id) => self.leave(*id),
            Kind::Return(value) => {
                self.each(value.as_deref());
                self.unwritten = None;
            }
            Kind::Assert(None) => self.unwritten = None,
            // It may be called when all is written.
            Kind::Closure(_) => self.unwritten = self.unwritten.take().map(|_| BTreeSet::new()),
            Kind::Phase(phase) => self.phase(phase),
            _ => self.each(parts(expr)),
        }
    }

    /// A condition, which holds from here on. The result is what may be unwritten where it does not hold.
    fn condition(&mut self, condition: &Condition) -> Unwritten {
        let mut otherwise = None;
        for part in condition.parts() {
            match part {
                Condition::Is(value) => self.expr(value),
                Condition::Bound(_, _, value) => self.expr(value),
                Condition::All(_) => otherwise = joined(otherwise, self.condition(part)),
            }
            otherwise = joined(otherwise, self.unwritten.clone());
            if let Condition::Bound(_, name, value) = part {
                self.bind(*name, value);
            }
        }
        otherwise
    }

    /// What is left by `break`: the elements that may be unwritten there.
    fn around(&mut self, id: LoopId, walk: impl FnOnce(&mut Self)) -> Unwritten {
        self.around.push((id, None));
        walk(self);
        self.around.pop().and_then(|(_, left)| left)
    }

    /// The turns of a loop, at least one. `ended`: what may be unwritten where no turn comes to its end.
    fn turns(&mut self, id: LoopId, ended: Unwritten, body: impl FnOnce(&mut Self)) {
        let left = self.around(id, body);
        self.unwritten = joined(self.unwritten.take(), left).or(ended);
    }

    fn leave(&mut self, id: LoopId) {
        let now = self.unwritten.take();
        if let Some((_, left)) = self.around.iter_mut().rev().find(|(around, _)| *around == id) {
            *left = joined(left.take(), now);
        }
    }

    fn assigned(&mut self, place: &Expr) {
        match &place.kind {
            Kind::Tuple(places) | Kind::Array(places) => places.iter().for_each(|place| self.assigned(place)),
            _ => match self.place(place) {
                Some(element) => self.written(element),
                None => self.each(parts(place)),
            },
        }
    }

    /// The element that a place is, or is a part of, once the indices in it were walked; `None` if it is something
    /// else, of which nothing was walked.
    fn place(&mut self, place: &Expr) -> Option<LocalId> {
        let element = element(place).filter(|&element| self.is_unwritten(element))?;
        let mut place = place;
        loop {
            place = match &place.kind {
                Kind::Deref(of) | Kind::Field(of, _) => of,
                Kind::Index(of, index) | Kind::Element(of, index) => {
                    self.expr(index);
                    of
                }
                Kind::Part(of, from, to, _) => {
                    self.each(from.as_deref().into_iter().chain(to.as_deref()));
                    of
                }
                _ => return Some(element),
            };
        }
    }

    /// The closures of a phase: threads run them, with elements of their own.
    fn phase(&mut self, phase: &Phase) {
        let (values, closures): (Vec<&Expr>, Vec<usize>) = match phase {
            Phase::Each(of) | Phase::FillColumns(_, of) | Phase::Any(of) | Phase::Count(of) => {
                (vec![], vec![*of])
            }
            Phase::Fill(filled, of) | Phase::FillParts(filled, of) => match filled {
                Filled::Shared(_) => (vec![], vec![*of]),
                Filled::Tile(data, at) | Filled::Row(data, at) => (vec![data, at], vec![*of]),
            },
            Phase::Fetch { closure, .. } => (vec![], vec![*closure]),
            Phase::FillFetched(_, fetched) => (vec![fetched], vec![]),
            Phase::Reduce(values, combine) => (vec![], vec![*values, *combine]),
            Phase::Scan(first, values, combine) => (first.iter().collect(), vec![*values, *combine]),
            Phase::Warps(_, closures, value) => (value.iter().collect(), closures.clone()),
        };
        self.each(values);
        for closure in closures {
            let outside = self.unwritten.replace(BTreeSet::new());
            let around = std::mem::take(&mut self.around);
            self.expr(&self.function.closures[closure].body);
            (self.unwritten, self.around) = (outside, around);
        }
    }
}

/// The local that a place is, or is a part of.
fn element(place: &Expr) -> Option<LocalId> {
    match &place.kind {
        Kind::Local(local) => Some(*local),
        Kind::Deref(of)
        | Kind::Field(of, _)
        | Kind::Index(of, _)
        | Kind::Element(of, _)
        | Kind::Part(of, ..) => element(of),
        _ => None,
    }
}

/// What is evaluated for a value, in order.
fn parts(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        Kind::Unary(_, of)
        | Kind::Cast(of)
        | Kind::Deref(of)
        | Kind::Ref(of)
        | Kind::Field(of, _)
        | Kind::Repeat(of, _)
        | Kind::Convert(_, _, of)
        | Kind::Assert(Some(of))
        | Kind::PartOfTile(of)
        | Kind::Mine(of)
        | Kind::NewPrivate(of)
        | Kind::NewSharedSlice(_, of) => vec![of],
        Kind::Binary(_, left, right)
        | Kind::Compare(_, left, right)
        | Kind::Index(left, right)
        | Kind::Element(left, right) => vec![left, right],
        Kind::Part(of, from, to, _) => {
            [Some(of), from.as_ref(), to.as_ref()].into_iter().flatten().map(|part| &**part).collect()
        }
        Kind::Tuple(values)
        | Kind::Array(values)
        | Kind::Call(_, _, values)
        | Kind::CallClosure(_, values) => values.iter().collect(),
        Kind::Struct(fields, base) => fields.iter().map(|(_, value)| value).chain(base.as_deref()).collect(),
        Kind::Atomic(_, _, of, values) => std::iter::once(&**of).chain(values).collect(),
        Kind::Put(of, at, value) => vec![of, at, value],
        _ => Vec::new(),
    }
}
