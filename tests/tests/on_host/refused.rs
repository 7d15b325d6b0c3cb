//! What the compiler and the launches on the host refuse.

use thalweg_tests::on_host::{Argument, Checks, OnHost, Program, Turns};

use super::harness::{ORDERS, block, run, try_to_run};
use super::{FOLDER, compiled};

/// The error of a launch, which is the same in every order but for the threads that it names.
#[track_caller]
fn error_of(text: &str, checks: Checks, turns: Turns) -> String {
    let program = compiled("wrong.cu", text, &["wrong"], checks);
    let mut errors = ORDERS.map(|order| {
        let mut x = [0; 64];
        try_to_run(&program, "wrong", turns.order(order), &mut [&mut x]).expect_err(text)
    });
    // Launches after one that has failed are like others.
    let mut x = [0; 64];
    let again = try_to_run(&program, "wrong", turns, &mut [&mut x]).expect_err(text);
    assert_eq!(again, errors[0]);
    std::mem::take(&mut errors[0])
}

#[test]
fn divergent_barriers_are_named() {
    let two = "extern \"C\" __global__ void wrong(unsigned*) {
        if (threadIdx.x < 40) {
            __syncthreads();
        } else {
            __syncthreads_or(1);
        }
    }";
    assert_eq!(
        error_of(two, Checks::Strict, block(64)),
        "divergent barrier: thread (0, 0, 0) waits at `__syncthreads` in wrong.cu:3, and thread (40, 0, 0) \
         at `__syncthreads_or` in wrong.cu:5"
    );
    let returned = "extern \"C\" __global__ void wrong(unsigned*) {
        if (threadIdx.y == 2) return;
        __syncthreads();
    }";
    assert_eq!(
        error_of(returned, Checks::Strict, Turns::new((2, 1, 1), (2, 3, 1), 0)),
        "divergent barrier: thread (0, 0, 0) waits at `__syncthreads` in wrong.cu:3, and thread (0, 2, 0) \
         has returned"
    );
}

#[test]
fn warps_that_would_wait_for_ever_are_named() {
    let apart = "extern \"C\" __global__ void wrong(unsigned* x) {
        if (threadIdx.x == 5) __syncthreads();
        x[0] = __ballot_sync(0xffffffffu, 1);
    }";
    assert_eq!(
        error_of(apart, Checks::Strict, block(32)),
        "divergent warp: thread (0, 0, 0) waits at `__ballot_sync` in wrong.cu:3 for thread (5, 0, 0), which \
         waits at `__syncthreads` in wrong.cu:2"
    );
    let masks = "extern \"C\" __global__ void wrong(unsigned* x) {
        x[0] = __any_sync(threadIdx.x == 0 ? 3u : 7u, 1);
    }";
    assert_eq!(
        error_of(masks, Checks::Strict, block(3)),
        "divergent warp: thread (0, 0, 0) waits at `__any_sync` in wrong.cu:2 for thread (1, 0, 0), which \
         waits at `__any_sync` in wrong.cu:2, with another mask"
    );
}

#[test]
fn lanes_that_are_not_there_are_not_read() {
    let ended = "extern \"C\" __global__ void wrong(unsigned* x) {
        if (threadIdx.x == 3) return;
        x[threadIdx.x] = __shfl_sync(0xffffffffu, threadIdx.x, 3);
    }";
    let text = error_of(ended, Checks::Strict, block(32));
    let told =
        "`__shfl_sync` in wrong.cu:3: lane 0 reads lane 3, which has ended or which the block does not have";
    assert_eq!(text, told);
    let beyond = "extern \"C\" __global__ void wrong(unsigned* x) {
        x[0] = __shfl_down_sync(0xffffffffu, x[0], 8);
    }";
    let text = error_of(beyond, Checks::Strict, block(20));
    let told = "`__shfl_down_sync` in wrong.cu:2: lane 12 reads lane 20, which has ended or which the block \
                does not have";
    assert_eq!(text, told);
    let masked = "extern \"C\" __global__ void wrong(unsigned* x) {
        x[0] = __shfl_sync(1u, x[0], 0);
    }";
    let text = error_of(masked, Checks::Strict, block(2));
    let told =
        "`__shfl_sync` in wrong.cu:2: thread (1, 0, 0) is lane 1, which its mask 00000001 does not have";
    assert_eq!(text, told);
    // CUDA leaves the value open, so that a text may drop it.
    let open = "extern \"C\" __global__ void open(unsigned* x) {
        x[threadIdx.x] = __shfl_down_sync(0xfu, threadIdx.x, 1);
    }";
    let program = compiled("open.cu", open, &["open"], Checks::Strict);
    let mut x = [0; 4];
    run(&program, "open", block(4), &mut [&mut x]);
    assert_eq!(x, [1, 2, 3, u32::MAX]);
}

