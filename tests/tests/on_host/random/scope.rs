//! The names in scope, and what can be read and written by them.

use super::generator::{Access, Generator, Text, Variable, binds};
use super::types::Ty;

impl Generator {
    /// A name: most often a new one, else one that is shadowed, or a word of C++.
    pub fn name(&mut self) -> String {
        const WORDS: &[&str] = &[
            "int",
            "double",
            "float",
            "auto",
            "class",
            "this",
            "new",
            "short",
            "long",
            "char",
            "template",
            "tw",
            "std",
            "blockIdx",
            "threadIdx",
            "half",
            "main",
            "y_2",
            "kept",
            "value",
            "whole",
            "turn",
            "end",
            "größe",
            "r#type",
            "r#match",
            "u32",
            "f64",
            "_under",
            "double__score",
            "signed",
            "xor",
            "not",
            "delete",
            "operator",
            "namespace",
            "volatile",
            "linux",
            "unix",
            "NULL_",
            "i_len",
            "part",
            "at",
            "all",
            "of",
        ];
        match self.weighted(&[75, 13, 12]) {
            1 if !self.scope.is_empty() => {
                let (first, last) = (self.frozen.min(self.scope.len() - 1), self.scope.len());
                let at = first + self.below(last - first);
                let name = self.scope[at].name.clone();
                // A constant in a pattern is compared, what belongs to a thread has no name of its own, and a
                // shared array is read by its name to the end of the phase.
                let is_shared = self.scope[at].access == Access::Shared;
                if name.is_empty() || is_shared || name.starts_with("C_") || name.contains(['[', '.']) {
                    return self.own_name("v");
                }
                self.count("shadowing");
                name
            }
            2 => {
                self.count("a name that is a word of C++");
                self.pick(WORDS).to_owned()
            }
            _ => {
                self.names += 1;
                format!("{}{}", self.pick(&["a", "b", "n", "sum", "v_"]), self.names)
            }
        }
    }

    /// A name that no other has, for what must not be shadowed.
    pub fn own_name(&mut self, begin: &str) -> String {
        self.names += 1;
        format!("{begin}_own{}", self.names)
    }

    pub fn declare(&mut self, name: &str, ty: Ty, mutable: bool, access: Access) {
        // What has its name now is out of reach.
        for variable in self.scope.iter_mut().filter(|variable| variable.name == name) {
            variable.name.clear();
        }
        self.scope.push(Variable { name: name.to_owned(), ty, mutable, access });
    }

    /// The variables that can be named.
    pub fn visible(&self) -> impl Iterator<Item = (usize, &Variable)> {
        self.scope.iter().enumerate().filter(|(_, variable)| !variable.name.is_empty())
    }

    /// Values of this type that can be read: names, and parts of what names stand for.
    pub fn readable(&mut self, ty: &Ty) -> Vec<Text> {
        let mut found = Vec::new();
        for (_, variable) in self.visible() {
            let name = &variable.name;
            match variable.access {
                Access::Value | Access::Kept => parts_of(&Text::atom(name), &variable.ty, ty, &mut found, 2),
                Access::Ref | Access::RefMut if variable.ty == *ty => {
                    found.push(Text::new(format!("*{name}"), binds::UNARY));
                }
                Access::Ref | Access::RefMut => {
                    parts_of(&Text::atom(name), &variable.ty, ty, &mut found, 2);
                }
                Access::Slice | Access::Index | Access::Shared | Access::Private => {}
            }
        }
        found
    }

    /// Places of this type that can be written.
    pub fn writable(&self, ty: &Ty) -> Vec<Text> {
        let mut found = Vec::new();
        for (_, variable) in self.visible().filter(|(at, _)| *at >= self.frozen) {
            let name = &variable.name;
            match variable.access {
                Access::Value if variable.mutable => {
                    parts_of(&Text::atom(name), &variable.ty, ty, &mut found, 2);
                }
                Access::RefMut if variable.ty == *ty => {
                    found.push(Text::new(format!("*{name}"), binds::UNARY));
                }
                Access::RefMut => parts_of(&Text::atom(name), &variable.ty, ty, &mut found, 2),
                _ => {}
            }
        }
        found
    }

    /// The types of what can be written.
    pub fn writable_types(&self) -> Vec<Ty> {
        let mut types: Vec<Ty> = Vec::new();
        for (_, variable) in self.visible().filter(|(at, _)| *at >= self.frozen) {
            let writes = match variable.access {
                Access::Value => variable.mutable,
                Access::RefMut => true,
                _ => false,
            };
            if writes {
                within(&variable.ty, &mut types);
            }
        }
        types
    }

    /// The slices in scope: their names and elements.
    pub fn slices(&self) -> Vec<(String, Ty)> {
        let slices =
            self.visible().filter(|(_, variable)| matches!(variable.access, Access::Slice | Access::Shared));
        slices.map(|(_, variable)| (variable.name.clone(), variable.ty.clone())).collect()
    }

    /// A slice as a value of the type `&[T]`.
    pub fn as_slice(&self, name: &str) -> String {
        let is_shared =
            |(_, variable): (_, &Variable)| variable.name == name && variable.access == Access::Shared;
        if self.visible().any(is_shared) { format!("&{name}[..]") } else { name.to_owned() }
    }

    /// Takes what a place belongs to out of reach.
    pub fn hide(&mut self, place: &str) {
        for variable in self.scope.iter_mut().filter(|variable| root(&variable.name) == root(place)) {
            variable.name.clear();
        }
    }
}

/// The name that a place begins with.
pub fn root(place: &str) -> &str {
    place.split(['.', '[']).next().unwrap_or_default()
}

/// The parts of a value that are of a type.
fn parts_of(value: &Text, of: &Ty, wanted: &Ty, found: &mut Vec<Text>, depth: usize) {
    if of == wanted {
        found.push(value.clone());
    }
    if depth == 0 {
        return;
    }
    let text = value.within(binds::ATOM);
    match of {
        Ty::Tuple(parts) => {
            for (at, part) in parts.iter().enumerate() {
                parts_of(&Text::atom(format!("{text}.{at}")), part, wanted, found, depth - 1);
            }
        }
        Ty::Array(element, length) => {
            for at in 0..*length {
                parts_of(&Text::atom(format!("{text}[{at}]")), element, wanted, found, depth - 1);
            }
        }
        Ty::Struct(of) => {
            for (field, ty) in &of.fields {
                parts_of(&Text::atom(format!("{text}.{field}")), ty, wanted, found, depth - 1);
            }
        }
        _ => {}
    }
}

/// A type and those within it.
fn within(ty: &Ty, types: &mut Vec<Ty>) {
    types.push(ty.clone());
    match ty {
        Ty::Tuple(parts) => parts.iter().for_each(|part| within(part, types)),
        Ty::Array(of, _) => within(of, types),
        Ty::Struct(of) => of.fields.iter().for_each(|(_, ty)| within(ty, types)),
        _ => {}
    }
}
