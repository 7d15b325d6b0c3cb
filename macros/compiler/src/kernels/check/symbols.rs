//! Compares symbols with the variables of the source.

use super::types::{layout, misfit};
use super::{Facts, LayoutCheck, listed};
use crate::diagnostics::similar;
use crate::kernels::attributes::Symbol;
use crate::kernels::declarations::Variable;
use crate::kernels::error;
use crate::kernels::image::Image;
use crate::kernels::layout::element;
use crate::kernels::parameter::{Parameter, ParameterKind};
use crate::kernels::source::Cuda;
use crate::kernels::syntax::{Errors, Kernel};
use crate::kernels::text::text;

/// The parameters that stand for variables.
fn symbols(kernel: &Kernel) -> impl Iterator<Item = (&Parameter, &Symbol)> {
    kernel.parameters.iter().filter_map(|parameter| Some((parameter, parameter.symbol.as_ref()?)))
}

/// Compares with the variables of CUDA C++.
pub(super) fn in_cuda(source: &Cuda, kernel: &Kernel, facts: &mut Facts, errors: &mut Errors) {
    let variables = &source.declarations.variables;
    let file = &source.files[0];
    for (parameter, symbol) in symbols(kernel) {
        let named: Vec<&Variable> =
            variables.iter().filter(|variable| variable.name == symbol.name).collect();
        let Some(variable) = named.iter().find(|variable| variable.hidden.is_none()).or(named.first()) else {
            let names: Vec<_> = variables.iter().map(|variable| variable.name.as_str()).collect();
            errors.push(missing(symbol, file, names, "`__constant__` or `__device__` variable"));
            continue;
        };
        let place = source.place(variable.file, variable.line);
        if let Some((fact, why, help)) = variable.hidden {
            let what = format!("variable `{}` of {file} {fact}", symbol.name);
            errors.push(error(&symbol.at, "TW0415", &what, &[place, why.to_owned()], Some(help.to_owned())));
            continue;
        }
        // Under `#if` there may be several: one must fit.
        let compared = named.iter().map(|variable| compare(source, parameter, symbol, variable));
        let mut found = None;
        for result in compared {
            match result {
                Ok(layout) => {
                    facts.layouts.extend(layout);
                    found = None;
                    break;
                }
                Err(mismatch) => found = found.or(Some(mismatch)),
            }
        }
        errors.extend(found);
    }
}

fn compare(
    source: &Cuda,
    parameter: &Parameter,
    symbol: &Symbol,
    variable: &Variable,
) -> Result<Option<LayoutCheck>, syn::Error> {
    let ParameterKind::Read(here) = &parameter.kind else { return Ok(None) };
    let there = element(&source.declarations, &variable.namespace, &variable.declarator);
    let place = source.place(variable.file, variable.line);
    let help = format!("declare it `&[{}]`", there.base.rust());
    let Some(found) = misfit(here, &there, help) else {
        return Ok(layout(here, &there, place, &|file, line| source.place(file, line)));
    };
    let bounds = match &variable.declarator.bounds[..] {
        [] => String::new(),
        bounds => {
            let count = |bound| source.declarations.constants.evaluate(bound).map(|n| n.to_string());
            bounds.iter().map(|bound| format!("[{}]", count(bound).unwrap_or_default())).collect()
        }
    };
    let what = format!(
        "symbol `{}` does not match {}: it is `{}`, but the source has `{}{bounds}`",
        symbol.name,
        source.files[variable.file],
        text(&parameter.ty),
        there.base.text,
    );
    let notes: Vec<_> = [place].into_iter().chain(found.why).collect();
    Err(error(&parameter.ty, "TW0416", &what, &notes, Some(found.help)))
}

/// Compares with the variables of a compiled source.
pub(super) fn in_image(image: &Image, file: &str, kernel: &Kernel, errors: &mut Errors) {
    for (_, symbol) in symbols(kernel) {
        if !image.variables.iter().any(|variable| variable.name == symbol.name) {
            let names = image.variables.iter().map(|variable| variable.name.as_str()).collect();
            errors.push(missing(symbol, file, names, "variable"));
        }
    }
}

fn missing(symbol: &Symbol, file: &str, mut names: Vec<&str>, kind: &str) -> syn::Error {
    let name = &symbol.name;
    let what = format!("cannot find variable `{name}` in {file}");
    names.dedup();
    let (notes, help) = match similar(name, names.iter().copied()) {
        Some(similar) => (vec![], format!("a variable with a similar name exists: `{similar}`")),
        None => {
            let note =
                if names.is_empty() { format!("it has no {kind}") } else { listed("variables", &names) };
            (vec![note], format!("add `__constant__ float {name}[…];` to it, or remove `#[symbol]`"))
        }
    };
    error(&symbol.at, "TW0415", &what, &notes, Some(help))
}
