//! Types in C++.

use super::{Length, Shape, Source, Ty, Types};

impl Types {
    /// The type in C++; `None` if it is not known.
    pub(crate) fn cpp(&self, ty: Ty) -> Option<String> {
        self.cpp_or(ty, &|_| None)
    }

    /// The type of a variable that gets its value later: also one that only rustc knows, of a value that comes from
    /// somewhere else.
    pub(crate) fn cpp_of_variable(&self, ty: Ty) -> Option<String> {
        self.cpp_or(ty, &|ty| {
            let is_it = |(of, _): &&(Ty, Source)| self.are_same(*of, ty);
            let (_, source) = self.sources.iter().find(is_it)?;
            self.cpp_of_source(source)
        })
    }

    fn cpp_of_source(&self, source: &Source) -> Option<String> {
        let value = match source {
            Source::Constant(name) => name.clone(),
            Source::Call(name, arguments) => {
                let argument = |ty: &Option<Ty>| match ty {
                    Some(ty) => self.cpp_of_variable(*ty).map(|ty| format!("tw::value_of<{ty}>()")),
                    None => Some("0".to_owned()),
                };
                let arguments = arguments.iter().map(argument).collect::<Option<Vec<_>>>()?;
                format!("{name}({})", arguments.join(", "))
            }
            Source::Field(ty, field) => {
                format!("tw::value_of<{}>().{field}", self.cpp_of_variable(self.value(*ty))?)
            }
            Source::Element(ty) => {
                return Some(format!("tw::Element<{}>", self.cpp_of_variable(self.value(*ty))?));
            }
        };
        Some(format!("tw::Plain<decltype({value})>"))
    }

    /// The type in C++, where `other` tells those that are not known here.
    fn cpp_or(&self, ty: Ty, other: &dyn Fn(Ty) -> Option<String>) -> Option<String> {
        let cpp = |ty: Ty| self.cpp_or(ty, other);
        Some(match self.shape(ty) {
            Shape::Number(number) => number.name().to_owned(),
            Shape::Bool => "bool".to_owned(),
            Shape::Unit | Shape::Never => "void".to_owned(),
            Shape::Tuple(parts) => {
                let part = |&part: &Ty| match self.shape(part) {
                    Shape::Unit => Some("tw::Unit".to_owned()),
                    _ => cpp(part),
                };
                let parts = parts.iter().map(part).collect::<Option<Vec<_>>>()?;
                format!("tw::Tuple<{}>", parts.join(", "))
            }
            Shape::Array(of, Length(length)) => format!("tw::Array<{}, {length}>", cpp(*of)?),
            Shape::Slice(of) => format!("tw::Slice<{}>", cpp(*of)?),
            Shape::Ref(to, true) => format!("{}*", cpp(*to)?),
            Shape::Ref(to, false) => match cpp(*to)? {
                to if to.ends_with('*') => format!("{to} const*"),
                to => format!("const {to}*"),
            },
            Shape::Option(of) => match self.shape(*of) {
                Shape::Ref(to, true) => format!("tw::Option<{}>", cpp(*to)?),
                Shape::Ref(to, false) => format!("tw::Option<const {}>", cpp(*to)?),
                _ => return None,
            },
            Shape::Atomic(number) => format!("tw::Atomic<{number}>"),
            Shape::Exchanged(of) => format!("tw::Exchanged<{}>", cpp(*of)?),
            Shape::Elements { of, .. } => format!("tw::Own<{}>", cpp(*of)?),
            Shape::Index(1) | Shape::BlockIndex | Shape::Row => "usize".to_owned(),
            Shape::Part([Length(rows), Length(columns), Length(down), Length(across)]) => {
                format!("tw::Part<{rows}, {columns}, {down}, {across}>")
            }
            Shape::Tile(Length(rows), Length(columns)) => format!("tw::Tile<{rows}, {columns}>"),
            Shape::Shared(of) | Shape::Private(of) => cpp(*of)?,
            Shape::Fetched { of, threads, columns } => {
                format!("tw::Fetched<{}, {threads}, {columns}>", cpp(*of)?)
            }
            Shape::Block => "tw::Block".to_owned(),
            Shape::Thread => "tw::BlockThread".to_owned(),
            Shape::Index(dimensions) => format!("tw::Array<usize, {dimensions}>"),
            Shape::Named(named) => named.cpp(),
            Shape::Unknown(_) => return other(ty),
            Shape::Closure(_) | Shape::Reported => return None,
        })
    }
}
