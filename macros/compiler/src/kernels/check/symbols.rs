//! Compares symbols with the variables of the source.

use super::facts::{Facts, LayoutCheck};
use super::types::{layout, misfit};
use crate::cuda_source::branches::{Choices, each_way};
use crate::cuda_source::cuda::Cuda;
use crate::cuda_source::declarations::{Hidden, Variable};
use crate::cuda_source::image::Image;
use crate::cuda_source::layout::{element, size_of_variable};
use crate::diagnostics::similar;
use crate::kernels::attributes::Symbol;
use crate::kernels::errors::{Errors, error, listed};
use crate::kernels::parameter::{Parameter, ParameterKind};
use crate::kernels::syntax::Kernel;
use crate::text::text;

/// The parameters that stand for variables.
fn symbols(kernel: &Kernel) -> impl Iterator<Item = (&Parameter, &Symbol)> {
    kernel.parameters.iter().filter_map(|parameter| Some((parameter, parameter.symbol.as_ref()?)))
}

/// Compares with the variables of CUDA C++.
pub(super) fn in_cuda(source: &Cuda, kernel: &Kernel, facts: &mut Facts, errors: &mut Errors) {
    for (parameter, symbol) in symbols(kernel) {
        match variable(source, parameter, symbol) {
            Ok((layout, bytes)) => {
                facts.layouts.extend(layout);
                facts.symbol_bytes.push(bytes);
            }
            Err(found) => errors.push(found),
        }
    }
}

/// The check of rustc on a symbol's elements, and the bytes of its variable, if the source tells.
fn variable(
    source: &Cuda,
    parameter: &Parameter,
    symbol: &Symbol,
) -> Result<(Option<LayoutCheck>, Option<u64>), syn::Error> {
    let variables = &source.declarations.variables;
    let file = &source.files[0];
    // Under `#if` there may be several: one must fit.
    let named = || variables.iter().filter(|variable| variable.name == symbol.name);
    let usable: Vec<&Variable> = named().filter(|variable| variable.hidden.is_none()).collect();
    if usable.is_empty() {
        let Some((variable, hidden)) = named().find_map(|found| Some((found, found.hidden?))) else {
            let names = variables.iter().map(|variable| variable.name.as_str()).collect();
            return Err(missing(symbol, file, names, "`__constant__` or `__device__` variable"));
        };
        let (fact, why, help) = match hidden {
            Hidden::Constant => (
                "cannot be changed",
                "the compiler puts the value of a `const` into the code",
                "remove `const`",
            ),
            Hidden::InNamespace => (
                "cannot be found by its name",
                "C++ mangles names in a namespace",
                "declare it outside of namespaces",
            ),
        };
        let what = format!("variable `{}` of {file} {fact}", symbol.name);
        let notes = [source.place(variable.file, variable.line), why.to_owned()];
        return Err(error(&symbol.at, "TW0415", &what, &notes, Some(help.to_owned())));
    }
    let declarations = &source.declarations;
    let mut compared = Vec::new();
    let mut sizes = Vec::new();
    for variable in usable {
        let around = declarations.sides.around(variable.file, variable.line);
        let ways = each_way(&around, |choices| {
            let size = size_of_variable(declarations, choices, &variable.namespace, &variable.declarator);
            (compare(source, choices, parameter, symbol, variable), size)
        });
        let (of_this, its_sizes): (Vec<_>, Vec<_>) = ways.into_iter().unzip();
        compared.extend(of_this);
        sizes.extend(its_sizes);
    }
    let (fitting, misfits): (Vec<_>, Vec<_>) = compared.into_iter().partition(Result::is_ok);
    if let (true, Some(Err(first))) = (fitting.is_empty(), misfits.into_iter().next()) {
        return Err(first);
    }
    let layout = LayoutCheck::of_all(fitting.into_iter().filter_map(Result::ok).collect());
    let bytes =
        sizes.first().copied().flatten().filter(|first| sizes.iter().all(|other| *other == Some(*first)));
    Ok((layout, bytes))
}

fn compare(
    source: &Cuda,
    choices: &Choices,
    parameter: &Parameter,
    symbol: &Symbol,
    variable: &Variable,
) -> Result<Option<LayoutCheck>, syn::Error> {
    let ParameterKind::Read(here) = &parameter.kind else { return Ok(None) };
    let there = element(&source.declarations, choices, &variable.namespace, &variable.declarator);
    let place = source.place(variable.file, variable.line);
    let help = format!("declare it `&[{}]`", there.rust());
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

/// Compares with the variables of a compiled source, and gives their sizes.
pub(super) fn in_image(image: &Image, file: &str, kernel: &Kernel, errors: &mut Errors) -> Vec<Option<u64>> {
    let bytes = |symbol: &Symbol| {
        let Some(variable) = image.variables.iter().find(|variable| variable.name == symbol.name) else {
            let names = image.variables.iter().map(|variable| variable.name.as_str()).collect();
            errors.push(missing(symbol, file, names, "variable"));
            return None;
        };
        variable.size
    };
    symbols(kernel).map(|(_, symbol)| symbol).map(bytes).collect()
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
