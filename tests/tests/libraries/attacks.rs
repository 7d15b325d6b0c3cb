//! Attacks on library routines, and on the state that routines keep from call to call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::sim::Simulation;
use thalweg_libraries::cublas::{self, Batch, Gemm, Gemv};
use thalweg_libraries::cudnn::{self, Activation};
use thalweg_libraries::cufft::{self, Complex, Fft};

fn simulated() -> Device {
    Device::simulated(Simulation::default())
}

fn first_line(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

type Routine = fn(
    &Enqueue<'_>,
    DeviceSlice<'_, f32>,
    DeviceSlice<'_, f32>,
    DeviceSliceMut<'_, f32>,
) -> thalweg::Result<()>;

fn attack(
    queue: &Enqueue<'_>,
    routine: Routine,
    a: DeviceSlice<'_, f32>,
    b: DeviceSlice<'_, f32>,
    c: DeviceSliceMut<'_, f32>,
) -> thalweg::Result<()> {
    routine(queue, a, b, c)
}

fn attack_out(
    queue: &Enqueue<'_>,
    routine: OutRoutine,
    a: DeviceSlice<'_, f32>,
    b: DeviceSlice<'_, f32>,
    c: DeviceSliceOut<'_, f32>,
) -> thalweg::Result<()> {
    routine(queue, a, b, c)
}

type OutRoutine = fn(
    &Enqueue<'_>,
    DeviceSlice<'_, f32>,
    DeviceSlice<'_, f32>,
    DeviceSliceOut<'_, f32>,
) -> thalweg::Result<()>;

stream_pipeline! {
    /// One call of a routine on slices of any lengths.
    pipeline Attacked {
        param routine: Routine;
        param len: usize;
        resident a: [f32];
        resident b: [f32];
        inout c: [f32; len];
        chunk n = 1;
        stage all { copy c -> dc; call attack(routine, &a, &b, &mut dc); copy dc -> c; }
    }
}

stream_pipeline! {
    pipeline AttackedOut {
        param routine: OutRoutine;
        param len: usize;
        resident a: [f32];
        resident b: [f32];
        output c: [f32; len];
        device dc: [f32; len];
        chunk n = 1;
        stage all { call attack_out(routine, &a, &b, out dc); copy dc -> c; }
    }
}

fn run(device: &Device, a: &[f32], b: &[f32], c: &mut [f32], routine: Routine) -> thalweg::Result<()> {
    let len = c.len();
    Attacked::new(device)?.run(routine, len, a, b, c).map(|_| ())
}

fn run_out(device: &Device, a: &[f32], b: &[f32], c: &mut [f32], routine: OutRoutine) -> thalweg::Result<()> {
    let len = c.len();
    AttackedOut::new(device)?.run(routine, len, a, b, c).map(|_| ())
}

/// The heads of attention: each product is some of the columns of one matrix.
fn products_side_by_side(device: &Device) {
    // These are two products, 3 x 1 by 1 x 2, beside each other in a matrix of 3 rows of 4.
    let (a, b) = ([1.0, 2.0, 3.0], [1.0, 10.0, 100.0, 1000.0]);
    let expected = [1.0, 10.0, 100.0, 1000.0, 2.0, 20.0, 200.0, 2000.0, 3.0, 30.0, 300.0, 3000.0];
    let mut c = [f32::NAN; 12];
    run(device, &a, &b, &mut c, |queue, a, b, c| {
        let batch = Batch::new(2).stride_a(0).stride_b(2).stride_c(2);
        cublas::gemm_batched(queue, Gemm::new(3, 2, 1).ldc(4), batch, 1.0, a, b, 0.0, c)
    })
    .expect("no two of them overlap");
    assert_eq!(c, expected);
    let mut c = [f32::NAN; 12];
    run_out(device, &a, &b, &mut c, |queue, a, b, c| {
        let batch = Batch::new(2).stride_a(0).stride_b(2).stride_c(2);
        cublas::gemm_batched_out(queue, Gemm::new(3, 2, 1).ldc(4), batch, 1.0, a, b, c)
    })
    .expect("all of it is written");
    assert_eq!(c, expected);
    // With `k` 0 only the scaling is left, of one result after another.
    let mut c = [1.0; 12];
    run(device, &[], &[], &mut c, |queue, a, b, c| {
        let batch = Batch::new(2).stride_c(2);
        cublas::gemm_batched(queue, Gemm::new(3, 2, 0).ldc(4), batch, 1.0, a, b, 3.0, c)
    })
    .expect("no two of them overlap");
    assert_eq!(c, [3.0; 12]);
}

#[test]
fn products_of_a_batch_may_stand_side_by_side() {
    products_side_by_side(&simulated());
}

#[test]
#[ignore = "needs a CUDA device"]
fn products_of_a_batch_may_stand_side_by_side_on_a_gpu() {
    products_side_by_side(&Device::cuda(0).expect("a GPU"));
}

#[test]
fn products_of_a_batch_that_overlap_are_refused() {
    let (a, b) = ([1.0; 3], [1.0; 12]);
    let error = run(&simulated(), &a, &b, &mut [0.0; 12], |queue, a, b, c| {
        let batch = Batch::new(2).stride_a(0).stride_b(2).stride_c(1);
        cublas::gemm_batched(queue, Gemm::new(3, 2, 1).ldc(4), batch, 1.0, a, b.get(..4).unwrap(), 0.0, c)
    })
    .expect_err("a column is in both");
    let text = "`gemm_batched`: the stride of `c` is 1, but it must be at least the 10 elements of a matrix";
    assert_eq!(first_line(&error), text);
    let error = run(&simulated(), &a, &b, &mut [0.0; 16], |queue, a, b, c| {
        let batch = Batch::new(3).stride_a(0).stride_b(2).stride_c(2);
        cublas::gemm_batched(queue, Gemm::new(3, 2, 1).ldc(5), batch, 1.0, a, b.get(..6).unwrap(), 0.0, c)
    })
    .expect_err("the last one ends where the first one's next row has begun");
    let text = "`gemm_batched`: the stride of `c` is 2, but it must be at least the 12 elements of a matrix";
    assert_eq!(first_line(&error), text);
}

#[test]
fn a_result_with_gaps_is_no_whole_one() {
    let error = run_out(&simulated(), &[1.0; 2], &[1.0; 4], &mut [0.0; 8], |queue, a, b, c| {
        cublas::gemm_out(queue, Gemm::new(2, 4, 1).ldc(6), 1.0, a, b, c)
    })
    .expect_err("there is something between the rows");
    let text =
        "`gemm_out`: the leading dimension of `c` is 6, but it must be its 4 columns: all of it is written";
    assert_eq!(first_line(&error), text);
    let error = run_out(&simulated(), &[1.0; 4], &[1.0; 4], &mut [0.0; 8], |queue, a, b, c| {
        cublas::gemm_batched_out(queue, Gemm::new(2, 2, 1), Batch::new(2).stride_c(5), 1.0, a, b, c)
    })
    .expect_err("there is something between the matrices");
    let text = "`gemm_batched_out`: the stride of `c` is 5, but it must be the 4 elements of a matrix: all of it is written";
    assert_eq!(first_line(&error), text);
    let error = run_out(&simulated(), &[1.0; 2], &[1.0; 4], &mut [0.0; 7], |queue, a, b, d| {
        cublas::matmul(queue, Gemm::new(2, 4, 1), 1.0, a, b, d)
    })
    .expect_err("an element is missing");
    assert_eq!(
        first_line(&error),
        "`matmul`: `d` is m x n = 2 x 4, which takes 8 elements, but it has 7, of buffer `dc`"
    );
}

#[test]
fn errors_name_the_buffer_whose_part_was_given() {
    let run = |routine| {
        let error = run(&simulated(), &[1.0; 6], &[1.0; 4], &mut [0.0; 4], routine).expect_err("too few");
        first_line(&error)
    };
    let text = run(|queue, a, b, c| {
        cublas::gemm(queue, Gemm::new(2, 2, 2), 1.0, a.get(..4).unwrap(), b.get(1..2).unwrap(), 0.0, c)
    });
    assert_eq!(text, "`gemm`: `b` is k x n = 2 x 2, which takes 4 elements, but it has 1, of buffer `b`");
    let text = run(|queue, a, b, c| {
        // The last one is `a`, which routines call by another name.
        cublas::gemm(queue, Gemm::new(2, 2, 2), 1.0, b, a.get(5..).unwrap(), 0.0, c)
    });
    assert_eq!(text, "`gemm`: `b` is k x n = 2 x 2, which takes 4 elements, but it has 1, of buffer `a`");
    let text = run(|queue, _, b, y| cudnn::bias(queue, 3, b.get(..1).unwrap(), y));
    assert_eq!(text, "`bias`: `y` is 1 x 1 x 3, which takes 3 elements, but it has 4, of buffer `dc`");
    let text =
        run(|queue, a, b, y| cublas::gemv(queue, Gemv::new(4, 1), 1.0, a.get(..4).unwrap(), b, 0.0, y));
    assert_eq!(text, "`gemv`: `x` is a vector = 1 x 1, which takes 1 element, but it has 4, of buffer `b`");
    // An argument without elements is in no buffer.
    let text =
        run(|queue, a, b, c| cublas::gemm(queue, Gemm::new(2, 2, 2), 1.0, a.get(6..).unwrap(), b, 0.0, c));
    assert!(text.starts_with("`gemm`: `a` is m x k = 2 x 2, which takes 4 elements, but it has 0"), "{text}");
}

fn rows_alone(device: &Device) {
    let routines: [OutRoutine; 3] = [
        |queue, a, b, d| cublas::matmul(queue, Gemm::new(1, 1, 3).lda(usize::MAX), 1.0, a, b, d),
        |queue, a, b, d| cublas::matmul(queue, Gemm::new(1, 1, 3).lda(usize::MAX / 2 + 1), 1.0, a, b, d),
        |queue, a, b, d| {
            cublas::matmul(queue, Gemm::new(1, 1, 3).transpose_b().ldb(usize::MAX / 5), 1.0, a, b, d)
        },
    ];
    for routine in routines {
        let mut d = [0.0];
        run_out(device, &[1.0; 3], &[2.0; 3], &mut d, routine).expect("there is no next row");
        assert_eq!(d, [6.0]);
    }
}

#[test]
fn a_row_alone_may_have_any_leading_dimension() {
    rows_alone(&simulated());
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_row_alone_may_have_any_leading_dimension_on_a_gpu() {
    rows_alone(&Device::cuda(0).expect("a GPU"));
}

#[test]
fn a_ceiling_below_the_floor_is_refused() {
    let run = |routine| run(&simulated(), &[], &[], &mut [-1.0, 0.0, 2.0], routine);
    let error = run(|queue, _, _, y| cudnn::activation(queue, Activation::ClippedRelu { ceiling: -1.5 }, y))
        .expect_err("below 0");
    assert_eq!(first_line(&error), "`activation` failed: the ceiling is -1.5, but it must be at least 0");
    assert_eq!((error.place().stage, error.place().chunk), (Some("all"), Some(0)));
    run(|queue, _, _, y| cudnn::activation(queue, Activation::ClippedRelu { ceiling: f32::NAN }, y))
        .expect_err("no number");
    run(|queue, _, _, y| cudnn::activation(queue, Activation::ClippedRelu { ceiling: 0.0 }, y))
        .expect("the floor itself");
}

/// Transforms of no elements, of any size.
fn nothing(
    queue: &Enqueue<'_>,
    which: usize,
    mut x: DeviceSliceMut<'_, Complex<f32>>,
) -> thalweg::Result<()> {
    let Some(none) = x.get_mut(..0) else { unreachable!() };
    let fft =
        [Fft::c2c(1 << 60).batch(0), Fft::c2c([0, 1 << 60]), Fft::c2c([2, usize::MAX, usize::MAX]).batch(0)];
    cufft::forward_in_place(queue, fft[which], none)
}

stream_pipeline! {
    pipeline Nothing {
        param which: usize;
        inout x: [Complex<f32>];
        chunk c = 16;
        stage all { copy x -> dx; call nothing(which, &mut dx); copy dx -> x; }
    }
}

#[test]
fn transforms_of_nothing_take_no_time() {
    for which in 0..3 {
        let mut x = [Complex::new(1.0, 2.0); 20];
        Nothing::new(&simulated()).unwrap().run(which, &mut x).expect("nothing to do");
        assert_eq!(x, [Complex::new(1.0, 2.0); 20]);
    }
}

/// A value that is kept, and what its destructor or its routine does.
struct Kept {
    dropped: Arc<AtomicUsize>,
    does: Does,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Does {
    Panic,
    Run,
    Forget,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
        match self.does {
            Does::Panic => panic!("in the destructor of what is kept"),
            Does::Run => {
                let mut x = [Complex::default(); 3];
                Nothing::new(&simulated()).unwrap().run(0, &mut x).unwrap();
            }
            Does::Forget => {}
        }
    }
}

fn keep(
    queue: &Enqueue<'_>,
    dropped: Arc<AtomicUsize>,
    does: Does,
    x: DeviceSliceMut<'_, f32>,
) -> thalweg::Result<()> {
    let state = queue.state(|| Ok(Kept { dropped, does }))?;
    if does == Does::Forget {
        std::mem::forget(state);
    }
    queue.simulate((x,), |(x,)| x.fill(1.0))
}

stream_pipeline! {
    pipeline Keep {
        param dropped: Arc<AtomicUsize>;
        param does: Does;
        inout x: [f32];
        chunk c = 3;
        depth = 2;
        stage all { copy x -> dx; call keep(Arc::clone(&dropped), does, &mut dx); copy dx -> x; }
    }
}

#[test]
fn what_is_kept_may_panic_or_run_a_pipeline_when_it_goes() {
    for does in [Does::Panic, Does::Run] {
        let dropped = Arc::new(AtomicUsize::new(0));
        let mut keep = Keep::new(&simulated()).unwrap();
        let mut x = [0.0; 7];
        keep.run(Arc::clone(&dropped), does, &mut x).unwrap();
        assert_eq!((x, dropped.load(Ordering::Relaxed)), ([1.0; 7], 0));
        // Two panics at once would end the process.
        let gone = catch_unwind(AssertUnwindSafe(|| drop(keep)));
        assert_eq!((gone.is_ok(), dropped.load(Ordering::Relaxed)), (true, 2), "{does:?}");
    }
}

#[test]
fn what_a_routine_has_forgotten_is_in_use_until_the_run_ends() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let mut keep = Keep::new(&simulated()).unwrap();
    for _ in 0..2 {
        let error = keep.run(Arc::clone(&dropped), Does::Forget, &mut [0.0; 7]).unwrap_err();
        assert!(matches!(error.detail(), Detail::StateInUse { .. }), "{error}");
        assert_eq!(error.place().chunk, Some(2), "both slots' are taken");
    }
    keep.run(Arc::clone(&dropped), Does::Forget, &mut [0.0; 6]).expect("each slot is used once");
    drop(keep);
    assert_eq!(dropped.load(Ordering::Relaxed), 0, "they are leaked");
}
