//! Expressions.

use syn::spanned::Spanned;
use syn::{BinOp, Expr, ExprLit, Lit, RangeLimits, UnOp};

use super::literals::literal_kind;
use super::{Lower, Lowered, Reported};
use crate::groups::peel_expr;
use crate::rust_kernels::ir::{self, Binary, Block, Condition, Kind, Unary};
use crate::rust_kernels::named::Assumed;
use crate::rust_kernels::types::{Length, Literal, Number, Shape, Source, Ty};

/// The parts of the largest tuple that the header has.
const MOST_PARTS: usize = 12;

impl Lower<'_> {
    /// An expression whose value is used, or dropped by a statement.
    pub(super) fn value(&mut self, expr: &Expr) -> Lowered {
        let span = expr.span();
        let (kind, ty) = match expr {
            Expr::Paren(paren) => return self.value(&paren.expr),
            Expr::Group(group) => return self.value(&group.expr),
            Expr::Lit(literal) => return self.literal_expr(literal),
            Expr::Path(path) => return self.path(path),
            Expr::Unary(unary) => self.unary(unary)?,
            Expr::Binary(binary) => self.binary(binary)?,
            Expr::Cast(cast) => {
                let (value, to) = (self.value(&cast.expr)?, self.ty(&cast.ty)?);
                // rustc gives a literal the type that it is cast to, if it can have it.
                if let (Some(Literal::Integer), Some(false)) | (Some(Literal::Float), Some(true)) =
                    (literal_kind(&cast.expr), self.types.as_number(to).map(Number::is_float))
                {
                    self.types.unify(value.ty, to);
                }
                self.number(value.ty, cast.expr.span());
                self.number(to, cast.ty.span());
                (Kind::Cast(Box::new(value)), to)
            }
            Expr::Assign(assign) => (self.assign(assign)?, self.types.unit()),
            Expr::Index(index) => self.index(index)?,
            Expr::Field(field) => self.field(field)?,
            Expr::Tuple(tuple) if tuple.elems.is_empty() => (Kind::Unit, self.types.unit()),
            Expr::Tuple(tuple) if tuple.elems.len() > MOST_PARTS => {
                let what = "a tuple of more than 12 parts";
                return Err(self.absent(tuple, what, "use a struct with `#[device]`, or an array"));
            }
            Expr::Tuple(tuple) => {
                let parts = self.values(&tuple.elems)?;
                self.tuple(parts)
            }
            Expr::Array(array) => {
                let parts = self.values(&array.elems)?;
                self.array(parts)
            }
            Expr::Struct(found) => self.struct_value(found)?,
            Expr::Repeat(repeat) => {
                let value = self.value(&repeat.expr)?;
                let length = self.length(&repeat.len)?;
                let ty = self.types.add(Shape::Array(value.ty, Length(length.clone())));
                (Kind::Repeat(Box::new(value), length), ty)
            }
            Expr::Reference(reference) => self.reference(reference)?,
            Expr::If(branch) => self.branch(branch)?,
            Expr::Match(choice) => self.choice(choice)?,
            Expr::Block(block) => match &block.label {
                Some(label) => self.labelled(label, &block.block)?,
                None => {
                    let block = self.block(&block.block)?;
                    let ty = self.type_of_block(&block);
                    (Kind::Block(block), ty)
                }
            },
            Expr::Unsafe(block) => {
                let block = self.block(&block.block)?;
                let ty = self.type_of_block(&block);
                (Kind::Block(block), ty)
            }
            Expr::Loop(of) => self.endless(of)?,
            Expr::While(of) => (self.while_loop(of)?, self.types.unit()),
            Expr::ForLoop(of) => (self.for_loop(of)?, self.types.unit()),
            Expr::Break(found) => (self.break_of(found)?, self.types.add(Shape::Never)),
            Expr::Continue(found) => (self.continue_of(found), self.types.add(Shape::Never)),
            Expr::Return(found) => {
                let value = match &found.expr {
                    Some(value) => Some(Box::new(self.value(value)?)),
                    None => None,
                };
                if let (Some(value), Some(result)) = (&value, self.result) {
                    self.types.unify(value.ty, result);
                }
                (Kind::Return(value), self.types.add(Shape::Never))
            }
            Expr::Call(call) => self.call(call)?,
            Expr::MethodCall(call) => {
                let (kind, ty) = self.method_call(call)?;
                // A method that panics reports the line of its name.
                return Ok(self.expr(kind, ty, call.method.span()));
            }
            Expr::Closure(closure) => self.closure(closure)?,
            Expr::Macro(call) => return self.macro_call(&call.mac, span),
            other => return Err(self.not_an_expression(other)),
        };
        Ok(self.expr(kind, ty, span))
    }

    pub(super) fn values<'x>(
        &mut self,
        values: impl IntoIterator<Item = &'x Expr>,
    ) -> Lowered<Vec<ir::Expr>> {
        values.into_iter().map(|value| self.value(value)).collect()
    }

    pub(super) fn tuple(&mut self, parts: Vec<ir::Expr>) -> (Kind, Ty) {
        let types = parts.iter().map(|part| part.ty).collect();
        (Kind::Tuple(parts), self.types.add(Shape::Tuple(types)))
    }

    pub(super) fn array(&mut self, parts: Vec<ir::Expr>) -> (Kind, Ty) {
        let mut of = self.types.fresh();
        parts.iter().for_each(|part| of = self.types.joined(of, part.ty));
        let length = Length(parts.len().to_string());
        (Kind::Array(parts), self.types.add(Shape::Array(of, length)))
    }

    pub(super) fn path(&mut self, path: &syn::ExprPath) -> Lowered {
        let span = path.span();
        if path.qself.is_none()
            && let Some(name) = path.path.get_ident()
        {
            if let Some(local) = self.find(name) {
                let ty = self.locals[local.0].ty;
                match self.types.shape(ty) {
                    Shape::Shared(_) => {
                        let help = "read its elements, or take it by reference: `&tile`";
                        return Err(self.absent(path, "a shared array as a value", help));
                    }
                    Shape::Block | Shape::Thread => {
                        let help = format!("call its methods, such as `{name}.index()`");
                        return Err(self.absent(path, "a block or a thread as a value", &help));
                    }
                    _ => {}
                }
                return Ok(self.expr(Kind::Local(local), ty, span));
            }
            if name == "None" {
                return Err(self.absent(name, "making an `Option`", "use a `bool` beside the value"));
            }
            self.no_name_of_cuda(name)?;
            self.no_misspelt_local(name)?;
        }
        let names: Vec<_> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let ty = match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [.., ty, constant] => match Number::named(ty) {
                Some(number) => {
                    let of = match constant {
                        "BITS" | "DIGITS" | "MANTISSA_DIGITS" | "RADIX" => Number::U32,
                        "MIN_EXP" | "MAX_EXP" | "MIN_10_EXP" | "MAX_10_EXP" => Number::I32,
                        _ => number,
                    };
                    match number.is_half() {
                        true => self.half_before(path, number),
                        false => {
                            let path = self.outside(path);
                            self.assume(Assumed::Constant(path, of));
                        }
                    }
                    self.types.number(of)
                }
                None => self.types.foreign(),
            },
            _ => self.types.foreign(),
        };
        if let Some(last) = names.last()
            && last.starts_with(char::is_uppercase)
            && last.contains(char::is_lowercase)
        {
            let what = format!("the variant `{}`", crate::text::text(path));
            return Err(self.absent(path, &what, "use numbers, such as a `const` for each case"));
        }
        let item = self.constant(path);
        let ty = match self.types.shape(ty) {
            Shape::Unknown(_) => self.types.foreign_of(Source::Constant(self.constants[item.0].1.clone())),
            _ => ty,
        };
        Ok(self.expr(Kind::Constant(item), ty, span))
    }

    fn unary(&mut self, unary: &syn::ExprUnary) -> Lowered<(Kind, Ty)> {
        let value = self.value(&unary.expr)?;
        let of = self.types.value(value.ty);
        Ok(match unary.op {
            UnOp::Deref(_) => {
                let to = match *self.types.shape(value.ty) {
                    Shape::Ref(to, _) => to,
                    // A pattern has taken the value out of what it refers to in Rust.
                    Shape::Number(_) | Shape::Bool => value.ty,
                    _ => self.types.foreign(),
                };
                (Kind::Deref(Box::new(value)), to)
            }
            UnOp::Not(_) | UnOp::Neg(_) => {
                self.number(of, unary.expr.span());
                let op = if matches!(unary.op, UnOp::Not(_)) { Unary::Not } else { Unary::Negate };
                (Kind::Unary(op, Box::new(value)), of)
            }
            _ => return Err(self.absent(unary, "this operator", "use another")),
        })
    }

    fn binary(&mut self, binary: &syn::ExprBinary) -> Lowered<(Kind, Ty)> {
        if let Some((_, true)) = arithmetic(&binary.op) {
            self.no_write_elsewhere(&binary.left)?;
        }
        let (left, right) = (self.value(&binary.left)?, self.value(&binary.right)?);
        if let Some((_, true)) = arithmetic(&binary.op) {
            self.no_change_of_block(&left, &binary.left)?;
            self.no_change_of_copy(&left, &binary.left)?;
            self.no_change_outside(&left, &binary.left)?;
            self.changes();
        }
        let (of_left, of_right) = (self.types.value(left.ty), self.types.value(right.ty));
        let (l, r) = (Box::new(left), Box::new(right));
        Ok(match &binary.op {
            BinOp::And(_) => (Kind::And(l, r), self.types.bool()),
            BinOp::Or(_) => (Kind::Or(l, r), self.types.bool()),
            op => {
                let shifts =
                    matches!(op, BinOp::Shl(_) | BinOp::Shr(_) | BinOp::ShlAssign(_) | BinOp::ShrAssign(_));
                if !shifts {
                    self.types.unify(of_left, of_right);
                }
                self.number(of_left, binary.left.span());
                self.number(of_right, binary.right.span());
                if let Some(compare) = comparison(op) {
                    if matches!(
                        self.types.shape(of_left),
                        Shape::Tuple(_) | Shape::Array(..) | Shape::Slice(_)
                    ) {
                        let what = "a comparison of tuples or arrays";
                        return Err(self.absent(binary, what, "compare their parts"));
                    }
                    (Kind::Compare(compare, l, r), self.types.bool())
                } else if let Some((op, assigns)) = arithmetic(op) {
                    match assigns {
                        true => (Kind::AssignBinary(op, l, r), self.types.unit()),
                        false => (Kind::Binary(op, l, r), of_left),
                    }
                } else {
                    return Err(self.absent(binary, "this operator", "use another"));
                }
            }
        })
    }

    /// What an index or a reference refers to.
    fn place(&mut self, expr: &Expr) -> Lowered {
        if let Some(shared) = self.shared_place(expr, true) {
            return shared;
        }
        // `x[from..][..n]` is a part of a part.
        if let Expr::Index(index) = peel_expr(expr)
            && let Expr::Range(range) = &*index.index
        {
            let (kind, ty) = self.part(None, index, range)?;
            return Ok(self.expr(kind, ty, index.span()));
        }
        let value = self.value(expr)?;
        Ok(self.referred(value))
    }

    /// What is behind all references but one, and a slice itself, as far as their types are known: in C++, `.` and
    /// `->` look no further.
    pub(super) fn referred(&self, mut value: ir::Expr) -> ir::Expr {
        while let Shape::Ref(to, _) = *self.types.shape(value.ty)
            && let Shape::Ref(..) | Shape::Slice(_) = self.types.shape(to)
        {
            let (line, span) = (value.line, value.span);
            value = ir::Expr { kind: Kind::Deref(Box::new(value)), ty: to, line, span };
        }
        value
    }

    fn index(&mut self, index: &syn::ExprIndex) -> Lowered<(Kind, Ty)> {
        let base = self.place(&index.expr)?;
        // A thread between the brackets would be a second error.
        if matches!(self.types.shape(base.ty), Shape::Reported) {
            return Err(Reported);
        }
        if let Shape::Private(of) = *self.types.shape(base.ty) {
            if self.position(&index.index).is_some_and(|at| matches!(self.types.shape(at.ty), Shape::Thread))
            {
                return Ok((Kind::Mine(Box::new(base)), of));
            }
            let help = "write the thread of the phase between the brackets: `sums[t]`";
            return Err(self.absent(&index.index, "the private variable of another thread", help));
        }
        if let Shape::Elements { .. } = self.types.shape(base.ty) {
            return Err(self.element_elsewhere(index, false));
        }
        if let Expr::Range(range) = &*index.index {
            return Err(self.absent(range, "a part without `&`", "write `&x[from..to]`"));
        }
        self.no_index_of_element(index, &base)?;
        let at = self.value(&index.index)?;
        if !matches!(self.types.shape(at.ty), Shape::Index(1)) {
            let usize = self.types.number(Number::Usize);
            self.types.unify(at.ty, usize);
        }
        self.array_of(base.ty, index.expr.span());
        let element = match self.types.element(base.ty) {
            Some(element) => element,
            // rustc says that a number has no elements.
            None if self.types.as_number(base.ty).is_some() => self.types.add(Shape::Reported),
            None => self.types.foreign_of(Source::Element(base.ty)),
        };
        Ok((Kind::Index(Box::new(base), Box::new(at)), element))
    }

    fn reference(&mut self, reference: &syn::ExprReference) -> Lowered<(Kind, Ty)> {
        if let Expr::Index(index) = &*reference.expr
            && let Expr::Range(range) = &*index.index
        {
            return self.part(reference.mutability.as_ref(), index, range);
        }
        self.no_whole_padded(&reference.expr)?;
        if reference.mutability.is_some() {
            self.no_write_elsewhere(&reference.expr)?;
        }
        let value = self.place(&reference.expr)?;
        if let Some(word) = &reference.mutability {
            self.no_change_of_block(&value, &reference.expr)?;
            self.no_reference_of_block(word, reference)?;
        }
        let ty = match self.types.shape(value.ty) {
            // A slice is a reference already.
            Shape::Slice(_) => return Ok((value.kind, value.ty)),
            // Whose methods are found before those of `Own` could hand on other elements.
            Shape::Elements { .. } => return Err(self.all_elements(&reference.expr, reference)),
            _ => self.types.add(Shape::Ref(value.ty, reference.mutability.is_some())),
        };
        Ok((Kind::Ref(Box::new(value)), ty))
    }

    /// The receiver of a method, to which Rust refers by itself: `x[from..to].len()`.
    ///
    /// `is_read` says whether the method reads elements.
    pub(super) fn receiver(&mut self, expr: &Expr, is_read: bool) -> Lowered {
        if is_read {
            self.no_whole_padded(expr)?;
        }
        if let Some(shared) = self.shared_place(expr, is_read) {
            return shared;
        }
        if let Some(position) = self.position(expr) {
            return Ok(position);
        }
        if let Expr::Index(index) = peel_expr(expr)
            && let Expr::Range(range) = &*index.index
        {
            let (kind, ty) = self.part(None, index, range)?;
            return Ok(self.expr(kind, ty, index.span()));
        }
        let value = self.value(expr)?;
        Ok(match self.types.shape(self.types.value(value.ty)) {
            Shape::Slice(_) | Shape::Array(..) => self.referred(value),
            _ => value,
        })
    }

    fn part(
        &mut self,
        mutability: Option<&syn::Token![mut]>,
        index: &syn::ExprIndex,
        range: &syn::ExprRange,
    ) -> Lowered<(Kind, Ty)> {
        self.no_whole_padded(&index.expr)?;
        let base = self.place(&index.expr)?;
        if let Shape::Elements { .. } = self.types.shape(base.ty) {
            return Err(self.element_elsewhere(index, mutability.is_some()));
        }
        if let Some(mutability) = mutability {
            return Err(self.absent(mutability, "a part to write", "write the elements one by one"));
        }
        let usize = self.types.number(Number::Usize);
        let mut bound = |bound: &Option<Box<Expr>>| match bound {
            Some(bound) => {
                let value = self.value(bound)?;
                self.types.unify(value.ty, usize);
                Ok(Some(Box::new(value)))
            }
            None => Ok(None),
        };
        let (from, to) = (bound(&range.start)?, bound(&range.end)?);
        let element = match self.types.element(base.ty) {
            Some(element) => element,
            None => self.types.foreign(),
        };
        let inclusive = matches!(range.limits, RangeLimits::Closed(_));
        Ok((Kind::Part(Box::new(base), from, to, inclusive), self.types.add(Shape::Slice(element))))
    }

    fn branch(&mut self, branch: &syn::ExprIf) -> Lowered<(Kind, Ty)> {
        let outside = self.scope.len();
        let condition = self.condition(&branch.cond);
        let then = self.block(&branch.then_branch);
        self.scope.truncate(outside);
        let otherwise = match &branch.else_branch {
            Some((_, otherwise)) => Some(Box::new(self.value(otherwise)?)),
            None => None,
        };
        let (condition, then): (Condition, Block) = (condition?, then?);
        let of_then = self.type_of_block(&then);
        let ty = match &otherwise {
            Some(otherwise) => self.types.joined(of_then, otherwise.ty),
            None => self.types.unit(),
        };
        Ok((Kind::If(Box::new(condition), then, otherwise), ty))
    }

    fn choice(&mut self, choice: &syn::ExprMatch) -> Lowered<(Kind, Ty)> {
        let value = self.value(&choice.expr)?;
        if let Shape::Exchanged(_) = self.types.shape(value.ty) {
            return self.match_of_exchange(choice, value);
        }
        let of_value = self.types.value(value.ty);
        let mut ty = self.types.add(Shape::Never);
        let mut arms = Vec::new();
        for arm in &choice.arms {
            let arm = self.arm(arm, of_value)?;
            ty = self.types.joined(ty, arm.body.ty);
            arms.push(arm);
        }
        Ok((Kind::Match(Box::new(value), arms), ty))
    }

    /// A length in the body: a number, or an expression of constants.
    pub(super) fn length(&mut self, length: &Expr) -> Lowered<String> {
        match length {
            Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => Ok(number.base10_digits().to_owned()),
            Expr::Path(path) => {
                let item = match self.path(path)?.kind {
                    Kind::Constant(item) => self.constants[item.0].1.clone(),
                    Kind::Local(local) => self.locals[local.0].cpp.clone(),
                    _ => String::new(),
                };
                Ok(item)
            }
            Expr::Paren(paren) => Ok(format!("({})", self.length(&paren.expr)?)),
            Expr::Group(group) => Ok(format!("({})", self.length(&group.expr)?)),
            Expr::Binary(binary) => {
                let op = match binary.op {
                    BinOp::Add(_) => "+",
                    BinOp::Sub(_) => "-",
                    BinOp::Mul(_) => "*",
                    BinOp::Div(_) => "/",
                    _ => return Err(self.absent(length, "this length", "name it in a constant")),
                };
                Ok(format!("{} {op} {}", self.length(&binary.left)?, self.length(&binary.right)?))
            }
            other => Err(self.absent(other, "this length", "name it in a constant")),
        }
    }
}

