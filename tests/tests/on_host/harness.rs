//! Barriers, warps, shared memory, atomics and faults of the headers that stand for CUDA.

use thalweg_tests::launches::LAUNCHES;
use thalweg_tests::on_host::{Argument, Checks, Fault, OnHost, Outcome, Turns};
use thalweg_tests::random::Random;

use super::compiled;

/// Runs a kernel on arrays of 32-bit numbers.
#[track_caller]
pub fn run(program: &OnHost, kernel: &str, turns: Turns, arrays: &mut [&mut [u32]]) -> Outcome {
    try_to_run(program, kernel, turns, arrays).unwrap_or_else(|error| panic!("{kernel}: {error}"))
}

pub fn try_to_run(
    program: &OnHost,
    kernel: &str,
    turns: Turns,
    arrays: &mut [&mut [u32]],
) -> Result<Outcome, String> {
    let arguments: Vec<_> = arrays.iter_mut().map(|array| Argument::pointer(array.as_mut_ptr())).collect();
    // SAFETY: the texts of these tests stay within their arrays, which are borrowed here alone.
    unsafe { program.launch(kernel, turns, &arguments) }
}

/// One block.
pub fn block(threads: u32) -> Turns {
    Turns::new((1, 1, 1), (threads, 1, 1), 0)
}

/// The first, the last, and any thread goes on first.
pub const ORDERS: [u64; 4] = [0, 1, 2, 99];

#[test]
fn every_thread_runs_once_and_knows_its_place() {
    let text = "extern \"C\" __global__ void count(unsigned* counts) {
        unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        counts[block * blockDim.x * blockDim.y * blockDim.z + thread]++;
    }";
    let program = compiled("count.cu", text, &["count"], Checks::Strict);
    for (grid, block, shared) in LAUNCHES.into_iter().filter(|(grid, ..)| grid.0 < 100) {
        let threads = [grid, block].iter().map(|(x, y, z)| x * y * z).product::<u32>() as usize;
        for order in ORDERS {
            let mut counts = vec![0; threads];
            let outcome =
                run(&program, "count", Turns::new(grid, block, shared).order(order), &mut [&mut counts]);
            assert_eq!(counts, vec![1; threads], "{grid:?} {block:?}");
            assert_eq!(outcome, Outcome { faults: vec![], waits: 0 });
        }
    }
}

/// A rotation by one through shared memory, and the same without the barrier.
const ROTATE: &str = "template <bool wait> __global__ void rotate(unsigned* x) {
    __shared__ unsigned held[64];
    held[threadIdx.x] = x[threadIdx.x];
    if (wait) __syncthreads();
    x[threadIdx.x] = held[(threadIdx.x + 1) % blockDim.x];
}";

#[test]
fn a_barrier_waits_for_all_and_its_lack_shows() {
    let program = compiled("rotate.cu", ROTATE, &["rotate<true>", "rotate<false>"], Checks::Strict);
    let expected: Vec<u32> = (1..64).chain([0]).collect();
    let mut found = Vec::new();
    for order in ORDERS {
        let mut x: Vec<u32> = (0..64).collect();
        let outcome = run(&program, "rotate<true>", block(64).order(order), &mut [&mut x]);
        assert_eq!((&x, outcome.waits), (&expected, 64));
        let mut x: Vec<u32> = (0..64).collect();
        run(&program, "rotate<false>", block(64).order(order), &mut [&mut x]);
        found.push(x);
    }
    // The first thread reads what the second has not yet written; in the other order only the last one does.
    assert!(found.iter().all(|found| *found != expected), "{found:?}");
    assert_ne!(found[0], found[1]);
    assert_eq!(found[0][0], u32::MAX, "nobody has written it");
}

#[test]
fn barriers_count_votes() {
    let text = "extern \"C\" __global__ void votes(unsigned* x, unsigned* y) {
        unsigned i = threadIdx.x;
        y[i] = __syncthreads_count(x[i]) | __syncthreads_or(x[i]) << 16 | __syncthreads_and(x[i]) << 17;
    }";
    let program = compiled("votes.cu", text, &["votes"], Checks::Strict);
    for (x, expected) in [([0, 0, 0], 0), ([0, 8, 1], 2 | 1 << 16), ([1, 2, 3], 3 | 3 << 16)] {
        let (mut x, mut y) = (x, [0; 3]);
        run(&program, "votes", block(3), &mut [&mut x, &mut y]);
        assert_eq!(y, [expected; 3], "{x:?}");
    }
}

