//! Compares the declarations with CUDA C++.

use syn::Ident;

use super::cluster::cluster;
use super::facts::{Facts, LayoutCheck};
use super::instances::instances;
use super::symbols;
use super::types::{layout, mismatch};
use crate::cuda_source::branches::each_way;
use crate::cuda_source::cuda::Cuda;
use crate::cuda_source::known::Known;
use crate::cuda_source::layout::{Resolved, resolve};
use crate::cuda_source::mentions::Made;
use crate::cuda_source::prototype::{self, Linkage, Prototype};
use crate::diagnostics::{count, similar};
use crate::kernels::errors::{Errors, error, listed};
use crate::kernels::parameter::{Parameter, ParameterKind};
use crate::kernels::syntax::Kernel;
use crate::text::{text, unraw};

/// Static shared memory that a block may have, in bytes.
const MOST_SHARED: i128 = 48 << 10;

/// Checks one kernel, and gives the facts about it in the source.
pub(super) fn kernel(source: &Cuda, kernel: &Kernel, errors: &mut Errors) -> Facts {
    let mut facts = Facts::default();
    symbols::in_cuda(source, kernel, &mut facts, errors);
    let versions = match &kernel.instance {
        Some(instance) => instances(source, instance, errors),
        None => source.plain(kernel, errors),
    };
    // Under `#if` there may be several: one must fit.
    let mut found: Option<(Errors, Vec<LayoutCheck>)> = None;
    for version in &versions {
        let (mut of_this, mut layouts) = (Errors::new(), Vec::new());
        source.version(kernel, version, &mut layouts, &mut of_this);
        if found.as_ref().is_none_or(|(found, _)| of_this.len() < found.len()) {
            found = Some((of_this, layouts));
        }
    }
    let Some((found, layouts)) = found else { return facts };
    errors.extend(found);
    facts.layouts.extend(layouts);
    // A forward declaration may leave the bounds to the definition; two versions may differ in them.
    let mut bounds = versions.iter().filter_map(|version| version.max_threads_per_block);
    let first = bounds.next();
    facts.max_threads_per_block = first.filter(|first| bounds.all(|other| other == *first));
    facts.has_cluster = versions.iter().any(|version| version.cluster.is_some());
    facts
}

impl Cuda {
    fn place_of(&self, kernel: &Prototype) -> String {
        self.place(kernel.file, kernel.line)
    }

    /// The kernels that the driver finds by the declared name.
    fn plain(&self, kernel: &Kernel, errors: &mut Errors) -> Vec<Prototype> {
        let name = unraw(&kernel.name);
        let versions: Vec<_> =
            self.declarations.prototypes.iter().filter(|found| found.name == name).collect();
        let callable = versions.iter().filter(|version| version.linkage == Linkage::C);
        let callable: Vec<_> = callable.map(|&version| version.clone()).collect();
        if callable.is_empty() {
            errors.push(match versions.first() {
                Some(mangled) => self.mangled(kernel, mangled),
                None => self.missing(kernel),
            });
        }
        callable
    }

    fn missing(&self, kernel: &Kernel) -> syn::Error {
        let name = unraw(&kernel.name);
        let what = format!("cannot find kernel `{name}` in {}", self.files[0]);
        let callable = self.declarations.prototypes.iter().filter(|found| found.linkage == Linkage::C);
        let mut names: Vec<_> = callable.map(|prototype| prototype.name.as_str()).collect();
        names.dedup();
        if let Some(similar) = similar(&name, names.iter().copied()) {
            let help = format!("a kernel with a similar name exists: `{similar}`");
            return error(&kernel.name, "TW0402", &what, &[], Some(help));
        }
        let of_this = |made: &&Made| made.words.contains(&name);
        let made = &self.declarations.made;
        if let Some(made) = made.iter().find(of_this).or(made.first()) {
            let by = &made.by;
            let note = format!(
                "{}: `{by}(…)` may make it, but macros with parameters are not expanded",
                self.place(made.file, made.line)
            );
            let help =
                format!("declare it in the source, before that: `extern \"C\" __global__ void {name}(…);`");
            return error(&kernel.name, "TW0402", &what, &[note], Some(help));
        }
        let note = if names.is_empty() {
            "it has no `extern \"C\" __global__` function".to_owned()
        } else {
            listed("kernels", &names)
        };
        let help = format!("add `extern \"C\" __global__ void {name}(…)` to it");
        error(&kernel.name, "TW0402", &what, &[note], Some(help))
    }

