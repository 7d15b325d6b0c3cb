//! The attributes of a kernel and of its parameters.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, ExprPath, Ident, Lit, LitInt, LitStr, Meta, Path, Token};

use super::errors::{Errors, error};
use super::parameter::ParameterKind;
use super::syntax::Kernel;
use crate::cuda_source::instance::Instance;
use crate::cuda_source::kind::Kind;
use crate::text::{text, unraw};

/// Most blocks in a cluster, on GPUs of today and where the kernel asks for it.
const LARGEST_CLUSTER: u32 = 16;

/// `#[instantiate("reduce<float>")]`
pub(super) struct Instantiate {
    pub(super) at: LitStr,
    pub(super) instance: Instance,
}

/// `#[cluster(2, 1, 1)]`
pub(super) struct Cluster {
    /// The tokens between the parentheses.
    pub(super) at: TokenStream,
    pub(super) blocks: [u32; 3],
}

/// `#[symbol]`: a variable of the source in place of a parameter.
pub(super) struct Symbol {
    /// Its name in the source.
    pub(super) name: String,
    /// The tokens that name it.
    pub(super) at: TokenStream,
}

pub(super) fn is_shared(attribute: &Attribute) -> bool {
    ["cfg", "allow", "expect", "warn", "deny", "forbid"].iter().any(|name| attribute.path().is_ident(name))
}

pub(super) fn unknown(attribute: &Attribute, takes: &str) -> syn::Error {
    let what = format!("unknown attribute `{}`", text(attribute.path()));
    let help = "remove it".to_owned();
    error(attribute.path(), "TW0412", &what, &[takes.to_owned()], Some(help))
}

fn wrong(at: &Path, what: &str, note: &str, help: String) -> syn::Error {
    error(at, "TW0412", what, &[note.to_owned()], Some(help))
}

fn inside(attribute: &Attribute) -> TokenStream {
    match &attribute.meta {
        Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    }
}

/// Parses one attribute of a kernel.
pub(super) fn of_kernel(attribute: Attribute, kind: Kind, kernel: &mut Kernel, errors: &mut Errors) {
    let path = attribute.path();
    if path.is_ident("doc") {
        kernel.docs.push(attribute);
    } else if is_shared(&attribute) {
        kernel.attributes.push(attribute);
    } else if path.is_ident("host") {
        let host = syn::parse2::<ExprPath>(inside(&attribute)).map_err(|_| {
            let note = "it names the function that the simulated device runs";
            let help = format!("write `#[host({}_on_host)]`", kernel.name);
            wrong(path, "`#[host]` needs the path of a function", note, help)
        });
        once(path, "host bodies", host, &kernel.name, &mut kernel.host, errors);
    } else if path.is_ident("requires") {
        match syn::parse2::<Expr>(inside(&attribute)) {
            Ok(Expr::Lit(ExprLit { lit: lit @ Lit::Str(_), .. })) => errors.push(error(
                &lit,
                "TW0412",
                "`#[requires]` needs a condition, and this is a text",
                &["it is Rust, of the kernel's parameters".to_owned()],
                Some("write it without the quotes".to_owned()),
            )),
            Ok(condition) => kernel.requires.push(crate::groups::kept(condition)),
            Err(found) => errors.push(wrong(
                path,
                "`#[requires]` needs a condition",
                &found.to_string(),
                "write `#[requires((n as usize) < x.len())]`".to_owned(),
            )),
        }
    } else if path.is_ident("instantiate") {
        let instance = instantiate(path, inside(&attribute), kind, &kernel.name);
        once(path, "instances", instance, &kernel.name, &mut kernel.instance, errors);
    } else if path.is_ident("cluster") {
        let cluster = cluster(path, inside(&attribute));
        once(path, "cluster sizes", cluster, &kernel.name, &mut kernel.cluster, errors);
    } else if path.is_ident("cooperative") {
        let cooperative = match &attribute.meta {
            Meta::Path(path) => Ok(path.clone()),
            _ => Err(wrong(
                path,
                "`#[cooperative]` takes nothing",
                "all blocks of the grid are on the device at once",
                "write `#[cooperative]`".to_owned(),
            )),
        };
        once(path, "times `#[cooperative]`", cooperative, &kernel.name, &mut kernel.cooperative, errors);
    } else {
        let takes = "a kernel takes `host`, `requires`, `instantiate`, `cluster`, `cooperative`, docs, `cfg` and lint \
                     levels";
        errors.push(unknown(&attribute, takes));
    }
}

