//! The signature of a kernel or of a `#[device]` function, as the user wrote it.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{ConstParam, FnArg, GenericParam, Ident, ItemFn, Pat, PathArguments, ReturnType, Type};

use super::atomics;
use super::errors::{Errors, error};
use super::instead;
use super::named;
use super::role::Role;
use super::types::{Number, Shape, Ty};
use super::written::{Alone, ReadsTypes, dimensions};
use crate::groups::peel;
use crate::text::text;

pub(super) struct Signature {
    pub(super) parameters: Vec<Parameter>,
    /// The dimensions of a kernel's `Index` or `Block`.
    pub(super) dimensions: usize,
    /// The threads of a block, of which the attribute says how many there are.
    pub(super) threads: Option<u32>,
    /// The names of `const N: usize` of a `#[device]` function.
    pub(super) constants: Vec<Ident>,
}

impl Signature {
    /// Whether the kernel begins with a `Block`.
    pub(super) fn is_in_blocks(&self) -> bool {
        matches!(self.parameters.first(), Some(Parameter { kind: ParameterKind::Block(_), .. }))
    }
}

pub(super) struct Parameter {
    pub(super) name: Ident,
    pub(super) mutable: bool,
    pub(super) kind: ParameterKind,
}

#[derive(Clone)]
pub(super) enum ParameterKind {
    /// `Index<D>`
    Index(usize),
    /// `Block<D>`
    Block(usize),
    /// `&[T]`
    Slice(Type),
    /// `&[AtomicU32]`
    Atomics(Type),
    /// `&mut Own<[T]>`
    Own(Type),
    /// `&mut Out<[T]>`
    Out(Type),
    /// By value.
    Value(Type),
}

impl ParameterKind {
    /// Whether the launch makes it, and not the caller.
    pub(super) fn is_position(&self) -> bool {
        matches!(self, Self::Index(_) | Self::Block(_))
    }

    /// Whether it is data of the device.
    pub(super) fn is_memory(&self) -> bool {
        matches!(self, Self::Slice(_) | Self::Own(_) | Self::Out(_))
    }

    /// The type in the body.
    pub(super) fn ty(&self, reader: &mut impl ReadsTypes) -> Ty {
        // Such a type was reported.
        let of = |reader: &mut dyn ReadsTypes, ty: &Type| match reader.type_of(ty) {
            Some(ty) => ty,
            None => reader.types().add(Shape::Reported),
        };
        let shape = match self {
            Self::Index(dimensions) => Shape::Index(*dimensions),
            Self::Block(_) => Shape::Block,
            Self::Slice(element) | Self::Atomics(element) => Shape::Slice(of(reader, element)),
            Self::Own(element) => Shape::Elements { of: of(reader, element), out: false },
            Self::Out(element) => Shape::Elements { of: of(reader, element), out: true },
            Self::Value(ty) => return of(reader, ty),
        };
        reader.types().add(shape)
    }
}

/// Reads the signature of a kernel or a `#[device]` function; errors are pushed.
pub(super) fn signature(function: &ItemFn, role: Role, errors: &mut Errors) -> Option<Signature> {
    let before = errors.len();
    words(function, role, errors);
    let constants = constants(function, role)?;
    let mut parameters: Vec<Parameter> = Vec::new();
    for input in &function.sig.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                let what = format!("{} takes `self`", role.named(function));
                let help = "write a function outside of any `impl`".to_owned();
                errors.push(error(receiver, "TW0907", &what, &[], Some(help)));
            }
            FnArg::Typed(typed) => {
                let Some(parameter) = parameter(typed, parameters.len(), role, errors) else { continue };
                let is_position = |parameter: &Parameter| parameter.kind.is_position();
                if role == Role::Kernel && is_position(&parameter) && parameters.iter().any(is_position) {
                    let what = format!("{} has two positions", role.named(function));
                    let notes =
                        ["the first parameter is an `Index` or a `Block`, and no other is".to_owned()];
                    errors.push(error(typed, "TW0907", &what, &notes, Some("remove this one".to_owned())));
                }
                parameters.push(parameter);
            }
        }
    }
    let dimensions = match parameters.first().map(|first| &first.kind) {
        Some(ParameterKind::Index(dimensions) | ParameterKind::Block(dimensions)) => *dimensions,
        _ if role == Role::Kernel && errors.len() == before => {
            let what = format!("{} does not begin with its position", role.named(function));
            let notes = ["a kernel runs once for each index of the data, or once for each block".to_owned()];
            let help = "write `i: Index` as its first parameter, or `block: Block`".to_owned();
            let at = match function.sig.inputs.first() {
                Some(first) => first.to_token_stream(),
                None => function.sig.ident.to_token_stream(),
            };
            errors.push(error(at, "TW0907", &what, &notes, Some(help)));
            1
        }
        _ => 1,
    };
    (errors.len() == before).then_some(Signature { parameters, dimensions, threads: None, constants })
}

