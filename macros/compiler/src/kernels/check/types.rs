//! How a parameter differs from the source's.

use syn::{Expr, ExprLit, Lit, Type};

use super::facts::{Expected, LayoutCheck};
use crate::cuda_source::ctype::{Base, Primitive, Scalar};
use crate::cuda_source::known::{Known, Layout, Numbers};
use crate::cuda_source::layout::Resolved;
use crate::diagnostics::count;
use crate::groups::peel;
use crate::kernels::parameter::{Parameter, ParameterKind};
use crate::text::text;

pub(super) struct Mismatch {
    pub(super) code: &'static str,
    pub(super) why: Option<String>,
    pub(super) help: String,
}

impl Resolved {
    /// The Rust type to declare for it.
    pub(super) fn rust(&self) -> String {
        match self {
            Self::Value(known) => known.rust(),
            Self::Pointer { pointee, constant: true } => format!("&[{}]", pointee.rust()),
            Self::Pointer { pointee, constant: false } => format!("&mut [{}]", pointee.rust()),
            Self::Reference | Self::Function | Self::Opaque => "_".to_owned(),
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
                Resolved::Opaque | Resolved::Function => None,
                Resolved::Value(known) => misfit(&here.ty, known, declare(there.rust())),
                _ => types(declare(there.rust())),
            };
        }
        ParameterKind::Read(element) => (element, false),
        ParameterKind::ReadWrite(element) => (element, false),
        ParameterKind::Write(element) => (element, true),
    };
    let (pointee, constant) = match there {
        Resolved::Opaque | Resolved::Function | Resolved::Reference => return None,
        Resolved::Value(_) => return types(declare(there.rust())),
        Resolved::Pointer { pointee, constant } => (pointee, *constant),
    };
    let is_out = is_write && !constant;
    let ty = if is_out { format!("Out<[{}]>", pointee.rust()) } else { there.rust() };
    let help = if pointee.base.text.ends_with('*') {
        "pass one slice, and the places where its parts begin".to_owned()
    } else {
        declare(ty)
    };
    if let Some(found) = misfit(element, pointee, help) {
        return Some(found);
    }
    let element = text(element);
    match (&here.kind, constant) {
        (ParameterKind::Read(_), false) if here.reads.is_some() => None,
        (ParameterKind::Read(_), false) => Some(Mismatch {
            code: "TW0406",
            why: Some("the kernel may write through it".to_owned()),
            help: format!(
                "write `const {}*` in the source, declare it `&mut [{element}]`, or, if the kernel only reads, \
                 `#[reads] {}: &[{element}]`",
                pointee.base.text, here.name
            ),
        }),
        (ParameterKind::Read(_), true) if here.reads.is_some() => Some(Mismatch {
            code: "TW0406",
            why: Some(
                "`#[reads]` is for pointers that are not `const`: here it would promise what is checked"
                    .to_owned(),
            ),
            help: "remove `#[reads]`".to_owned(),
        }),
        (ParameterKind::ReadWrite(_) | ParameterKind::Write(_), true) => {
            Some(Mismatch { code: "TW0406", why: None, help: declare(format!("&[{element}]")) })
        }
        _ => None,
    }
}

/// Why a Rust type cannot be one of the source, as far as its name tells.
pub(super) fn misfit(here: &Type, there: &Known, help: String) -> Option<Mismatch> {
    let why = match (primitive(here), array(here)) {
        (Some(primitive), _) => unlike_number(primitive, there)?,
        (_, Some(own)) => {
            let numbers = there.numbers?;
            let fits = numbers.scalar.admits(own.0) && numbers.count == own.1;
            (!fits).then(|| (there.defined.is_some()).then(|| numbers.held_by(there)))?
        }
        (None, None) => return None,
    };
    // The toolkit's structs have no name in Rust.
    let help = match there.layout.filter(|_| there.is_toolkits) {
        Some(Layout { size, align }) => {
            format!("declare a `#[repr(C)]` struct of {}, aligned to {align}", count(size, "byte"))
        }
        None => help,
    };
    Some(Mismatch { code: "TW0405", why, help })
}