fn once<T>(
    path: &Path,
    what: &str,
    found: Result<T, syn::Error>,
    kernel: &Ident,
    place: &mut Option<T>,
    errors: &mut Errors,
) {
    match found {
        Ok(_) if place.is_some() => {
            let what = format!("kernel `{kernel}` has two {what}");
            errors.push(error(path, "TW0412", &what, &[], Some("remove one of them".to_owned())));
        }
        Ok(found) => *place = Some(found),
        Err(found) => errors.push(found),
    }
}

fn instantiate(
    path: &Path,
    inside: TokenStream,
    kind: Kind,
    kernel: &Ident,
) -> Result<Instantiate, syn::Error> {
    let help = || format!("write `#[instantiate(\"{kernel}<float>\")]`");
    let note = "it names one instance of a template, as C++ would call it";
    let Ok(at) = syn::parse2::<LitStr>(inside) else {
        return Err(wrong(path, "`#[instantiate]` needs a name expression in quotes", note, help()));
    };
    if kind != Kind::Cuda {
        return Err(error(
            path,
            "TW0412",
            "`#[instantiate]` does not apply to a compiled source",
            &["its templates have been instantiated, and C++ has changed their names".to_owned()],
            Some("remove it, and declare the kernel by the name that the source has".to_owned()),
        ));
    }
    match Instance::parse(&at.value()) {
        Some(instance) => Ok(Instantiate { at, instance }),
        None => {
            let what = format!("`{}` is not a name expression", at.value().escape_debug());
            Err(error(&at, "TW0412", &what, &[note.to_owned()], Some(help())))
        }
    }
}

fn cluster(path: &Path, inside: TokenStream) -> Result<Cluster, syn::Error> {
    use syn::parse::Parser;

    let help = || "write `#[cluster(2)]`, or `#[cluster(2, 1, 1)]`".to_owned();
    let numbers = Punctuated::<LitInt, Token![,]>::parse_terminated.parse2(inside.clone());
    let blocks: Option<Vec<u32>> =
        numbers.ok().and_then(|numbers| numbers.iter().map(|number| number.base10_parse().ok()).collect());
    let blocks = blocks.filter(|blocks| (1..=3).contains(&blocks.len()) && !blocks.contains(&0));
    let Some(blocks) = blocks else {
        let note = "a cluster has one to three dimensions, in blocks";
        return Err(wrong(path, "`#[cluster]` needs its size in numbers", note, help()));
    };
    let mut cluster = [1; 3];
    cluster[..blocks.len()].copy_from_slice(&blocks);
    let product = cluster.iter().try_fold(1_u32, |product, &blocks| product.checked_mul(blocks));
    if product.is_none_or(|product| product > LARGEST_CLUSTER) {
        let what = match product {
            Some(product) => format!("a cluster of {product} blocks is too large"),
            None => "the cluster is too large".to_owned(),
        };
        let notes =
            [format!("a cluster has at most 8 blocks, or {LARGEST_CLUSTER} where the GPU allows for that")];
        return Err(error(&inside, "TW0412", &what, &notes, Some("make it smaller".to_owned())));
    }
    Ok(Cluster { at: inside, blocks: cluster })
}

/// The meaning of a parameter's attributes.
#[derive(Default)]
pub(super) struct Said {
    pub(super) symbol: Option<Symbol>,
    /// The place of `#[reads]`, if there is one.
    pub(super) reads: Option<Path>,
}

