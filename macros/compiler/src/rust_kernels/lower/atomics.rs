//! Methods of atomics, and loops that would wait for what another thread writes, in an atomic or by `any_mut`.

use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Expr, ExprMethodCall, Ident, Pat};

use super::context::{Level, Turns};
use super::{Lower, Lowered, Reported};
use crate::diagnostics::similar;
use crate::groups::peel_expr;
use crate::rust_kernels::atomics::{self, Access, Gives, Operation, Order};
use crate::rust_kernels::ir::{self, Block, Condition, Kind, Pattern, Statement};
use crate::rust_kernels::named::Assumed;
use crate::rust_kernels::types::{Number, Shape, Ty};
use crate::text::text;

impl Lower<'_> {
    /// Whether the method is an atomic's, and its receiver is one.
    pub(super) fn atomic_of(&self, receiver: &ir::Expr) -> Option<Number> {
        match *self.types.shape(self.types.value(receiver.ty)) {
            Shape::Atomic(number) => Some(number),
            _ => None,
        }
    }

    /// A method of an atomic that holds such a number.
    pub(super) fn of_atomic(
        &mut self,
        call: &ExprMethodCall,
        receiver: ir::Expr,
        of: Number,
    ) -> Lowered<(Kind, Ty)> {
        let Some(operation) = atomics::operation(&call.method.to_string(), of) else {
            return Err(self.no_method_of_atomic(call, of));
        };
        if matches!(self.level, Level::Block | Level::Closure(_)) {
            let what = format!("`{}` is outside of a phase, where all threads would do it", text(call));
            let help = "write it in a phase; in `block.each(|t| if t.rank() == 0 { … })` one thread does it";
            return Err(self.in_block(call, &what, help));
        }
        if self.combines {
            let what = format!("`{}` is where two values are combined, which any thread may do", text(call));
            return Err(self.in_block(call, &what, "write it where the thread gives its value"));
        }
        let number = self.types.number(of);
        if call.args.len() != operation.values + operation.orders.len() {
            // rustc reports the number of arguments.
            return Ok((Kind::Unit, number));
        }
        let mut arguments = Vec::new();
        for argument in call.args.iter().take(operation.values) {
            let value = self.value(argument)?;
            self.types.unify(value.ty, number);
            arguments.push(value);
        }
        let mut orders = Vec::new();
        for (order, access) in call.args.iter().skip(operation.values).zip(operation.orders) {
            orders.push(self.order(order, operation, *access)?);
        }
        match operation.is_idempotent {
            true => self.turns.accesses += 1,
            false => self.changes(),
        }
        let ty = match operation.gives {
            Gives::Nothing => self.types.unit(),
            Gives::Number => number,
            Gives::Exchanged => self.types.add(Shape::Exchanged(number)),
        };
        Ok((Kind::Atomic(operation, orders, Box::new(receiver), arguments), ty))
    }

    /// An order, by its name: the C++ depends on it.
    fn order(&mut self, order: &Expr, operation: &Operation, access: Access) -> Lowered<Order> {
        let named = match peel_expr(order) {
            Expr::Path(path) => {
                let outside = self.outside(path);
                let last = outside.path.segments.last();
                let named = last.and_then(|last| Order::named(&last.ident.to_string()));
                if let Some(order) = named {
                    self.assume(Assumed::Order(outside.clone(), order));
                    self.orders.push(outside);
                }
                named
            }
            _ => None,
        };
        let name = operation.name;
        let Some(named) = named else {
            let what = format!("the order of this `{name}` must be written by its name");
            let notes = ["which instructions a GPU gets depends on it"];
            let help = "write `Ordering::Relaxed`, or another order of `std::sync::atomic`";
            return Err(self.report(order, "TW0912", &what, &notes, help));
        };
        if access.may_have(named) {
            return Ok(named);
        }
        let order_name = named.name();
        let (what, why, help) = match access {
            Access::Failure => (
                format!("a `{name}` that fails cannot have the order `{order_name}`"),
                "what releases orders the writes before it, and an exchange that fails writes nothing",
                "write `Relaxed`, `Acquire` or `SeqCst`",
            ),
            Access::Store => (
                format!("a `{name}` cannot have the order `{order_name}`"),
                "what acquires orders the reads after it, and a store reads nothing",
                "write `Relaxed`, `Release` or `SeqCst`",
            ),
            _ => (
                format!("a `{name}` cannot have the order `{order_name}`"),
                "what releases orders the writes before it, and a load writes nothing",
                "write `Relaxed`, `Acquire` or `SeqCst`",
            ),
        };
        Err(self.report(order, "TW0912", &what, &[why], help))
    }

    fn no_method_of_atomic(&mut self, call: &ExprMethodCall, of: Number) -> Reported {
        let name = call.method.to_string();
        let atomic = format!("Atomic{}", of.name().to_uppercase());
        let message = format!("the method `{name}` of `{atomic}` is not in the language of kernels");
        let mut notes = vec![
            "atomics have `load`, `store`, `swap`, `compare_exchange`, `fetch_add`, `fetch_sub`, `fetch_min` and \
             `fetch_max`, and those of integers `fetch_and`, `fetch_or` and `fetch_xor`",
        ];
        let help = match (name.as_str(), similar(&name, atomics::names(of))) {
            ("compare_exchange_weak", _) => "write `compare_exchange`".to_owned(),
            _ if atomics::have_alone(&name) => "use an atomic of an integer, such as `AtomicU32`".to_owned(),
            (_, Some(meant)) => format!("a method with a similar name exists: `{meant}`"),
            _ => {
                notes.push("an exchange that fails gives the number that was there");
                "write `while let Err(now) = x.compare_exchange(old, new, Relaxed, Relaxed) { old = now; … }`"
                    .to_owned()
            }
        };
        self.report(&call.method, "TW0908", &message, &notes, &help)
    }

    /// Refuses to pass atomics to a function where all threads of a block would call it.
    pub(super) fn no_atomics_of_block(&mut self, argument: &ir::Expr, written: &Expr) -> Lowered<()> {
        if !self.has_atomics(argument.ty) {
            return Ok(());
        }
        self.changes();
        if self.combines {
            let what = format!("`{}` is passed on where two values are combined", text(written));
            return Err(self.in_block(written, &what, "call the function where the thread gives its value"));
        }
        if matches!(self.level, Level::Block | Level::Closure(_)) {
            let what = format!("`{}` is passed on outside of a phase, by all threads", text(written));
            return Err(self.in_block(written, &what, "call the function in a phase"));
        }
        Ok(())
    }

    fn has_atomics(&self, ty: Ty) -> bool {
        match self.types.shape(ty) {
            Shape::Atomic(_) => true,
            Shape::Tuple(parts) => parts.iter().any(|&part| self.has_atomics(part)),
            Shape::Array(of, _) | Shape::Slice(of) | Shape::Ref(of, _) | Shape::Option(of) => {
                self.has_atomics(*of)
            }
            _ => false,
        }
    }

    /// Notes what may make the next turn of a loop differ from this one.
    pub(super) fn changes(&mut self) {
        self.turns.changes += 1;
    }

    /// Refuses a loop whose turns are all the same until another thread writes. `before` is what was lowered
    /// before its condition and its body.
    pub(super) fn no_waiting(&mut self, word: impl ToTokens, before: Turns) -> Lowered<()> {
        let Turns { accesses, elements, changes } = self.turns;
        let of_atomics = accesses > before.accesses;
        if changes > before.changes || !(of_atomics || elements > before.elements) {
            return Ok(());
        }
        let reads = match of_atomics {
            true => {
                "its turns read an atomic and change nothing, so that it ends only if another thread writes"
            }
            false => {
                "its turns read an element and change nothing, so that it ends only if another thread writes"
            }
        };
        let notes =
            [reads, "the other thread may begin only after this one has ended: a GPU promises nothing else"];
        let help = "end the kernel, and go on in another one that is launched after it";
        Err(self.report(word, "TW0912", "this loop waits for another thread", &notes, help))
    }

    /// Refuses a method of atomics of what is none.
    pub(super) fn no_atomic(&mut self, method: &Ident, receiver: &ir::Expr) -> Lowered<()> {
        let is_value = matches!(
            self.types.shape(self.types.value(receiver.ty)),
            Shape::Number(_) | Shape::Slice(_) | Shape::Array(..) | Shape::Elements { .. }
        );
        if !is_value || !atomics::have_alone(&method.to_string()) {
            return Ok(());
        }
        let message = format!("`{method}` is a method of atomics, and this is none");
        let notes = ["launches pass a buffer of plain numbers for a parameter `&[AtomicU32]`: `&mut counts`"];
        let help = "take the data as `&[AtomicU32]`, or of another type of number";
        Err(self.report(method, "TW0908", &message, &notes, help))
    }

    /// `match x.compare_exchange(…) { Ok(was) => …, Err(now) => … }`: an `if let` with an `else`.
    pub(super) fn match_of_exchange(
        &mut self,
        choice: &syn::ExprMatch,
        value: ir::Expr,
    ) -> Lowered<(Kind, Ty)> {
        let is_plain = |arm: &&syn::Arm| !matches!(arm.pat, Pat::Guard(_));
        let arms: Vec<_> = choice.arms.iter().filter(is_plain).collect();
        let ([first, second], true) = (&arms[..], arms.len() == choice.arms.len()) else {
            let what = "a `match` of a `Result` with a guard or with other than two arms";
            return Err(self.absent(
                choice.match_token,
                what,
                "write `match … { Ok(was) => …, Err(now) => … }`",
            ));
        };
        let outside = self.scope.len();
        let of_result = value.ty;
        let (variant, name) = self.variant(&first.pat, of_result)?;
        let then = self.value(&first.body);
        self.scope.truncate(outside);
        let mut statements = Vec::new();
        if !matches!(second.pat, Pat::Wild(_)) {
            // Both outcomes have the number that was there.
            let (_, other) = self.variant(&second.pat, of_result)?;
            let (ty, span) = (self.locals[name.0].ty, second.pat.span());
            let found = self.expr(Kind::Local(name), ty, span);
            statements.push(Statement::Let(Pattern::Name(other), found));
        }
        let otherwise = self.value(&second.body);
        self.scope.truncate(outside);
        let (then, otherwise) = (then?, otherwise?);
        self.types.unify(then.ty, otherwise.ty);
        let ty = match self.types.shape(then.ty) {
            Shape::Never => otherwise.ty,
            _ => then.ty,
        };
        let then = Block { statements: Vec::new(), value: Some(Box::new(then)) };
        let otherwise = Block { statements, value: Some(Box::new(otherwise)) };
        let otherwise = self.expr(Kind::Block(otherwise), ty, second.body.span());
        let condition = Condition::Bound(variant, name, value);
        Ok((Kind::If(Box::new(condition), then, Some(Box::new(otherwise))), ty))
    }
}
