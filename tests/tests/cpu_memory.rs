//! The memory that a run on the CPU needs. It is the whole process's, so this test has an executable of its own.

#![cfg(target_os = "linux")]

use std::fs;

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        depth = 3;
        stream up: high;
        stream math;
        stream down: low;
        stage load on up { copy x -> dx; copy y -> dy; }
        stage axpy on math { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store on down { copy dy -> y; }
    }
}

/// Bytes that the process has in memory now, or had at most, by the name in `/proc`.
fn bytes(of: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix(of)).expect("Linux says it");
    let kibibytes: u64 = line.trim_matches(|c: char| !c.is_ascii_digit()).parse().expect("a number");
    kibibytes << 10
}

#[test]
fn a_run_copies_nothing_of_what_it_uses_in_place() {
    const N: usize = 1 << 25;
    let device = Device::cpu().expect("the processor");
    let (x, mut y) = (vec![1.5_f32; N], vec![2.0_f32; N]);
    let data = bytes("VmRSS:");
    assert!(data >= 8 * N as u64);
    Saxpy::new(&device).expect("the pipeline").run(2.0, &x, &mut y).expect("a run");
    assert!(y.iter().all(|&y| y == 5.0));
    let most = bytes("VmHWM:");
    assert!(most - data <= 64 << 20, "{} MiB beside the data", (most - data) >> 20);
}