    fn mangled(&self, kernel: &Kernel, mangled: &Prototype) -> syn::Error {
        let name = &mangled.name;
        let (place, file) = (self.place_of(mangled), &self.files[mangled.file]);
        let path = mangled.path();
        let (what, why, help) = match mangled.linkage {
            Linkage::Template => (
                format!("kernel `{name}` in {file} is a template"),
                "C++ mangles the names of its instances, so that the driver cannot find them",
                format!("name the instance: `#[instantiate(\"{path}<…>\")]`"),
            ),
            _ => (
                format!("kernel `{name}` in {file} has no C linkage"),
                "C++ mangles its name, so that the driver cannot find it",
                format!(
                    "write `extern \"C\" __global__ void {name}`, or declare it `#[instantiate(\"{path}\")]`"
                ),
            ),
        };
        error(&kernel.name, "TW0403", &what, &[place, why.to_owned()], Some(help))
    }

    /// Compares the declaration with one prototype.
    fn version(
        &self,
        kernel: &Kernel,
        prototype: &Prototype,
        layouts: &mut Vec<LayoutCheck>,
        errors: &mut Errors,
    ) {
        let file = &self.files[prototype.file];
        cluster(kernel, prototype.cluster, file, Some(self.place_of(prototype)), errors);
        self.shared(kernel, prototype, errors);
        let parameters: Vec<_> =
            kernel.parameters.iter().filter(|parameter| parameter.symbol.is_none()).collect();
        let (here, there) = (parameters.len(), prototype.parameters.len());
        if !prototype.has_arity() {
            return;
        }
        if here != there {
            let what = format!(
                "kernel `{}` does not match {file}: it has {}, but the source has {there}",
                prototype.name,
                count(here, "parameter"),
            );
            let notes = [self.place_of(prototype)];
            let help = format!("declare it `{}`", self.signature(prototype, kernel));
            errors.push(error(&kernel.name, "TW0404", &what, &notes, Some(help)));
            return;
        }
        // Under `#if` a type may have several definitions: those of one branch must fit.
        let ways = self.ways(prototype);
        let of_way = |way: &Vec<Resolved>| {
            let mut wrong = Errors::new();
            let compared = parameters.iter().zip(&prototype.parameters).enumerate();
            let checks: Vec<_> = compared
                .map(|(at, (here, there))| {
                    let all: Vec<_> = ways.iter().map(|way| &way[at]).collect();
                    let types = Types { written: there, resolved: &way[at], all: &all };
                    self.parameter(at, here, &types, prototype).unwrap_or_else(|found| {
                        wrong.push(found);
                        None
                    })
                })
                .collect();
            (wrong, checks)
        };
        let tried: Vec<_> = ways.iter().map(of_way).collect();
        let least = tried.iter().map(|(wrong, _)| wrong.len()).min().unwrap_or_default();
        let mut best = tried.into_iter().filter(|(wrong, _)| wrong.len() == least);
        if least > 0 {
            errors.extend(best.next().into_iter().flat_map(|(wrong, _)| wrong));
            return;
        }
        let checks: Vec<_> = best.map(|(_, checks)| checks).collect();
        for at in 0..here {
            let each = checks.iter().map(|checks| checks[at].clone()).collect();
            layouts.extend(LayoutCheck::of_all(each));
        }
    }

