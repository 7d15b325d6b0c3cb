//! Conditions, counts, parts and ranks: their text, their values on a rank, and whether ranks may differ in
//! them by the words of the book's pages TW1001, TW1002 and TW1007.

use std::cell::Cell;
use std::rc::Rc;

use syn::Expr as Syntax;

/// An expression. Conditions are numbers too: 1 if they hold, 0 if not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expr {
    Number(i64),
    Truth(bool),
    /// A parameter, a constant, or a local of the expansion.
    Name(String),
    Field(Box<Expr>, String),
    /// `!a`, `-a`, `*a` or `&a`
    Prefix(char, Box<Expr>),
    Cast(Box<Expr>),
    Binary(Box<Expr>, String, Box<Expr>),
    Method(Box<Expr>, String, Vec<Expr>),
    Call(String, Vec<Expr>),
    Macro(String),
    /// `if a { b } else { c }`
    Choice(Box<[Expr; 3]>),
    /// `[a, b][c]`
    Pick(Vec<Expr>, Box<Expr>),
    /// `a..b`, and whether `b` belongs to it
    Range(Option<Box<Expr>>, Option<Box<Expr>>, bool),
}

/// Methods of numbers and conditions, which depend on nothing else.
pub const OF_NUMBERS: [&str; 10] = [
    "min",
    "max",
    "is_multiple_of",
    "pow",
    "abs_diff",
    "saturating_sub",
    "count_ones",
    "is_power_of_two",
    "contains",
    "then_some",
];

/// Constants that the programs name, and their values.
pub const CONSTANTS: [(&str, i64); 3] = [("TURNS", 2), ("ON", 1), ("config::WIDTH", 3)];

/// The value that stands for `None`: no rank.
const NOBODY: i64 = i64::MIN;

pub fn number(value: i64) -> Expr {
    Expr::Number(value)
}

pub fn name(text: &str) -> Expr {
    Expr::Name(text.to_owned())
}

pub fn field(of: &str, field: &str) -> Expr {
    Expr::Field(Box::new(name(of)), field.to_owned())
}

pub fn binary(left: Expr, op: &str, right: Expr) -> Expr {
    Expr::Binary(Box::new(left), op.to_owned(), Box::new(right))
}

pub fn method(of: Expr, method: &str, arguments: Vec<Expr>) -> Expr {
    Expr::Method(Box::new(of), method.to_owned(), arguments)
}

/// What an expression may ask for on one rank.
#[derive(Debug, Clone)]
pub struct Scope {
    /// Parameters, constants and locals. The last of a name counts.
    pub names: Vec<(Rc<str>, i64)>,
    pub rank: i64,
    pub size: i64,
    /// The name of the chunk, its number, length and first item.
    pub chunk: Rc<str>,
    pub index: i64,
    pub len: i64,
    pub start: i64,
    /// What functions and macros of this process answer.
    pub answer: i64,
    /// The rank that an expression of a `pass` is evaluated for.
    pub each: Cell<Option<i64>>,
}

impl Scope {
    fn name(&self, name: &str) -> i64 {
        let known = self.names.iter().rev().find(|(known, _)| **known == *name).map(|&(_, value)| value);
        match name {
            "rank" => self.each.get().or(known).unwrap_or(self.rank),
            _ => known.unwrap_or_else(|| panic!("`{name}` is declared")),
        }
    }

    fn field(&self, of: &str, field: &str) -> i64 {
        let is_declared = || self.names.iter().any(|(known, _)| **known == *of);
        match field {
            "index" if *of == *self.chunk => self.index,
            "len" if *of == *self.chunk => self.len,
            "start" if *of == *self.chunk => self.start,
            "size" if of == "world" && !is_declared() => self.size,
            "rank" if of == "world" && !is_declared() => self.rank,
            // A field of a parameter is as good as the parameter.
            _ => self.name(of),
        }
    }
}

