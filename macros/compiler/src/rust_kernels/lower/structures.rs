//! Structs: their fields, values and patterns.

use syn::{ExprCall, ExprPath, ExprStruct, ItemStruct, Member, PatStruct, PatTupleStruct, Type, TypePath};

use super::{Lower, Lowered, Reported};
use crate::rust_kernels::errors::Errors;
use crate::rust_kernels::ir::{self, Kind, Pattern};
use crate::rust_kernels::named::{self, Assumed, Part};
use crate::rust_kernels::names::Names;
use crate::rust_kernels::types::{Shape, Source, Ty};
use crate::text::text;

/// The definition of a struct in C++, but for what only rustc knows.
pub(in crate::rust_kernels) struct Structure {
    /// Its name in C++.
    pub(in crate::rust_kernels) name: String,
    /// The types and names of its fields in C++, and the fields in Rust.
    pub(in crate::rust_kernels) fields: Vec<(String, String, Member)>,
    /// The constants in the lengths of arrays, and their names in C++.
    pub(in crate::rust_kernels) constants: Vec<(ExprPath, String)>,
    /// The types of which only rustc knows more than the name.
    pub(in crate::rust_kernels) named: Vec<(ExprPath, String)>,
    /// What names seem to mean, as far as names tell.
    pub(in crate::rust_kernels) assumed: Vec<Assumed>,
}

/// Reads the fields of a struct; errors are pushed.
pub(in crate::rust_kernels) fn structure(item: &ItemStruct, errors: &mut Errors) -> Option<Structure> {
    let before = errors.len();
    let mut lower = Lower::new(&item.ident, errors);
    let members: Vec<Member> = item.fields.members().collect();
    // No name of a type or of a constant may be that of a field.
    lower.names = Names::default();
    members.iter().for_each(|member| lower.names.reserve(&named::field(member)));
    let name = lower.names.unique(&item.ident.to_string());
    let mut fields = Vec::new();
    for (member, field) in members.into_iter().zip(&item.fields) {
        if let Ok(ty) = lower.field_type(&field.ty)
            && let Some(ty) = lower.types.cpp(ty)
        {
            fields.push((ty, named::field(&member), member));
        }
    }
    let Lower { errors, mut constants, named, assumed, .. } = lower;
    // The definition stands in an item of its own.
    let paths = constants.iter_mut().filter_map(|(path, _)| path.path.segments.first_mut());
    paths.filter(|first| first.ident == "Self").for_each(|first| first.ident = item.ident.clone());
    (errors.len() == before).then_some(Structure { name, fields, constants, named, assumed })
}