    /// Compares one parameter, and gives the check of rustc on its type.
    fn parameter(
        &self,
        at: usize,
        here: &Parameter,
        types: &Types<'_>,
        prototype: &Prototype,
    ) -> Result<Option<LayoutCheck>, syn::Error> {
        let file = &self.files[prototype.file];
        let place = self.place(prototype.file, types.written.line);
        if let Some(base) = types.nowhere(prototype) {
            let what = types.differs(file, at, here, prototype);
            let why = format!("neither {file} nor a file that it includes defines `{base}`");
            let help =
                "include the file that does, or name the file that includes this one in `#[kernels(…)]`";
            return Err(error(&here.ty, "TW0405", &what, &[place, why], Some(help.to_owned())));
        }
        if let (Resolved::Function, false) = (types.resolved, matches!(here.kind, ParameterKind::Unknown)) {
            let (number, kernel, written) = (at + 1, &prototype.name, &types.written.ty);
            let what = format!(
                "parameter {number} of kernel `{kernel}` points to a function in {file}: `{written}`"
            );
            let notes = [place, "nothing would check what is called through it".to_owned()];
            let help =
                "take a number that chooses the function, or make the function an argument of a template";
            return Err(error(&here.ty, "TW0410", &what, &notes, Some(help.to_owned())));
        }
        if let Some(found) = mismatch(here, types.resolved) {
            let what = types.differs(file, at, here, prototype);
            let branches = types.branches(here);
            let notes: Vec<_> = [place].into_iter().chain(found.why).chain(branches.note).collect();
            let help = branches.help.unwrap_or(found.help);
            return Err(error(&here.ty, found.code, &what, &notes, Some(help)));
        }
        if let (ParameterKind::Scalar, Resolved::Value(Known { pointer: Some(pointer), defined, .. })) =
            (&here.kind, types.resolved)
        {
            let what = format!(
                "parameter {} of kernel `{}` holds a pointer in {file}: `{pointer}`",
                at + 1,
                prototype.name
            );
            let place = defined.map_or(place, |(file, line)| self.place(file, line));
            let notes = [place, "nothing would check what is done through it".to_owned()];
            let help = "take it out of the struct, and declare a parameter `&[T]` or `&mut [T]`".to_owned();
            return Err(error(&here.ty, "TW0410", &what, &notes, Some(help)));
        }
        let (ty, known) = match (&here.kind, types.resolved) {
            (ParameterKind::Scalar, Resolved::Value(known)) => (&here.ty, known),
            (
                ParameterKind::Read(ty) | ParameterKind::ReadWrite(ty) | ParameterKind::Write(ty),
                Resolved::Pointer { pointee, .. },
            ) => (ty, pointee),
            _ => return Ok(None),
        };
        Ok(layout(ty, known, place, &|file, line| self.place(file, line)))
    }

    /// The types of a kernel's parameters, in each way that the branches of `#if`s allow.
    fn ways(&self, prototype: &Prototype) -> Vec<Vec<Resolved>> {
        let mut around = self.declarations.sides.around(prototype.file, prototype.line);
        around.extend(prototype.chosen.iter().map(|(group, branch)| (group.as_str(), *branch)));
        let mut ways = each_way(&around, |choices| {
            let types = prototype
                .parameters
                .iter()
                .map(|parameter| resolve(&self.declarations, choices, &prototype.namespace, &parameter.ty));
            types.collect::<Vec<_>>()
        });
        ways.dedup();
        ways
    }

    /// Arrays that no GPU has room for.
    fn shared(&self, kernel: &Kernel, prototype: &Prototype, errors: &mut Errors) {
        for (name, line, bytes) in prototype.shared.iter().filter(|(_, _, bytes)| *bytes > MOST_SHARED) {
            let file = &self.files[prototype.file];
            let what = format!(
                "`{name}` in kernel `{}` of {file} has {bytes} bytes of shared memory",
                prototype.name
            );
            let notes = [
                self.place(prototype.file, *line),
                format!("an array of a fixed size has at most {MOST_SHARED}"),
            ];
            let help = format!(
                "declare it `extern __shared__`, without a size, and launch with `<<<grid, block, {bytes}>>>`"
            );
            errors.push(error(&kernel.name, "TW0419", &what, &notes, Some(help)));
        }
    }