impl Expr {
    /// The value on a rank. Numbers are whole and wrap; a division by 0 gives 0.
    pub fn value(&self, scope: &Scope) -> i64 {
        match self {
            Self::Number(number) => *number,
            Self::Truth(truth) => i64::from(*truth),
            Self::Name(name) => scope.name(name),
            Self::Field(of, field) => match &**of {
                Self::Name(name) => scope.field(name, field),
                of => of.value(scope),
            },
            Self::Prefix('!', of) => i64::from(of.value(scope) == 0),
            Self::Prefix('-', of) => of.value(scope).wrapping_neg(),
            Self::Prefix(_, of) | Self::Cast(of) => of.value(scope),
            Self::Binary(left, op, right) => calculated(left.value(scope), op, right.value(scope)),
            Self::Method(of, method, arguments) => called(of, method, arguments, scope),
            Self::Call(function, arguments) if function == "Some" => arguments[0].value(scope),
            Self::Call(..) | Self::Macro(_) => scope.answer,
            Self::Choice(parts) => {
                let [condition, then, otherwise] = &**parts;
                if condition.value(scope) != 0 { then.value(scope) } else { otherwise.value(scope) }
            }
            Self::Pick(all, at) => all[at.value(scope).rem_euclid(all.len() as i64) as usize].value(scope),
            Self::Range(..) => panic!("a range is not a number"),
        }
    }

    /// The values that a collective is told: both ends of a range, or one value.
    pub fn values(&self, scope: &Scope) -> Vec<i64> {
        let end = |end: &Option<Box<Self>>| end.as_ref().map_or(NOBODY, |end| end.value(scope));
        match self {
            Self::Range(from, to, inclusive) => {
                vec![end(from), end(to).wrapping_add(i64::from(*inclusive))]
            }
            other => vec![other.value(scope)],
        }
    }

    fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Number(_) | Self::Truth(_) | Self::Name(_) | Self::Macro(_) => Vec::new(),
            Self::Field(of, _) | Self::Prefix(_, of) | Self::Cast(of) => vec![&**of],
            Self::Binary(left, _, right) => vec![&**left, &**right],
            Self::Method(of, _, arguments) => std::iter::once(&**of).chain(arguments).collect(),
            Self::Call(_, arguments) => arguments.iter().collect(),
            Self::Choice(parts) => parts.iter().collect(),
            Self::Pick(all, at) => all.iter().chain([&**at]).collect(),
            Self::Range(from, to, _) => from.iter().chain(to).map(|end| &**end).collect(),
        }
    }

    /// Whether a variable is named in it.
    pub fn names(&self, variable: &str) -> bool {
        self.any(&|expr| matches!(expr, Self::Name(name) if name == variable))
    }

    /// Whether this expression or a part of it, fields of names as a whole, is such a one.
    fn any(&self, is: &impl Fn(&Self) -> bool) -> bool {
        is(self) || self.parts().into_iter().any(|part| part.any(is))
    }
}

fn calculated(left: i64, op: &str, right: i64) -> i64 {
    let shift = (right & 63) as u32;
    match op {
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" => left.checked_div(right).unwrap_or(0),
        "%" => left.checked_rem(right).unwrap_or(0),
        "<<" => left.wrapping_shl(shift),
        ">>" => left.wrapping_shr(shift),
        "&" => left & right,
        "|" => left | right,
        "^" => left ^ right,
        "&&" => i64::from(left != 0 && right != 0),
        "||" => i64::from(left != 0 || right != 0),
        "==" => i64::from(left == right),
        "!=" => i64::from(left != right),
        "<" => i64::from(left < right),
        "<=" => i64::from(left <= right),
        ">" => i64::from(left > right),
        ">=" => i64::from(left >= right),
        other => panic!("an operator, found `{other}`"),
    }
}