/// The names of `const N: usize`; `None` if the types of the parameters are not known, or the kernel is one of
/// many.
fn constants(function: &ItemFn, role: Role) -> Option<Vec<Ident>> {
    let generics = &function.sig.generics;
    if generics.where_clause.is_some() || (role == Role::Kernel && !generics.params.is_empty()) {
        return None;
    }
    let constant = |parameter: &GenericParam| match parameter {
        GenericParam::Const(constant) if is_usize(&constant.ty) => Some(constant.ident.clone()),
        _ => None,
    };
    generics.params.iter().map(constant).collect()
}

fn is_usize(ty: &Type) -> bool {
    matches!(peel(ty), Type::Path(path) if path.path.is_ident("usize"))
}

/// Reports the words that a kernel may not have.
fn words(function: &ItemFn, role: Role, errors: &mut Errors) {
    let sig = &function.sig;
    let named = role.named(function);
    let mut wrong = |at: TokenStream, what: &str, help: &str| {
        errors.push(error(at, "TW0907", &format!("{named} {what}"), &[], Some(help.to_owned())));
    };
    if let Some(word) = &sig.constness {
        wrong(word.to_token_stream(), "is declared `const`", "remove it");
    }
    if let Some(word) = &sig.asyncness {
        wrong(word.to_token_stream(), "is declared `async`", "remove it");
    }
    if let Some(word) = &sig.abi {
        wrong(word.to_token_stream(), "is declared `extern`", "remove it");
    }
    let is_of_usize = |parameter: &ConstParam| role == Role::Device && is_usize(&parameter.ty);
    if sig.generics.type_params().next().is_some() || !sig.generics.const_params().all(is_of_usize) {
        let help = match (role, sig.generics.type_params().next()) {
            (Role::Kernel, Some(ty)) => {
                format!("write the types that it is for: `#[kernel({} in [f32, f64])]`", ty.ident)
            }
            (Role::Kernel, None) => {
                let name = sig.generics.const_params().next().map(|constant| constant.ident.to_string());
                format!(
                    "write the numbers that it is for: `#[kernel({} in [3, 5])]`",
                    name.unwrap_or_default()
                )
            }
            (Role::Device, Some(ty)) => {
                format!("write the types that it is for: `#[device({} in [f32, f64])]`", ty.ident)
            }
            (Role::Device, None) => "write a constant of the type `usize`, or pass the value".to_owned(),
        };
        wrong(sig.generics.to_token_stream(), "is generic", &help);
    } else if sig.generics.lifetimes().next().is_some() {
        wrong(sig.generics.to_token_stream(), "has lifetimes", "remove them, here and in the types");
    } else if let Some(clause) = &sig.generics.where_clause {
        wrong(clause.to_token_stream(), "has a `where` clause", "remove it");
    }
    if let (Role::Kernel, ReturnType::Type(_, ty)) = (role, &sig.output)
        && !matches!(&**ty, Type::Tuple(tuple) if tuple.elems.is_empty())
    {
        let help = match Alone::default().type_of(ty) {
            Some(_) => format!("write it to the thread's element of a parameter: `&mut Out<[{}]>`", text(ty)),
            None => "write it to the thread's element of a parameter, `&mut Out<[T]>`".to_owned(),
        };
        wrong(ty.to_token_stream(), "returns a value", &help);
    }
}

