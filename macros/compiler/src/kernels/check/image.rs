//! Compares the declarations with a compiled source.

use super::cluster::cluster;
use super::facts::{Expected, Facts, LayoutCheck};
use super::symbols;
use super::types::primitive;
use crate::cuda_source::image::{Image, ImageKernel, ImageParameter};
use crate::diagnostics::{count, similar};
use crate::kernels::errors::{Errors, error, listed};
use crate::kernels::parameter::{Parameter, ParameterKind};
use crate::kernels::syntax::Kernel;
use crate::text::{text, unraw};

/// Checks one kernel, and gives the facts about it in the image.
pub(super) fn kernel(image: &Image, file: &str, kernel: &Kernel, errors: &mut Errors) -> Facts {
    let name = unraw(&kernel.name);
    let symbol_bytes = symbols::in_image(image, file, kernel, errors);
    let Some(there) = image.kernels.iter().find(|there| there.name == name) else {
        errors.push(missing(image, file, kernel));
        return Facts::default();
    };
    cluster(kernel, there.cluster, file, place(file, there.line), errors);
    let mut facts = Facts {
        max_threads_per_block: there.max_threads_per_block,
        has_cluster: there.cluster.is_some(),
        layouts: Vec::new(),
        symbol_bytes,
    };
    parameters(there, file, kernel, &mut facts, errors);
    facts
}

fn place(file: &str, line: Option<usize>) -> Option<String> {
    line.map(|line| format!("{file}:{line}"))
}

fn parameters(there: &ImageKernel, file: &str, kernel: &Kernel, facts: &mut Facts, errors: &mut Errors) {
    let Some(sizes) = &there.parameters else { return };
    let here: Vec<_> = kernel.parameters.iter().filter(|parameter| parameter.symbol.is_none()).collect();
    if here.len() != sizes.len() {
        let what = format!(
            "kernel `{}` does not match {file}: it has {}, but the source has {}",
            there.name,
            count(here.len(), "parameter"),
            sizes.len()
        );
        let bytes: Vec<_> = sizes.iter().map(|parameter| parameter.size.to_string()).collect();
        let mut notes: Vec<_> = place(file, there.line).into_iter().collect();
        notes.extend(
            (!bytes.is_empty()).then(|| format!("those of the source have {} bytes", bytes.join(", "))),
        );
        let help = "declare as many parameters; a pointer has 8 bytes".to_owned();
        errors.push(error(&kernel.name, "TW0404", &what, &notes, Some(help)));
        return;
    }
    for (at, (parameter, there_parameter)) in here.into_iter().zip(sizes).enumerate() {
        let found = size(parameter, there_parameter, at, there, file);
        match found {
            Ok(layout) => facts.layouts.extend(layout),
            Err(found) => errors.push(found),
        }
    }
}

fn size(
    here: &Parameter,
    there: &ImageParameter,
    at: usize,
    kernel: &ImageKernel,
    file: &str,
) -> Result<Option<LayoutCheck>, syn::Error> {
    let known = match &here.kind {
        ParameterKind::Unknown => return Ok(None),
        ParameterKind::Scalar => primitive(&here.ty).map(|primitive| primitive.size()),
        _ => Some(8),
    };
    let place = place(file, there.line);
    let Some(known) = known else {
        return Ok(Some(LayoutCheck {
            ty: here.ty.clone(),
            layouts: vec![Expected { size: there.size, align: None }],
            there: format!("parameter {} of kernel `{}` in {file}", at + 1, kernel.name),
            place,
        }));
    };
    if known == there.size {
        return Ok(None);
    }
    let what = format!(
        "kernel `{}` does not match {file}: parameter {} is `{}`, {}, but the source has {}",
        kernel.name,
        at + 1,
        text(&here.ty),
        bytes(known),
        bytes(there.size),
    );
    let notes: Vec<_> = place.into_iter().collect();
    let help = format!("declare a type of {}", bytes(there.size));
    Err(error(&here.ty, "TW0405", &what, &notes, Some(help)))
}

fn bytes(size: u64) -> String {
    count(size, "byte")
}

fn missing(image: &Image, file: &str, kernel: &Kernel) -> syn::Error {
    let name = unraw(&kernel.name);
    let what = format!("cannot find kernel `{name}` in {file}");
    let names: Vec<_> = image.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    // C++ writes the length of a name and then the name.
    let mangled = format!("{}{name}", name.len());
    if let Some(mangled) = names.iter().find(|other| other.starts_with("_Z") && other.contains(&mangled)) {
        let notes = [format!("it has `{mangled}`, whose name C++ has changed")];
        let help = format!("write `extern \"C\"` in its source, or declare `{mangled}`");
        return error(&kernel.name, "TW0403", &what, &notes, Some(help));
    }
    if let Some(similar) = similar(&name, names.iter().copied()) {
        let help = format!("a kernel with a similar name exists: `{similar}`");
        return error(&kernel.name, "TW0402", &what, &[], Some(help));
    }
    let note = if names.is_empty() { "it has no kernels".to_owned() } else { listed("kernels", &names) };
    let help = "declare the name that it has there".to_owned();
    error(&kernel.name, "TW0402", &what, &[note], Some(help))
}
