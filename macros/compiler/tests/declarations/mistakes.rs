//! Mistakes of beginners in declarations of kernels: each is one error, which says what to write.

use crate::declared;
#[test]
fn declarations_of_kernels() {
    const SOURCE: &str = "extern \"C\" __global__ void k(unsigned int n, float* y) {}";
    const TAKES: &str = "note: kernels take scalars by value, `&[T]`, `&mut [T]` and `Out<[T]>`";
    for (ty, declared) in [
        ("&mut Vec<f32>", "&mut [f32]"),
        ("&Vec<f32>", "&[f32]"),
        ("&mut Box<[f32]>", "&mut [f32]"),
        ("&DeviceBuf<f32>", "&[f32]"),
        ("Out<f32>", "Out<[f32]>"),
        ("Out<Vec<f32>>", "Out<[f32]>"),
    ] {
        let expected =
            format!("[TW0410]: a kernel cannot take a `{ty}`\n{TAKES}\nhelp: declare it `{declared}`");
        declared::assert_declared(&format!("safe fn k(n: u32, y: {ty});"), SOURCE, &[&expected]);
    }
    let quoted = "[TW0412]: `#[requires]` needs a condition, and this is a text\n\
                  note: it is Rust, of the kernel's parameters\nhelp: write it without the quotes";
    declared::assert_declared("#[requires(\"n <= 4\")] safe fn k(n: u32, y: &mut [f32]);", SOURCE, &[quoted]);
    let by_value = "[TW0412]: parameter `n` is passed by value, and cannot be `#[reads]`\n\
                    note: it promises that the kernel does not write through the pointer\nhelp: remove it";
    declared::assert_declared("safe fn k(#[reads] n: u32, y: &mut [f32]);", SOURCE, &[by_value]);
    let latin = b"// caf\xe9\nextern \"C\" __global__ void k(unsigned int n, float* y) {}";
    let expanded = declared::declare_in("\"k.cu\"", "safe fn k(n: u32, y: &mut [f32]);", &[("k.cu", latin)]);
    let not_utf8 = "[TW0414]: `k.cu` is not UTF-8\nnote: k.cu:1\nhelp: save it as UTF-8";
    declared::assert_errors(expanded, &[not_utf8]);
}