fn comparison(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Eq(_) => "==",
        BinOp::Ne(_) => "!=",
        BinOp::Lt(_) => "<",
        BinOp::Le(_) => "<=",
        BinOp::Gt(_) => ">",
        BinOp::Ge(_) => ">=",
        _ => return None,
    })
}

/// The operator, and whether it assigns.
fn arithmetic(op: &BinOp) -> Option<(Binary, bool)> {
    Some(match op {
        BinOp::Add(_) => (Binary::Add, false),
        BinOp::Sub(_) => (Binary::Subtract, false),
        BinOp::Mul(_) => (Binary::Multiply, false),
        BinOp::Div(_) => (Binary::Divide, false),
        BinOp::Rem(_) => (Binary::Remainder, false),
        BinOp::BitAnd(_) => (Binary::And, false),
        BinOp::BitOr(_) => (Binary::Or, false),
        BinOp::BitXor(_) => (Binary::Xor, false),
        BinOp::Shl(_) => (Binary::ShiftLeft, false),
        BinOp::Shr(_) => (Binary::ShiftRight, false),
        BinOp::AddAssign(_) => (Binary::Add, true),
        BinOp::SubAssign(_) => (Binary::Subtract, true),
        BinOp::MulAssign(_) => (Binary::Multiply, true),
        BinOp::DivAssign(_) => (Binary::Divide, true),
        BinOp::RemAssign(_) => (Binary::Remainder, true),
        BinOp::BitAndAssign(_) => (Binary::And, true),
        BinOp::BitOrAssign(_) => (Binary::Or, true),
        BinOp::BitXorAssign(_) => (Binary::Xor, true),
        BinOp::ShlAssign(_) => (Binary::ShiftLeft, true),
        BinOp::ShrAssign(_) => (Binary::ShiftRight, true),
        _ => return None,
    })
}