fn called(of: &Expr, method: &str, arguments: &[Expr], scope: &Scope) -> i64 {
    let argument = || arguments[0].value(scope);
    if let Expr::Range(..) = of {
        let ends = of.values(scope);
        let within =
            (ends[0] == NOBODY || ends[0] <= argument()) && (ends[1] == NOBODY || argument() < ends[1]);
        return i64::from(within);
    }
    let value = of.value(scope);
    match method {
        "min" => value.min(argument()),
        "max" => value.max(argument()),
        "is_multiple_of" => i64::from(value.checked_rem(argument()).unwrap_or(value) == 0),
        "pow" => value.wrapping_pow((argument() & 7) as u32),
        "abs_diff" => value.wrapping_sub(argument()).wrapping_abs(),
        "saturating_sub" => value.wrapping_sub(argument()).max(0),
        "count_ones" => i64::from(value.count_ones()),
        "is_power_of_two" => i64::from(value.count_ones() == 1),
        "then_some" => {
            if value != 0 {
                argument()
            } else {
                NOBODY
            }
        }
        // Any other depends on what it is called with alone, although no one can know.
        _ => value.rotate_left(1),
    }
}

/// What may let a value differ between ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// It names the rank that evaluates it.
    Rank,
    /// It names a `param`, the chunk's items, or something of which nothing is known.
    Other,
}

/// The names of a pipeline that decide what may differ.
pub struct Names {
    /// Parameters, and whether they are `uniform`.
    pub params: Vec<(String, bool)>,
    pub chunk: String,
}

impl Names {
    fn param(&self, name: &str) -> Option<bool> {
        self.params.iter().find(|(param, _)| param == name).map(|&(_, uniform)| uniform)
    }

    /// Whether `world` is the world.
    pub fn has_world(&self) -> bool {
        self.param("world").is_none() && self.chunk != "world"
    }

    /// What may differ, if each rank evaluates this for itself or, in a `pass`, for all.
    pub fn doubt(&self, expr: &Expr, in_pass: bool) -> Option<Doubt> {
        let is_rank = |expr: &Expr| match expr {
            Expr::Field(of, field) => field == "rank" && **of == name("world") && self.has_world(),
            Expr::Name(name) => name == "rank" && !in_pass && self.param("rank").is_none(),
            _ => false,
        };
        if expr.any(&is_rank) {
            return Some(Doubt::Rank);
        }
        self.is_open(expr, in_pass).then_some(Doubt::Other)
    }

    fn is_open(&self, expr: &Expr, in_pass: bool) -> bool {
        let inside = || expr.parts().into_iter().any(|part| self.is_open(part, in_pass));
        match expr {
            Expr::Name(name) if name == "rank" && in_pass => false,
            Expr::Name(name) => self.param(name) == Some(false) || *name == self.chunk,
            Expr::Field(of, field) if **of == name(&self.chunk) => field != "index",
            Expr::Field(of, _) if **of == name("world") && self.has_world() => false,
            Expr::Field(..) | Expr::Macro(_) | Expr::Prefix('*', _) => true,
            Expr::Call(function, _) => function != "Some" || inside(),
            Expr::Method(_, method, _) => !OF_NUMBERS.contains(&method.as_str()) || inside(),
            _ => inside(),
        }
    }
}

impl Expr {
    /// As it is written, without parentheses around the whole.
    pub fn text(&self) -> String {
        let list = |all: &[Self]| all.iter().map(Self::text).collect::<Vec<_>>().join(", ");
        match self {
            Self::Number(number) => number.to_string(),
            Self::Truth(truth) => truth.to_string(),
            Self::Name(name) => name.clone(),
            Self::Field(of, field) => format!("{}.{field}", of.inner()),
            Self::Prefix(sign, of) => format!("{sign}{}", of.inner()),
            Self::Cast(of) => format!("{} as usize", of.inner()),
            Self::Binary(left, op, right) => format!("{} {op} {}", left.inner(), right.inner()),
            Self::Method(of, method, arguments) => format!("{}.{method}({})", of.inner(), list(arguments)),
            Self::Call(function, arguments) => format!("{function}({})", list(arguments)),
            Self::Macro(name) => format!("{name}!()"),
            Self::Choice(parts) => {
                let [condition, then, otherwise] = parts.each_ref().map(Self::text);
                format!("if {condition} {{ {then} }} else {{ {otherwise} }}")
            }
            Self::Pick(all, at) => format!("[{}][{}]", list(all), at.text()),
            Self::Range(from, to, inclusive) => {
                let end = |end: &Option<Box<Self>>| end.as_ref().map(|end| end.inner()).unwrap_or_default();
                format!("{}..{}{}", end(from), if *inclusive { "=" } else { "" }, end(to))
            }
        }
    }