    /// The declaration that fits a prototype: `fn saxpy(n: u32, x: &[f32])`.
    fn signature(&self, prototype: &Prototype, kernel: &Kernel) -> String {
        // The source cannot tell whether a kernel reads what it writes; the declaration may have said so.
        let declared = |name: &str| kernel.parameters.iter().find(|p| unraw(&p.name) == name);
        let is_out = |name: &str| declared(name).is_some_and(|p| matches!(p.kind, ParameterKind::Write(_)));
        let is_read = |name: &str| declared(name).is_some_and(|p| p.reads.is_some());
        let first = self.ways(prototype).into_iter().next().unwrap_or_default();
        let parameters = prototype.parameters.iter().zip(first).enumerate().map(|(at, (parameter, ty))| {
            let mut ty = ty.rust();
            if let (Some(name), Some(slice)) = (&parameter.name, ty.strip_prefix("&mut "))
                && is_out(name)
            {
                ty = format!("Out<{slice}>");
            }
            let mut reads = "";
            if let (Some(name), Some(slice)) = (&parameter.name, ty.strip_prefix("&mut "))
                && is_read(name)
            {
                ty = format!("&{slice}");
                reads = "#[reads] ";
            }
            match &parameter.name {
                Some(name) if syn::parse_str::<Ident>(name).is_ok() => format!("{reads}{name}: {ty}"),
                Some(name) if syn::parse_str::<Ident>(&format!("r#{name}")).is_ok() => {
                    format!("r#{name}: {ty}")
                }
                _ => format!("argument_{}: {ty}", at + 1),
            }
        });
        let symbols = kernel.parameters.iter().filter(|parameter| parameter.symbol.is_some());
        let symbols = symbols.map(|symbol| format!("#[symbol] {}: {}", symbol.name, text(&symbol.ty)));
        let parameters: Vec<_> = parameters.chain(symbols).collect();
        format!("safe fn {}({})", kernel.name, parameters.join(", "))
    }
}

/// The type of one parameter of the source.
struct Types<'a> {
    written: &'a prototype::Parameter,
    /// The type in the branches that are compared.
    resolved: &'a Resolved,
    /// The types in all branches.
    all: &'a [&'a Resolved],
}

/// The notes about the branches of an `#if`.
#[derive(Default)]
struct Said {
    note: Option<String>,
    help: Option<String>,
}

impl Types<'_> {
    fn differs(&self, file: &str, at: usize, here: &Parameter, prototype: &Prototype) -> String {
        format!(
            "kernel `{}` does not match {file}: parameter {} is `{}`, but the source has `{}`",
            prototype.name,
            at + 1,
            text(&here.ty),
            self.written.ty,
        )
    }

    /// The name of the type, if nothing defines it.
    fn nowhere(&self, prototype: &Prototype) -> Option<&str> {
        let (Resolved::Value(known) | Resolved::Pointer { pointee: known, .. }) = self.resolved else {
            return None;
        };
        let text = &known.base.text;
        let of_template = || prototype.template.iter().any(|one| one.name.as_ref() == Some(text));
        (known.is_nowhere && !of_template()).then_some(text)
    }

    fn branches(&self, here: &Parameter) -> Said {
        let mut forms: Vec<String> = Vec::new();
        for form in self.all.iter().map(|ty| format!("`{}`", ty.rust())) {
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
        if forms.len() < 2 {
            return Said::default();
        }
        let note = format!("the branches of its `#if`s make it {}", forms.join(" or "));
        if self.all.iter().any(|ty| mismatch(here, ty).is_none()) {
            let note = Some(note + ", and one must fit all parameters");
            return Said { note, help: None };
        }
        Said { note: Some(note), help: Some(format!("declare it {}", forms.join(" or "))) }
    }
}
