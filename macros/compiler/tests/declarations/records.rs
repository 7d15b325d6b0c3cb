//! `#[kernels]`: structs inside of structs, fields and parameters under `#if`, pointers to functions, and
//! templates of structs.

use crate::declared;

use declared::{assert_declaration_fits, assert_declared, assert_fits, declare, dense, errors_and_rest};

/// The layouts that the expansion expects of `P`, one for each branch, if the source's parameter has type
/// `ty`; empty where nothing is expected.
#[track_caller]
fn layouts(definitions: &str, ty: &str) -> String {
    let source = format!("{definitions}\nextern \"C\" __global__ void k({ty} p);");
    let expanded = declare("safe fn k(p: P);", &source);
    let (errors, _) = errors_and_rest(expanded.clone());
    assert_eq!(errors, [""; 0], "{definitions}");
    expected_of_p(&dense(expanded))
}

/// The layouts that an expansion expects of `P`. A single one has no parentheses around it.
fn expected_of_p(expanded: &str) -> String {
    let text = expanded.replace("::core::option::Option::Some", "");
    let found = text.split_once("same_layout::<P>(&[").and_then(|(_, rest)| rest.split_once("],\""));
    let layouts = found.map_or("", |(layouts, _)| layouts);
    let single = layouts.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    single.filter(|single| !single.contains("),(")).unwrap_or(layouts).to_owned()
}

#[test]
fn structs_and_unions_inside_are_laid_out() {
    for (fields, expected) in [
        ("union { unsigned data; struct { unsigned short x, y; }; };", "4,(4)"),
        (
            "union { uint4 data; struct { unsigned char parent[3], suffix[3]; unsigned char pad; }; };",
            "16,(16)",
        ),
        ("char c; struct { int a; double b; } inner; char d;", "32,(8)"),
        ("struct { char a; short b; } inner[3], one; char d;", "18,(2)"),
        ("struct Inner { float x; short y; }; Inner a; struct Inner b[2];", "24,(4)"),
        ("struct Inner { float x; short y; } a; Inner b;", "16,(4)"),
        ("struct A { int x; }; struct B { A a; A b; }; B c[2]; A d;", "20,(4)"),
        ("enum Kind { Call, Put }; double value; Kind kind;", "16,(8)"),
        ("enum { Call, Put } kind; char c;", "8,(4)"),
        ("using T = double; typedef short S; T a; S b;", "16,(8)"),
        ("struct { float a; void f() { int b; } static const int N = 4; } inner; int n;", "8,(4)"),
        ("union U { int a; long long b; }; int n;", "4,(4)"),
        ("struct alignas(16) Q { int n; }; int n; Q q;", "32,(16)"),
    ] {
        assert_eq!(layouts(&format!("struct P {{ {fields} }};"), "P"), expected, "{fields}");
    }
    assert_eq!(layouts("typedef struct P { int a; struct Inner { char c; } b; } P;", "P"), "8,(4)");
    // An inner name hides an outer one.
    let source = "struct Inner { double d; }; struct P { struct Inner { char c; }; Inner a; };";
    assert_eq!(layouts(source, "P"), "1,(1)");
    assert_eq!(layouts("using T = float; struct P { using T = double; T x; };", "P"), "8,(8)");
    assert_eq!(layouts("typedef float T; struct P { typedef double T; T x; };", "P"), "8,(8)");
    assert_eq!(layouts("struct P { }; ", "P"), "1,(1)");
    assert_eq!(layouts("struct Tag { static const int N = 4; }; struct P { Tag t; int n; };", "P"), "8,(4)");
}

#[test]
fn what_is_not_known_of_a_struct_inside_is_not_checked() {
    for fields in [
        "struct { int a : 3; } inner;",
        "struct Inner : Base { int a; }; Inner b;",
        "struct { int a; } PACKED; int b;",
        "struct { int a; } __attribute__((packed)) inner; char c;",
        "struct { int (*f)(int); } inner;",
        "enum { N = 4 }; float a[N];",
        "using T = U; struct { T a; } inner;",
        "static const int N = 4; struct { float a[N]; } inner;",
        "struct Inner; Inner* a; struct { Other b; } inner;",
    ] {
        assert_eq!(layouts(&format!("struct P {{ {fields} }};"), "P"), "", "{fields}");
    }
    let deep = format!("struct P {{ {}int a;{} }};", "struct { ".repeat(2000), " } x;".repeat(2000));
    assert_eq!(layouts(&deep, "P"), "");
}

