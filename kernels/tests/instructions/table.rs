//! The recorded table.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use super::programs::Size;

const HEAD: &str = "\
Registers (r) and instructions (i) of each kernel, as NVRTC 13.0.88 compiles it for release builds: by hand in
CUDA C++, in Rust with its checks, and in Rust as if no check could fail. Values that are not in registers take
bytes (b) of a thread's own memory. `why:` is the reason for more.

kernel           for     by hand       checked       without checks
";

/// A kernel's sizes: by hand, with checks, without.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) kernel: &'static str,
    pub(super) architecture: &'static str,
    pub(super) sizes: [Size; 3],
}

impl Row {
    fn start(&self) -> String {
        format!("{:16} {:7}", self.kernel, self.architecture)
    }

    fn text(&self) -> String {
        let sizes = self.sizes.map(|size| {
            let stack = if size.stack > 0 { format!(" {}b", size.stack) } else { String::new() };
            format!("{:4}r {:5}i{stack}", size.registers, size.instructions)
        });
        format!("{}{}", self.start(), sizes.join("  "))
    }

    /// Whether it breaks the rule.
    pub(super) fn is_larger(&self) -> bool {
        let [by_hand, checked, unchecked] = self.sizes;
        let is_more = |size: u32, than: u32| 10 * size > 11 * than;
        checked.stack.max(unchecked.stack) > by_hand.stack
            || is_more(unchecked.instructions, by_hand.instructions)
            || is_more(unchecked.registers, by_hand.registers) && unchecked.warps() < by_hand.warps()
    }
}

/// The file's lines.
pub(super) struct Table(Vec<String>);

impl Table {
    fn path() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/instructions/table.txt")
    }

    pub(super) fn read() -> Self {
        Self(fs::read_to_string(Self::path()).unwrap_or_default().lines().map(str::to_owned).collect())
    }

    pub(super) fn write(&self) {
        fs::write(Self::path(), self.text()).expect("the table");
    }

    pub(super) fn text(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "{line}");
            text
        })
    }

    /// The same table with the sizes of these rows, and the reasons that it has.
    pub(super) fn with(&self, rows: &[Row]) -> Self {
        let mut lines: Vec<String> = HEAD.lines().map(str::to_owned).collect();
        for row in rows {
            lines.push(row.text());
            if row.is_larger() {
                lines.extend(self.reason(row).cloned());
            }
        }
        Self(lines)
    }

    pub(super) fn has_reason(&self, row: &Row) -> bool {
        self.reason(row).next().is_some()
    }

    /// The lines of the reason below a row.
    fn reason(&self, row: &Row) -> impl Iterator<Item = &String> {
        let start = row.start();
        let below = self.0.iter().skip_while(move |line| !line.starts_with(&start)).skip(1);
        below.take_while(|line| line.starts_with("    "))
    }
}
