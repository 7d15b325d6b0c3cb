//! Blocks, statements and branches.

use super::super::ir::{Block, Condition, Expr, Kind, LocalId, Pattern, Statement, Variant};
use super::super::types::Shape;
use super::{Emitter, Sink, UNARY};

impl Emitter<'_> {
    /// The statements of a block, and its value into the sink.
    pub(super) fn block(&mut self, block: &Block, sink: &Sink) {
        for statement in &block.statements {
            self.statement(statement);
        }
        if let Some(value) = &block.value {
            self.deliver(value, sink);
        }
    }

    /// A block's statements, one step further in.
    pub(super) fn inside(&mut self, block: &Block, sink: &Sink) {
        self.depth += 1;
        self.block(block, sink);
        self.depth -= 1;
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Declare(name) => {
                let local = self.local(*name);
                let ty = self.types.cpp_of_variable(local.ty).unwrap_or_else(|| "auto".to_owned());
                self.line = local.span.start().line;
                self.write(&format!("{ty} {};", self.local(*name).cpp));
            }
            Statement::Let(pattern, value) => {
                self.line = value.line;
                self.bind(pattern, value);
            }
            Statement::LetElse(variant, name, value, otherwise) => {
                self.line = value.line;
                self.end_unless_bound(*variant, *name, value);
                self.inside(otherwise, &Sink::Drop);
                self.write("}");
            }
            Statement::Const(name, value) => {
                self.line = value.line;
                // rustc has found that it does not overflow.
                let checked = std::mem::replace(&mut self.checked, false);
                self.constant(*name, value);
                self.checked = checked;
            }
            Statement::Expr(expr) => {
                self.line = expr.line;
                self.deliver(expr, &Sink::Drop);
            }
        }
    }

    /// A constant of the body. What is made of statements, as a struct is, of a function of the header, or of another
    /// such constant, is none for C++.
    fn constant(&mut self, name: LocalId, value: &Expr) {
        let before = self.lines.len();
        let text = self.value(value).text;
        let is_made = self.lines.len() > before
            || calls(&text)
            || self.made.iter().any(|made| {
                let letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
                text.split(|at| !letter(at)).any(|word| word == self.local(*made).cpp)
            });
        if is_made {
            self.made.push(name);
        }
        let local = self.local(name);
        let ty = self.types.cpp(local.ty).unwrap_or_else(|| "auto".to_owned());
        let word = if is_made { "const" } else { "constexpr" };
        self.write(&format!("{word} {ty} {} = {text};", self.local(name).cpp));
    }

    fn bind(&mut self, pattern: &Pattern, value: &Expr) {
        match (pattern, &value.kind) {
            (Pattern::Wild, _) => self.deliver(value, &Sink::Drop),
            (Pattern::Name(name), Kind::NewShared(padding)) => {
                let ty = self.shared(self.local(*name).ty, padding.as_deref());
                let ty = ty.unwrap_or_else(|| "auto".to_owned());
                let cpp = self.local(*name).cpp.clone();
                self.write(&format!("__shared__ __align__(16) {ty} {cpp};"));
                self.write(&format!("tw::undefined(&{cpp});"));
            }
            (Pattern::Name(name), Kind::NewSharedSlice(after, length)) => {
                self.shared_slice(*name, *after, length, value.line);
            }
            (Pattern::Name(name), _) => {
                if self.together && self.is_known(value) {
                    self.known.push(*name);
                }
                self.name(*name, value);
            }
            // Each part by itself: rustc makes no tuple either.
            (Pattern::Tuple(patterns), Kind::Tuple(parts)) if patterns.len() == parts.len() => {
                let values = parts.iter().map(|part| {
                    let name = self.temporary("part");
                    (name, part)
                });
                let all_are_names = patterns.iter().all(|pattern| matches!(pattern, Pattern::Name(_)));
                if all_are_names {
                    // The names of the patterns are unique, so no part can name another's.
                    for (pattern, part) in patterns.iter().zip(parts) {
                        self.bind(pattern, part);
                    }
                    return;
                }
                let values: Vec<_> = values.collect();
                for (name, part) in &values {
                    let text = self.value(part).text;
                    self.write(&format!("const auto {name} = {text};"));
                }
                for (pattern, (name, _)) in patterns.iter().zip(values) {
                    self.take_apart(pattern, &name);
                }
            }
            _ => {
                if self.together && self.is_known(value) {
                    pattern.names(&mut |name| self.known.push(name));
                }
                let whole = self.operand(value);
                if whole.stable {
                    return self.take_apart(pattern, &whole.atom());
                }
                let name = self.temporary("whole");
                self.write(&format!("const auto {name} = {};", whole.text));
                self.take_apart(pattern, &name);
            }
        }
    }

    /// Binds the names of a pattern to the parts of a C++ value.
    fn take_apart(&mut self, pattern: &Pattern, text: &str) {
        match pattern {
            Pattern::Wild => {}
            Pattern::Name(name) => {
                let (ty, cpp) = self.declared(*name);
                self.write(&format!("{ty} {cpp} = {text};"));
            }
            Pattern::Tuple(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    self.take_apart(part, &format!("{text}._{index}"));
                }
            }
            Pattern::Array(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    self.take_apart(part, &format!("{text}.a[{index}]"));
                }
            }
            Pattern::Struct(fields) => {
                for (field, part) in fields {
                    self.take_apart(part, &format!("{text}.{field}"));
                }
            }
        }
    }

    /// The C++ type of a new local, `const` if it does not change, and its name.
    pub(super) fn declared(&self, name: LocalId) -> (String, String) {
        let local = self.local(name);
        let ty = match self.types.shape(local.ty) {
            // A slice's parts, options and lambdas have types that C++ finds itself.
            Shape::Option(_) | Shape::Closure(_) => None,
            // `decltype(…)` would say less than the value does.
            Shape::Named(named) if !named.parts.is_empty() => None,
            _ => self.types.cpp(local.ty),
        };
        let ty = ty.unwrap_or_else(|| "auto".to_owned());
        let ty = match (local.mutable, ty.ends_with('*')) {
            (true, _) => ty,
            (false, true) => format!("{ty} const"),
            (false, false) => format!("const {ty}"),
        };
        (ty, local.cpp.clone())
    }

    fn name(&mut self, name: LocalId, value: &Expr) {
        let is_unit = matches!(self.types.shape(self.local(name).ty), Shape::Unit | Shape::Never);
        if is_unit {
            return self.deliver(value, &Sink::Drop);
        }
        let needs_statements = match &value.kind {
            Kind::If(condition, then, otherwise) => {
                let is_plain = matches!(**condition, Condition::Is(_)) && then.statements.is_empty();
                !is_plain || otherwise.is_none()
            }
            Kind::Match(..) | Kind::Loop(..) | Kind::Labelled(..) => true,
            Kind::Block(block) => !block.statements.is_empty(),
            _ => false,
        };
        if needs_statements && let Some(ty) = self.types.cpp_of_variable(self.local(name).ty) {
            let cpp = self.local(name).cpp.clone();
            self.write(&format!("{ty} {cpp};"));
            return self.deliver(value, &Sink::Variable(cpp));
        }
        if let Kind::Struct(fields, base) = &value.kind {
            let (ty, cpp) = (self.types.cpp(value.ty).unwrap_or_default(), self.local(name).cpp.clone());
            return self.structure(&ty, &cpp, fields, base.as_deref());
        }
        let closure_changes = matches!(value.kind, Kind::Closure(_));
        let text = self.value(value).text;
        let (mut ty, cpp) = self.declared(name);
        if closure_changes {
            ty = "auto".to_owned();
        }
        self.write(&format!("{ty} {cpp} = {text};"));
    }

    /// An expression as a statement, or with its value into the sink.
    pub(super) fn deliver(&mut self, expr: &Expr, sink: &Sink) {
        match &expr.kind {
            Kind::If(condition, then, otherwise) => self.branch(condition, then, otherwise.as_deref(), sink),
            Kind::Match(value, arms) => self.choice(value, arms, sink),
            Kind::Block(block) => {
                // Names are unique, so a block needs no braces of its own.
                self.block(block, sink);
            }
            Kind::Labelled(id, block) => self.labelled(*id, block, sink),
            Kind::Loop(id, body) => {
                self.enter(*id, sink);
                self.write("while (true) {");
                self.end_after_fault();
                self.turn(body);
            }
            Kind::While(id, condition, body) => self.while_loop(*id, condition, body),
            Kind::For(id, name, range, body) => self.for_loop(*id, *name, range, body),
            Kind::ForTiles(id, name, of, body) => self.for_tiles(*id, *name, of, body),
            Kind::Break(id, value) => self.break_of(*id, value.as_deref()),
            Kind::Continue(id) => self.continue_of(*id),
            Kind::Return(value) => match value {
                Some(value) if !matches!(self.types.shape(value.ty), Shape::Unit) => {
                    self.deliver(value, &Sink::Return);
                }
                Some(value) => {
                    self.deliver(value, &Sink::Drop);
                    self.write("return;");
                }
                None => self.write("return;"),
            },
            Kind::Assign(place, value) => self.assign(place, value),
            Kind::AssignBinary(op, place, value) => self.assign_combined(*op, place, value, expr.line),
            Kind::AssignParts(places, value) => self.assign_parts(places, value),
            Kind::Assert(condition) => {
                let fault = format!("tw::fault({});", self.place(expr.line));
                match condition {
                    Some(condition) => {
                        let condition = self.operand(condition);
                        self.write(&format!("if (!{}) {{", condition.within(UNARY)));
                        self.depth += 1;
                        self.write(&fault);
                        self.depth -= 1;
                        self.write("}");
                    }
                    None => self.write(&fault),
                }
            }
            Kind::Put(handle, at, value) => {
                let values = self.in_order([&**handle, &**at, &**value], Self::operand);
                let put = self.temporary("put");
                self.write(&format!("const auto {put} = {};", values[2].text));
                self.write("if (threadIdx.x == 0) {");
                self.depth += 1;
                let line = self.place(expr.line);
                self.write(&format!("{}.put({}, {put}, {line});", values[0].atom(), values[1].text));
                self.depth -= 1;
                self.write("}");
            }
            Kind::Unit => {}
            _ => {
                let value = self.value(expr);
                match sink {
                    Sink::Return => self.write(&format!("return {};", value.text)),
                    Sink::Variable(name) => self.write(&format!("{name} = {};", value.text)),
                    Sink::Drop if value.stable => {}
                    Sink::Drop => self.write(&format!("(void)({});", value.text)),
                }
            }
        }
    }

    /// The condition as C++ has it in `if (…)`.
    pub(super) fn condition(&mut self, condition: &Condition) -> String {
        match condition {
            Condition::Is(condition) => self.operand(condition).text,
            Condition::Bound(Variant::Some, name, value) => {
                let value = self.value(value);
                format!("const auto {} = {}", self.local(*name).cpp, value.text)
            }
            Condition::Bound(variant, name, value) => self.exchanged(*variant, *name, value).text,
            // Those of several are written one by one.
            Condition::All(_) => String::new(),
        }
    }

    /// Each condition in the `if` of the one before. What follows otherwise stands once, behind them, and is
    /// jumped over.
    fn chain(&mut self, parts: &[Condition], then: &Block, otherwise: Option<&Expr>, sink: &Sink) {
        for part in parts {
            let text = self.condition(part);
            self.write(&format!("if ({text}) {{"));
            self.depth += 1;
        }
        self.block(then, sink);
        // A value that is returned has left already.
        let over = otherwise.filter(|_| !matches!(sink, Sink::Return)).map(|_| self.temporary("done"));
        if let Some(over) = &over {
            self.write(&format!("goto {over};"));
        }
        for _ in parts {
            self.depth -= 1;
            self.write("}");
        }
        let Some(otherwise) = otherwise else { return };
        self.write("{");
        self.depth += 1;
        self.deliver(otherwise, sink);
        self.depth -= 1;
        self.write("}");
        if let Some(over) = over {
            self.write(&format!("{over}:;"));
        }
    }

    /// The beginning of an `if` that ends what it stands in where a pattern does not match.
    pub(super) fn end_unless_bound(&mut self, variant: Variant, name: LocalId, value: &Expr) {
        let bound = match variant {
            Variant::Some => {
                let value = self.value(value);
                let cpp = self.local(name).cpp.clone();
                self.write(&format!("const auto {cpp} = {};", value.text));
                cpp
            }
            Variant::Ok | Variant::Err => self.exchanged(variant, name, value).within(UNARY - 1),
        };
        self.write(&format!("if (!{bound}) {{"));
    }

    fn branch(&mut self, condition: &Condition, then: &Block, otherwise: Option<&Expr>, sink: &Sink) {
        if let Condition::All(parts) = condition {
            return self.chain(parts, then, otherwise, sink);
        }
        let condition = self.condition(condition);
        self.write(&format!("if ({condition}) {{"));
        self.inside(then, sink);
        let mut otherwise = otherwise;
        loop {
            match otherwise.map(|otherwise| &otherwise.kind) {
                None => break,
                // `else if`, as long as its condition needs no statement before it.
                Some(Kind::If(condition, then, next)) if !matches!(**condition, Condition::All(_)) => {
                    let before = self.lines.len();
                    let text = self.condition(condition);
                    if self.lines.len() > before {
                        self.lines.truncate(before);
                        self.write("} else {");
                        self.depth += 1;
                        self.branch(condition, then, next.as_deref(), sink);
                        self.depth -= 1;
                        break;
                    }
                    self.write(&format!("}} else if ({text}) {{"));
                    self.inside(then, sink);
                    otherwise = next.as_deref();
                }
                Some(_) => {
                    self.write("} else {");
                    self.depth += 1;
                    if let Some(otherwise) = otherwise {
                        self.deliver(otherwise, sink);
                    }
                    self.depth -= 1;
                    break;
                }
            }
        }
        self.write("}");
    }
}

/// Whether a text calls functions of the header, whose types have other names.
fn calls(text: &str) -> bool {
    text.split("tw::").skip(1).any(|after| after.starts_with(|first: char| first.is_ascii_lowercase()))
}