#[test]
fn fields_are_those_of_one_branch() {
    let branches = "struct P {\n#ifdef WIDE\ndouble a;\n#else\nfloat a;\n#endif\nfloat b;\n};";
    assert_eq!(layouts(branches, "P"), "(16,(8)),(8,(4))");
    let one = "#ifndef P_H\n#define P_H\nstruct P {\nfloat a;\n#ifdef MORE\ndouble b;\n#endif\n};\n#endif";
    assert_eq!(layouts(one, "P"), "(16,(8)),(4,(4))");
    let same = "struct P {\nunion {\nunsigned data;\nstruct {\n#if REORDER\nshort x;\nshort y;\n#else\nint x;\n#endif\n};\n};\n};";
    assert_eq!(layouts(same, "P"), "4,(4)");
    let half = "struct P {\nfloat a\n#if A\n[4]\n#endif\n;\n};";
    assert_eq!(layouts(half, "P"), "");
    // Branches of one condition go together.
    let source = format!(
        "#ifdef WIDE\ntypedef double real;\n#else\ntypedef float real;\n#endif\n{}\n{}",
        "struct P {\n#ifdef WIDE\ndouble a;\n#else\nfloat a;\n#endif\n};",
        "extern \"C\" __global__ void k(real a, const P* p);",
    );
    for (here, fits) in [
        ("a: f32, p: &[f32]", true),
        ("a: f64, p: &[f64]", true),
        ("a: f32, p: &[f64]", false),
        ("a: f64, p: &[f32]", false),
    ] {
        assert_fits(here, &source, fits);
    }
}

#[test]
fn parameters_are_those_of_one_branch() {
    let source = "#ifdef WIDE\ntypedef double real;\n#else\ntypedef float real;\n#endif\n\
        extern \"C\" __global__ void k(real* x,\n#if TEXTURE\n#else\nconst char* text,\n#endif\n\
        int n\n#ifdef WIDE\n, double a\n#endif\n) {}";
    for (here, fits) in [
        ("x: &mut [f32], n: i32", true),
        ("x: &mut [f32], text: &[i8], n: i32", true),
        ("x: &mut [f64], n: i32, a: f64", true),
        ("x: &mut [f64], text: &[i8], n: i32, a: f64", true),
        ("x: &mut [f32], n: i32, a: f64", false),
        ("x: &mut [f64], n: i32", false),
        ("x: &mut [f32], text: &[f32], n: i32", false),
        ("x: &mut [f32]", false),
    ] {
        assert_fits(here, source, fits);
    }
    // The last has no comma in one branch, and too many conditions are not compared.
    let source = "extern \"C\" __global__ void k(float* x,\n#if A\nint n\n#else\nfloat a, int n\n#endif\n);";
    assert_fits("x: &mut [f32], n: i32", source, true);
    assert_fits("x: &mut [f32], a: f32, n: i32", source, true);
    assert_fits("x: &mut [f32], n: f32", source, false);
    let many: String = (0..9).map(|at| format!("#if A{at}\nint n{at},\n#endif\n")).collect();
    let source = format!("extern \"C\" __global__ void k(\n{many}float* x);");
    assert_fits("x: &mut [f32]", &source, true);
    assert_fits("a: i32, b: i32, x: &mut [f32]", &source, true);
}

#[test]
fn a_pointer_to_a_function_is_none_of_the_hosts() {
    for (definition, ty) in [
        ("typedef float (*op_t)(float, float);\n", "op_t"),
        ("using op_t = float (*)(float);\n", "op_t"),
        ("typedef float (*op_t)(float);\ntypedef op_t other_t;\n", "other_t"),
        ("", "float (*)(float)"),
    ] {
        let written =
            if definition.is_empty() { "float (*op)(float)".to_owned() } else { format!("{ty} op") };
        let source = format!("{definition}extern \"C\" __global__ void k(float* x, {written});");
        for here in ["u64", "f32", "Op", "&[f32]"] {
            assert_fits(&format!("x: &mut [f32], op: {here}"), &source, false);
        }
    }
    assert_declared(
        "safe fn k(op: u64);",
        "typedef float (*op_t)(float);\nextern \"C\" __global__ void k(op_t op);",
        &["[TW0410]: parameter 1 of kernel `k` points to a function in k.cu: `op_t`\n\
           note: k.cu:2\n\
           note: nothing would check what is called through it\n\
           help: take a number that chooses the function, or make the function an argument of a template"],
    );
}

