//! Sources of kernels, as `#[kernels]` reads them: CUDA C++ and PTX, and what it makes of cubins.

use std::str::FromStr;

use proc_macro2::TokenStream;
use thalweg_compiler::kernels::{LitStr, expand};

/// What every source is declared to have, whatever it has.
const DECLARATIONS: &str = "
    safe fn k(p: P, x: &[f32], #[symbol] w: &[f32]);
    #[requires(n as usize <= x.len())]
    safe fn affine_limited(n: u32, p: Limits, x: &[f32], y: &mut [f32], #[symbol] limits: &[u8]);
";
/// Of CUDA C++ besides: it has templates.
const INSTANCES: &str = "
    #[instantiate(\"k<float, 4>\")] #[cluster(2)] safe fn f(n: u32);
    #[instantiate(\"n::t<P>\")] safe fn t(p: P, x: Out<[P]>);
";

/// Reads CUDA C++ and checks it against declarations. Whatever the source is, the result is Rust with a type
/// for each declared kernel, it is the same each time, and the places in errors are places of the source.
///
/// # Panics
///
/// If that does not hold.
pub fn cuda(bytes: &[u8]) {
    let names = ["k", "affine_limited", "f", "t"];
    check("k.cu", &format!("{DECLARATIONS}{INSTANCES}"), &names, bytes);
}

/// PTX is read and checked as CUDA C++ is.
///
/// # Panics
///
/// If that does not hold.
pub fn ptx(bytes: &[u8]) {
    check("k.ptx", DECLARATIONS, &["k", "affine_limited"], bytes);
}

/// The texts of the errors of a source that is to have some kernels.
pub(super) fn errors(file: &str, bytes: &[u8]) -> Vec<String> {
    check(file, DECLARATIONS, &["k", "affine_limited"], bytes)
}

fn check(file: &str, declarations: &str, names: &[&str], bytes: &[u8]) -> Vec<String> {
    let attribute = TokenStream::from_str(&format!("{file:?}")).expect("tokens");
    let block =
        TokenStream::from_str(&format!("unsafe extern \"CUDA\" {{ {declarations} }}")).expect("tokens");
    // A source that includes finds itself.
    let files = |path: &LitStr| match path.value().as_str() {
        path if path == file || path == "k.cuh" => Ok(bytes.to_vec()),
        _ => Err("no such file".to_owned()),
    };
    let expanded = expand(attribute.clone(), block.clone(), &files);
    let text = expanded.to_string();
    assert_eq!(expand(attribute, block, &files).to_string(), text, "not the same each time");

    let expanded: syn::File = syn::parse2(expanded).expect("the expansion is Rust");
    let (mut errors, mut types) = (Vec::new(), Vec::new());
    for item in expanded.items {
        match item {
            syn::Item::Macro(item)
                if item.mac.path.segments.last().is_some_and(|last| last.ident == "compile_error") =>
            {
                errors.push(item.mac.parse_body::<LitStr>().expect("an error has a text").value());
            }
            syn::Item::Struct(item) => types.push(item.ident.to_string()),
            _ => {}
        }
    }
    for name in names {
        assert!(types.iter().any(|known| known == name), "`{name}` is no type of {types:?}");
    }
    let lines = 1 + bytes.iter().filter(|&&byte| byte == b'\n').count();
    for error in &errors {
        assert!(error.starts_with("[TW04"), "{error}");
        for line in [file, "k.cuh"].iter().flat_map(|file| named_lines(error, file)) {
            assert!((1..=lines).contains(&line), "there is no line {line}: {error}");
        }
    }
    errors
}

/// Each `line` of `file:line` in a text.
fn named_lines<'t>(text: &'t str, file: &str) -> impl Iterator<Item = usize> + use<'t> {
    let places = text.split(&format!("note: {file}:")).skip(1).map(str::to_owned).collect::<Vec<_>>();
    places.into_iter().filter_map(|place| {
        let digits = place.find(|c: char| !c.is_ascii_digit()).unwrap_or(place.len());
        place[..digits].parse().ok()
    })
}