#[test]
fn dynamic_shared_memory_has_an_end() {
    let text = "extern \"C\" __global__ void wrong(unsigned*) {
        extern __shared__ unsigned char bytes[];
        bytes[100] = 1;
    }";
    let turns = Turns::new((1, 2, 1), (1, 1, 1), 100);
    let text = error_of(text, Checks::Usual, turns);
    assert_eq!(text, "block (0, 0, 0) has written byte 100 of 100 bytes of dynamic shared memory");
}

#[test]
fn what_cpp_leaves_undefined_is_an_error_where_texts_are_generated() {
    for (statement, told) in [
        (
            "int a = 2147483647, b = int(x[1] + 1); a += b; x[0] = a > 3;",
            "a sum that overflows in wrong.cu:2:",
        ),
        ("x[0] = unsigned(-(int(x[1]) - 2147483647 - 1));", "a negation that overflows in wrong.cu:2:"),
        ("x[0] = 7 / x[1];", "a division by zero or one that overflows in wrong.cu:2:"),
        ("x[0] = 1u << (x[1] + 32);", "a shift that is too far, negative, or of a sign in wrong.cu:2:"),
        ("unsigned a[2] = {1, 2}; x[0] = a[x[1] + 2];", "an index outside of its array in wrong.cu:2:"),
        (
            "unsigned* a = x[1] ? x : nullptr; x[0] = *a;",
            "a null or misaligned pointer, or one to another type in",
        ),
        ("x[0] = unsigned(float(x[1]) - 1.5f);", "a cast of a number that the type does not hold in"),
    ] {
        let text = format!("extern \"C\" __global__ void wrong(unsigned* x) {{\n{statement}\n}}");
        let error = error_of(&text, Checks::Strict, block(1));
        assert!(error.starts_with(&format!("undefined in C++: {told}")), "{error}");
    }
}

#[test]
fn a_loop_without_an_end_is_an_error_where_texts_are_generated() {
    let text = "extern \"C\" __global__ void wrong(unsigned* x) {
        while (x[0] == 0) x[1] += 1;
    }";
    let turns = Turns { steps: 10_000, ..block(2) };
    assert_eq!(error_of(text, Checks::Strict, turns), "the launch has run for more than 10000 steps");
}

#[test]
fn warnings_are_errors_where_texts_are_generated() {
    let text = "extern \"C\" __global__ void unused(unsigned* x) { unsigned y = x[0]; }";
    let program =
        Program { file: "unused.cu", text, kernels: &["unused"], checks: Checks::Strict, flags: &[] };
    let error = OnHost::compile(FOLDER, &program).expect_err("a warning");
    assert!(error.contains("unused.cu:1:") && error.contains("unused variable"), "{error}");
    compiled("unused.cu", text, &["unused"], Checks::Usual);
}

#[test]
fn what_the_headers_do_not_have_is_an_error() {
    for (statement, told) in [
        ("__nanosleep(10);", "__nanosleep"),
        ("asm(\"membar.gl;\");", "no such instruction: `membar.gl'"),
        ("atomicAdd((unsigned long*)x, 1ul);", "atomicAdd"),
        ("extern __shared__ unsigned y;", "not `extern __shared__ T name[];`"),
    ] {
        let text = format!("extern \"C\" __global__ void absent(unsigned* x) {{ {statement} }}");
        let program = Program {
            file: "absent.cu",
            text: &text,
            kernels: &["absent"],
            checks: Checks::Usual,
            flags: &[],
        };
        let error = OnHost::compile(FOLDER, &program).expect_err("it does not compile");
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn launches_that_no_gpu_has_are_refused() {
    let text = "extern \"C\" __global__ void nothing(unsigned*, float) {}";
    let program = compiled("nothing.cu", text, &["nothing"], Checks::Strict);
    let launch = |turns, arguments: &[Argument]| {
        // SAFETY: the kernel does nothing.
        unsafe { program.launch("nothing", turns, arguments) }.map(drop)
    };
    let (pointer, float) = (Argument::pointer::<u32>(std::ptr::null()), Argument::value(&1_f32));
    let both = [pointer.clone(), float.clone()];
    assert_eq!(launch(block(1), &both), Ok(()));
    for (turns, arguments, told) in [
        (Turns::new((0, 1, 1), (1, 1, 1), 0), &both[..], "no grid is 0 x 1 x 1 blocks"),
        (Turns::new((1, 70_000, 1), (1, 1, 1), 0), &both, "no grid is 1 x 70000 x 1 blocks"),
        (block(1025), &both, "no block has 1025 x 1 x 1 threads"),
        (Turns::new((1, 1, 1), (32, 64, 1), 0), &both, "no block has 32 x 64 x 1 threads"),
        (Turns::new((1, 1, 1), (1, 1, 1), 1 << 20), &both, "a block has no 1048576 bytes of shared memory"),
        (block(1), &both[..1], "the kernel has 2 arguments, not 1"),
        (block(1), &[float.clone(), float], "argument 0 has 8 bytes, not 4"),
    ] {
        assert_eq!(launch(turns, arguments), Err(told.to_owned()));
    }
}
