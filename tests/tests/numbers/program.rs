//! A C++ program of all cases, and the comparison of what it says with what Rust says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::Path;
use std::process::Command;

use super::cases::{Case, Exact};

/// The headers, in the order in which programs have them.
pub const HEADERS: [&str; 3] = ["numbers.cuh", "integers.cuh", "floats.cuh"];

/// The folder of the headers.
pub fn headers() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../runtime/src/base/in_rust"))
}

/// The line that a case gives what may fault.
fn line(case: usize) -> usize {
    1000 + case
}

/// What both a host and a GPU have: numbers as words, and a function for each case.
pub fn functions(cases: &[Case]) -> String {
    let mut text = String::from(
        "template <class A, class B> struct Same { static constexpr bool value = false; };
template <class A> struct Same<A, A> { static constexpr bool value = true; };
/// A number as a word. Its type must be what Rust has, exactly.
template <class Wanted, class Given> TW_FN u64 word(Given value) {
    static_assert(Same<Wanted, Given>::value, \"the type of the result is Rust's\");
    u64 word = 0;
    memcpy(&word, &value, sizeof value);
    return word;
}
template <class T> TW_FN T number(u64 word) {
    T number;
    memcpy(&number, &word, sizeof number);
    return number;
}
",
    );
    for (index, case) in cases.iter().enumerate() {
        let parameters = ["a", "b", "c"].iter().take(case.types.len()).map(|name| format!("u64 word_{name}"));
        let parameters: Vec<_> = parameters.collect();
        let _ = writeln!(text, "TW_FN u64 case_{index}({}) {{", parameters.join(", "));
        for (name, ty) in ["a", "b", "c"].iter().zip(&case.types) {
            let _ = writeln!(text, "    const {ty} {name} = number<{ty}>(word_{name});");
        }
        let expression = case.expression.replace("LINE", &line(index).to_string());
        let _ = writeln!(text, "    return word<{}>({expression});\n}}", case.result);
    }
    text
}

/// The types that each function of the headers takes, of all types and of what C++ converts silently: those
/// with which it is tried, and no others.
fn types_taken(cases: &[Case]) -> String {
    const TYPES: [&str; 16] = [
        "u8",
        "u16",
        "u32",
        "u64",
        "i8",
        "i16",
        "i32",
        "i64",
        "f32",
        "f64",
        "bool",
        "char",
        "long",
        "const char*",
        "usize",
        "isize",
    ];
    /// The name, the number of arguments that are numbers, and how many lines follow them.
    type Function = (&'static str, usize, usize);
    let mut taken: BTreeMap<Function, BTreeSet<Vec<&str>>> = BTreeMap::new();
    for case in cases {
        let is_plain = case.expression.starts_with(&format!("tw::{}(a", case.name));
        if is_plain && case.types.len() < 3 {
            let function = (case.name, case.types.len(), case.expression.matches("LINE").count());
            // They are the same types.
            let types = case.types.iter().map(|ty| match *ty {
                "usize" => "u64",
                "isize" => "i64",
                ty => ty,
            });
            taken.entry(function).or_default().insert(types.collect());
        }
    }
    let mut text = String::new();
    for ((name, arguments, lines), taken) in taken {
        let id = format!("{name}_{arguments}_{lines}");
        let [given, classes] = match arguments {
            1 => ["A()", "class A"],
            _ => ["A(), B()", "class A, class B"],
        };
        let given = given.to_owned() + &", u32()".repeat(lines);
        let _ = writeln!(
            text,
            "template <{classes}> auto takes_{id}(int) -> decltype(tw::{name}({given}), Yes());
template <{classes}> No takes_{id}(...);"
        );
        let each = |types: Vec<&str>| {
            let is_taken = taken.contains(&types);
            let types = types.join(", ");
            format!(
                "static_assert(sizeof(takes_{id}<{types}>(0)) == sizeof({}));\n",
                if is_taken { "Yes" } else { "No" }
            )
        };
        for a in &TYPES[..14] {
            match arguments {
                1 => text += &each(vec![a]),
                _ => text.extend(TYPES[..14].iter().map(|b| each(vec![a, b]))),
            }
        }
    }
    text
}

/// The program for a host. It reads the tables from its first argument, and writes a word and a line for each
/// combination to its second; the line is 0 where nothing faults.
pub fn for_host(cases: &[Case]) -> String {
    let mut text = String::from("#include <stdio.h>\n#include <string.h>\n#include <vector>\n");
    for header in HEADERS {
        let _ = writeln!(text, "#include \"{header}\"");
    }
    text += "struct Faulted { u32 line; };
[[noreturn]] void faulted(unsigned line) { throw Faulted{line}; }
namespace tw {
static TW_DEVICE void fault(u32 line) { faulted(line); }
}
static_assert(Same<usize, u64>::value && Same<isize, i64>::value, \"they have 64 bits\");
constexpr f32 CONSTANTS[] = {-tw::infinity<f32>(), tw::nan<f32>()};
constexpr f64 DOUBLE_CONSTANTS[] = {-tw::infinity<f64>(), tw::nan<f64>()};
static_assert(CONSTANTS[0] < 0 && CONSTANTS[1] != CONSTANTS[1], \"they are constants\");
static_assert(DOUBLE_CONSTANTS[0] < 0 && DOUBLE_CONSTANTS[1] != DOUBLE_CONSTANTS[1], \"and these\");
struct Yes { char one; };
struct No { char two[2]; };
";
    // The types first, which the assertions above use.
    let at = text.find("static_assert").unwrap_or_default();
    text.insert_str(at, &functions(cases));
    text += &types_taken(cases);
    text += "struct Case { u64 (*run)(u64, u64, u64); };\nstatic const Case cases[] = {\n";
    for (index, case) in cases.iter().enumerate() {
        let given = ["a", "b", "c"][..case.types.len()].join(", ");
        let taken = ["a", "b", "c"].iter().enumerate().map(|(place, name)| {
            if place < case.types.len() { format!("u64 {name}") } else { "u64".to_owned() }
        });
        let taken: Vec<_> = taken.collect();
        let _ = writeln!(text, "    {{[]({}) {{ return case_{index}({given}); }}}},", taken.join(", "));
    }
    text += "};
static u64 read_word(FILE* file) {
    u64 word;
    if (fread(&word, sizeof word, 1, file) != 1) throw \"the tables end\";
    return word;
}
int main(int, char** arguments) {
    FILE* const tables = fopen(arguments[1], \"rb\");
    FILE* const results = fopen(arguments[2], \"wb\");
    for (const Case& each : cases) {
        std::vector<u64> table[3];
        for (auto& values : table) {
            values.resize(read_word(tables));
            for (u64& value : values) value = read_word(tables);
        }
        for (const u64 a : table[0]) {
            for (const u64 b : table[1]) {
                for (const u64 c : table[2]) {
                    struct { u64 word; u64 line; } result = {0, 0};
                    try {
                        result.word = each.run(a, b, c);
                    } catch (const Faulted& fault) {
                        result.line = fault.line;
                    }
                    if (fwrite(&result, sizeof result, 1, results) != 1) return 1;
                }
            }
        }
    }
    return fclose(results);
}
";
    text
}

/// The tables of a case: three, of which those without an argument have one value.
pub fn tables(case: &Case) -> [Vec<u64>; 3] {
    [0, 1, 2].map(|place| case.tables.get(place).cloned().unwrap_or_else(|| vec![0]))
}

/// Compiles the program and runs it; the results are in the file that it returns.
pub fn run(cases: &[Case], folder: &Path) -> File {
    let [source, program, input, output] =
        ["numbers.cc", "numbers", "tables", "results"].map(|name| folder.join(name));
    fs::write(&source, for_host(cases)).expect("the source is written");
    // Not `-fwrapv`: overflow of signed integers is undefined, as on a GPU. What is undefined ends the
    // program.
    let compiled = Command::new("c++")
        .args(["-std=c++17", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"])
        .args(["-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all"])
        .arg("-I")
        .arg(headers())
        .arg("-o")
        .args([&program, &source])
        .output()
        .expect("a C++ compiler");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let words = cases.iter().flat_map(tables).flat_map(|table| {
        let length = table.len() as u64;
        std::iter::once(length).chain(table)
    });
    let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    fs::write(&input, bytes).expect("the tables are written");
    let ran = Command::new(program).args([&input, &output]).output().expect("the program");
    assert!(ran.status.success(), "{:?}: {}", ran.status, String::from_utf8_lossy(&ran.stderr));
    File::open(output).expect("the results")
}

/// What was compared.
#[derive(Debug, Default)]
pub struct Count {
    pub functions: usize,
    pub types: usize,
    pub cases: usize,
    pub tries: usize,
    pub faults: usize,
    /// The most that each function was off, in floats, of those that need not be exact.
    pub off: BTreeMap<(&'static str, &'static str), u64>,
    pub differences: Vec<String>,
}

/// Compares the results, a word and a line for each try, with Rust's.
pub fn compare(cases: &[Case], results: impl Read) -> Count {
    let mut results = BufReader::new(results);
    let mut word = || {
        let mut bytes = [0; 8];
        results.read_exact(&mut bytes).expect("a result for each try");
        u64::from_le_bytes(bytes)
    };
    let mut count = Count { cases: cases.len(), ..Count::default() };
    let names: BTreeSet<_> = cases.iter().map(|case| case.name).collect();
    let types: BTreeSet<_> = cases.iter().flat_map(|case| &case.types).collect();
    (count.functions, count.types) = (names.len(), types.len());
    for (index, case) in cases.iter().enumerate() {
        let [first, second, third] = tables(case);
        let mut wrong = 0;
        for &a in &first {
            for &b in &second {
                for &c in &third {
                    let (value, at) = (word(), word() as usize);
                    let given = if at == 0 { Ok(value) } else { Err(at) };
                    let wanted = (case.expected)([a, b, c]).ok_or(line(index));
                    count.tries += 1;
                    count.faults += usize::from(given.is_err());
                    let off = match (given, wanted) {
                        (Ok(given), Ok(wanted)) => distance(case, given, wanted),
                        _ => (given != wanted).then_some(u64::MAX).map_or(Some(0), Some),
                    };
                    let allowed = if let Exact::Near(allowed) = case.exact { allowed } else { 0 };
                    if let Exact::Near(_) = case.exact {
                        let most = count.off.entry((case.name, case.types[0])).or_default();
                        *most = (*most).max(off.unwrap_or(u64::MAX));
                    }
                    if off.is_none_or(|off| off > allowed) {
                        wrong += 1;
                        if wrong <= 3 {
                            let tried =
                                [a, b, c].map(|word| format!("{word:#x}"))[..case.types.len()].join(", ");
                            count.differences.push(format!(
                                "{} of {:?}: ({tried}) is {given:x?}, not {wanted:x?}",
                                case.expression, case.types
                            ));
                        }
                    }
                }
            }
        }
        if wrong > 3 {
            count.differences.push(format!("{} of {:?}: {wrong} in all", case.expression, case.types));
        }
    }
    let mut rest = Vec::new();
    results.read_to_end(&mut rest).expect("the results end");
    assert!(rest.is_empty(), "{} bytes are left", rest.len());
    count
}

/// How many numbers two results are apart; `None` if they cannot be compared.
fn distance(case: &Case, given: u64, wanted: u64) -> Option<u64> {
    let (sign, infinity) = match case.result {
        "f32" => (1 << 31, u64::from(f32::INFINITY.to_bits())),
        "f64" => (1 << 63, f64::INFINITY.to_bits()),
        _ => return (given == wanted).then_some(0),
    };
    let [given_size, wanted_size] = [given, wanted].map(|bits: u64| bits & !sign);
    if given_size > infinity || wanted_size > infinity {
        // Each NaN is as good as another.
        return (given_size > infinity && wanted_size > infinity).then_some(0);
    }
    let are_zeros = given_size == 0 && wanted_size == 0;
    let is_same_side = given & sign == wanted & sign || are_zeros && case.exact == Exact::EitherZero;
    is_same_side.then(|| given_size.abs_diff(wanted_size))
}