    /// As a part of another.
    fn inner(&self) -> String {
        match self {
            Self::Number(_)
            | Self::Truth(_)
            | Self::Name(_)
            | Self::Field(..)
            | Self::Method(..)
            | Self::Call(..)
            | Self::Pick(..) => self.text(),
            _ => format!("({})", self.text()),
        }
    }

    /// Reads what the expansion evaluates.
    pub fn read(syntax: &Syntax) -> Self {
        let read = |syntax: &Syntax| Box::new(Self::read(syntax));
        match syntax {
            Syntax::Lit(lit) => literal(&lit.lit),
            Syntax::Path(path) => Self::Name(path_text(&path.path)),
            Syntax::Paren(inner) => Self::read(&inner.expr),
            Syntax::Group(inner) => Self::read(&inner.expr),
            Syntax::Cast(cast) => Self::Cast(read(&cast.expr)),
            Syntax::Reference(of) => Self::Prefix('&', read(&of.expr)),
            Syntax::Unary(unary) => {
                let sign = match unary.op {
                    syn::UnOp::Not(_) => '!',
                    syn::UnOp::Neg(_) => '-',
                    _ => '*',
                };
                Self::Prefix(sign, read(&unary.expr))
            }
            Syntax::Binary(both) => {
                let op = &both.op;
                let op = quote::quote!(#op).to_string();
                Self::Binary(read(&both.left), op, read(&both.right))
            }
            other => Self::read_longer(other),
        }
    }

    fn read_longer(syntax: &Syntax) -> Self {
        let read = |syntax: &Syntax| Box::new(Self::read(syntax));
        match syntax {
            Syntax::Field(of) => {
                let syn::Member::Named(member) = &of.member else { panic!("a field with a name") };
                Self::Field(read(&of.base), member.to_string())
            }
            Syntax::MethodCall(call) => {
                let arguments = call.args.iter().map(Self::read).collect();
                Self::Method(read(&call.receiver), call.method.to_string(), arguments)
            }
            Syntax::Call(call) => {
                let Syntax::Path(path) = &*call.func else { panic!("a function with a name") };
                Self::Call(path_text(&path.path), call.args.iter().map(Self::read).collect())
            }
            Syntax::Macro(call) => Self::Macro(path_text(&call.mac.path)),
            Syntax::If(choice) => read_choice(choice),
            Syntax::Index(index) => {
                let Syntax::Array(array) = &*index.expr else { panic!("an array") };
                Self::Pick(array.elems.iter().map(Self::read).collect(), read(&index.index))
            }
            Syntax::Range(range) => {
                let inclusive = matches!(range.limits, syn::RangeLimits::Closed(_));
                let end = |end: &Option<Box<Syntax>>| end.as_deref().map(read);
                Self::Range(end(&range.start), end(&range.end), inclusive)
            }
            other => panic!("an expression that the programs have: {}", quote::quote!(#other)),
        }
    }
}

fn literal(lit: &syn::Lit) -> Expr {
    match lit {
        syn::Lit::Int(number) => Expr::Number(number.base10_parse().expect("a small number")),
        syn::Lit::Bool(truth) => Expr::Truth(truth.value),
        // Only values of fills have points.
        _ => Expr::Number(0),
    }
}

fn path_text(path: &syn::Path) -> String {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>().join("::")
}

fn read_choice(choice: &syn::ExprIf) -> Expr {
    let only = |block: &syn::Block| match &block.stmts[..] {
        [syn::Stmt::Expr(value, None)] => Expr::read(value),
        _ => panic!("a branch with one value"),
    };
    let Some((_, otherwise)) = &choice.else_branch else { panic!("a choice has both branches") };
    let Syntax::Block(otherwise) = &**otherwise else { panic!("a branch is a block") };
    Expr::Choice(Box::new([Expr::read(&choice.cond), only(&choice.then_branch), only(&otherwise.block)]))
}
