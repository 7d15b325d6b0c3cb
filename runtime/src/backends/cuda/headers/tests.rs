use super::*;

#[test]
fn directives_are_found_as_they_are_written() {
    let text = "\u{feff}#include \"a.h\"\n  #  include <b/c.h> // why\n#include_next <d>\n#include NAME\n// #include\nint x;\n\
                /* #1 */ #include <e> /* e */\nends here */ #include <f>\n#define A #include <g>\n";
    let found: Vec<_> = directives(text).collect();
    let expected = [
        Include::Quoted("a.h"),
        Include::Angled("b/c.h"),
        Include::Angled("d"),
        Include::Computed("NAME"),
        Include::Angled("e"),
        Include::Angled("f"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn directives_of_joined_lines_and_questions_are_found() {
    for (text, expected) in [
        ("#include \\\n\"a.h\"", Include::Quoted("a.h")),
        ("#inc\\\r\nlude <a.\\\nh>", Include::Angled("a.h")),
        ("%:include <a.h>", Include::Angled("a.h")),
        ("# /* why */ include /* what */ <a.h>", Include::Angled("a.h")),
        ("#if defined(__has_include) && __has_include(<a.h>)", Include::Angled("a.h")),
        ("#elif !__has_include ( \"a.h\" )", Include::Quoted("a.h")),
        ("#define HAS(x) __has_include(x)", Include::Computed("x")),
    ] {
        assert_eq!(directives(&joined(text)).collect::<Vec<_>>(), [expected], "{text}");
    }
    assert_eq!(directives("#ifdef __has_include\n").next(), None);
}

/// A kernel in the cache may be a different one if such a file exists.
#[test]
fn a_file_that_is_asked_for_is_hashed() {
    let folder = tempfile::tempdir().expect("a folder");
    let option: &'static str = format!("-I{}", folder.path().display()).leak();
    let module = KernelModule::cuda("k.cu", "").options(vec![option].leak());
    let on_disk = || Includes::follow(&module, "#if __has_\\\ninclude(<asked.h>)\n#endif\n").on_disk;
    assert!(on_disk().is_empty());
    let asked = folder.path().join("asked.h");
    fs::write(&asked, "").expect("a file");
    assert_eq!(on_disk().into_keys().collect::<Vec<_>>(), [asked]);
}

#[test]
fn paths_are_named_as_the_file_is() {
    let written =
        |file, path, header| as_written(&KernelModule::cuda(file, "").including(path, &[], &[]), header);
    assert_eq!(written("k.cu", "k.cu", "h/a.h"), "h/a.h");
    assert_eq!(written("k.cu", "src/k.cu", "src/a.h"), "a.h");
    assert_eq!(written("k.cu", "src/k.cu", "include/a.h"), "../include/a.h");
    assert_eq!(written("../cu/k.cu", "cu/k.cu", "vendor/x/a.h"), "../vendor/x/a.h");
    assert_eq!(written("/a/cu/k.cu", "cu/k.cu", "x/a.h"), "/a/x/a.h");
    assert_eq!(written("cu/k.cu", "p/q/cu/k.cu", "x/a.h"), "../../x/a.h");
}

#[test]
fn embedded_files_are_followed_and_others_are_noted() {
    static HEADERS: [Header; 2] = [
        Header { path: "include/a.h", text: "#include \"detail/b.h\"\n" },
        Header { path: "include/detail/b.h", text: "#include \"../a.h\"\n" },
    ];
    let module = KernelModule::cuda("k.cu", "").including("src/k.cu", &HEADERS, &["include"]);
    for inside in ["#include <a.h>", "#include \"a.h\"", "#include \"../include/a.h\"", "// nothing"] {
        let includes = Includes::follow(&module, inside);
        assert!(includes.are_known() && !includes.go_beyond(), "{inside}");
    }
    assert!(Includes::follow(&module, "#include <no_such_header_anywhere.h>").go_beyond());
    assert!(!Includes::follow(&module, "#include NAME").are_known());
}

/// The compiler must find the source there. Its content is followed already.
#[test]
fn a_source_that_is_included_is_written_beside_its_headers() {
    static HEADERS: [Header; 1] = [Header { path: "include/a.h", text: "#include \"../src/k.cu\"\n" }];
    let module = KernelModule::cuda("cu/k.cu", "").including("src/k.cu", &HEADERS, &["include"]);
    for (source, is_included) in [
        ("\u{feff}#include \"k.cu\"\n", true),
        ("#include <a.h>\n", true),
        ("#include \"a.h\"\n", true),
        ("#include <k.cu>\n", false),
    ] {
        let includes = Includes::follow(&module, source);
        assert_eq!(includes.go_beyond(), !is_included, "{source}");
        let folder = includes.write(&module, source).expect("it can be written").expect("it is needed");
        let written = fs::read_to_string(folder.path().join("src/k.cu")).ok();
        let text = source.trim_start_matches('\u{feff}');
        assert_eq!(written, is_included.then(|| format!("#line 1 \"cu/k.cu\"\n{text}")), "{source}");
    }
}

#[test]
fn a_file_that_a_macro_names_is_followed() {
    static HEADERS: [Header; 2] = [
        Header { path: "include/std.h", text: "#define STD(header) <std/header>\n#include STD(a)\n" },
        Header { path: "include/std/a", text: "#include STD(b)\n" },
    ];
    let module = KernelModule::cuda("k.cu", "").including("k.cu", &HEADERS, &["include"]);
    let includes = Includes::follow(&module, "#include <std.h>");
    // `std/b` is not embedded, so the compiler may find it elsewhere.
    assert!(includes.are_known() && includes.go_beyond());

    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("std")).expect("a folder");
    fs::write(folder.path().join("std/b"), "1").expect("a file");
    let option: &'static str = format!("-I{}", folder.path().display()).leak();
    let module = module.options(vec![option].leak());
    let includes = Includes::follow(&module, "#include STD(a)\n#include <std.h>");
    assert_eq!(includes.on_disk.keys().collect::<Vec<_>>(), [&folder.path().join("std/b")]);
    assert!(includes.are_known());
    assert!(!Includes::follow(&module, "#include STD(a)").are_known());
}

#[test]
fn files_of_option_folders_are_hashed() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.h"), "#include \"b.h\"").expect("a file");
    fs::write(folder.path().join("b.h"), "1").expect("a file");
    let folder = folder.path().to_str().expect("a path");
    for options in [
        vec![format!("-I{folder}").leak() as &str],
        vec!["-I", folder.to_owned().leak()],
        vec![format!("--include-path={folder}").leak()],
    ] {
        let module = KernelModule::cuda("k.cu", "").options(options.leak());
        let mut includes = Includes::follow(&module, "#include <a.h>");
        assert_eq!(includes.on_disk.len(), 2);
        let identify = |includes: &Includes| {
            let mut key = Key::new();
            includes.identify(&mut key);
            key.name()
        };
        let before = identify(&includes);
        assert_eq!(identify(&Includes::follow(&module, "#include <a.h>")), before);
        includes.on_disk.values_mut().for_each(|hash| hash[0] ^= 1);
        assert_ne!(identify(&includes), before);
    }
}

#[test]
fn nothing_is_written_outside_of_the_folder() {
    static HEADERS: [Header; 1] = [Header { path: "../outside.h", text: "" }];
    let module = KernelModule::cuda("k.cu", "").including("k.cu", &HEADERS, &[]);
    let includes = Includes { any: true, ..Includes::default() };
    includes.write(&module, "").expect_err("it leaves the folder");
}

#[test]
fn headers_of_c_stand_for_those_that_nvrtc_lacks() {
    let names = |includes: &Includes| includes.language().map(|header| header.path).collect::<Vec<_>>();
    let module = KernelModule::cuda("k.cu", "").including("src/k.cu", &[], &["include"]);
    let source = "#include <cstdint>\n#include \"math.h\"\n";
    let includes = Includes::follow(&module, source);
    assert_eq!(names(&includes), ["limits.h", "math.h", "stdint.h", "cstdint"]);
    assert!(includes.are_known() && !includes.go_beyond());
    let tree = includes.write(&module, source).expect("a folder").expect("something is included");
    let written = fs::read_to_string(tree.path().join("thalweg-language/stdint.h")).expect("it is written");
    assert!(
        written.starts_with("#line 1 \"thalweg/stdint.h\"\n") && written.contains("uint32_t"),
        "{written}"
    );
    // The value of `NAME` is not known, so all headers are there.
    let all = names(&Includes::follow(&module, "#include NAME\n")).len();
    assert_eq!(all, language::HEADERS.len());
    // A program's own header comes first.
    static OWN: [Header; 1] = [Header { path: "include/stdint.h", text: "" }];
    let module = KernelModule::cuda("k.cu", "").including("src/k.cu", &OWN, &["include"]);
    assert_eq!(names(&Includes::follow(&module, "#include <stdint.h>\n")), [""; 0]);
}
