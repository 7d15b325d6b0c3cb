//! Whether runs with equal arguments do the same. If so, a run in graph mode need not find out what it does.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    BinOp, Expr, ExprCall, ExprField, ExprMethodCall, ExprPath, ExprUnary, Lit, Path, Stmt, Type, UnOp,
    parse_quote,
};

use super::names::hygienic;
use super::run::private;
use super::{Context, mentions};
use crate::groups::peel_expr;
use crate::resolve::{Operation, OperationKind, Program, Shape};

/// Methods of numbers. The runtime has functions of the same names, by which rustc tells whether a call is of
/// a number's own method. Other methods may be the user's, and depend on anything.
const METHODS: [&str; 23] = [
    "abs",
    "abs_diff",
    "ceil",
    "clamp",
    "div_ceil",
    "floor",
    "is_multiple_of",
    "is_power_of_two",
    "isqrt",
    "log2",
    "max",
    "min",
    "mul_add",
    "next_multiple_of",
    "next_power_of_two",
    "pow",
    "powi",
    "recip",
    "saturating_add",
    "saturating_mul",
    "saturating_sub",
    "sqrt",
    "trailing_zeros",
];

/// The methods that integers have from `Ord`.
const ORDERED: [&str; 3] = ["clamp", "max", "min"];

/// Types without behaviour of the user's and of at most 8 bytes, if these names have their usual meaning.
const PRIMITIVES: [&str; 14] =
    ["bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize"];

/// Further functions that may belong to a number's type, such as `u32::from`.
const FUNCTIONS: [&str; 4] = ["from", "from_bits", "from_ne_bytes", "to_bits"];

