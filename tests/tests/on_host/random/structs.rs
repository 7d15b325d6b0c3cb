//! Structs: their definitions, values and patterns.

use std::sync::Arc;

use super::generator::{Generator, Text, binds};
use super::types::{Structure, Ty};

/// Names of fields, some of which are C++'s or have letters that C++ has not.
const FIELDS: [&str; 8] = ["a", "int", "r#type", "größe", "_x", "x_y", "b2", "default"];

impl Structure {
    /// `struct P(f32, u8)`
    pub fn is_tuple(&self) -> bool {
        self.fields[0].0 == "0"
    }

    /// A value whose fields have these texts.
    pub fn value(&self, fields: &[String]) -> String {
        if self.is_tuple() {
            return format!("{}({})", self.name, fields.join(", "));
        }
        let fields = self.fields.iter().zip(fields).map(|((name, _), value)| format!("{name}: {value}"));
        format!("{} {{ {} }}", self.name, fields.collect::<Vec<_>>().join(", "))
    }
}

impl Generator {
    /// Defines a struct, and knows it from then on.
    pub fn structure(&mut self, name: &str) -> String {
        self.count("a struct");
        let mut types: Vec<Ty> = (0..1 + self.below(4)).map(|_| self.in_memory()).collect();
        // Wide fields first, and bytes at the end: so there is no room between.
        types.sort_by_key(|ty| std::cmp::Reverse(ty.alignment()));
        let (size, alignment) = (types.iter().map(Ty::size).sum::<usize>(), types[0].alignment());
        if size % alignment != 0 {
            types.push(Ty::array(Ty::Number(super::types::Number::U8), alignment - size % alignment));
        }
        let is_tuple = self.chance(25);
        let mut names = FIELDS.to_vec();
        let fields: Vec<_> = types
            .into_iter()
            .enumerate()
            .map(|(at, ty)| match is_tuple {
                true => (at.to_string(), ty),
                false => (names.remove(self.below(names.len())).to_owned(), ty),
            })
            .collect();
        let listed: Vec<_> = fields
            .iter()
            .map(|(name, ty)| if is_tuple { format!("pub {ty}") } else { format!("pub {name}: {ty}") })
            .collect();
        let body = match is_tuple {
            true => format!("({});", listed.join(", ")),
            false => format!(" {{ {} }}", listed.join(", ")),
        };
        self.structs.push(Arc::new(Structure { name: name.to_owned(), fields }));
        format!("#[repr(C)]\n#[derive(Clone, Copy)]\npub struct {name}{body}\n")
    }

    /// `P { a: 1.0, ..base }`, in parentheses, since it may stand in a condition.
    pub fn struct_value(&mut self, of: &Arc<Structure>, depth: usize) -> Text {
        let ty = Ty::Struct(Arc::clone(of));
        let depth = depth.saturating_sub(1);
        let bases: Vec<_> = self.readable(&ty).into_iter().filter(|base| base.binds == binds::ATOM).collect();
        if !of.is_tuple() && !bases.is_empty() && self.chance(35) {
            self.count("a struct with a base");
            let base = self.pick(&bases).text;
            let (field, ty) = self.pick(&of.fields);
            let value = self.expression(&ty, depth, false).text;
            return Text::atom(format!("({} {{ {field}: {value}, ..{base} }})", of.name));
        }
        self.count(if of.is_tuple() { "a struct without names" } else { "a struct as a value" });
        let values: Vec<_> = of.fields.iter().map(|(_, ty)| self.expression(ty, depth, false).text).collect();
        Text::atom(format!("({})", of.value(&values)))
    }

    /// A pattern that takes a struct apart.
    pub fn struct_pattern(&mut self, of: &Structure) -> String {
        self.count("a pattern of a struct");
        if of.is_tuple() {
            let parts: Vec<_> = of.fields.iter().map(|(_, ty)| self.parts(ty)).collect();
            return format!("{}({})", of.name, parts.join(", "));
        }
        let mut parts = Vec::new();
        for (name, ty) in &of.fields {
            if self.chance(75) {
                parts.push(format!("{name}: {}", self.parts(ty)));
            }
        }
        if parts.len() < of.fields.len() {
            parts.push("..".to_owned());
        }
        format!("{} {{ {} }}", of.name, parts.join(", "))
    }
}