/// Parses the attributes of the parameter `name` of a kernel in a source of this kind. Only a slice that is
/// read can have any.
pub(super) fn of_parameter(
    attributes: &[Attribute],
    name: &Ident,
    parameter: &ParameterKind,
    kind: Kind,
    errors: &mut Errors,
) -> Said {
    let is_read = matches!(parameter, ParameterKind::Read(_) | ParameterKind::Unknown);
    let mut said = Said::default();
    for attribute in attributes {
        let path = attribute.path();
        if path.is_ident("symbol") {
            symbol(attribute, name, is_read, &mut said, errors);
        } else if path.is_ident("reads") {
            reads(attribute, name, parameter, kind, &mut said, errors);
        } else {
            errors.push(unknown(attribute, "a parameter takes `symbol` and `reads`"));
        }
    }
    if let (Some(_), Some(path)) = (&said.symbol, &said.reads) {
        let note = "a kernel only reads a parameter that stands for a symbol";
        let what = "`#[reads]` has no use beside `#[symbol]`";
        errors.push(wrong(path, what, note, "remove `#[reads]`".to_owned()));
    }
    said
}

/// Parses `#[reads]`: the kernel does not write through a pointer that is not `const`.
fn reads(
    attribute: &Attribute,
    name: &Ident,
    parameter: &ParameterKind,
    kind: Kind,
    said: &mut Said,
    errors: &mut Errors,
) {
    let path = attribute.path();
    let promises = "it promises that the kernel does not write through the pointer";
    let found = match &attribute.meta {
        Meta::Path(_) if kind != Kind::Cuda => Err(wrong(
            path,
            "`#[reads]` does not apply to a compiled source",
            "it does not say which of its pointers are `const`",
            "remove it".to_owned(),
        )),
        Meta::Path(_) if matches!(parameter, ParameterKind::Scalar) => {
            let what = format!("parameter `{name}` is passed by value, and cannot be `#[reads]`");
            Err(wrong(path, &what, promises, "remove it".to_owned()))
        }
        Meta::Path(_) if matches!(parameter, ParameterKind::ReadWrite(_) | ParameterKind::Write(_)) => {
            let what = format!("parameter `{name}` is written, and cannot be `#[reads]`");
            Err(wrong(path, &what, promises, "declare it `&[T]`".to_owned()))
        }
        Meta::Path(path) => Ok(path.clone()),
        _ => Err(wrong(path, "`#[reads]` takes nothing", promises, "write `#[reads]`".to_owned())),
    };
    match found {
        Ok(_) if said.reads.is_some() => {
            let what = format!("parameter `{name}` has `#[reads]` twice");
            errors.push(error(path, "TW0412", &what, &[], Some("remove one of them".to_owned())));
        }
        Ok(found) => said.reads = Some(found),
        Err(found) => errors.push(found),
    }
}

/// Parses `#[symbol]` and `#[symbol("name")]`.
fn symbol(attribute: &Attribute, name: &Ident, is_read: bool, said: &mut Said, errors: &mut Errors) {
    let path = attribute.path();
    if said.symbol.is_some() {
        let what = format!("parameter `{name}` stands for two symbols");
        errors.push(error(path, "TW0412", &what, &[], Some("remove one of them".to_owned())));
        return;
    }
    let unraw = unraw(name);
    let named = match &attribute.meta {
        Meta::Path(_) => Ok((unraw, name.to_token_stream())),
        Meta::List(list) => {
            syn::parse2::<LitStr>(list.tokens.clone()).map(|named| (named.value(), named.to_token_stream()))
        }
        Meta::NameValue(pair) => Err(syn::Error::new_spanned(pair, "")),
    };
    if let Ok((named, _)) = &named
        && named.contains("::")
    {
        let note = "the driver finds variables by their plain names";
        let help = "move the variable out of its namespace".to_owned();
        errors.push(wrong(path, "`#[symbol]` cannot name a variable in a namespace", note, help));
        return;
    }
    let Some((named, at)) = named.ok().filter(|(named, _)| is_name(named)) else {
        let note = "it names a `__constant__` or `__device__` variable of the source";
        let help = format!("write `#[symbol]` or `#[symbol(\"{name}\")]`");
        errors.push(wrong(path, "`#[symbol]` takes one name in quotes, or none", note, help));
        return;
    };
    if !is_read {
        let what = format!("parameter `{name}` cannot stand for a symbol");
        let note = "a launch copies a buffer to the variable, which kernels then read";
        errors.push(wrong(path, &what, note, "declare it `&[T]`".to_owned()));
    }
    said.symbol = Some(Symbol { name: named, at });
}

/// Whether C++ can call something by this name.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}
