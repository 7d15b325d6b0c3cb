//! Statics: memory of the host's program, which no thread of a GPU has.

use syn::{Expr, ExprMethodCall};

use super::{Lower, Lowered};
use crate::groups::peel_expr;
use crate::rust_kernels::atomics::{self, Order};
use crate::rust_kernels::ir::{self, Item, Kind};
use crate::rust_kernels::types::Number;
use crate::text::text;

/// Why a kernel has none.
const ON_THE_HOST: &str = "a `static` is in the host's memory, of which a GPU has no copy";

impl Lower<'_> {
    /// Refuses `COUNT.fetch_add(1, Relaxed)` of a static atomic.
    pub(super) fn no_static_atomic(&mut self, call: &ExprMethodCall, receiver: &ir::Expr) -> Lowered<()> {
        let Kind::Constant(_) = root(receiver).kind else { return Ok(()) };
        if atomics::operation(&call.method.to_string(), Number::U32).is_none() {
            return Ok(());
        }
        let orders: Vec<_> = call.args.iter().filter_map(|argument| self.order_named(argument)).collect();
        if orders.is_empty() {
            return Ok(());
        }
        // Its import is used.
        self.orders.extend(orders);
        let what = format!("the atomic `{}` outside of the kernel", text(&call.receiver));
        let help = "take it as a parameter, such as `counts: &[AtomicU32]`, to which launches pass a buffer: \
                    `&mut d_counts`";
        Err(self.absent_since(&call.receiver, &what, &[ON_THE_HOST], help))
    }

    /// The path of an order of memory, if the expression seems to be one.
    fn order_named(&self, expr: &Expr) -> Option<syn::ExprPath> {
        let Expr::Path(path) = peel_expr(expr) else { return None };
        let outside = self.outside(path);
        let last = outside.path.segments.last()?.ident.to_string();
        Order::named(&last).map(|_| outside)
    }

    /// Refuses a change of what is outside of the kernel: a `static mut`.
    pub(super) fn no_change_outside(&mut self, place: &ir::Expr, at: &Expr) -> Lowered<()> {
        let Kind::Constant(Item(number)) = root(place).kind else { return Ok(()) };
        self.changed.push(number);
        let what = format!("a change of `{}`, which is outside of the kernel,", text(at));
        let help = "take it as a parameter: `&mut Own<[T]>`, or `&[AtomicU32]`, which all threads change";
        Err(self.absent_since(at, &what, &[ON_THE_HOST], help))
    }
}

/// What a place is a part of.
fn root(place: &ir::Expr) -> &ir::Expr {
    match &place.kind {
        Kind::Index(base, _) | Kind::Element(base, _) | Kind::Field(base, _) => root(base),
        _ => place,
    }
}