/// `Some` if a type of the source is not this number, with a note about the type if there is one.
fn unlike_number(primitive: Primitive, there: &Known) -> Option<Option<String>> {
    if !there.base.admits(Some(primitive)) {
        return Some(None);
    }
    let layout = there.layout?;
    let text = &there.base.text;
    // A struct of one number is as good as the number, and an array is one number after the other.
    match there.numbers {
        Some(numbers) if there.is_array || numbers.count == 1 => {
            let fits = numbers.scalar.admits(primitive);
            let is_size = there.defined.is_some() && layout.size != primitive.size();
            (!fits).then(|| match is_size {
                true => Some(format!("`{text}` has {}", count(layout.size, "byte"))),
                false => there.defined.is_some().then(|| numbers.held_by(there)),
            })
        }
        _ if layout.size != primitive.size() => {
            Some(Some(format!("`{text}` has {}", count(layout.size, "byte"))))
        }
        Some(numbers) => Some(Some(numbers.held_by(there))),
        None if layout.align != primitive.size() => {
            Some(Some(format!("`{text}` is aligned to {}", count(layout.align, "byte"))))
        }
        None if there.is_union || there.is_array => None,
        None => Some(Some(format!("`{text}` has several fields"))),
    }
}

impl Numbers {
    /// The Rust type for them.
    fn rust(&self, known: &Known) -> String {
        let one = Base { text: known.base.text.clone(), scalar: self.scalar }.rust();
        if self.count == 1 { one } else { format!("[{one}; {}]", self.count) }
    }

    fn held_by(&self, known: &Known) -> String {
        format!("`{}` holds `{}`", known.base.text, self.rust(known))
    }
}

impl Known {
    /// The Rust type to declare for it.
    pub(super) fn rust(&self) -> String {
        match &self.numbers {
            // Rust has no types for the toolkit's.
            Some(numbers) if self.base.scalar == Scalar::Compound => numbers.rust(self),
            _ => self.base.rust(),
        }
    }
}

/// The numbers in an array of numbers, and how many there are.
fn array(ty: &Type) -> Option<(Primitive, u64)> {
    let Type::Array(array_type) = peel(ty) else { return None };
    let Expr::Lit(ExprLit { lit: Lit::Int(length), .. }) = &array_type.len else { return None };
    let length: u64 = length.base10_parse().ok()?;
    let (element, count) = match primitive(&array_type.elem) {
        Some(primitive) => (primitive, 1),
        None => array(&array_type.elem)?,
    };
    Some((element, count.checked_mul(length)?))
}

/// The number type that a Rust type is by its name.
pub(super) fn primitive(ty: &Type) -> Option<Primitive> {
    let Type::Path(path) = peel(ty) else { return None };
    Primitive::from_rust(&path.path.segments.last()?.ident.to_string())
}

/// The check of rustc on the Rust type that stands for one of the source. It is used at `used`; `place`
/// writes a file and a line.
pub(super) fn layout(
    here: &Type,
    there: &Known,
    used: String,
    place: &dyn Fn(usize, usize) -> String,
) -> Option<LayoutCheck> {
    let layout = there.layout.filter(|_| primitive(here).is_none())?;
    let name = &there.base.text;
    let place = there.defined.map_or(used, |(file, line)| place(file, line));
    let file = match there.is_toolkits {
        true => "the CUDA toolkit",
        false => place.rsplit_once(':').map_or(&*place, |(file, _)| file),
    };
    // CUDA's vector types are stricter than arrays, but the beginning of a buffer is aligned for all of them.
    let is_strict = there.is_toolkits || there.defined.is_some();
    Some(LayoutCheck {
        ty: here.clone(),
        layouts: vec![Expected { size: layout.size, align: is_strict.then_some(layout.align) }],
        there: format!("`{name}` of {file}"),
        place: Some(place),
    })
}