/// Tells the call that it depends on the parameters and the arguments alone, if that is known. The call
/// itself finds out what is known only once names are resolved.
pub(super) fn repeats(cx: &Context<'_>) -> Option<TokenStream> {
    let known = known(cx.program)?;
    let (call, site) = (&cx.names.call, hygienic());
    let words = known.words(&private(cx));
    Some(quote_spanned!(site=> (&mut #call).repeats([#(#words),*]);))
}

/// What determines the operations besides the parameters and the chunk, if it is only constants.
fn known(program: &Program) -> Option<Known<'_>> {
    // No graph can hold these.
    let is_direct = |kind: &OperationKind| match kind {
        OperationKind::Call(_)
        | OperationKind::Host(_)
        | OperationKind::Then(_)
        | OperationKind::Collective(_) => true,
        OperationKind::Upload { .. }
        | OperationKind::Download { .. }
        | OperationKind::CopyBuffer { .. }
        | OperationKind::Fill(_)
        | OperationKind::Launch(_) => false,
    };
    if program.operations.iter().any(|operation| is_direct(&operation.kind)) {
        return None;
    }
    if !program.params.iter().all(|param| is_primitive(&param.ty)) {
        return None;
    }
    let params = program.params.iter().map(|param| &param.name);
    let numbers: Vec<_> = params.chain(program.generics.const_params().map(|param| &param.ident)).collect();
    let is_number = |path: &Path| path.get_ident().is_some_and(|name| numbers.contains(&name));
    let is_a_constant = |expr: &Expr| {
        // The value of a bare name is only copied, whatever its type.
        let is_value = program.operations.iter().any(|operation| is_value(operation, expr));
        is_value
            && matches!(expr, Expr::Path(ExprPath { qself: None, path, .. })
                if names_a_constant(path) && !is_number(path))
    };
    let mut known = Known::new(numbers.clone(), program.chunk.name.as_ref());
    let operands = program.expressions().into_iter().filter(|&expr| !is_a_constant(expr));
    operands.for_each(|expr| known.visit_expr(expr));
    let shapes = program.hosts.iter().map(|host| &host.shape);
    let shapes = shapes.chain(program.buffers.iter().map(|buffer| &buffer.shape));
    shapes.flat_map(Shape::exprs).for_each(|expr| known.visit_expr(expr));
    known.is_known.then_some(known)
}

/// The words that tell whether the conditions of a kernel follow from its arguments: these numbers and the
/// lengths of these slices. A word is there only if rustc agrees.
pub(crate) fn follow(
    conditions: &[Expr],
    numbers: Vec<&Ident>,
    slices: Vec<&Ident>,
    private: &TokenStream,
) -> Option<Vec<TokenStream>> {
    let mut known = Known { slices, ..Known::new(numbers, None) };
    conditions.iter().for_each(|condition| known.visit_expr(condition));
    let follow = known.is_known && known.constants.iter().all(|path| is_of_a_primitive(path));
    (follow && known.blocks.is_none()).then(|| known.words(private))
}

pub(crate) fn is_primitive(ty: &Type) -> bool {
    match ty {
        Type::Path(path) if path.qself.is_none() => path.path.get_ident().is_some_and(names_a_primitive),
        _ => false,
    }
}

fn names_a_primitive(name: &Ident) -> bool {
    is_one_of(name, &PRIMITIVES)
}

fn is_one_of(name: &Ident, names: &[&str]) -> bool {
    names.iter().any(|known| name == known)
}

/// Whether the path may be a number's function, such as `u32::from`.
fn is_known_function(path: &Path) -> bool {
    match path.segments.iter().collect::<Vec<_>>()[..] {
        [ty, function] => {
            let function = &function.ident;
            names_a_primitive(&ty.ident) && (is_one_of(function, &METHODS) || is_one_of(function, &FUNCTIONS))
        }
        _ => false,
    }
}

/// `u32::MAX`
fn is_of_a_primitive(path: &Path) -> bool {
    matches!(path.segments.iter().collect::<Vec<_>>()[..], [ty, constant] if names_a_primitive(&ty.ident) && is_upper(&constant.ident))
}

/// `LIMIT`: rustc knows the type of a constant without being told.
fn names_a_constant(path: &Path) -> bool {
    path.segments.iter().all(|segment| segment.arguments.is_none())
        && path.segments.last().is_some_and(|last| is_upper(&last.ident))
}

/// Whether an operation fills with an expression, or gives it to a kernel.
fn is_value(operation: &Operation, expr: &Expr) -> bool {
    operation.values().into_iter().any(|value| std::ptr::eq(value, expr))
}

fn is_upper(name: &Ident) -> bool {
    let name = name.to_string();
    name.chars().any(char::is_alphabetic) && !name.chars().any(char::is_lowercase)
}

/// Whether an expression has a type of its own. A literal without one gets its type from its use. A method
/// that is called on such a literal may be a trait's, although the literal's final type has a method of that
/// name.
fn has_a_type(expr: &Expr) -> bool {
    match peel_expr(expr) {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => !number.suffix().is_empty(),
            Lit::Float(number) => !number.suffix().is_empty(),
            _ => true,
        },
        Expr::Unary(unary) => has_a_type(&unary.expr),
        Expr::Binary(binary) => match binary.op {
            BinOp::Add(_)
            | BinOp::Sub(_)
            | BinOp::Mul(_)
            | BinOp::Div(_)
            | BinOp::Rem(_)
            | BinOp::BitAnd(_)
            | BinOp::BitOr(_)
            | BinOp::BitXor(_) => has_a_type(&binary.left) || has_a_type(&binary.right),
            BinOp::Shl(_) | BinOp::Shr(_) => has_a_type(&binary.left),
            _ => false,
        },
        Expr::Call(_) | Expr::Cast(_) | Expr::Field(_) | Expr::MethodCall(_) | Expr::Path(_) => true,
        _ => false,
    }
}

/// Whether both names are the same variable's. In a `macro_rules`, two variables may have the same name.
pub(super) fn is_same(one: &Ident, other: &Ident) -> bool {
    // The text of a span begins with its scope, `#3 bytes(20..25)`; without rustc it is `bytes(20..25)`. Any
    // other text tells nothing.
    let sees = |name: &Ident| {
        let span = format!("{:?}", name.span());
        span.split_once("bytes(").map(|(sees, _)| sees.to_owned())
    };
    one == other && sees(one).is_some_and(|sees_one| Some(sees_one) == sees(other))
}

/// Whether all expressions seen so far have the same value each time.
struct Known<'a> {
    is_known: bool,
    /// Names of values that are compared, or that are constants by their declaration.
    numbers: Vec<&'a Ident>,
    /// Which of them are used.
    used: Vec<&'a Ident>,
    /// Slices of known length.
    slices: Vec<&'a Ident>,
    chunk: Option<&'a Ident>,
    /// Paths that are constants if they are numbers: a value of another type might do anything when it is
    /// used.
    constants: Vec<&'a Path>,
    /// Calls of methods that are numbers' own, if their receivers are numbers that have them.
    methods: Vec<&'a ExprMethodCall>,
    /// Calls of numbers' own functions, if these names are not others'.
    functions: Vec<(&'a Path, &'a ExprCall)>,
    /// A call of `blocks`, if that name is not another's.
    blocks: Option<&'a ExprCall>,
}

impl<'a> Known<'a> {
    fn new(numbers: Vec<&'a Ident>, chunk: Option<&'a Ident>) -> Self {
        let (used, slices, constants) = (Vec::new(), Vec::new(), Vec::new());
        let (methods, functions) = (Vec::new(), Vec::new());
        Self { is_known: true, numbers, used, slices, chunk, constants, methods, functions, blocks: None }
    }