#[test]
fn shuffles_and_votes_of_warps_are_those_of_ptx() {
    let text = "extern \"C\" __global__ void lanes(const unsigned* x, const unsigned* by, unsigned* y) {
        unsigned i = threadIdx.x, n = blockDim.x, b = by[i], lanes = n - i / 32 * 32;
        unsigned mask = lanes < 32 ? (1u << lanes) - 1 : 0xffffffffu;
        y[i] = __shfl_sync(mask, x[i], b);
        y[n + i] = __shfl_up_sync(mask, x[i], by[0], 16);
        y[2 * n + i] = __shfl_down_sync(mask, x[i], by[0], 8);
        y[3 * n + i] = __shfl_xor_sync(mask, x[i], by[0]);
        y[4 * n + i] = __ballot_sync(mask, x[i] % 2);
        y[5 * n + i] = __any_sync(mask, x[i] % 2) << 1 | __all_sync(mask, x[i] % 2);
        y[6 * n + i] = unsigned(__shfl_sync(mask, (unsigned long long)x[i] << 32, b) >> 32);
        float f = __shfl_sync(mask, __uint_as_float(x[i]), b);
        y[7 * n + i] = __float_as_uint(f);
        __syncwarp();
    }";
    let program = compiled("lanes.cu", text, &["lanes"], Checks::Strict);
    let mut random = Random::new(1);
    for (n, order) in [(64, 0), (32, 1), (50, 2), (7, 3)] {
        let mut x: Vec<u32> = (0..n).map(|_| random.bits() as u32 & 0x7f7f_ffff).collect();
        // Each reads a lane that is there, and all move by the same distance.
        let warp_end = |i: u32| n.min(i / 32 * 32 + 32) - i / 32 * 32;
        let mut by: Vec<u32> = (0..n).map(|i| random.below(warp_end(i).into()) as u32).collect();
        let mut y = vec![0; 8 * n as usize];
        run(&program, "lanes", block(n).order(order), &mut [&mut x, &mut by, &mut y]);
        let value = |i: u32| *x.get(i as usize).unwrap_or(&u32::MAX);
        for i in 0..n {
            let (first, lane, move_by) = (i / 32 * 32, i % 32, by[0]);
            let named = value(first + by[i as usize]);
            let up = if lane % 16 < move_by { value(i) } else { value(i - move_by) };
            let down = if lane % 8 + move_by > 7 { value(i) } else { value(i + move_by) };
            let warp = first..n.min(first + 32);
            let ballot = warp.clone().map(|other| (value(other) % 2) << (other % 32)).sum::<u32>();
            let (any, all) = (ballot != 0, ballot.count_ones() as usize == warp.len());
            let votes = u32::from(any) << 1 | u32::from(all);
            let expected = [named, up, down, value(first + (lane ^ move_by)), ballot, votes, named, named];
            let found: Vec<u32> = (0..8).map(|part| y[(part * n + i) as usize]).collect();
            assert_eq!(found, expected, "lane {i} of {n}, by {move_by} and {}", by[i as usize]);
        }
    }
}

#[test]
fn parts_of_a_warp_go_their_own_ways() {
    let text = "extern \"C\" __global__ void halves(unsigned* x) {
        unsigned i = threadIdx.x;
        if (i % 2) {
            x[i] = __shfl_xor_sync(0xaaaaaaaau, x[i], 2);
        } else {
            x[i] = __shfl_xor_sync(0x55555555u, x[i], 4);
            if (i < 8) x[i] += __shfl_sync(0x55u, x[i], 0);
        }
    }";
    let program = compiled("halves.cu", text, &["halves"], Checks::Strict);
    for order in ORDERS {
        let mut x: Vec<u32> = (0..32).collect();
        run(&program, "halves", block(32).order(order), &mut [&mut x]);
        let expected = |i: u32| match i {
            i if i % 2 == 1 => i ^ 2,
            // Lane 0 brings what it has got from lane 4.
            i if i < 8 => (i ^ 4) + 4,
            i => i ^ 4,
        };
        assert!((0..32).all(|i| x[i as usize] == expected(i)), "{x:?}");
    }
}