fn parameter(typed: &syn::PatType, index: usize, role: Role, errors: &mut Errors) -> Option<Parameter> {
    let (name, mutable) = match &*typed.pat {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
            (name.ident.clone(), name.mutability.is_some())
        }
        Pat::Wild(wild) => (Ident::new(&format!("unused_{index}"), wild.underscore_token.span), false),
        other => {
            let what = "a parameter has a pattern in place of a name";
            let help = "write a name, and take it apart in the body".to_owned();
            errors.push(error(other, "TW0907", what, &[], Some(help)));
            return None;
        }
    };
    match kind(&typed.ty, role) {
        Ok(kind) => Some(Parameter { name, mutable, kind }),
        Err(Refused { part, is_element, help }) => {
            let (who, takes) = match role {
                Role::Kernel => (
                    "kernel",
                    "kernels take numbers, arrays and structs by value, `&[T]`, `&mut Own<[T]>` and `&mut Out<[T]>`",
                ),
                Role::Device => (
                    "`#[device]` function",
                    "functions of kernels take numbers, tuples, arrays, structs, references to them and `&[T]`",
                ),
            };
            let what = match is_element {
                true => format!("a {who} cannot take elements of the type `{}`", text(part)),
                false => format!("a {who} cannot take a `{}`", text(part)),
            };
            errors.push(error(part, "TW0905", &what, &[takes.to_owned()], Some(help)));
            None
        }
    }
}

/// The part of a type that a parameter cannot have, and what to write.
struct Refused<'a> {
    part: &'a Type,
    is_element: bool,
    help: String,
}

impl<'a> Refused<'a> {
    fn whole(part: &'a Type, help: impl Into<String>) -> Self {
        Self { part, is_element: false, help: help.into() }
    }

    fn element(part: &'a Type, help: impl Into<String>) -> Self {
        Self { part, is_element: true, help: help.into() }
    }
}

fn kind(ty: &Type, role: Role) -> Result<ParameterKind, Refused<'_>> {
    let refuse = |help: String| Err(Refused::whole(ty, help));
    let is_kernel = role == Role::Kernel;
    match peel(ty) {
        Type::Reference(reference) => match (peel(&reference.elem), reference.mutability.is_some()) {
            (Type::Slice(slice), false) if is_kernel && is_atomic(&slice.elem) => {
                Ok(ParameterKind::Atomics((*slice.elem).clone()))
            }
            (Type::Slice(slice), false) => of_elements(&slice.elem, role).map(ParameterKind::Slice),
            (Type::Slice(slice), true) if !is_kernel => {
                refuse(format!("return the values, or take an array: `&mut [{}; 16]`", text(&slice.elem)))
            }
            (inside, true) if is_kernel => match handle(inside) {
                Some((out, element)) => {
                    let kind = if out { ParameterKind::Out } else { ParameterKind::Own };
                    of_elements(element, role).map(kind)
                }
                None => refuse(own_or_out(instead::elements(inside).unwrap_or(inside))),
            },
            (inside, false) if is_kernel && atomics::is_made_of(inside) => refuse(as_slice(inside)),
            (inside, false) if is_kernel => refuse(match (handle(inside), instead::elements(inside)) {
                (Some(_), _) => format!("write `&mut {}`", text(inside)),
                (None, Some(element)) if !matches!(inside, Type::Array(_)) => {
                    format!("write `&[{}]`", text(element))
                }
                _ if index(inside).is_some() => format!("write `{}`", text(inside)),
                _ if Alone::default().type_of(inside).is_some() => {
                    format!("pass it by value: `{}`", text(inside))
                }
                _ => instead::of_type(inside).1,
            }),
            _ => by_value(ty, role),
        },
        inside if is_kernel && handle(inside).is_some() => refuse(format!("write `&mut {}`", text(inside))),
        Type::Slice(slice) => refuse(format!("write `&[{}]`", text(&slice.elem))),
        inside => match (axes(inside, "Block"), index(inside)) {
            (Some(axes), _) if is_kernel => Ok(ParameterKind::Block(axes)),
            (_, Some(axes)) => Ok(ParameterKind::Index(axes)),
            _ => by_value(ty, role),
        },
    }
}

fn is_atomic(ty: &Type) -> bool {
    matches!(peel(ty), Type::Path(_)) && atomics::is_made_of(ty)
}

