//! One parameter of a declaration, as the user wrote it.

use proc_macro2::{Ident, Span};
use syn::spanned::Spanned;
use syn::{GenericArgument, Pat, Path, PathArguments, PointerMutability, Type};

use super::attributes::{Said, Symbol, of_parameter};
use super::errors::{Errors, error};
use crate::cuda_source::kind::Kind;
use crate::groups::peel;
use crate::text::text;

pub(super) struct Parameter {
    pub(super) name: Ident,
    /// As the user wrote it.
    pub(super) ty: Type,
    pub(super) kind: ParameterKind,
    /// The variable of the source that it stands for, if it is not a parameter there.
    pub(super) symbol: Option<Symbol>,
    /// `#[reads]`: the kernel does not write through a pointer that is not `const`.
    pub(super) reads: Option<Path>,
}

#[derive(Clone)]
pub(super) enum ParameterKind {
    /// By value.
    Scalar,
    /// `&[T]`.
    Read(Type),
    /// `&mut [T]`.
    ReadWrite(Type),
    /// `Out<[T]>`.
    Write(Type),
    /// An error was reported.
    Unknown,
}

/// Reads the parameter at index `at` of a kernel.
pub(super) fn parameter(
    typed: syn::PatType,
    at: usize,
    kernel: &Ident,
    source: Kind,
    errors: &mut Errors,
) -> Parameter {
    let syn::PatType { attrs, pat, ty, .. } = typed;
    let name = match *pat {
        Pat::Ident(name) if name.by_ref.is_none() && name.mutability.is_none() && name.subpat.is_none() => {
            name.ident
        }
        other => {
            let what = format!("parameter {} of kernel `{kernel}` has no plain name", at + 1);
            let notes = ["conditions and the source refer to parameters by name".to_owned()];
            let help = "write `name: type`".to_owned();
            errors.push(error(&other, "TW0410", &what, &notes, Some(help)));
            nameless(at, other.span())
        }
    };
    let kind = match parameter_kind(&ty) {
        Ok(kind) => kind,
        Err(help) => {
            let what = format!("a kernel cannot take a `{}`", text(&ty));
            let notes = ["kernels take scalars by value, `&[T]`, `&mut [T]` and `Out<[T]>`".to_owned()];
            errors.push(error(&ty, "TW0410", &what, &notes, help));
            ParameterKind::Unknown
        }
    };
    let Said { symbol, reads } = of_parameter(&attrs, &name, &kind, source, errors);
    Parameter { name, ty: *ty, kind, symbol, reads }
}

/// The name in the stub of a parameter that has none of its own.
pub(super) fn nameless(at: usize, span: Span) -> Ident {
    Ident::new(&format!("argument_{}", at + 1), span)
}

/// How a parameter is passed, or the edit after which it can be passed.
fn parameter_kind(ty: &Type) -> Result<ParameterKind, Option<String>> {
    let declare =
        |form: &str, element: &Type| Some(format!("declare it `{}`", form.replace('T', &text(element))));
    match peel(ty) {
        // `Out` is passed without a reference.
        Type::Reference(reference) if is_out(&reference.elem) => {
            Err(Some(format!("declare it `{}`", text(peel(&reference.elem)))))
        }
        Type::Reference(reference) => {
            let mutable = reference.mutability.is_some();
            let form = if mutable { "&mut [T]" } else { "&[T]" };
            match peel(&reference.elem) {
                Type::Slice(slice) if reference.lifetime.is_some() => Err(declare(form, &slice.elem)),
                Type::Slice(slice) if mutable => Ok(ParameterKind::ReadWrite((*slice.elem).clone())),
                Type::Slice(slice) => Ok(ParameterKind::Read((*slice.elem).clone())),
                Type::Array(array) => Err(declare(form, &array.elem)),
                referred if element_of(referred).is_some() => {
                    Err(element_of(referred).and_then(|element| declare(form, element)))
                }
                _ if mutable => Err(declare(form, &reference.elem)),
                _ => Err(Some("pass it by value, or as a slice of one".to_owned())),
            }
        }
        Type::Ptr(pointer) => {
            let mutable = matches!(pointer.mutability, PointerMutability::Mut(_));
            Err(declare(if mutable { "&mut [T]" } else { "&[T]" }, &pointer.elem))
        }
        Type::Slice(slice) => Err(declare("&[T]", &slice.elem)),
        Type::Path(path) => match path.path.segments.last() {
            Some(last) if last.ident == "Out" => match out_element(&last.arguments) {
                Some(element) => Ok(ParameterKind::Write(element.clone())),
                None => Err(Some(format!("declare it `Out<[{}]>`", out_of(&last.arguments)))),
            },
            _ => Ok(ParameterKind::Scalar),
        },
        Type::Array(_) | Type::Tuple(_) | Type::Macro(_) => Ok(ParameterKind::Scalar),
        _ => Err(None),
    }
}

/// The `T` of `Vec<T>` and other owners of slices.
fn element_of(owner: &Type) -> Option<&Type> {
    let Type::Path(owner) = owner else { return None };
    let last = owner.path.segments.last()?;
    let owners = ["Vec", "Box", "DeviceBuf", "PinnedBuf"];
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(ty) if owners.iter().any(|owner| last.ident == owner) => match peel(ty) {
            Type::Slice(slice) => Some(&slice.elem),
            other => Some(other),
        },
        _ => None,
    }
}

/// Whether it is `Out<[T]>`.
fn is_out(ty: &Type) -> bool {
    let Type::Path(path) = peel(ty) else { return false };
    let last = path.path.segments.last();
    last.is_some_and(|last| last.ident == "Out" && out_element(&last.arguments).is_some())
}

/// The text to write between `Out<[` and `]>`.
fn out_of(arguments: &PathArguments) -> String {
    let PathArguments::AngleBracketed(arguments) = arguments else { return "T".to_owned() };
    match (arguments.args.first(), arguments.args.len()) {
        (Some(GenericArgument::Type(ty)), 1) => text(element_of(peel(ty)).unwrap_or(peel(ty))),
        _ => "T".to_owned(),
    }
}

/// The `T` of `<[T]>`.
fn out_element(arguments: &PathArguments) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = arguments else { return None };
    match (arguments.args.first()?, arguments.args.len()) {
        (GenericArgument::Type(ty), 1) => match peel(ty) {
            Type::Slice(slice) => Some(&slice.elem),
            _ => None,
        },
        _ => None,
    }
}
