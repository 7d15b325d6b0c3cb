//! What of Rust is not in the language: expressions whose kind alone says so.

use syn::Expr;

use super::{Lower, Reported};

impl Lower<'_> {
    /// Refuses an expression that kernels do not have.
    pub(super) fn not_an_expression(&mut self, expr: &Expr) -> Reported {
        let label = match expr {
            Expr::Loop(of) => of.label.as_ref(),
            Expr::While(of) => of.label.as_ref(),
            Expr::Block(of) => of.label.as_ref(),
            _ => None,
        };
        if let Some(label) = label {
            return self.label(label);
        }
        match expr {
            Expr::Break(syn::ExprBreak { expr: Some(value), .. }) => {
                let help = "assign it to a variable, and `break` after it";
                self.absent(value, "a `break` with a value", help)
            }
            Expr::Try(found) => {
                let help = "write `let Some(x) = … else { return };`";
                self.absent(found.question_token, "`?`", help)
            }
            Expr::Struct(found) => self.absent(&found.path, "a struct", "use a tuple or an array"),
            Expr::RawAddr(found) => {
                let help = "take a reference, or an element by its index: `unsafe { y.any_mut(i) }`";
                self.absent(found.raw, "a raw pointer", help)
            }
            Expr::Async(found) => self.absent(found.async_token, "`async`", "remove it"),
            Expr::Await(found) => self.absent(found.await_token, "`await`", "remove it"),
            Expr::Range(_) => {
                let help =
                    "use it in `for i in 0..n`, to take a part `&x[from..to]`, or compare with both ends";
                self.absent(expr, "a range on its own", help)
            }
            Expr::Let(found) => self.absent(
                found.let_token,
                "`let` among other conditions",
                "write an `if` inside of the other",
            ),
            _ => self.absent(expr, "this expression", "write it with numbers, arrays, `if` and loops"),
        }
    }

    pub(super) fn label(&mut self, label: &syn::Label) -> Reported {
        let help = "leave the outer loop by a `bool`, or by `return` from a `#[device]` function";
        self.absent(&label.name, &format!("the label `{}`", label.name), help)
    }
}
