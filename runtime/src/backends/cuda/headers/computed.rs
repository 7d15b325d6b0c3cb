//! `#include NAME(cassert)`: the files that a macro may name, as far as plain text tells.

use super::values;

/// The names, as `<name>` or `"name"`, that `operand` gives with each definition of its macro in `texts`;
/// `None` if that cannot be told.
pub(super) fn expanded(operand: &str, texts: &[String], options: &[&str]) -> Option<Vec<String>> {
    let (name, argument) = used(operand)?;
    if values(options, &["--define-macro", "-D"]).any(|defined| identifier(defined) == name) {
        return None;
    }
    let mut found = Vec::new();
    for line in texts.iter().flat_map(|text| text.lines()) {
        let Some(body) = definition(line, name, argument) else { continue };
        let body = body?;
        if !found.contains(&body) {
            found.push(body);
        }
    }
    (!found.is_empty()).then_some(found)
}

/// A macro's name, and its argument if it has one: `NAME`, `NAME(cassert)`.
fn used(operand: &str) -> Option<(&str, Option<&str>)> {
    let operand = operand.split("//").next().unwrap_or(operand).trim();
    let name = identifier(operand);
    let argument = match operand[name.len()..].trim_start() {
        "" => None,
        rest => Some(rest.strip_prefix('(')?.strip_suffix(')')?.trim()),
    };
    let is_plain = |text: &str| text.chars().all(|c| is_of_identifiers(c) || c == '/' || c == '.');
    (!name.is_empty() && argument.is_none_or(is_plain)).then_some((name, argument))
}

/// The body with which a line defines a macro of this name, with the argument in the parameter's place.
/// `None` if the line does not define it, `Some(None)` if the body is no plain file name.
fn definition(line: &str, name: &str, argument: Option<&str>) -> Option<Option<String>> {
    let line = line.trim_start();
    let rest =
        line.strip_prefix('#').or_else(|| line.strip_prefix("%:"))?.trim_start().strip_prefix("define")?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    if identifier(rest) != name {
        return None;
    }
    let rest = &rest[name.len()..];
    Some(match (rest.strip_prefix('('), argument) {
        (Some(rest), Some(argument)) => {
            rest.split_once(')').and_then(|(parameter, body)| file(body, Some((parameter.trim(), argument))))
        }
        (None, None) => file(rest, None),
        _ => None,
    })
}

/// A macro's body that is a file's name.
fn file(body: &str, replace: Option<(&str, &str)>) -> Option<String> {
    let body = body.split("//").next().unwrap_or(body).trim();
    let in_brackets = body.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    let quoted = || body.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let name = match (in_brackets, replace) {
        // In a string nothing is replaced.
        (None, _) => quoted()?.to_owned(),
        (Some(name), None) => name.to_owned(),
        (Some(name), Some((parameter, argument))) => replaced(name, parameter, argument),
    };
    let is_plain = !name.is_empty() && !name.contains(['<', '>', '"', '\\', '#', ' ']);
    is_plain.then(|| if in_brackets.is_some() { format!("<{name}>") } else { format!("\"{name}\"") })
}

/// `text` with `argument` in place of each identifier `parameter`.
fn replaced(text: &str, parameter: &str, argument: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let word = identifier(rest);
        if word.is_empty() {
            result.push(next);
            rest = &rest[next.len_utf8()..];
        } else {
            result.push_str(if word == parameter { argument } else { word });
            rest = &rest[word.len()..];
        }
    }
    result
}

/// The letters, digits and underscores that `text` begins with.
fn identifier(text: &str) -> &str {
    text.split(|c| !is_of_identifiers(c)).next().unwrap_or_default()
}

fn is_of_identifiers(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(operand: &str, text: &str) -> Option<Vec<String>> {
        expanded(operand, &[text.to_owned()], &[])
    }

    #[test]
    fn every_definition_counts() {
        let text = "#if NEW\n  # define STD(header) <cccl/std/header> // new\n#else\n\t#define STD(h) <std/h>\n#endif";
        assert_eq!(files("STD(cassert) // why", text).unwrap(), ["<cccl/std/cassert>", "<std/cassert>"]);
        assert_eq!(files("STD( cassert )", text).unwrap(), ["<cccl/std/cassert>", "<std/cassert>"]);
        assert_eq!(files("CONFIG", "#define CONFIG \"my/config.h\"").unwrap(), ["\"my/config.h\""]);
        assert_eq!(files("CONFIG", "%: define CONFIG <a.h>").unwrap(), ["<a.h>"]);
        assert_eq!(files("CONFIG", "#define CONFIG <a.h>\n#define CONFIG <a.h>").unwrap(), ["<a.h>"]);
    }

    #[test]
    fn what_plain_text_does_not_tell_is_unknown() {
        for (operand, text) in [
            ("STD(a)", ""),
            ("STD(a)", "#define STDS(x) <x>"),
            ("STD(a)", "#define STD <a>"),
            ("STD", "#define STD(x) <x>"),
            ("STD(a)", "#define STD(x) OTHER(x)"),
            ("STD(a)", "#define STD(x) <x>\n#define STD(x) OTHER(x)"),
            ("STD(a)", "#define STD(x) \\\n<x>"),
            ("STD(a, b)", "#define STD(x, y) <x/y>"),
            ("STD(a)", "#define STD(x) <x##y>"),
            ("STD", "#define STD"),
            ("(x)", "#define x <x>"),
            ("", "#define x <x>"),
        ] {
            assert_eq!(files(operand, text), None, "{operand} {text}");
        }
        let text = ["#define STD(x) <x>".to_owned()];
        assert!(expanded("STD(a)", &text, &["-DOTHER=1"]).is_some());
        for option in ["-DSTD(x)=<y>", "--define-macro=STD=1", "-D STD"] {
            assert_eq!(expanded("STD(a)", &text, &[option]), None, "{option}");
        }
        assert_eq!(expanded("STD(a)", &text, &["-D", "STD=1"]), None);
    }
}
