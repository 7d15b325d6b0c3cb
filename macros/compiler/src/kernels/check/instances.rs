//! Finds the instances of templates that `#[instantiate]` names.

use crate::cuda_source::cuda::Cuda;
use crate::cuda_source::instance::NoInstance;
use crate::cuda_source::prototype::{Linkage, Prototype};
use crate::diagnostics::{count, similar};
use crate::kernels::attributes::Instantiate;
use crate::kernels::errors::{Errors, error, listed};

/// The kernels that a name expression may be.
pub(super) fn instances(source: &Cuda, of: &Instantiate, errors: &mut Errors) -> Vec<Prototype> {
    let Instantiate { at, instance } = of;
    let all = &source.declarations.prototypes;
    let named: Vec<_> =
        all.iter().filter(|found| instance.names(found, source.declarations.uses_namespaces)).collect();
    let Some(first) = named.first() else {
        let path = instance.path();
        let what = format!("cannot find kernel `{path}` in {}", source.files[0]);
        let paths: Vec<_> = all.iter().map(Prototype::path).collect();
        let mut names: Vec<_> = paths.iter().map(String::as_str).collect();
        names.dedup();
        let same = all.iter().find(|found| found.name == instance.name());
        let near = match same {
            Some(found) => Some(format!("the source has it as `{}`", found.path())),
            None => similar(&path, names.iter().copied())
                .map(|similar| format!("a kernel with a similar name exists: `{similar}`")),
        };
        let (notes, help) = match near {
            Some(help) => (vec![], help),
            None if names.is_empty() => {
                (vec!["it has no `__global__` function".to_owned()], format!("add `{path}` to it"))
            }
            None => (vec![listed("kernels", &names)], format!("add `{path}` to it")),
        };
        errors.push(error(at, "TW0402", &what, &notes, Some(help)));
        return Vec::new();
    };
    let results: Vec<_> =
        named.iter().map(|found| instance.of(found, &source.declarations.constants)).collect();
    let why = results.iter().find_map(|result| result.as_ref().err().copied());
    let instances: Vec<_> = results.into_iter().filter_map(Result::ok).collect();
    if let (true, Some(why)) = (instances.is_empty(), why) {
        let what = format!("`{}` is not an instance of `{}`", instance.text, first.path());
        let help = format!("write `{}`", written(first));
        let notes = [source.place(first.file, first.line), reason(why)];
        errors.push(error(at, "TW0420", &what, &notes, Some(help)));
    }
    instances
}

/// Why a kernel has no such instance, for a note.
fn reason(why: NoInstance) -> String {
    match why {
        NoInstance::WithoutArguments => "it is a template, and no arguments are given".to_owned(),
        NoInstance::NoTemplate => "it is not a template".to_owned(),
        NoInstance::Count { parameters, arguments } => {
            let given = if arguments == 1 { "1 is".to_owned() } else { format!("{arguments} are") };
            format!("the template has {}, and {given} given", count(parameters, "parameter"))
        }
    }
}

/// `reduce<T, N>`
fn written(kernel: &Prototype) -> String {
    match kernel.linkage {
        Linkage::Template => {
            let names = kernel.template.iter().map(|one| one.name.as_deref().unwrap_or("…"));
            format!("{}<{}>", kernel.path(), names.collect::<Vec<_>>().join(", "))
        }
        _ => kernel.path(),
    }
}
