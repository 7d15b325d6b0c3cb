//! The same cases under NVRTC. `bash .ci/nvrtc` provides it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

use libloading::{Library, Symbol};

use super::all;
use super::gpu::{OPTIONS, for_gpu, headers_text};

type Program = *mut c_void;
type Texts = *const *const c_char;
type Create = unsafe extern "C" fn(*mut Program, *const c_char, *const c_char, c_int, Texts, Texts) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, Texts) -> c_int;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Read = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;

/// A function of NVRTC.
///
/// # Safety
/// It has this type in NVRTC's header.
unsafe fn function<'l, F>(nvrtc: &'l Library, name: &str) -> Symbol<'l, F> {
    // SAFETY: the caller's promise.
    unsafe { nvrtc.get(name) }.expect("NVRTC has the function")
}

/// A text that NVRTC has of a program.
///
/// # Safety
/// The program exists, and the functions tell the size of one text and write it.
unsafe fn text_of(program: Program, size: &Size, read: &Read) -> String {
    let mut bytes = 0;
    // SAFETY: the caller's promise; the size is written to `bytes`.
    assert_eq!(unsafe { size(program, &mut bytes) }, 0);
    let mut text = vec![0_u8; bytes];
    // SAFETY: the caller's promise; the text has as many bytes as NVRTC asked for.
    assert_eq!(unsafe { read(program, text.as_mut_ptr().cast()) }, 0);
    CStr::from_bytes_until_nul(&text).expect("a text").to_str().expect("UTF-8").to_owned()
}

/// Compiles a text; returns the compiler's messages, and the PTX if it compiles.
fn compile(text: &str, architecture: &str, options: &[&str]) -> (String, Option<String>) {
    // SAFETY: loading NVRTC runs nothing but its own initialization.
    let nvrtc = unsafe { Library::new("libnvrtc.so.13") }.expect("NVRTC 13");
    // SAFETY: the functions have these types.
    let (create, compile, destroy) = unsafe {
        (
            function::<Create>(&nvrtc, "nvrtcCreateProgram"),
            function::<Compile>(&nvrtc, "nvrtcCompileProgram"),
            function::<Destroy>(&nvrtc, "nvrtcDestroyProgram"),
        )
    };
    // SAFETY: as above.
    let [log_size, ptx_size] =
        unsafe { ["nvrtcGetProgramLogSize", "nvrtcGetPTXSize"].map(|name| function::<Size>(&nvrtc, name)) };
    // SAFETY: as above.
    let [read_log, read_ptx] =
        unsafe { ["nvrtcGetProgramLog", "nvrtcGetPTX"].map(|name| function::<Read>(&nvrtc, name)) };
    let text = CString::new(text).expect("no NUL");
    let architecture = format!("--gpu-architecture={architecture}");
    let options: Vec<_> = options.iter().copied().chain([&*architecture]).map(CString::new).collect();
    let options: Vec<_> = options.into_iter().map(|option| option.expect("no NUL")).collect();
    let pointers: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
    let mut program = ptr::null_mut();
    // SAFETY: the texts end in NUL and outlive the calls; there are no headers, and as many options as it
    // says. The program is destroyed last.
    unsafe {
        let name = c"numbers.cu".as_ptr();
        assert_eq!(create(&mut program, text.as_ptr(), name, 0, ptr::null(), ptr::null()), 0);
        let status = compile(program, pointers.len() as c_int, pointers.as_ptr());
        let log = text_of(program, &log_size, &read_log);
        let ptx = (status == 0).then(|| text_of(program, &ptx_size, &read_ptx));
        assert_eq!(destroy(&mut program), 0);
        (log, ptx)
    }
}

#[test]
#[ignore = "needs NVRTC"]
fn every_case_compiles_without_a_warning() {
    let cases = all();
    let text = for_gpu(&cases);
    let fast = &["--std=c++17", "--use_fast_math"][..];
    for (architecture, options) in
        [("sm_80", &OPTIONS[..]), ("sm_90", &OPTIONS), ("sm_100", &OPTIONS), ("sm_90", fast)]
    {
        let (log, ptx) = compile(&text, architecture, options);
        assert!(log.is_empty() && ptx.is_some(), "{architecture}, {options:?}: {log}");
    }
    println!("NVRTC compiled {} cases for sm_80, sm_90 and sm_100", cases.len());
}

/// What a GPU is told to do, where the compiler would have a choice.
#[test]
#[ignore = "needs NVRTC"]
fn instructions_are_those_that_rust_means() {
    let instructions = |result: &str, expression: &str, options: &[&str]| {
        let text = headers_text()
            + "namespace tw { static TW_DEVICE void fault(u32) { __trap(); __builtin_unreachable(); } }\n"
            + &format!(
                "extern \"C\" __global__ void k({result}* y, f32 a, f32 b, f32 c, f64 d, u64 m, u64 n) {{\n"
            )
            + &format!("    *y = {expression};\n}}\n");
        let (log, ptx) = compile(&text, "compute_80", options);
        assert!(log.is_empty(), "{expression}: {log}");
        ptx.expect("it compiles")
    };
    let rust = |result, expression| instructions(result, expression, &OPTIONS);
    // Rust rounds the product, and the sum.
    let apart = rust("f32", "a * b + c");
    assert!(
        apart.contains("mul.rn.f32") && apart.contains("add.rn.f32") && !apart.contains("fma"),
        "{apart}"
    );
    let joined = instructions("f32", "a * b + c", &OPTIONS[..1]);
    assert!(joined.contains("fma.rn.f32"), "{joined}");
    let together = rust("f32", "tw::mul_add(a, b, c)");
    assert!(together.contains("fma.rn.f32"), "{together}");
    let exact = [
        ("a / b", "div.rn.f32"),
        ("tw::sqrt(a)", "sqrt.rn.f32"),
        ("tw::round_ties_even(a)", "cvt.rni.f32.f32"),
    ];
    for (expression, instruction) in exact {
        let found = rust("f32", expression);
        assert!(found.contains(instruction), "{expression}: {found}");
    }
    // The clamp of the instruction is the one that `as` needs. LLVM must not compute what C++ leaves
    // undefined.
    let casts = [
        ("i32", "tw::cast<i32>(a)", "cvt.rzi.s32.f32"),
        ("u64", "tw::cast<u64>(d)", "cvt.rzi.u64.f64"),
        ("i32", "tw::cast<i32>(1e30f)", "cvt.rzi.s32.f32"),
        ("i64", "tw::cast<i64>(-1e300)", "cvt.rzi.s64.f64"),
    ];
    for (result, expression, instruction) in casts {
        let found = rust(result, expression);
        assert!(found.contains(instruction), "{expression}: {found}");
    }
    // The compiler adds a way for what fits 32 bits, and divides once for both results.
    let divided = rust("u64", "tw::div(m, n, 1) ^ tw::rem(m, n, 2)");
    let count = |instruction| divided.matches(instruction).count();
    assert_eq!(["div.u32", "div.u64", "rem.u", "trap"].map(count), [1, 1, 0, 1], "{divided}");
}
