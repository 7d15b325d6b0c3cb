//! Slurm's lists of hosts, such as `rack[0-1]node[07-09,12],login`.

/// The first host of a list; `None` if it is none.
pub(super) fn first_host(list: &str) -> Option<String> {
    let mut host = String::new();
    let mut rest = list.trim();
    while let Some(at) = rest.find(['[', ']', ',']) {
        host.push_str(&rest[..at]);
        match &rest[at..=at] {
            "[" => {
                let (inside, behind) = rest[at + 1..].split_once(']')?;
                host.push_str(first_number(inside)?);
                rest = behind;
            }
            "," => return Some(host).filter(|host| is_host(host)),
            _ => return None,
        }
    }
    host.push_str(rest);
    Some(host).filter(|host| is_host(host))
}

/// The first number of `007-009,012`, with its zeros.
fn first_number(ranges: &str) -> Option<&str> {
    let first = ranges.split([',', '-']).next()?;
    (!first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit())).then_some(first)
}

fn is_host(name: &str) -> bool {
    !name.is_empty() && !name.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_host_of_a_list_is_found() {
        for (list, host) in [
            ("gpu5", Some("gpu5")),
            ("gpu5,gpu6", Some("gpu5")),
            ("node[01-03,07],gpu5", Some("node01")),
            ("node[7]", Some("node7")),
            ("rack[0-1]node[07-09,12].cluster", Some("rack0node07.cluster")),
            ("a-b[10,9]", Some("a-b10")),
            ("", None),
            (",node1", None),
            ("node[", None),
            ("node[]", None),
            ("node[a-b]", None),
            ("node]1", None),
        ] {
            assert_eq!(first_host(list).as_deref(), host, "{list}");
        }
    }
}
