//! Compares the declarations with the source.

use quote::ToTokens;
use syn::{Ident, LitStr, Type};

use super::ctype::{CType, Primitive};
use super::error;
use super::parameter::{Parameter, ParameterKind, peel};
use super::prototype::{Linkage, Prototype, prototypes};
use super::syntax::{Block, Errors, Kernel};
use super::text::text;
use crate::diagnostics::similar;

/// Checks each sound kernel, and gives its launch bounds.
pub(super) fn check(
    block: &Block,
    file: &LitStr,
    read: &dyn Fn(&LitStr) -> Result<String, String>,
    errors: &mut Errors,
) -> Vec<Option<u32>> {
    let none = vec![None; block.kernels.len()];
    let source = match read(file) {
        Ok(source) => source,
        Err(reason) => {
            let what = format!("cannot read `{}`", file.value());
            let help = "give its path relative to this source file".to_owned();
            errors.push(error(file, "TW0401", &what, &[reason], Some(help)));
            return none;
        }
    };
    // PTX has lost constness and element types; the driver finds its kernels by name.
    if file.value().ends_with(".ptx") {
        return none;
    }
    let source = Source { file: file.value(), prototypes: prototypes(&source) };
    block
        .kernels
        .iter()
        .map(|kernel| if kernel.sound { source.kernel(kernel, errors) } else { None })
        .collect()
}

struct Source {
    file: String,
    prototypes: Vec<Prototype>,
}

impl Source {
    /// Checks one kernel, and gives its launch bounds.
    fn kernel(&self, kernel: &Kernel, errors: &mut Errors) -> Option<u32> {
        let name = unraw(&kernel.name);
        let versions: Vec<_> = self.prototypes.iter().filter(|prototype| prototype.name == name).collect();
        let callable: Vec<_> =
            versions.iter().copied().filter(|version| version.linkage == Linkage::C).collect();
        if callable.is_empty() {
            errors.push(match versions.first() {
                Some(mangled) => self.mangled(kernel, mangled),
                None => self.missing(kernel),
            });
            return None;
        }
        // Under `#if` there may be several: one must fit.
        let mut found: Option<Errors> = None;
        for version in &callable {
            let mut of_this = Errors::new();
            self.version(kernel, version, &mut of_this);
            if found.as_ref().is_none_or(|found| of_this.len() < found.len()) {
                found = Some(of_this);
            }
        }
        errors.extend(found.into_iter().flatten());
        // A forward declaration may leave the bounds to the definition; two versions may differ in them.
        let mut bounds = callable.iter().filter_map(|version| version.max_threads_per_block);
        let first = bounds.next()?;
        bounds.all(|other| other == first).then_some(first)
    }

    fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.file)
    }

    fn missing(&self, kernel: &Kernel) -> syn::Error {
        let name = unraw(&kernel.name);
        let what = format!("cannot find kernel `{name}` in {}", self.file);
        let callable = self.prototypes.iter().filter(|prototype| prototype.linkage == Linkage::C);
        let mut names: Vec<_> = callable.map(|prototype| prototype.name.as_str()).collect();
        names.dedup();
        if let Some(similar) = similar(&name, names.iter().copied()) {
            let help = format!("a kernel with a similar name exists: `{similar}`");
            return error(&kernel.name, "TW0402", &what, &[], Some(help));
        }
        let note = if names.is_empty() {
            "it has no `extern \"C\" __global__` function; included files are not searched".to_owned()
        } else {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("its kernels are {}; included files are not searched", names.join(", "))
        };
        let help = format!("add `extern \"C\" __global__ void {name}(…)` to it");
        error(&kernel.name, "TW0402", &what, &[note], Some(help))
    }

    fn mangled(&self, kernel: &Kernel, mangled: &Prototype) -> syn::Error {
        let name = &mangled.name;
        let place = self.place(mangled.line);
        let (what, why, help) = match mangled.linkage {
            Linkage::Template => (
                format!("kernel `{name}` in {} is a template", self.file),
                "C++ mangles the names of its instances, so that the driver cannot find them",
                "wrap one instance in an `extern \"C\" __global__` function of another name".to_owned(),
            ),
            _ => (
                format!("kernel `{name}` in {} has no C linkage", self.file),
                "C++ mangles its name, so that the driver cannot find it",
                format!("write `extern \"C\" __global__ void {name}`"),
            ),
        };
        error(&kernel.name, "TW0403", &what, &[place, why.to_owned()], Some(help))
    }

    /// Compares the declaration with one prototype.
    fn version(&self, kernel: &Kernel, prototype: &Prototype, errors: &mut Errors) {
        let (here, there) = (kernel.parameters.len(), prototype.parameters.len());
        if here != there {
            let count = |n| format!("{n} parameter{}", if n == 1 { "" } else { "s" });
            let what = format!(
                "kernel `{}` does not match {}: it has {}, but the source has {there}",
                prototype.name,
                self.file,
                count(here),
            );
            let notes = [self.place(prototype.line)];
            let help = format!("declare it `{}`", signature(prototype, kernel));
            errors.push(error(&kernel.name, "TW0404", &what, &notes, Some(help)));
            return;
        }
        for (at, (here, there)) in kernel.parameters.iter().zip(&prototype.parameters).enumerate() {
            if let Some(found) = mismatch(here, &there.ty) {
                let what = format!(
                    "kernel `{}` does not match {}: parameter {} is `{}`, but the source has `{}`",
                    prototype.name,
                    self.file,
                    at + 1,
                    text(&here.ty),
                    there.ty,
                );
                let mut notes = vec![self.place(there.line)];
                notes.extend(found.why.map(str::to_owned));
                errors.push(error(&here.ty, found.code, &what, &notes, Some(found.help)));
            }
        }
    }
}

