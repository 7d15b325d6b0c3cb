//! What of Rust is not in the language: expressions whose kind alone says so.

use syn::Expr;

use super::{Lower, Reported};

impl Lower<'_> {
    /// Refuses an expression that kernels do not have.
    pub(super) fn not_an_expression(&mut self, expr: &Expr) -> Reported {
        match expr {
            Expr::Try(found) => {
                let help = "write `let Some(x) = … else { return };`";
                self.absent(found.question_token, "`?`", help)
            }
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
                "`let` in this place",
                "write it in the condition of an `if` or a `while`, alone or with `&&`",
            ),
            _ => self.absent(expr, "this expression", "write it with numbers, arrays, `if` and loops"),
        }
    }
}