impl Lower<'_> {
    /// The type of a field: one of which every value of the bytes is a value.
    fn field_type(&mut self, ty: &Type) -> Result<Ty, Reported> {
        let inside = innermost(ty);
        let help = match inside {
            Type::Path(path) if path.path.is_ident("bool") => {
                Some("use `u8`, and compare with 0: a byte in a buffer may have any value")
            }
            Type::Tuple(_) => {
                Some("a tuple has no layout that a GPU knows: use a struct with `#[device]`, or an array")
            }
            Type::Reference(_) => Some(
                "use an index into a slice that the kernel takes: the host's addresses mean nothing there",
            ),
            Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Index") => {
                Some("use a number")
            }
            _ => None,
        };
        match help {
            Some(help) => {
                let message = format!("a field of a kernel's struct cannot have the type `{}`", text(inside));
                let notes = ["fields have numbers, arrays, and structs with `#[device]`"];
                Err(self.report(inside, "TW0902", &message, &notes, help))
            }
            None => self.ty(ty),
        }
    }

    /// `P { a: 1.0, ..base }`
    pub(super) fn struct_value(&mut self, found: &ExprStruct) -> Lowered<(Kind, Ty)> {
        let ty = self.struct_type(&found.path)?;
        let mut fields = Vec::new();
        for field in &found.fields {
            let value = self.value(&field.expr)?;
            fields.push(self.struct_field(ty, &field.member, value));
        }
        let base = match (&found.rest, &found.dot2_token) {
            (Some(base), _) => {
                let base = self.value(base)?;
                self.types.unify(base.ty, ty);
                Some(Box::new(base))
            }
            (None, Some(dots)) => return Err(self.absent(dots, "a struct of defaults", "write all fields")),
            (None, None) => None,
        };
        Ok((Kind::Struct(fields, base), ty))
    }

    /// `P(1.0)`, if it may be a struct.
    pub(super) fn tuple_struct(&mut self, path: &ExprPath, call: &ExprCall) -> Lowered<Option<(Kind, Ty)>> {
        let outside = self.outside(path);
        let mut names = outside.path.segments.iter().rev().map(|segment| segment.ident.to_string());
        let is_type = |name: &String| name.starts_with(char::is_uppercase);
        let is_of_std = |name: &str| matches!(name, "Some" | "Ok" | "Err");
        // The path of a variant has its type before it.
        let is_struct = names.next().is_some_and(|last| is_type(&last) && !is_of_std(&last))
            && names.next().is_none_or(|before| !is_type(&before));
        if !is_struct || path.qself.is_some() {
            return Ok(None);
        }
        let ty = self.struct_type(&path.path)?;
        self.assume(Assumed::Tuple(outside));
        let mut fields = Vec::new();
        for (index, argument) in call.args.iter().enumerate() {
            let value = self.value(argument)?;
            fields.push(self.struct_field(ty, &Member::from(index), value));
        }
        Ok(Some((Kind::Struct(fields, None), ty)))
    }

    fn struct_type(&mut self, path: &syn::Path) -> Result<Ty, Reported> {
        self.ty(&Type::Path(TypePath { attrs: Vec::new(), qself: None, path: path.clone() }))
    }

    fn struct_field(&mut self, ty: Ty, member: &Member, value: ir::Expr) -> (String, ir::Expr) {
        if let Some(field) = self.types.part(ty, Part::Field(member.clone())) {
            self.types.unify(field, value.ty);
        }
        (named::field(member), value)
    }

    /// `value.field`
    pub(super) fn field(&mut self, field: &syn::ExprField) -> Lowered<(Kind, Ty)> {
        let base = self.value(&field.base)?;
        let base = self.referred(base);
        let member = &field.member;
        let ty = match (self.types.shape(self.types.value(base.ty)), member) {
            (Shape::Reported, _) => return Err(Reported),
            (Shape::Tuple(parts), Member::Unnamed(part)) => parts.get(part.index as usize).copied(),
            (Shape::Named(_), _) => self.types.part(base.ty, Part::Field(member.clone())),
            _ => None,
        };
        let field = named::field(member);
        let ty = ty.unwrap_or_else(|| self.types.foreign_of(Source::Field(base.ty, field.clone())));
        Ok((Kind::Field(Box::new(base), field), ty))
    }

    /// `P { a, b: c, .. }`
    pub(super) fn struct_pattern(&mut self, found: &PatStruct, ty: Ty) -> Lowered<Pattern> {
        let written = self.struct_type(&found.path)?;
        self.types.unify(written, ty);
        let mut fields = Vec::new();
        for field in &found.fields {
            fields.push((&field.member, &*field.pat));
        }
        let fields = fields.into_iter().map(|(member, pattern)| self.field_pattern(written, member, pattern));
        Ok(Pattern::Struct(fields.collect::<Lowered<_>>()?))
    }

    /// `P(a, b)`
    pub(super) fn tuple_struct_pattern(&mut self, found: &PatTupleStruct, ty: Ty) -> Lowered<Pattern> {
        let written = self.struct_type(&found.path)?;
        let path = ExprPath { attrs: Vec::new(), qself: None, path: found.path.clone() };
        let outside = self.outside(&path);
        self.assume(Assumed::Tuple(outside));
        self.types.unify(written, ty);
        let fields = found.elems.iter().enumerate();
        let fields =
            fields.map(|(index, pattern)| self.field_pattern(written, &Member::from(index), pattern));
        Ok(Pattern::Struct(fields.collect::<Lowered<_>>()?))
    }

    fn field_pattern(&mut self, ty: Ty, member: &Member, pattern: &syn::Pat) -> Lowered<(String, Pattern)> {
        let field = self.types.part(ty, Part::Field(member.clone()));
        let field = field.unwrap_or_else(|| self.types.foreign());
        Ok((named::field(member), self.pattern(pattern, field)?))
    }
}

/// What arrays of arrays are made of.
fn innermost(ty: &Type) -> &Type {
    match crate::groups::peel(ty) {
        Type::Array(array) => innermost(&array.elem),
        other => other,
    }
}