#[test]
fn faults_end_their_threads_and_barriers_get_on_without_them() {
    let text = "extern \"C\" __global__ void faults(unsigned* x, unsigned* y) {
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
        if (x[i] == 1) faulted(10);
        __syncthreads();
        if (x[i] == 2) faulted(20);
        unsigned ones = __ballot_sync(0xffffffffu, 1);
        y[i] = __syncthreads_count(1) << 16 | ones;
        if (x[i] == 3) faulted(30);
        y[i] |= 1u << 31;
    }";
    let program = compiled("faults.cu", text, &["faults"], Checks::Strict);
    for order in ORDERS {
        // 5 lanes in each of 2 blocks.
        let (mut x, mut y) = ([0, 1, 2, 3, 0, 0, 0, 1, 0, 3], [0; 10]);
        let mut faults =
            run(&program, "faults", Turns::new((2, 1, 1), (5, 1, 1), 0).order(order), &mut [&mut x, &mut y])
                .faults;
        faults.sort_unstable();
        let fault = |line, block, thread| Fault { line, block: [block, 0, 0], thread: [thread, 0, 0] };
        assert_eq!(
            faults,
            [fault(10, 0, 1), fault(10, 1, 2), fault(20, 0, 2), fault(30, 0, 3), fault(30, 1, 4)]
        );
        let ended = 1 << 31;
        let [first, second] = [3 << 16 | 0b11001, 4 << 16 | 0b11011];
        assert_eq!(
            y,
            [
                first | ended,
                0,
                0,
                first,
                first | ended,
                second | ended,
                second | ended,
                0,
                second | ended,
                second
            ]
        );
    }
}

#[test]
fn shared_memory_is_of_one_block_and_holds_nothing_at_first() {
    let text = "template <class T> __device__ __forceinline__ T& cell() { __shared__ T value; return value; }
    extern \"C\" __global__ void held(unsigned* x, unsigned* y) {
        __shared__ unsigned fixed[2][2];
        extern __shared__ __align__(16) unsigned free[];
        unsigned size;
        asm(\"mov.u32 %0, %%dynamic_smem_size;\" : \"=r\"(size));
        unsigned b = blockIdx.x;
        x[b] = fixed[1][0] & free[0] & free[size / 4 - 1] & cell<unsigned>();
        fixed[1][0] = free[0] = free[size / 4 - 1] = cell<unsigned>() = b;
        y[b] = size;
    }";
    let program = compiled("held.cu", text, &["held"], Checks::Strict);
    for bytes in [4, 400, 227 << 10] {
        let (mut x, mut y) = ([0; 3], [0; 3]);
        run(&program, "held", Turns::new((3, 1, 1), (1, 1, 1), bytes), &mut [&mut x, &mut y]);
        assert_eq!((x, y), ([u32::MAX; 3], [bytes; 3]));
    }
}