    fn path(&mut self, path: &'a Path) {
        let number =
            path.get_ident().and_then(|name| self.numbers.iter().find(|number| is_same(number, name)));
        if let Some(number) = number {
            self.used.push(number);
        } else if names_a_constant(path) {
            self.constants.push(path);
        } else {
            self.is_known = false;
        }
    }

    fn call(&mut self, call: &'a ExprCall) {
        match &*call.func {
            // With another number of arguments the function is the user's.
            Expr::Path(ExprPath { qself: None, path, .. })
                if path.is_ident("blocks") && call.args.len() == 2 =>
            {
                self.blocks = Some(call);
            }
            Expr::Path(ExprPath { qself: None, path, .. }) if is_known_function(path) => {
                self.functions.push((path, call));
            }
            _ => self.is_known = false,
        }
        call.args.iter().for_each(|arg| self.visit_expr(arg));
    }

    fn method(&mut self, call: &'a ExprMethodCall) {
        let ExprMethodCall { receiver, method, turbofish, args, .. } = call;
        let is_slice = matches!(&**receiver, Expr::Path(ExprPath { qself: None, path, .. })
            if path.get_ident().is_some_and(|name| self.slices.iter().any(|slice| is_same(slice, name))));
        if is_slice && (method == "len" || method == "is_empty") && args.is_empty() {
            return;
        }
        self.is_known &= is_one_of(method, &METHODS) && turbofish.is_none() && has_a_type(receiver);
        self.methods.push(call);
        self.visit_expr(receiver);
        args.iter().for_each(|arg| self.visit_expr(arg));
    }

    /// `c.len`. A field of anything else may lie behind a pointer that the user's code follows.
    fn field(&mut self, field: &ExprField) {
        let is_chunk = matches!(&*field.base, Expr::Path(ExprPath { qself: None, path, .. })
            if path.get_ident().is_some_and(|name| Some(name) == self.chunk));
        self.is_known &= is_chunk;
    }