/// How a kernel takes the atomics that a type is made of.
fn as_slice(ty: &Type) -> String {
    format!("write `&[{}]`, which all threads change", text(innermost(ty)))
}

fn own_or_out(element: &Type) -> String {
    if atomics::is_made_of(element) {
        return as_slice(element);
    }
    let name = match Alone::default().type_of(element) {
        Some(_) => text(element),
        None => "T".to_owned(),
    };
    let atomic = Number::of(element).and_then(atomics::of);
    let shared = atomic.map(|atomic| format!("; what several threads change is `&[{atomic}]`"));
    format!(
        "write `&mut Own<[{name}]>`, of which each thread has its own element, or `&mut Out<[{name}]>` if the \
         kernel does not read it{}",
        shared.unwrap_or_default()
    )
}

/// In place of a tuple, whose parts rustc may put in any order.
const OF_TUPLES: &str = "a tuple has no layout that a GPU knows: use a struct with `#[device]`, or an array";

/// The elements of a slice or of a handle. Device memory has none whose bytes may be wrong.
fn of_elements(element: &Type, role: Role) -> Result<Type, Refused<'_>> {
    if Alone::default().type_of(element).is_none() {
        let (part, help) = instead::of_type(element);
        return Err(Refused::element(part, help));
    }
    if role == Role::Device {
        return Ok(element.clone());
    }
    match innermost(element) {
        Type::Path(path) if is_number(path) || named::is_name(path) => Ok(element.clone()),
        part @ Type::Path(path) if path.path.is_ident("bool") => {
            Err(Refused::element(part, "use `u8`, and compare with 0: a byte in a buffer may have any value"))
        }
        part @ Type::Tuple(_) => Err(Refused::element(part, OF_TUPLES)),
        part if atomics::is_made_of(part) => Err(Refused::element(part, as_slice(part))),
        part => Err(Refused::element(part, "use numbers, arrays of numbers, or structs")),
    }
}

fn is_number(path: &syn::TypePath) -> bool {
    path.path.get_ident().is_some_and(|name| Number::named(&name.to_string()).is_some())
        || named::half(path).is_some()
}

/// What arrays of arrays are made of.
fn innermost(ty: &Type) -> &Type {
    match peel(ty) {
        Type::Array(array) => innermost(&array.elem),
        other => other,
    }
}

fn by_value(ty: &Type, role: Role) -> Result<ParameterKind, Refused<'_>> {
    if Alone::default().type_of(ty).is_none() {
        let (part, help) = instead::of_type(ty);
        return Err(Refused::whole(part, help));
    }
    if atomics::is_made_of(ty) {
        let help = match role {
            Role::Kernel => as_slice(ty),
            Role::Device => format!("take it by reference: `&{}`", text(ty)),
        };
        return Err(Refused::whole(ty, help));
    }
    if role == Role::Device {
        return Ok(ParameterKind::Value(ty.clone()));
    }
    match innermost(ty) {
        Type::Path(path) if is_number(path) || path.path.is_ident("bool") || named::is_name(path) => {
            Ok(ParameterKind::Value(ty.clone()))
        }
        part @ Type::Tuple(_) => Err(Refused::whole(part, OF_TUPLES)),
        part => Err(Refused::whole(part, "use numbers, `bool`, arrays of them, or structs")),
    }
}

/// The elements of `Own<[T]>` and `Out<[T]>`, and whether it is the latter.
fn handle(ty: &Type) -> Option<(bool, &Type)> {
    let Type::Path(path) = peel(ty) else { return None };
    let last = path.path.segments.last()?;
    let out = match last.ident.to_string().as_str() {
        "Own" => false,
        "Out" => true,
        _ => return None,
    };
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let element = arguments.args.iter().find_map(|argument| match argument {
        syn::GenericArgument::Type(ty) => match peel(ty) {
            Type::Slice(slice) => Some(&*slice.elem),
            _ => None,
        },
        _ => None,
    });
    Some((out, element?))
}

fn index(ty: &Type) -> Option<usize> {
    axes(ty, "Index")
}

/// The axes of a type of this name: `Index`, `Block<2>`.
fn axes(ty: &Type, name: &str) -> Option<usize> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    if last.ident != name {
        return None;
    }
    dimensions(&last.arguments)
}