#[test]
fn atomics_are_those_of_cuda() {
    let text = "extern \"C\" __global__ void atomics(unsigned* x) {
        int* i = (int*)(x + 1);
        unsigned long long* wide = (unsigned long long*)(x + 2);
        float* f = (float*)(x + 4);
        double* d = (double*)(x + 6);
        x[16] = atomicAdd(&x[0], 3), x[17] = atomicSub(&x[0], 1), x[18] = atomicExch(&x[0], 12u);
        x[19] = atomicMin(&x[0], 10u), x[20] = atomicMax(&x[0], 11u), x[21] = atomicCAS(&x[0], 11u, 6u);
        x[22] = atomicCAS(&x[0], 11u, 7u), x[23] = atomicAnd(&x[0], 3u), x[24] = atomicOr(&x[0], 8u);
        x[25] = atomicXor(&x[0], 9u), x[26] = atomicInc(&x[0], 3u), x[27] = atomicInc(&x[0], 3u);
        x[28] = atomicDec(&x[0], 5u), x[29] = atomicDec(&x[0], 5u);
        x[30] = atomicMin(i, -5), x[31] = atomicAdd(i, -2147483647);
        atomicAdd(wide, 1ull << 40), atomicMax(wide, 5ull), atomicXor(wide, 1ull);
        atomicAdd(f, 0.5f), atomicAdd(d, 0.25);
    }";
    let program = compiled("atomics.cu", text, &["atomics"], Checks::Strict);
    let mut x = [0_u32; 32];
    x[0] = 5;
    x[1] = (-3_i32) as u32;
    (x[4], x[7]) = (1_f32.to_bits(), (1_f64.to_bits() >> 32) as u32);
    // Pairs are aligned to 8 bytes.
    let mut pairs: Vec<u64> = x.chunks(2).map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32).collect();
    let pointer = Argument::pointer(pairs.as_mut_ptr());
    // SAFETY: the text above stays within 32 numbers.
    unsafe { program.launch("atomics", block(1), &[pointer]) }.expect("it runs");
    let x: Vec<u32> = pairs.iter().flat_map(|&pair| [pair as u32, (pair >> 32) as u32]).collect();
    assert_eq!(x[16..30], [5, 8, 7, 12, 10, 11, 6, 6, 2, 10, 3, 0, 1, 0]);
    assert_eq!((x[0], x[1] as i32), (5, (-5_i32).wrapping_add(-2_147_483_647)));
    assert_eq!([x[30] as i32, x[31] as i32], [-3, -5]);
    assert_eq!(pairs[1], (1 << 40) ^ 1);
    assert_eq!((f32::from_bits(x[4]), f64::from_bits(pairs[3])), (1.5, 1.25));
}

#[test]
fn functions_of_bits_are_those_of_rust() {
    let text = "extern \"C\" __global__ void bits(const unsigned* x, unsigned* y) {
        unsigned a = x[0], b = x[1];
        unsigned long long wide = (unsigned long long)b << 32 | a;
        unsigned long long mirrored = __brevll(wide), high = __umul64hi(wide, ~wide);
        unsigned all[] = {
            (unsigned)__popc(a), (unsigned)__clz(a), __brev(a), (unsigned)__ffs(a), __umulhi(a, b),
            (unsigned)__mulhi((int)a, (int)b), (unsigned)__popcll(wide), (unsigned)__clzll(wide),
            (unsigned)mirrored, (unsigned)(mirrored >> 32), (unsigned)high, (unsigned)(high >> 32),
            min(a, b), max(a, b), (unsigned)min((int)a, (int)b), (unsigned)max((int)a, (int)b),
            __float2uint_rn(__uint_as_float(a)), (unsigned)__float2int_rz(__uint_as_float(b)),
        };
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++) y[i] = all[i];
    }";
    let program = compiled("bits.cu", text, &["bits"], Checks::Strict);
    let mut random = Random::new(2);
    for round in 0..2000 {
        let mut bits = || random.bits() as u32 >> random.below(32) as u32;
        let [a, b] = match round {
            0 => [0, 0],
            1 => [u32::MAX; 2],
            2 => [1.5_f32.to_bits(), (-2.9_f32).to_bits()],
            _ => [bits(), bits()],
        };
        let mut y = [0; 18];
        run(&program, "bits", block(1), &mut [&mut [a, b], &mut y]);
        let wide = u64::from(b) << 32 | u64::from(a);
        let (mirrored, high) = (wide.reverse_bits(), ((u128::from(wide) * u128::from(!wide)) >> 64) as u64);
        let (signed_a, signed_b) = (a as i32, b as i32);
        let expected = [
            a.count_ones(),
            a.leading_zeros(),
            a.reverse_bits(),
            if a == 0 { 0 } else { a.trailing_zeros() + 1 },
            ((u64::from(a) * u64::from(b)) >> 32) as u32,
            ((i64::from(signed_a) * i64::from(signed_b)) >> 32) as u32,
            wide.count_ones(),
            wide.leading_zeros(),
            mirrored as u32,
            (mirrored >> 32) as u32,
            high as u32,
            (high >> 32) as u32,
            a.min(b),
            a.max(b),
            signed_a.min(signed_b) as u32,
            signed_a.max(signed_b) as u32,
            // Casts of Rust saturate.
            f32::from_bits(a).round_ties_even() as u32,
            f32::from_bits(b) as i32 as u32,
        ];
        assert_eq!(y, expected, "{a:#x}, {b:#x}");
    }
}
