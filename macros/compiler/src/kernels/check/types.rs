//! How a parameter differs from the source's.

use syn::Type;

use super::LayoutCheck;
use crate::diagnostics::count;
use crate::kernels::ctype::Primitive;
use crate::kernels::layout::{Known, Resolved};
use crate::kernels::parameter::{Parameter, ParameterKind, peel};
use crate::kernels::text::text;

pub(super) struct Mismatch {
    pub(super) code: &'static str,
    pub(super) why: Option<String>,
    pub(super) help: String,
}

impl Resolved {
    /// The Rust type to declare for it.
    pub(super) fn rust(&self) -> String {
        match self {
            Self::Value(known) => known.base.rust(),
            Self::Pointer { pointee, constant: true } => format!("&[{}]", pointee.base.rust()),
            Self::Pointer { pointee, constant: false } => format!("&mut [{}]", pointee.base.rust()),
            Self::Reference | Self::Opaque => "_".to_owned(),
        }
    }
}

/// How a parameter differs from the source's.
pub(super) fn mismatch(here: &Parameter, there: &Resolved) -> Option<Mismatch> {
    let types = |help: String| Some(Mismatch { code: "TW0405", why: None, help });
    let declare = |ty: String| format!("declare it `{ty}`");
    if let Resolved::Reference = there {
        let why = Some("a `__global__` function cannot take references".to_owned());
        let help = "take a pointer in the source, or the value itself".to_owned();
        return Some(Mismatch { code: "TW0405", why, help });
    }
    let (element, is_write) = match &here.kind {
        ParameterKind::Unknown => return None,
        ParameterKind::Scalar => {
            return match there {
                Resolved::Opaque => None,
                Resolved::Value(known) => misfit(&here.ty, known, declare(there.rust())),
                _ => types(declare(there.rust())),
            };
        }
        ParameterKind::Read(element) => (element, false),
        ParameterKind::ReadWrite(element) => (element, false),
        ParameterKind::Write(element) => (element, true),
    };
    let (pointee, constant) = match there {
        Resolved::Opaque | Resolved::Reference => return None,
        Resolved::Value(_) => return types(declare(there.rust())),
        Resolved::Pointer { pointee, constant } => (pointee, *constant),
    };
    let is_out = is_write && !constant;
    let ty = if is_out { format!("Out<[{}]>", pointee.base.rust()) } else { there.rust() };
    let help = if pointee.base.text.ends_with('*') {
        "pass one slice, and where in it each part begins".to_owned()
    } else {
        declare(ty)
    };
    if let Some(found) = misfit(element, pointee, help) {
        return Some(found);
    }
    let element = text(element);
    match (&here.kind, constant) {
        (ParameterKind::Read(_), false) => Some(Mismatch {
            code: "TW0406",
            why: Some("the kernel may write through it".to_owned()),
            help: format!(
                "write `const {}*` in the source, or declare it `&mut [{element}]`",
                pointee.base.text
            ),
        }),
        (ParameterKind::ReadWrite(_) | ParameterKind::Write(_), true) => {
            Some(Mismatch { code: "TW0406", why: None, help: declare(format!("&[{element}]")) })
        }
        _ => None,
    }
}

/// Why a Rust type cannot be one of the source, as far as its name tells.
pub(super) fn misfit(here: &Type, there: &Known, help: String) -> Option<Mismatch> {
    let primitive = primitive(here)?;
    if !there.base.admits(Some(primitive)) {
        return Some(Mismatch { code: "TW0405", why: None, help });
    }
    // A struct of one number is as good as the number.
    let layout = there.layout.filter(|layout| there.defined.is_some() && layout.size != primitive.size())?;
    let why = Some(format!("`{}` has {}", there.base.text, count(layout.size, "byte")));
    Some(Mismatch { code: "TW0405", why, help })
}

/// The number type that a Rust type is by its name.
pub(super) fn primitive(ty: &Type) -> Option<Primitive> {
    let Type::Path(path) = peel(ty) else { return None };
    Primitive::from_rust(&path.path.segments.last()?.ident.to_string())
}

/// What rustc is to check of the Rust type that stands for one of the source. It is used at `used`; `place` writes a file
/// and a line.
pub(super) fn layout(
    here: &Type,
    there: &Known,
    used: String,
    place: &dyn Fn(usize, usize) -> String,
) -> Option<LayoutCheck> {
    let layout = there.layout.filter(|_| primitive(here).is_none())?;
    let name = &there.base.text;
    let place = there.defined.map_or(used, |(file, line)| place(file, line));
    let file = place.rsplit_once(':').map_or(&*place, |(file, _)| file);
    Some(LayoutCheck {
        ty: here.clone(),
        size: layout.size,
        // CUDA's vector types are stricter than arrays, but what begins a buffer is aligned for all of them.
        align: there.defined.map(|_| layout.align),
        there: format!("`{name}` of {file}"),
        place: Some(place),
    })
}
