//! Expressions as C++ expressions.

use super::super::ir::{Closure, Condition, Expr, Kind, LocalId};
use super::super::types::{Number, Shape};
use super::faults::{FaultAt, order_shows};
use super::{CONDITIONAL, Emitter, Sink, UNARY, Value};

impl Emitter<'_> {
    /// The value of an expression as an operand: what a reference refers to.
    pub(super) fn operand(&mut self, expr: &Expr) -> Value {
        let value = self.value(expr);
        self.referred(value, expr)
    }

    fn referred(&self, value: Value, expr: &Expr) -> Value {
        let mut ty = expr.ty;
        let mut value = value;
        while let Shape::Ref(to, _) = *self.types.shape(ty) {
            // `*&x`
            value = match value.text.strip_prefix('&') {
                Some(referred) if value.binds == UNARY => Value::of(referred),
                _ => Value { text: format!("*{}", value.within(UNARY)), binds: UNARY, stable: false },
            };
            ty = to;
        }
        value
    }

    /// Writes operands in Rust's order. If one has statements, or may fault at another line, those before it are
    /// kept in constants.
    pub(super) fn operands<'x>(&mut self, exprs: impl IntoIterator<Item = &'x Expr>) -> Vec<Value> {
        self.in_order(exprs, Self::operand)
    }

    pub(super) fn in_order<'x>(
        &mut self,
        exprs: impl IntoIterator<Item = &'x Expr>,
        mut write: impl FnMut(&mut Self, &Expr) -> Value,
    ) -> Vec<Value> {
        let mut values: Vec<(Value, Vec<FaultAt>)> = Vec::new();
        for expr in exprs {
            let before = self.lines.len();
            let (mut value, faults) = self.with_faults(|emitter| write(emitter, expr));
            let has_effects = self.has_effects(expr);
            let has_statements = self.lines.len() > before || has_effects;
            let mut kept = Vec::new();
            for (earlier, of_earlier) in &mut values {
                if !earlier.stable && (has_statements || order_shows(of_earlier, &faults)) {
                    let name = self.temporary("kept");
                    kept.push(format!("const auto {name} = {};", earlier.text));
                    *earlier = Value::stable(name);
                }
            }
            self.insert(before, kept);
            // C++ leaves the order of operands open.
            if has_effects && !value.stable {
                let name = self.temporary("kept");
                self.write(&format!("const auto {name} = {};", value.text));
                value = Value::stable(name);
            }
            values.push((value, faults));
        }
        values.into_iter().map(|(value, _)| value).collect()
    }

    /// What is indexed, and the indices. Rust evaluates the former as a place: it is not copied before the
    /// indices are evaluated, which may change it.
    pub(super) fn base_and<'x>(&mut self, base: &'x Expr, mut others: Vec<&'x Expr>) -> Vec<Value> {
        if self.has_address(base) {
            let is_fixed = self.is_place(base);
            let (mut base, of_base) = self.with_faults(|emitter| emitter.value(base));
            let before = self.lines.len();
            let (others, of_others) = self.with_faults(|emitter| emitter.in_order(others, Self::value));
            if self.lines.len() > before && (!is_fixed || order_shows(&of_base, &of_others)) {
                let name = self.temporary("place");
                self.insert(before, vec![format!("auto& {name} = {};", base.text)]);
                base = Value::of(name);
            }
            return std::iter::once(base).chain(others).collect();
        }
        others.insert(0, base);
        self.in_order(others, |emitter, expr| emitter.value(expr))
    }

    /// Whether the expression is the same place whatever is evaluated before it is used.
    pub(super) fn is_place(&self, expr: &Expr) -> bool {
        let is_fixed = |at: &Expr| match at.kind {
            Kind::Integer(_) => true,
            Kind::Local(id) => !self.local(id).mutable,
            _ => false,
        };
        match &expr.kind {
            Kind::Local(_) => true,
            Kind::Field(base, _) | Kind::Deref(base) | Kind::Mine(base) => self.is_place(base),
            Kind::Index(base, at) | Kind::Element(base, at) => self.is_place(base) && is_fixed(at),
            _ => false,
        }
    }

    /// Puts lines before those that were written since.
    pub(super) fn insert(&mut self, at: usize, texts: Vec<String>) {
        let after = self.lines.split_off(at);
        texts.iter().for_each(|text| self.write(text));
        self.lines.extend(after);
    }

    /// Whether a closure or a function is called that may change variables, or an atomic is read or changed.
    fn has_effects(&self, expr: &Expr) -> bool {
        match &expr.kind {
            Kind::CallClosure(..) | Kind::Phase(_) | Kind::Atomic(..) => true,
            Kind::Unary(_, a)
            | Kind::Cast(a)
            | Kind::Ref(a)
            | Kind::Deref(a)
            | Kind::Field(a, _)
            | Kind::NewPrivate(a)
            | Kind::NewSharedSlice(_, a)
            | Kind::Mine(a) => self.has_effects(a),
            Kind::Binary(_, a, b)
            | Kind::Compare(_, a, b)
            | Kind::And(a, b)
            | Kind::Or(a, b)
            | Kind::Index(a, b)
            | Kind::Element(a, b) => self.has_effects(a) || self.has_effects(b),
            // Those with statements are written before.
            Kind::If(condition, then, otherwise) => {
                let of_condition = condition.parts().iter().any(|part| match part {
                    Condition::Is(value) | Condition::Bound(_, _, value) => self.has_effects(value),
                    Condition::All(_) => false,
                });
                let of_then = then.value.as_deref().is_some_and(|value| self.has_effects(value));
                of_condition || of_then || otherwise.as_deref().is_some_and(|value| self.has_effects(value))
            }
            Kind::Block(block) => block.value.as_deref().is_some_and(|value| self.has_effects(value)),
            Kind::Method(_, a, others) => {
                self.has_effects(a) || others.iter().any(|other| self.has_effects(other))
            }
            Kind::Call(_, _, parts) => {
                parts.iter().any(|part| self.has_effects(part) || self.types.lends_to_change(part.ty))
            }
            Kind::Tuple(parts) | Kind::Array(parts) => parts.iter().any(|part| self.has_effects(part)),
            Kind::Struct(fields, base) => {
                fields.iter().any(|(_, value)| self.has_effects(value))
                    || base.as_deref().is_some_and(|base| self.has_effects(base))
            }
            Kind::Repeat(a, _) | Kind::Convert(_, _, a) => self.has_effects(a),
            _ => false,
        }
    }

    /// An expression; what it needs before it is written first.
    pub(super) fn value(&mut self, expr: &Expr) -> Value {
        let number = self.types.as_number(expr.ty);
        match &expr.kind {
            Kind::Integer(value) => self.integer(*value, false, expr.ty),
            Kind::Float(digits) => self.float(digits, number, expr.ty),
            Kind::Bool(value) => Value::stable(value.to_string()),
            Kind::Bare(text) => Value { text: text.clone(), binds: UNARY, stable: true },
            Kind::Unit => Value::stable("tw::Unit{}"),
            Kind::Local(id) => {
                let local = self.local(*id);
                Value { text: local.cpp.clone(), binds: 0, stable: !local.mutable }
            }
            Kind::Constant(item) => Value::stable(self.function.constants[item.0].1.clone()),
            Kind::Unary(op, of) => self.unary(*op, of),
            Kind::Binary(op, left, right) => {
                let values = self.operands([&**left, &**right]);
                self.binary(*op, (&values[0], left), (&values[1], right), expr.line)
            }
            Kind::Compare(symbol, left, right) => {
                let values = self.operands([&**left, &**right]);
                let binds = if matches!(*symbol, "==" | "!=") { 10 } else { 9 };
                let text = format!("{} {symbol} {}", values[0].within(7), values[1].within(7));
                Value { text, binds, stable: values.iter().all(|value| value.stable) }
            }
            Kind::And(left, right) => self.both(left, right, true),
            Kind::Or(left, right) => self.both(left, right, false),
            Kind::Cast(value) => self.cast(value, expr.ty),
            Kind::Index(base, at) => {
                let values = self.base_and(base, vec![&**at]);
                let dot = self.dot(base);
                // A constant place of an array of that length is there.
                if let (Kind::Integer(place), Some(length)) = (&at.kind, self.length(base))
                    && length.parse::<u128>().is_ok_and(|length| *place < length)
                {
                    return Value::of(format!("{}{dot}a[{place}]", values[0].atom()));
                }
                let at = self.referred(values[1].clone(), at);
                Value::of(format!("{}{dot}at({}, {})", values[0].atom(), at.text, self.place(expr.line)))
            }
            Kind::Element(base, at) => {
                let values = self.base_and(base, vec![&**at]);
                let dot = self.dot(base);
                let at = self.referred(values[1].clone(), at);
                Value::of(format!("{}{dot}{}[{}]", values[0].atom(), self.data(base), at.text))
            }
            Kind::Part(base, from, to, inclusive) => {
                self.part(base, from.as_deref(), to.as_deref(), *inclusive, expr.line)
            }
            Kind::Field(base, field) => {
                let value = self.value(base);
                Value::of(format!("{}{}{field}", value.atom(), self.dot(base)))
            }
            Kind::Tuple(parts) => {
                let values = self.in_order(parts, |emitter, expr| emitter.value(expr));
                let values: Vec<_> = values.into_iter().map(|value| value.text).collect();
                match self.types.cpp(expr.ty) {
                    Some(ty) => Value::of(format!("{ty}{{{}}}", values.join(", "))),
                    None => Value::of(format!("tw::tuple_of({})", values.join(", "))),
                }
            }
            Kind::Array(parts) => {
                let values = self.in_order(parts, Self::value);
                let values: Vec<_> = values.into_iter().map(|value| value.text).collect();
                match self.types.cpp(expr.ty) {
                    Some(ty) => Value::of(format!("{ty}{{{{{}}}}}", values.join(", "))),
                    None => Value::of(format!("tw::array_of({})", values.join(", "))),
                }
            }
            Kind::Struct(fields, base) => {
                let (ty, name) = (self.types.cpp(expr.ty).unwrap_or_default(), self.temporary("made"));
                self.structure(&ty, &name, fields, base.as_deref());
                Value::stable(name)
            }
            Kind::Repeat(value, length) => {
                let value = self.value(value);
                Value::of(format!("tw::filled<{length}>({})", value.text))
            }
            Kind::Ref(of) => {
                let mut value = self.value(of);
                if !self.has_address(of) && !matches!(self.types.shape(of.ty), Shape::Slice(_)) {
                    value = self.with_address(&value, of);
                }
                if let Some(pointer) = value.text.strip_prefix('*').filter(|_| value.binds == UNARY) {
                    return Value::of(pointer);
                }
                Value { text: format!("&{}", value.within(UNARY)), binds: UNARY, stable: false }
            }
            Kind::Deref(of) => {
                let value = self.value(of);
                // `*&x`
                if let Some(referred) = value.text.strip_prefix('&').filter(|_| value.binds == UNARY) {
                    return Value::of(referred);
                }
                match *self.types.shape(of.ty) {
                    // `*x` of a value that Rust takes by reference and C++ by value.
                    Shape::Ref(..) | Shape::Unknown(_) => {
                        Value { text: format!("*{}", value.within(UNARY)), binds: UNARY, stable: false }
                    }
                    _ => value,
                }
            }
            Kind::If(condition, then, otherwise) => match (&**condition, otherwise) {
                (Condition::Is(condition), Some(otherwise))
                    if then.statements.is_empty() && then.value.is_some() =>
                {
                    self.conditional(expr, condition, then.value.as_deref(), otherwise)
                }
                _ => self.hoisted(expr),
            },
            Kind::Match(..) => self.hoisted(expr),
            Kind::Block(block) if block.statements.is_empty() => match &block.value {
                Some(value) => self.value(value),
                None => Value::stable("tw::Unit{}"),
            },
            Kind::Call(item, generics, arguments) => {
                let values = self.in_order(arguments, |emitter, expr| emitter.value(expr));
                let values = values.into_iter().zip(arguments);
                let values: Vec<_> = values.map(|(value, of)| self.argument(value, of)).collect();
                let generics = match generics.is_empty() {
                    true => String::new(),
                    false => format!("<{}>", generics.join(", ")),
                };
                let name = &self.function.callees[item.0].1;
                self.faults.push(FaultAt::Called);
                Value::of(format!("{name}{generics}({})", values.join(", ")))
            }
            Kind::CallClosure(local, arguments) => {
                let values = self.in_order(arguments, |emitter, expr| emitter.value(expr));
                let values: Vec<_> = values.into_iter().map(|value| value.text).collect();
                Value::of(format!("{}({})", self.local(*local).cpp, values.join(", ")))
            }
            Kind::Closure(id) => self.closure(*id),
            Kind::Builtin(text) => Value::stable(*text),
            Kind::NewPrivate(of) | Kind::Mine(of) => self.value(of),
            Kind::PartOfTile(tile) => {
                let (tile, line) = (self.operand(tile), self.place(expr.line));
                let sizes = match self.types.shape(expr.ty) {
                    Shape::Part([_, _, down, across]) => format!("{}, {}", down.0, across.0),
                    _ => String::new(),
                };
                Value::of(format!("tw::part<{sizes}>({}, {line})", tile.text))
            }
            Kind::Phase(phase) => self.phase(phase, expr),
            Kind::Method(method, receiver, arguments) => self.method(*method, receiver, arguments, expr.line),
            Kind::Atomic(operation, orders, atomic, values) => self.atomic(operation, orders, atomic, values),
            Kind::Convert(what, number, of) => {
                let value = self.operand(of);
                match *what {
                    "from_bits" | "from_f32" => Value::of(format!("tw::{what}<{number}>({})", value.text)),
                    _ => Value::of(format!("{number}({})", value.text)),
                }
            }
            _ => self.hoisted(expr),
        }
    }

    /// An argument. C++ chooses a function by its type, which operators on small integers change.
    fn argument(&self, value: Value, expr: &Expr) -> String {
        match self.types.as_number(expr.ty) {
            Some(small @ (Number::U8 | Number::U16 | Number::I8 | Number::I16)) if value.binds > 0 => {
                format!("{small}({})", value.text)
            }
            _ => value.text,
        }
    }

    /// A variable with these fields. C++17 has no value whose fields are named.
    pub(super) fn structure(&mut self, ty: &str, name: &str, fields: &[(String, Expr)], base: Option<&Expr>) {
        let parts = fields.iter().map(|(_, value)| value).chain(base);
        let values = self.in_order(parts, Self::value);
        match values.get(fields.len()) {
            Some(base) => self.write(&format!("{ty} {name} = {};", base.text)),
            None => self.write(&format!("{ty} {name};")),
        }
        for ((field, _), value) in fields.iter().zip(&values) {
            self.write(&format!("{name}.{field} = {};", value.text));
        }
    }

    /// `a && b`, whose second part is evaluated only if the first does not decide.
    fn both(&mut self, left: &Expr, right: &Expr, and: bool) -> Value {
        let left = self.operand(left);
        let before = self.lines.len();
        self.depth += 1;
        let value = self.operand(right);
        self.depth -= 1;
        if self.lines.len() == before {
            let (symbol, binds) = if and { ("&&", 14) } else { ("||", 15) };
            // gcc warns of `a || b && c` without parentheses.
            let left = if left.binds == binds { left.text.clone() } else { left.within(13) };
            let text = format!("{left} {symbol} {}", value.within(13));
            return Value { text, binds, stable: false };
        }
        let after = self.lines.split_off(before);
        let name = self.temporary("holds");
        self.write(&format!("bool {name} = {};", left.text));
        self.write(&format!("if ({}{name}) {{", if and { "" } else { "!" }));
        self.lines.extend(after);
        // What leaves has no value.
        if !matches!(self.types.shape(right.ty), Shape::Never) {
            self.depth += 1;
            self.write(&format!("{name} = {};", value.text));
            self.depth -= 1;
        }
        self.write("}");
        Value::stable(name)
    }

    /// `c ? a : b`, if neither needs statements.
    fn conditional(&mut self, expr: &Expr, condition: &Expr, then: Option<&Expr>, otherwise: &Expr) -> Value {
        let Some(then) = then else { return self.hoisted(expr) };
        let before = self.lines.len();
        let condition = self.operand(condition);
        let middle = self.lines.len();
        let values = [then, otherwise].map(|value| (self.value(value), value.ty));
        if self.lines.len() == middle {
            let slice = matches!(self.types.shape(expr.ty), Shape::Slice(_)).then(|| self.types.cpp(expr.ty));
            let [then, otherwise] = values.map(|(value, ty)| match (&slice, self.types.shape(ty)) {
                // C++ has no type that two arrays have in common.
                (Some(Some(slice)), Shape::Ref(..)) => Value::of(format!("{slice}({})", value.text)),
                _ => value,
            });
            let text = format!(
                "{} ? {} : {}",
                condition.within(CONDITIONAL - 1),
                then.within(CONDITIONAL - 1),
                otherwise.within(CONDITIONAL)
            );
            return Value { text, binds: CONDITIONAL, stable: false };
        }
        self.lines.truncate(before);
        self.hoisted(expr)
    }

    /// An expression that C++ has only as a statement: its value goes to a variable.
    fn hoisted(&mut self, expr: &Expr) -> Value {
        if matches!(self.types.shape(expr.ty), Shape::Unit | Shape::Never) {
            self.deliver(expr, &Sink::Drop);
            return Value::stable("tw::Unit{}");
        }
        let name = self.temporary("value");
        let ty = self.types.cpp_of_variable(expr.ty).unwrap_or_else(|| "auto".to_owned());
        self.write(&format!("{ty} {name};"));
        self.deliver(expr, &Sink::Variable(name.clone()));
        Value::stable(name)
    }

    /// A lambda. Its body is written as lines of the same text.
    pub(super) fn closure(&mut self, id: usize) -> Value {
        let together = std::mem::replace(&mut self.together, false);
        let around = std::mem::take(&mut self.around);
        let value = self.lambda(id);
        (self.together, self.around) = (together, around);
        value
    }

    fn lambda(&mut self, id: usize) -> Value {
        let function = self.function;
        let Closure { parameters, result, body, moves } = &function.closures[id];
        let parameter = |id: &LocalId| {
            let local = self.local(*id);
            let ty = self.types.cpp(local.ty).unwrap_or_else(|| "auto".to_owned());
            format!("{ty} {}", local.cpp)
        };
        // The thread of a phase is the one that runs it.
        let named =
            parameters.iter().filter(|id| !matches!(self.types.shape(self.local(**id).ty), Shape::Thread));
        let parameters: Vec<_> = named.map(parameter).collect();
        let is_unit = matches!(self.types.shape(*result), Shape::Unit);
        let arrow = match self.types.cpp(*result) {
            Some(_) if is_unit => String::new(),
            Some(ty) => format!(" -> {ty}"),
            None => String::new(),
        };
        let outside = std::mem::take(&mut self.lines);
        let referred = std::mem::take(&mut self.referred);
        self.depth += 1;
        self.deliver(body, if is_unit { &Sink::Drop } else { &Sink::Return });
        self.declare_referred(0);
        self.depth -= 1;
        self.referred = referred;
        let body = std::mem::replace(&mut self.lines, outside);
        let (capture, mutable) = if *moves { ("=", " mutable") } else { ("&", "") };
        let mut text = format!("[{capture}]({}){mutable} TW_INLINE{arrow} {{\n", parameters.join(", "));
        for line in body {
            text += &line.text;
            text.push('\n');
        }
        text += &format!("{}}}", "    ".repeat(self.depth));
        Value::of(text)
    }
}