    /// The values to compare, and the questions to rustc. Each gives a word, or none if rustc's answer is no.
    fn words(&self, private: &TokenStream) -> Vec<TokenStream> {
        let site = hygienic();
        // rustc reports a number that nothing uses.
        let numbers = self.numbers.iter().filter(|name| self.used.contains(name));
        let numbers = numbers.map(|name| quote_spanned!(site=> #private::word(&#name)));
        let constants = self.constants.iter().map(|path| quote_spanned!(site=> #private::word(&#path)));
        let methods = self.methods.iter().map(|call| self.is_method(private, call));
        let functions = self.functions.iter().map(|&(path, call)| {
            let name = path.segments.last().map(|last| Ident::new(&last.ident.to_string(), site));
            let called = self.called(call);
            quote_spanned!(site=> #private::functions::#name(&#path, #called))
        });
        let blocks = self.blocks.map(|call| {
            let (path, called) = (&call.func, self.called(call));
            quote_spanned!(site=> #private::is_blocks(&#path, #called))
        });
        numbers.chain(constants).chain(methods).chain(functions).chain(blocks).collect()
    }

    /// Whether the call is of a number's own method, which it is if the receiver is a number that has it.
    fn is_method(&self, private: &TokenStream, call: &ExprMethodCall) -> TokenStream {
        let (site, ExprMethodCall { receiver, method, .. }) = (hygienic(), call);
        let name = Ident::new(&method.to_string(), site);
        let chunk = self.chunk_in(receiver);
        let mut asked = vec![quote_spanned!(site=> |#chunk| #private::type_of(&#receiver))];
        if is_one_of(method, &ORDERED) {
            let chunk = self.chunk_in(call);
            asked.push(quote_spanned!(site=> |#chunk| { use ::core::cmp::Ord as _; #call }));
        }
        quote_spanned!(site=> #private::methods::#name(#(#asked),*))
    }

    /// A call that is not made. A generic function of the user's gets its types from the call.
    fn called(&self, call: &ExprCall) -> TokenStream {
        let site = hygienic();
        // It has the same place as the call, so that rustc reports an error of the call once.
        let function = Ident::new("function", site.located_at(call.func.span()));
        let chunk = self.chunk_in(call);
        let called = ExprCall { func: parse_quote!(#function), ..call.clone() };
        quote_spanned!(site=> |#function, #chunk| #called)
    }

    /// The chunk as the parameter of a closure.
    fn chunk_in(&self, expr: &impl ToTokens) -> TokenStream {
        let chunk = self.chunk.filter(|&name| mentions(expr, name));
        chunk.map_or_else(|| quote_spanned!(hygienic()=> _), ToTokens::to_token_stream)
    }
}

impl<'a> Visit<'a> for Known<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Array(_)
            | Expr::Binary(_)
            | Expr::Block(_)
            | Expr::Group(_)
            | Expr::If(_)
            | Expr::Lit(_)
            | Expr::Paren(_)
            | Expr::Repeat(_)
            | Expr::Tuple(_) => visit::visit_expr(self, expr),
            Expr::Cast(cast) => {
                self.is_known &= is_primitive(&cast.ty);
                self.visit_expr(&cast.expr);
            }
            Expr::Unary(ExprUnary { op: UnOp::Not(_) | UnOp::Neg(_), expr, .. }) => self.visit_expr(expr),
            Expr::Path(ExprPath { qself: None, path, .. }) => self.path(path),
            Expr::Field(field) => self.field(field),
            Expr::Call(call) => self.call(call),
            Expr::MethodCall(call) => self.method(call),
            _ => self.is_known = false,
        }
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Expr(expr, _) => self.visit_expr(expr),
            _ => self.is_known = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named<const N: usize>(names: [&str; N]) -> [Ident; N] {
        names.map(|name| Ident::new(name, proc_macro2::Span::call_site()))
    }

    fn is_known(expr: &str) -> bool {
        let (numbers, [c]) = (named(["alpha", "beta", "flag", "refine"]), named(["c"]));
        let mut known = Known::new(numbers.iter().collect(), Some(&c));
        let expr = syn::parse_str(expr).expect(expr);
        known.visit_expr(&expr);
        known.is_known
    }

    #[test]
    fn numbers_and_what_is_done_with_them_are_known() {
        for expr in [
            "1.5",
            "blocks(c.len, 256)",
            "(blocks(c.len / 4, 512).min(132), 1, 1)",
            "c.len as u32",
            "-alpha * (beta + f32::sqrt(N as f32))",
            "if c.index == 0 { 1 } else { TABLE }",
            "[0.0; 4]",
            "u32::from(flag)",
            "(2.0 * alpha).floor() + 2_f32.sqrt() + (alpha as f64 / 3.0).recip()",
            "(c.len << 2).min(N).pow(2)",
            "!refine || c.start.is_multiple_of(u32::MAX as usize)",
        ] {
            assert!(is_known(expr), "{expr}");
        }
    }

    #[test]
    fn what_may_depend_on_anything_else_is_not() {
        for expr in [
            "next()",
            "clock::now()",
            "blocks(next(), 256)",
            "COUNTER.fetch_add(1, Relaxed)",
            "c.len.min(state.next())",
            "TABLE[c.index]",
            "random!()",
            "{ let x = 1; x }",
            "unsafe { SEED }",
            "(|| 1)()",
            "Shape { rows: 1 }",
            "mine::blocks(c.len, 256)",
            "blocks::<usize>(c.len, 256)",
            "blocks(c.len)",
            "blocks(c.len, 256, 1)",
            "size_of::<f32>()",
            "*alpha",
            "state",
            "LIMITS.rows",
            "Limits::<f32>::ROWS",
            "<f32 as Limits>::ROWS",
            "f32::now()",
            "None",
            "2.0.sqrt()",
            "(1 << c.len).isqrt()",
            "(-(2 + 3)).abs()",
            "(if flag { 1 } else { 2 }).isqrt()",
            "[alpha].max([beta])",
            "alpha.max::<f32>(beta)",
            "if c.index == 0 { next() } else { 1 }",
            "if c.index == 0 { random!(); 1 } else { 1 }",
            "if c.index == 0 { let n = 1; n } else { 1 }",
        ] {
            assert!(!is_known(expr), "{expr}");
        }
    }

    #[test]
    fn only_numbers_are_compared() {
        let ty = |ty: &str| is_primitive(&syn::parse_str(ty).expect(ty));
        assert!(ty("f32") && ty("usize") && ty("bool"));
        assert!(!ty("Shape") && !ty("[f32; 2]") && !ty("u128") && !ty("Vec<f32>") && !ty("T") && !ty("&f32"));
    }

    #[test]
    fn a_condition_follows_from_the_arguments() {
        let (numbers, slices) = (named(["n", "k"]), named(["x", "y"]));
        let follows = |condition: &str| {
            let conditions = [syn::parse_str(condition).expect(condition)];
            follow(&conditions, numbers.iter().collect(), slices.iter().collect(), &TokenStream::new())
                .is_some()
        };
        for condition in [
            "n as usize <= x.len().min(y.len())",
            "(n as usize + 2) * k as usize <= x.len()",
            "k <= 1024 && !x.is_empty()",
        ] {
            assert!(follows(condition), "{condition}");
        }
        for condition in [
            "ready()",
            "MAY.load(Relaxed)",
            "n <= LIMIT",
            "n.len() > 0",
            "x.len(1) > 0",
            "step.n <= k",
            "blocks(x.len(), 1) <= n",
        ] {
            assert!(!follows(condition), "{condition}");
        }
    }
}
