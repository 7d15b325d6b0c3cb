//! Compiles a kernel in its three forms, and reads how large each is.

use std::fs;
use std::path::Path;
use std::process::Command;

use thalweg::__private::{Kernel, KernelInfo, KernelModule, KernelSource, compile_for};

/// A kernel in Rust and the same by hand.
pub(super) struct Compared {
    pub(super) name: &'static str,
    info: &'static KernelInfo,
    file: &'static str,
    by_hand: &'static str,
}

/// What a kernel takes on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) registers: u32,
    pub(super) instructions: u32,
    /// Bytes of a thread's own memory, which are slower than registers.
    pub(super) stack: u32,
}

impl Size {
    /// The warps that fit on a multiprocessor: each of its four parts has 16,384 registers, which are given to
    /// warps in portions of 8 for each lane, and room for 16 warps.
    pub(super) fn warps(self) -> u32 {
        (16_384 / (self.registers.max(1).next_multiple_of(8) * 32)).min(16) * 4
    }
}

impl Compared {
    pub(super) fn of<K: Kernel>(name: &'static str, file: &'static str, by_hand: &'static str) -> Self {
        Self { name, info: K::INFO, file, by_hand }
    }

    /// By hand, with checks, and without checks.
    pub(super) fn sizes(&self, architecture: &str, folder: &Path) -> [Size; 3] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cu/by_hand").join(self.file);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let is_template = self.by_hand.contains('<');
        let instances: &'static [&'static str] = if is_template { vec![self.by_hand].leak() } else { &[] };
        let by_hand = KernelModule::cuda(self.file, text.leak()).instances(instances);

        let module = self.info.module;
        let KernelSource::Rust(source) = module.source else { panic!("{}: not in Rust", self.name) };
        let text = unchecked(&source.joined());
        let unchecked = KernelModule::cuda("unchecked.cu", text.leak()).options(module.options);
        let size = |module: &KernelModule, name: &str, form: &str| {
            let file = folder.join(format!("{}-{architecture}-{form}.cubin", self.name));
            size(module, name, architecture, &file)
        };
        [
            size(&by_hand, self.by_hand, "by-hand"),
            size(module, self.info.symbol, "checked"),
            size(&unchecked, self.info.symbol, "unchecked"),
        ]
    }
}

/// The program, in which no check fails. It is only measured: NVRTC 13.0 compiles what is told to be unreachable
/// after an `exit` wrongly.
fn unchecked(text: &str) -> String {
    let (store, exit) = ("*thalweg_fault = place;", "asm volatile(\"exit;\");");
    assert!(
        text.matches(store).count() == 1 && text.matches(exit).count() == 1,
        "another function of faults"
    );
    text.replace(store, "__builtin_unreachable();").replace(exit, "")
}

fn size(module: &KernelModule, name: &str, architecture: &str, path: &Path) -> Size {
    let compiled = compile_for(module, architecture).unwrap_or_else(|error| panic!("{name}: {error}"));
    let lowered = compiled.names.iter().find(|(instance, _)| *instance == name).map(|(_, lowered)| lowered);
    let symbol = lowered.map_or(name, |lowered| lowered);
    fs::write(path, &compiled.image).expect("a file");
    let resources = output("cuobjdump", &["--dump-resource-usage"], path);
    let line = after(&resources, &format!(" Function {symbol}:\n")).lines().next().unwrap_or_default();
    let number = |key: &str| {
        let value = line.split_whitespace().find_map(|word| word.strip_prefix(key));
        value
            .and_then(|value| value.parse::<u32>().ok())
            .unwrap_or_else(|| panic!("{key} of {name}: {resources}"))
    };
    let text = output("nvdisasm", &["--print-code"], path);
    let body = after(&text, &format!("\n.text.{symbol}:\n"));
    let body = body.split("//----").next().unwrap_or_default();
    // `/*0010*/  IMAD R1, …`: each on a line of its own. The end is filled up.
    let is_instruction = |line: &&str| line.trim_start().starts_with("/*") && !line.contains(" NOP");
    let instructions = body.lines().filter(is_instruction).count() as u32;
    assert!(instructions > 5, "{name}: {text}");
    let stack = number("STACK:") + number("LOCAL:");
    Size { registers: number("REG:"), instructions, stack }
}

/// The text after a line.
fn after<'a>(text: &'a str, line: &str) -> &'a str {
    text.split_once(line).unwrap_or_else(|| panic!("no `{}` in:\n{text}", line.trim())).1
}

fn output(program: &str, options: &[&str], cubin: &Path) -> String {
    let ended = Command::new(program).args(options).arg(cubin).output();
    let ended = ended.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(ended.status.success(), "{program}: {}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8_lossy(&ended.stdout).into_owned()
}
