//! Calls: of `#[device]` functions, closures and methods.

use syn::spanned::Spanned;
use syn::{Expr, ExprCall, ExprClosure, ExprField, ExprIndex, ExprMethodCall, ExprPath, GenericArgument};
use syn::{Pat, PathArguments, Stmt, Type};

use super::context::{Level, Owner};
use super::literals::bare;
use super::{Lower, Lowered, Reported};
use crate::diagnostics::similar;
use crate::groups::peel_expr;
use crate::rust_kernels::atomics::Order;
use crate::rust_kernels::instead;
use crate::rust_kernels::ir::{self, Closure, Kind, LocalId};
use crate::rust_kernels::methods::{self, Method, number_method, type_of};
use crate::rust_kernels::named::Assumed;
use crate::rust_kernels::types::{Number, Shape, Source, Ty};

impl Lower<'_> {
    pub(super) fn call(&mut self, call: &ExprCall) -> Lowered<(Kind, Ty)> {
        let Expr::Path(path) = peel_expr(&call.func) else {
            return Err(self.absent(&call.func, "this call", "name the function or the closure"));
        };
        if let Some(name) = path.path.get_ident() {
            if let Some(local) = self.find(name) {
                return self.call_closure(local, call);
            }
            self.no_function_of_cuda(name)?;
            if *name == self.own_name {
                let message = format!("`{name}` calls itself");
                let notes = ["a thread of a GPU has a small stack of a fixed size"];
                let help = "write it as a loop, with an array for what is still to be done";
                return Err(self.report(name, "TW0909", &message, &notes, help));
            }
        }
        if path.qself.is_some() {
            return Err(self.absent(path, "a call by way of a type", "name the function by its path"));
        }
        if let Some(found) = self.associated(path, call)? {
            return Ok(found);
        }
        if let Some(found) = self.tuple_struct(path, call)? {
            return Ok(found);
        }
        self.no_fence(path, call)?;
        self.no_shared_alone(call, path)?;
        self.no_function_of_std(path)?;
        let mut arguments = Vec::new();
        let mut literals = Vec::new();
        for argument in &call.args {
            arguments.push(match bare(argument) {
                // Only rustc knows the parameter's type, which the literal gets in both languages. A function for
                // several types has no such type.
                Some(kind) => {
                    literals.push(argument.span());
                    let ty = self.types.foreign();
                    self.expr(kind, ty, argument.span())
                }
                None => {
                    let value = self.value(argument)?;
                    self.types.depends(value.ty);
                    self.no_atomics_of_block(&value, argument)?;
                    if matches!(self.types.shape(value.ty), Shape::Ref(_, true)) {
                        self.changes();
                    }
                    value
                }
            });
        }
        let mut plain = path.clone();
        let generics = match plain.path.segments.last_mut() {
            Some(last) => self.generic_arguments(&std::mem::take(&mut last.arguments))?,
            None => Vec::new(),
        };
        let item = self.callee(&plain);
        self.pins.function(call);
        let types = arguments.iter().map(|argument| match argument.kind {
            Kind::Bare(_) => None,
            _ => Some(argument.ty),
        });
        let name = &self.callees[item.0].1;
        let name =
            if generics.is_empty() { name.clone() } else { format!("{name}<{}>", generics.join(", ")) };
        let ty = self.types.foreign_of(Source::Call(name, types.collect()));
        let path = &self.callees[item.0].0;
        self.bare.extend(literals.into_iter().map(|literal| (path.clone(), literal)));
        Ok((Kind::Call(item, generics, arguments), ty))
    }

    /// The constants of `f::<N, 5>(x)` in C++, which chooses types by the arguments.
    fn generic_arguments(&mut self, arguments: &PathArguments) -> Lowered<Vec<String>> {
        let PathArguments::AngleBracketed(arguments) = arguments else { return Ok(Vec::new()) };
        let mut generics = Vec::new();
        for argument in &arguments.args {
            let constant = match argument {
                GenericArgument::Const(Expr::Block(block)) => match &block.block.stmts[..] {
                    [Stmt::Expr(value, None)] => value.clone(),
                    _ => return Err(self.absent(block, "this constant", "name it by a `const`")),
                },
                GenericArgument::Const(constant) => constant.clone(),
                GenericArgument::Type(Type::Infer(_)) => continue,
                GenericArgument::Type(Type::Path(name)) if self.is_number(name) => continue,
                // A name may be a type's, as far as the syntax tells.
                GenericArgument::Type(Type::Path(name)) if name.qself.is_none() => {
                    Expr::Path(ExprPath { attrs: Vec::new(), qself: None, path: name.path.clone() })
                }
                other => return Err(self.absent(other, "this generic argument", "leave it out")),
            };
            generics.push(format!("({})", self.length(&constant)?));
        }
        Ok(generics)
    }

    /// Refuses `fence(Ordering::Release)`, whatever of its path is written.
    fn no_fence(&mut self, path: &ExprPath, call: &ExprCall) -> Lowered<()> {
        let is_fence = path
            .path
            .segments
            .last()
            .is_some_and(|last| matches!(last.ident.to_string().as_str(), "fence" | "compiler_fence"));
        let order = match (is_fence, call.args.first().map(peel_expr)) {
            (true, Some(Expr::Path(order))) => self.outside(order),
            _ => return Ok(()),
        };
        let last = order.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        if Order::named(&last).is_none() {
            return Ok(());
        }
        // The imports of both are used.
        let fence = self.outside(path);
        self.orders.extend([order, fence]);
        let what = format!("`{}`", crate::text::text(path));
        let why =
            ["in a kernel each access to an atomic has its order, which stands for the fences around it"];
        let help = "write the order at the access: `flag.store(1, Release)`, `flag.load(Acquire)`";
        Err(self.absent_since(path, &what, &why, help))
    }

    /// Whether the name is that of a number's type.
    fn is_number(&self, path: &syn::TypePath) -> bool {
        path.path.get_ident().is_some_and(|name| Number::named(&name.to_string()).is_some())
    }

    /// Refuses what can have no `#[device]`: functions of types and of the standard library, and constructors.
    fn no_function_of_std(&mut self, path: &ExprPath) -> Lowered<()> {
        let outside = self.outside(path);
        let names: Vec<_> = outside.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let is_type = |name: &String| name.starts_with(char::is_uppercase) || Number::named(name).is_some();
        match &names[..] {
            [name] if matches!(name.as_str(), "Some" | "Ok" | "Err") => {
                let what = if name == "Some" { "making an `Option`" } else { "making a `Result`" };
                Err(self.absent(path, what, "use a `bool` beside the value"))
            }
            [name] if is_type(name) => {
                let (_, help) = instead::of_call(&outside.path);
                Err(self.absent(path, &format!("the struct or variant `{name}`"), &help))
            }
            [first, .., ty, _] | [first @ ty, _]
                if is_type(ty) || matches!(first.as_str(), "std" | "core" | "alloc") =>
            {
                let (why, help) = instead::of_call(&outside.path);
                let what = format!("`{}`", crate::text::text(path));
                Err(self.absent_since(path, &what, why, &help))
            }
            _ => Ok(()),
        }
    }

    /// `f32::from_bits(x)`, `u64::from(x)`, `f32::max(a, b)`.
    fn associated(&mut self, path: &ExprPath, call: &ExprCall) -> Lowered<Option<(Kind, Ty)>> {
        let names: Vec<_> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let [before @ .., ty, name] = &names[..] else { return Ok(None) };
        let Some(number) = Number::named(ty) else { return Ok(None) };
        match (number.is_half(), before) {
            (true, _) => self.half_before(path, number),
            (false, []) => self.pins.of_number(call, number),
            (false, _) => return Ok(None),
        }
        let mut arguments = self.values(&call.args)?;
        let of = self.types.number(number);
        let one = arguments.len() == 1;
        if let ("from_bits", true, true) = (name.as_str(), one, number.is_float()) {
            let bits = match number {
                Number::F32 => Number::U32,
                Number::F64 => Number::U64,
                _ => Number::U16,
            };
            let bits = self.types.number(bits);
            self.types.unify(arguments[0].ty, bits);
            return Ok(Some((Kind::Convert("from_bits", number, Box::new(arguments.remove(0))), of)));
        }
        if let ("from_f32", true, true) = (name.as_str(), one, number.is_half()) {
            let single = self.types.number(Number::F32);
            self.types.unify(arguments[0].ty, single);
            return Ok(Some((Kind::Convert("from_f32", number, Box::new(arguments.remove(0))), of)));
        }
        if let ("from", true, false) = (name.as_str(), one, number.is_half()) {
            return Ok(Some((Kind::Convert("from", number, Box::new(arguments.remove(0))), of)));
        }
        let receiver = self.types.number(number);
        let Some(method) = number_method(&self.types, receiver, name) else {
            let last = path.path.segments.last().map(|last| last.ident.clone());
            let help = match instead::of_method(name, Some(number)) {
                Some(help) => help,
                None => instead::of_call(&path.path).1,
            };
            return Err(self.absent(last, &format!("`{ty}::{name}`"), &help));
        };
        if arguments.len() != 1 + method.arguments.len() {
            // rustc reports the number of arguments.
            return Ok(Some((Kind::Unit, of)));
        }
        let receiver = arguments.remove(0);
        self.types.unify(receiver.ty, of);
        Ok(Some(self.number_call(method, receiver, arguments)))
    }

    /// Notes the type of a path's last name, which has to be one of the crate `half`.
    pub(super) fn half_before(&mut self, path: &ExprPath, half: Number) {
        let mut of = path.clone();
        of.path.segments.pop();
        of.path.segments.pop_punct();
        let of = self.outside(&of);
        self.assume(Assumed::Type(of, half));
    }

    fn number_call(
        &mut self,
        method: &'static methods::Signature,
        receiver: ir::Expr,
        arguments: Vec<ir::Expr>,
    ) -> (Kind, Ty) {
        for (argument, is) in arguments.iter().zip(method.arguments) {
            let ty = type_of(&mut self.types, receiver.ty, *is);
            self.types.unify(argument.ty, ty);
        }
        // References to integers have an order, too: these give one of the two.
        if let ("min" | "max", Shape::Ref(_, false)) = (method.name, self.types.shape(receiver.ty))
            && self.types.as_number(receiver.ty).is_some_and(|number| !number.is_float())
        {
            let ty = receiver.ty;
            return (Kind::Method(Method::OfReferences(method.name), Box::new(receiver), arguments), ty);
        }
        let result = type_of(&mut self.types, receiver.ty, method.result);
        (Kind::Method(Method::Number(method), Box::new(receiver), arguments), result)
    }

    pub(super) fn method_call(&mut self, call: &ExprMethodCall) -> Lowered<(Kind, Ty)> {
        if let Some(element) = self.any_of_shared(call)? {
            return Ok(element);
        }
        if let Some(value) = self.copied_or(call)? {
            return Ok(value);
        }
        self.no_block(call)?;
        let receiver = self.receiver(&call.receiver, call.method != "len")?;
        match self.types.shape(self.types.value(receiver.ty)) {
            Shape::Block => return self.of_block(call),
            Shape::Thread => return self.of_thread(call),
            Shape::Tile(..) if call.method == "part" => return self.part_of_tile(call, receiver),
            _ => {}
        }
        if let Some(of) = self.atomic_of(&receiver) {
            return self.of_atomic(call, receiver, of);
        }
        self.no_static_atomic(call, &receiver)?;
        self.no_atomic(&call.method, &receiver)?;
        let shape = self.types.shape(self.types.value(receiver.ty)).clone();
        let is_known = !matches!(shape, Shape::Elements { .. } | Shape::Reported);
        if is_known && call.args.iter().any(|argument| matches!(peel_expr(argument), Expr::Closure(_))) {
            // What is in the closure is no second mistake.
            return Err(self.no_method(call, &receiver));
        }
        let arguments = self.values(&call.args)?;
        let name = call.method.to_string();
        self.pin(call, &receiver, &shape);
        let usize = self.types.number(Number::Usize);
        let one = |method: Method, receiver: ir::Expr, arguments| {
            Kind::Method(method, Box::new(receiver), arguments)
        };
        Ok(match (name.as_str(), shape, arguments.len()) {
            ("len", Shape::Slice(_) | Shape::Array(..) | Shape::Elements { .. } | Shape::Named(_), 0) => {
                (one(Method::Len, receiver, arguments), usize)
            }
            // rustc alone knows the type of a constant, and of what a function gives.
            ("len", Shape::Unknown(unknown), 0) if unknown.foreign => {
                (one(Method::Len, receiver, arguments), usize)
            }
            ("is_empty", Shape::Slice(_) | Shape::Array(..) | Shape::Elements { .. }, 0) => {
                (one(Method::IsEmpty, receiver, arguments), self.types.bool())
            }
            ("get", Shape::Index(1) | Shape::BlockIndex | Shape::Row, 0) => {
                (one(Method::Position, receiver, arguments), usize)
            }
            ("get", Shape::Index(dimensions), 0) => {
                let length = crate::rust_kernels::types::Length(dimensions.to_string());
                let ty = self.types.add(Shape::Array(usize, length));
                (one(Method::Position, receiver, arguments), ty)
            }
            ("get", Shape::Slice(of), 1) => {
                self.types.unify(arguments[0].ty, usize);
                let reference = self.types.add(Shape::Ref(of, false));
                (one(Method::Get, receiver, arguments), self.types.add(Shape::Option(reference)))
            }
            ("get", Shape::Array(..) | Shape::Named(_), 1) if is_place(&receiver) => {
                self.types.unify(arguments[0].ty, usize);
                let element = self.types.element(receiver.ty).unwrap_or(usize);
                let reference = self.types.add(Shape::Ref(element, false));
                (one(Method::Get, receiver, arguments), self.types.add(Shape::Option(reference)))
            }
            ("get", Shape::Array(..), 1) => {
                let help = "name the array: `let table = [1.0, 2.0];`";
                return Err(self.absent(&call.method, "`get` of an array that has no name", help));
            }
            ("get_mut", Shape::Elements { of, .. }, 1) => {
                match self.types.shape(arguments[0].ty) {
                    Shape::Index(_) => {}
                    Shape::Reported => return Err(Reported),
                    _ => return Err(self.computed_element(call)),
                }
                self.owned(call, &receiver, Owner::Thread)?;
                let reference = self.types.add(Shape::Ref(of, true));
                (one(Method::GetMut, receiver, arguments), self.types.add(Shape::Option(reference)))
            }
            (field @ ("item" | "top" | "left"), Shape::Tile(..), 0) => {
                (Kind::Field(Box::new(receiver), field.to_owned()), usize)
            }
            ("row", Shape::Part(_), 1) => self.place_of_part("row", receiver, arguments),
            ("column", Shape::Part(_), 1) => self.place_of_part("column", receiver, arguments),
            ("tile" | "row", Shape::Elements { .. }, 1) if self.level != Level::Thread => {
                return Err(self.part_alone(call));
            }
            ("any" | "any_mut", Shape::Elements { of, out }, 1) => {
                return self.any_element(call, receiver, arguments, of, out);
            }
            ("get_unchecked" | "get_unchecked_mut", Shape::Slice(_) | Shape::Array(..), 1) => {
                return self.unchecked_element(call, receiver, arguments);
            }
            ("put", Shape::Elements { .. }, 2) if self.level != Level::Thread => {
                return self.put(call, receiver, arguments);
            }
            ("is_ok", Shape::Exchanged(_), 0) => (one(Method::IsOk, receiver, arguments), self.types.bool()),
            ("is_err", Shape::Exchanged(_), 0) => {
                (one(Method::IsErr, receiver, arguments), self.types.bool())
            }
            ("is_some", Shape::Option(_), 0) => (one(Method::IsSome, receiver, arguments), self.types.bool()),
            ("iter", Shape::Slice(_) | Shape::Array(..) | Shape::Named(_), 0) => (receiver.kind, receiver.ty),
            ("clone" | "to_owned", Shape::Number(_) | Shape::Bool | Shape::Named(_), 0) => {
                let ty = self.types.value(receiver.ty);
                (one(Method::Same, receiver, arguments), ty)
            }
            (_, Shape::Reported, _) => return Err(Reported),
            (_, Shape::Elements { .. }, _) => return Err(self.all_elements(&call.receiver, &call.method)),
            (_, Shape::Number(_) | Shape::Unknown(_) | Shape::Named(_), count) => {
                match number_method(&self.types, receiver.ty, &name) {
                    Some(method) if method.arguments.len() == count => {
                        self.number(receiver.ty, call.receiver.span());
                        self.number_call(method, receiver, arguments)
                    }
                    _ => return Err(self.no_method(call, &receiver)),
                }
            }
            _ => return Err(self.no_method(call, &receiver)),
        })
    }

    /// Sees to it that a trait of the user's, which may come before, has no part in a method.
    fn pin(&mut self, call: &ExprMethodCall, receiver: &ir::Expr, shape: &Shape) {
        match (call.method.to_string().as_str(), shape) {
            ("len" | "is_empty" | "get" | "iter", Shape::Array(..) | Shape::Named(_)) => {
                if call.method != "iter" {
                    self.array_of(receiver.ty, call.receiver.span());
                }
                self.pin_slice(call);
            }
            ("len" | "is_empty" | "get" | "iter", Shape::Slice(_))
                if matches!(receiver.kind, Kind::Deref(_)) =>
            {
                self.pin_slice(call);
            }
            ("clone" | "to_owned", Shape::Number(_) | Shape::Bool | Shape::Named(_)) => {
                self.pins.copy(call, self.types.references(receiver.ty));
            }
            ("len" | "is_empty", Shape::Elements { .. }) => self.pins.of_referred(call),
            ("is_some", Shape::Option(_)) | ("is_ok" | "is_err", Shape::Exchanged(_)) => {
                self.pins.of_value(call);
            }
            _ => {}
        }
    }

    /// The same for a method of slices, of an array of the user's own.
    pub(super) fn pin_slice(&mut self, call: &ExprMethodCall) {
        let mut root = &*call.receiver;
        while let Expr::Index(ExprIndex { expr: inside, .. }) | Expr::Field(ExprField { base: inside, .. }) =
            peel_expr(root)
        {
            root = inside;
        }
        let of = self.named(root).map(|local| self.types.shape(self.locals[local.0].ty));
        if !matches!(of, Some(Shape::Shared(_) | Shape::Fetched { .. })) {
            self.pins.of_slice(call);
        }
    }

    pub(super) fn no_method(&mut self, call: &ExprMethodCall, receiver: &ir::Expr) -> Reported {
        let name = call.method.to_string();
        let number = self.types.as_number(receiver.ty);
        let of = number.map(|number| format!(" of `{number}`")).unwrap_or_default();
        let message = format!("the method `{name}`{of} is not in the language of kernels");
        let notes = [
            "kernels have most methods of numbers, and `len`, `is_empty`, `get`, `get_mut`, `iter` and `is_some`",
        ];
        const OF_STRUCT: &str = "write it as a function with `#[device]`, outside of any `impl`";
        let is_named = self.types.as_named(receiver.ty).is_some();
        let help = match (instead::of_method(&name, number), similar(&name, methods::names(number))) {
            // The type may be a name for an array.
            (Some(help), _) if is_named => format!("if it is the struct's own, {OF_STRUCT}; else {help}"),
            (Some(help), _) => help,
            (None, Some(meant)) => format!("a method with a similar name exists: `{meant}`"),
            (None, None) if is_named => OF_STRUCT.to_owned(),
            (None, None) => "write it out with operators, `if` and loops".to_owned(),
        };
        self.report(&call.method, "TW0908", &message, &notes, &help)
    }

    pub(super) fn closure(&mut self, closure: &ExprClosure) -> Lowered<(Kind, Ty)> {
        let outside = self.scope.len();
        let result = self.types.fresh();
        let (result_outside, around) = (self.result.replace(result), std::mem::take(&mut self.around));
        let level = self.level;
        if level == Level::Block {
            // A phase may call it.
            self.level = Level::Closure(self.locals.len());
        }
        let lowered = self.closure_in_scope(closure, result);
        self.level = level;
        self.scope.truncate(outside);
        (self.result, self.around) = (result_outside, around);
        let closure = lowered?;
        self.closures.push(closure);
        let id = self.closures.len() - 1;
        Ok((Kind::Closure(id), self.types.add(Shape::Closure(id))))
    }

    fn closure_in_scope(&mut self, closure: &ExprClosure, result: Ty) -> Lowered<Closure> {
        if let syn::ReturnType::Type(_, ty) = &closure.output {
            let ty = self.ty(ty)?;
            self.types.unify(result, ty);
        }
        let mut parameters = Vec::new();
        for input in &closure.inputs {
            let (pattern, ty) = match input {
                Pat::Type(typed) => (&*typed.pat, self.ty(&typed.ty)?),
                pattern => (pattern, self.types.fresh()),
            };
            let Pat::Ident(name) = pattern else {
                let help = "write a name, and take it apart in the closure";
                return Err(self.absent(pattern, "a pattern as a closure's parameter", help));
            };
            parameters.push(self.declare(&name.ident, ty, name.mutability.is_some()));
        }
        let body = self.value(&closure.body)?;
        self.types.unify(body.ty, result);
        Ok(Closure { parameters, result, body, moves: closure.capture.is_some() })
    }

    fn call_closure(&mut self, local: LocalId, call: &ExprCall) -> Lowered<(Kind, Ty)> {
        let arguments = self.values(&call.args)?;
        self.changes();
        let id = match *self.types.shape(self.locals[local.0].ty) {
            Shape::Closure(id) => id,
            Shape::Reported => return Err(Reported),
            _ => {
                let help = "call a closure, or a `#[device]` function by its name";
                return Err(self.absent(&call.func, "a call of a value", help));
            }
        };
        let parameters: Vec<_> =
            self.closures[id].parameters.iter().map(|parameter| self.locals[parameter.0].ty).collect();
        parameters.into_iter().zip(&arguments).for_each(|(ty, argument)| self.types.unify(ty, argument.ty));
        let result = self.closures[id].result;
        Ok((Kind::CallClosure(local, arguments), result))
    }
}

/// Whether the value is in memory of its own, to which a reference may point.
fn is_place(of: &ir::Expr) -> bool {
    match &of.kind {
        Kind::Local(_) | Kind::Deref(_) => true,
        Kind::Field(base, _) | Kind::Index(base, _) | Kind::Mine(base) => is_place(base),
        _ => false,
    }
}