struct Mismatch {
    code: &'static str,
    why: Option<&'static str>,
    help: String,
}

/// How a parameter differs from the source's.
fn mismatch(here: &Parameter, there: &CType) -> Option<Mismatch> {
    let types = |help: String| Some(Mismatch { code: "TW0405", why: None, help });
    let declare = |ty: String| format!("declare it `{ty}`");
    let (element, is_write) = match &here.kind {
        ParameterKind::Unknown => return None,
        ParameterKind::Scalar => {
            return match there {
                CType::Opaque => None,
                CType::Value(base) if base.admits(primitive(&here.ty)) => None,
                _ => types(declare(there.rust())),
            };
        }
        ParameterKind::Read(element) => (element, false),
        ParameterKind::ReadWrite(element) => (element, false),
        ParameterKind::Write(element) => (element, true),
    };
    let (pointee, constant) = match there {
        CType::Opaque => return None,
        CType::Value(_) => return types(declare(there.rust())),
        CType::Pointer { pointee, constant } => (pointee, *constant),
    };
    if !pointee.admits(primitive(element)) {
        let is_out = is_write && !constant;
        let ty = if is_out { format!("Out<[{}]>", pointee.rust()) } else { there.rust() };
        return types(declare(ty));
    }
    let element = text(element);
    match (&here.kind, constant) {
        (ParameterKind::Read(_), false) => Some(Mismatch {
            code: "TW0406",
            why: Some("the kernel may write through it"),
            help: format!("write `const {}*` in the source, or declare it `&mut [{element}]`", pointee.text),
        }),
        (ParameterKind::ReadWrite(_) | ParameterKind::Write(_), true) => {
            Some(Mismatch { code: "TW0406", why: None, help: declare(format!("&[{element}]")) })
        }
        _ => None,
    }
}

/// The number type that a Rust type is by its name.
fn primitive(ty: &Type) -> Option<Primitive> {
    let Type::Path(path) = peel(ty) else { return None };
    Primitive::from_rust(&path.path.segments.last()?.ident.to_string())
}

/// The declaration that fits a prototype: `fn saxpy(n: u32, x: &[f32])`.
fn signature(prototype: &Prototype, kernel: &Kernel) -> String {
    // The source cannot tell whether a kernel reads what it writes; the declaration may have said so.
    let is_out = |name: &str| {
        kernel.parameters.iter().any(|p| unraw(&p.name) == name && matches!(p.kind, ParameterKind::Write(_)))
    };
    let parameters: Vec<_> = prototype
        .parameters
        .iter()
        .enumerate()
        .map(|(at, parameter)| {
            let mut ty = parameter.ty.rust();
            if let (Some(name), Some(slice)) = (&parameter.name, ty.strip_prefix("&mut "))
                && is_out(name)
            {
                ty = format!("Out<{slice}>");
            }
            match &parameter.name {
                Some(name) if syn::parse_str::<Ident>(name).is_ok() => format!("{name}: {ty}"),
                Some(name) if syn::parse_str::<Ident>(&format!("r#{name}")).is_ok() => {
                    format!("r#{name}: {ty}")
                }
                _ => format!("argument_{}: {ty}", at + 1),
            }
        })
        .collect();
    format!("safe fn {}({})", prototype.name, parameters.join(", "))
}

/// The name as the source has it.
pub(super) fn unraw(name: &Ident) -> String {
    let name = name.to_token_stream().to_string();
    name.strip_prefix("r#").map_or(name.clone(), str::to_owned)
}
