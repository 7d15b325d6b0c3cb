//! The same cases on a GPU.

use std::fmt::Write;
use std::fs;

use thalweg::__private::{
    Function, Grid, KernelInfo, KernelModule, ReadArg, ReadWriteArg, argument, host_body,
};
use thalweg::streams::Stream;
use thalweg::{Device, DeviceBuf};

use super::all;
use super::cases::Case;
use super::program::{self, compare, headers};

/// What kernels that are written in Rust are compiled with.
pub const OPTIONS: [&str; 2] = ["--std=c++17", "--fmad=false"];

const THREADS: u32 = 256;

/// The headers as kernels have them, where nothing can be included.
pub fn headers_text() -> String {
    let text = program::HEADERS.map(|header| fs::read_to_string(headers().join(header)).expect("a header"));
    let lines = text.iter().flat_map(|text| text.lines());
    lines.filter(|line| !line.starts_with("#include")).flat_map(|line| [line, "\n"]).collect()
}

/// The program for a GPU: a kernel that tries a case with each combination of its tables. A fault is noted,
/// and does not end the thread.
pub fn for_gpu(cases: &[Case]) -> String {
    let mut text = headers_text();
    let _ = writeln!(text, "static __shared__ u32 faulted_at[{THREADS}];");
    text += "namespace tw {
static TW_DEVICE void fault(u32 line) {
    if (faulted_at[threadIdx.x] == 0) faulted_at[threadIdx.x] = line;
}
}
constexpr f32 CONSTANT = -tw::infinity<f32>();
constexpr f64 DOUBLE_CONSTANT = tw::nan<f64>();
";
    text += &program::functions(cases);
    text += "TW_FN u64 run(u32 index, u64 a, u64 b, u64 c) {\n    switch (index) {\n";
    for (index, case) in cases.iter().enumerate() {
        let given = ["a", "b", "c"][..case.types.len()].join(", ");
        let _ = writeln!(text, "    case {index}: return case_{index}({given});");
    }
    text += "    }
    return word<f64>(DOUBLE_CONSTANT * f64(CONSTANT)) + c;
}
extern \"C\" __global__ void tries(
    u32 index, u64 first, u64 second, u64 third, const u64* tables, u64* results
) {
    const u64 at = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    faulted_at[threadIdx.x] = 0;
    if (at >= first * second * third) return;
    const u64* const others = tables + first;
    const u64 result =
        run(index, tables[at / third / second], others[at / third % second], others[second + at % third]);
    results[2 * at] = result;
    results[2 * at + 1] = faulted_at[threadIdx.x];
}
";
    text
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_gpu_computes_as_rust_does() {
    const PARAMETERS: &[usize] = &[4, 8, 8, 8, 8, 8];
    let cases = all();
    let module = KernelModule::cuda("numbers.cu", for_gpu(&cases).leak()).options(&OPTIONS);
    let kernel: &KernelInfo =
        Box::leak(Box::new(KernelInfo::new("tries", Box::leak(Box::new(module))).parameters(PARAMETERS)));
    let device = Device::open().expect("a GPU");
    let function = Function::load(&device, kernel).expect("a kernel");
    let stream = Stream::new(&device).expect("a stream");
    let mut words = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        let index = index as u32;
        let all = program::tables(case);
        let [first, second, third] = all.each_ref().map(|table| table.len() as u64);
        let tables = DeviceBuf::from_slice(&device, &all.concat()).expect("memory");
        let mut results = DeviceBuf::<u64>::zeroed(&device, 2 * case.tries()).expect("memory");
        let blocks = case.tries().div_ceil(THREADS as usize) as u32;
        let (tables, tables_lender) = ReadArg::<u64>::lend(&tables).parts();
        let (written, written_lender) = ReadWriteArg::<u64>::lend(&mut results).parts();
        // SAFETY: these are the kernel's parameters. It reads the tables up to the three lengths, and writes
        // two words for each combination.
        unsafe {
            stream.config(blocks, THREADS, 0).enqueue(
                &function,
                &mut [
                    argument(&index),
                    argument(&first),
                    argument(&second),
                    argument(&third),
                    tables.argument(),
                    written.argument(),
                ],
                PARAMETERS,
                (&[tables.access(), written.access()], &[tables_lender, written_lender]),
                &[],
                &|_: Grid| host_body(|| {}),
            )
        }
        .expect("a launch");
        words.extend(results.to_vec().expect("the results"));
    }
    let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    compare(&cases, &bytes[..]).print_and_assert(&cases);
}