const VECTORS: &str = "template <typename T> struct vec4 { typedef float Type; };\n\
    template <> struct vec4<float> { typedef float4 Type; };\n\
    template <> struct vec4<double> { typedef double4 Type; };\n";

/// Whether the declaration of one parameter fits that of a template's instance.
#[track_caller]
fn assert_instance(here: &str, there: &str, argument: &str, definitions: &str, fits: bool) {
    let source = format!("{definitions}template <typename T> __global__ void k({there} p) {{}}");
    let declaration = format!("#[instantiate(\"k<{argument}>\")] safe fn k(p: {here});");
    assert_declaration_fits(&declaration, &source, fits);
}

#[test]
fn members_of_templates_are_seen_through() {
    for (here, argument, fits) in [
        ("&mut [[f32; 4]]", "float", true),
        ("&mut [[f64; 4]]", "double", true),
        ("&mut [f32]", "int", true),
        ("&mut [[f64; 4]]", "float", false),
        ("&mut [f32]", "float", false),
        ("&mut [[f32; 4]]", "int", false),
        // Plain text does not tell which one is meant.
        ("&mut [f32]", "real", true),
        ("&mut [[f64; 4]]", "real", true),
    ] {
        assert_instance(here, "typename vec4<T>::Type*", argument, VECTORS, fits);
    }
    // A partial specialisation, and one that `requires` something, may be meant.
    for more in [
        "template <typename T> struct vec4<T*> { typedef int Type; };\n",
        "template <typename T> requires small<T> struct vec4<T> { typedef int Type; };\n",
        "template <typename T> struct vec4 { typedef int Type; };\n",
    ] {
        assert_instance("&mut [f32]", "typename vec4<T>::Type*", "int", &format!("{VECTORS}{more}"), true);
        assert_instance("&mut [u64]", "typename vec4<T>::Type*", "int", &format!("{VECTORS}{more}"), true);
    }
    let traits = "struct Traits { using Real = double; };\n";
    assert_instance("f64", "Traits::Real", "int", traits, true);
    assert_instance("f32", "Traits::Real", "int", traits, false);
}

#[test]
fn templates_of_structs_are_laid_out() {
    let option = "template <typename Real> struct Option { enum Kind { Call, Put }; Real spot, strike; Kind kind; };\n\
        template <class T, int N = 4> struct Array { T data[N]; };\n\
        namespace n { typedef short real; template <class T> struct One { T x; }; }\n";
    let expected = |argument: &str, there: &str| {
        let source = format!("{option}template <typename T> __global__ void k(const {there}* p) {{}}");
        let declaration = format!("#[instantiate(\"k<{argument}>\")] safe fn k(p: &[P]);");
        let expanded = declare(&declaration, &source);
        assert_eq!(errors_and_rest(expanded.clone()).0, [""; 0], "{there}");
        expected_of_p(&dense(expanded))
    };
    for (argument, there, layout) in [
        ("float", "Option<T>", "12,(4)"),
        ("double", "Option<T>", "24,(8)"),
        ("unsigned int", "Option<T>", "12,(4)"),
        ("float", "Array<T>", "16,(4)"),
        ("float", "Array<T, 3>", "12,(4)"),
        ("double", "n::One<T>", "8,(8)"),
        // The name is not found from here, or is looked up elsewhere.
        ("float", "One<T>", ""),
        ("real", "n::One<T>", ""),
        ("float", "Array<T, 3, 4>", ""),
        ("float", "Other<T>", ""),
    ] {
        assert_eq!(expected(argument, there), layout, "{there} of {argument}");
    }
}

#[test]
fn types_that_only_tag_have_one_byte() {
    for ty in ["std::bool_constant<true>", "std::integral_constant<int, 4>", "::cuda::std::true_type"] {
        assert_eq!(layouts("", ty), "1,(1)", "{ty}");
        let source = format!("extern \"C\" __global__ void k({ty} p);");
        for here in ["f32", "u64", "&[u8]"] {
            assert_fits(&format!("p: {here}"), &source, false);
        }
    }
    assert_eq!(layouts("", "bool_constant<true>"), "");
}
