//! The runtime's own threads, checked as the user's streams are: every interleaving of a few of them.
//!
//! The files with the protocols are compiled here a second time, below modules of the same names, with the
//! types of the model checker loom in place of the standard library's (`base::sync`). What they carry is
//! replaced by something small that loom can see: slots, a driver, a clock. loom then runs each model with
//! every order of its threads' steps, up to a number of preemptions, and with every value that a load may
//! return by the memory model. It reports a thread that waits for ever, an access to a slot that nothing
//! orders with another one, and whatever the model itself asserts.
//!
//! loom treats a load that is `SeqCst` like one that acquires. So the protocols order their accesses by
//! fences, which it knows.

extern crate bytemuck_itself as bytemuck;

mod backends;
mod base;
mod driver;
mod exchange;

/// Runs a model in every order with at most this number of preemptions: apart from them, a thread goes on
/// until it blocks, ends or yields.
fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    check_some(preemptions, usize::MAX, model);
}

/// The same for a model with too many orders: it runs this number of them.
fn check_some(preemptions: usize, executions: usize, model: impl Fn() + Sync + Send + 'static) {
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (counted, start) = (std::sync::Arc::clone(&runs), std::time::Instant::now());
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_permutations = Some(executions);
    // The limit is checked this often.
    builder.checkpoint_interval = 1000;
    builder.check(move || {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        base::sync::reset();
        model();
    });
    let runs = runs.load(std::sync::atomic::Ordering::Relaxed);
    println!("{runs} executions in {:.1} s", start.elapsed().as_secs_f64());
}
