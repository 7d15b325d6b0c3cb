//! [`Crews`]: pools of threads on which host bodies and functions run.
//!
//! A body may use rayon. On a thread of the caller's pool, a body that waits would steal other tasks of that
//! pool. One of these may run another pipeline on the same device, and so wait for the very body below it on
//! the stack. And if all threads of the pool wait for the device, the body's own tasks would find no thread.
//! So each body has a pool to itself while it runs, a crew: its tasks stay among themselves, and the caller
//! sleeps. In a pool that two bodies shared, a body that waits for a task might have the other body on its
//! own stack, and bodies that meet would need as many threads as there are bodies.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// What runs on a crew.
type Body = Box<dyn FnOnce() + Send + 'static>;

/// How long a body waits for a thread of its crew. Endless tasks of an earlier body may occupy all of its
/// threads. And how long bodies that take turns wait for one that is running, which may wait for them.
const PATIENCE: Duration = Duration::from_millis(50);

// Note 43: a body has a pool to itself while it runs.
/// Crews of the same size, as many as bodies run at the same time.
pub(crate) struct Crews {
    /// What the names of their threads begin with.
    name: &'static str,
    /// The threads of a crew; 0 for as many as there are cores.
    threads: usize,
    /// Whether a body waits for another one to end, unless that takes long: then there is one crew.
    takes_turns: bool,
    state: Mutex<State>,
    /// Signalled when a body has ended.
    ended: Condvar,
}

struct State {
    idle: Vec<ThreadPool>,
    /// The bodies that run, by number, and when they began. Empty unless they take turns.
    running: Vec<(u64, Instant)>,
    /// The number of bodies so far.
    begun: u64,
}

/// The crews of bodies that run at once. They have a thread for each core.
pub(crate) static AT_ONCE: Crews = Crews::new("thalweg-host", 0, false);

thread_local! {
    static IS_IN_CREW: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread runs a host body, or a task of one.
pub(crate) fn is_inside() -> bool {
    IS_IN_CREW.get()
}

/// The calling thread runs nothing but bodies and tasks of them.
pub(crate) fn enter() {
    IS_IN_CREW.set(true);
}

/// Runs a body on the calling thread, which may not wait for a device meanwhile.
pub(crate) fn run_here(body: impl FnOnce()) -> thread::Result<()> {
    let was_inside = IS_IN_CREW.replace(true);
    // Anything that a body has left half-done is the user's data, about which a failed run promises nothing.
    let outcome = catch_unwind(AssertUnwindSafe(body));
    IS_IN_CREW.set(was_inside);
    outcome
}

impl Crews {
    /// Crews of so many threads each; 0 for as many as there are cores.
    pub(crate) const fn new(name: &'static str, threads: usize, takes_turns: bool) -> Self {
        let state = State { idle: Vec::new(), running: Vec::new(), begun: 0 };
        Self { name, threads, takes_turns, state: Mutex::new(state), ended: Condvar::new() }
    }

    /// The threads of a crew; 0 for as many as there are cores.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code of the user's runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until another body may begin, and notes that one does. The result has its number.
    fn take_turn(&self) -> (u64, MutexGuard<'_, State>) {
        let mut state = self.state();
        while let Some(left) = state.until_turn().filter(|_| self.takes_turns) {
            (state, _) = self.ended.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
        state.begun += 1;
        let number = state.begun;
        if self.takes_turns {
            state.running.push((number, Instant::now()));
        }
        (number, state)
    }

    /// The number of a body that begins, and an idle crew or a new one. `None` if the system gives no
    /// threads.
    fn begin(&self) -> (u64, Option<ThreadPool>) {
        let (number, mut state) = self.take_turn();
        // The crew that worked last comes first, since its threads may still be awake.
        let idle = state.idle.pop();
        drop(state);
        (number, idle.or_else(|| self.new_crew()))
    }

    /// Notes that a body has ended, whose crew is idle again.
    fn end(&self, number: u64, crew: Option<ThreadPool>) {
        let mut state = self.state();
        state.idle.extend(crew);
        state.running.retain(|(running, _)| *running != number);
        drop(state);
        if self.takes_turns {
            self.ended.notify_one();
        }
    }

    fn new_crew(&self) -> Option<ThreadPool> {
        let name = self.name;
        let builder = ThreadPoolBuilder::new().num_threads(self.threads);
        let builder = builder.thread_name(move |index| format!("{name}-{index}"));
        builder.start_handler(|_| enter()).build().ok()
    }

    /// Runs a body on the calling thread when it may begin.
    pub(crate) fn run_here(&self, body: impl FnOnce()) -> thread::Result<()> {
        let (number, state) = self.take_turn();
        drop(state);
        let outcome = run_here(body);
        self.end(number, None);
        outcome
    }

    /// Runs a body and waits for it.
    pub(crate) fn run(&self, body: Body) -> thread::Result<()> {
        let (number, crew) = self.begin();
        // If the system gives no threads, the body runs on the caller's thread, and may not wait there
        // either.
        let Some(crew) = crew else {
            let outcome = run_here(body);
            self.end(number, None);
            return outcome;
        };
        let (outcome, crew) = self.run_on(crew, body);
        self.end(number, Some(crew));
        outcome
    }

    /// Runs a body on a crew, or on another one if that has no thread. The result is the crew that has run
    /// it.
    fn run_on(&self, mut crew: ThreadPool, body: Body) -> (thread::Result<()>, ThreadPool) {
        let (done, result) = mpsc::sync_channel::<Result<(), Box<dyn Any + Send>>>(1);
        // Whoever takes the body first carries it out.
        let waiting = Arc::new(Mutex::new(Some(move || {
            // The receiver waits below, so it exists.
            let _ = done.send(run_here(body));
        })));
        loop {
            let its = Arc::clone(&waiting);
            crew.spawn(move || taken(&its).into_iter().for_each(|body| body()));
            let outcome = match result.recv_timeout(PATIENCE) {
                Err(RecvTimeoutError::Timeout) if is_there(&waiting) => {
                    // The threads of the other crew end with their tasks.
                    match self.new_crew() {
                        Some(next) => crew = next,
                        None => taken(&waiting).into_iter().for_each(|body| body()),
                    }
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => result.recv().unwrap_or(Ok(())),
                outcome => outcome.unwrap_or(Ok(())),
            };
            return (outcome, crew);
        }
    }
}

impl State {
    /// The time until another body may begin: as long as one is running that has begun lately. `None` if it
    /// may begin now.
    fn until_turn(&self) -> Option<Duration> {
        let left = |(_, since): &(u64, Instant)| PATIENCE.checked_sub(since.elapsed());
        self.running.iter().filter_map(left).filter(|left| !left.is_zero()).min()
    }
}

fn taken<F>(body: &Mutex<Option<F>>) -> Option<F> {
    body.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn is_there<F>(body: &Mutex<Option<F>>) -> bool {
    body.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_that_take_turns_do_not_overlap_unless_one_takes_long() {
        static CREWS: Crews = Crews::new("thalweg-test", 2, true);
        let (tell, told) = mpsc::channel();
        let bodies = [(); 4].map(|()| {
            let tell = tell.clone();
            thread::spawn(move || {
                CREWS.run(Box::new(move || {
                    tell.send(true).expect("it is received");
                    thread::sleep(Duration::from_millis(5));
                    tell.send(false).expect("it is received");
                }))
            })
        });
        bodies.into_iter().for_each(|body| body.join().expect("no panic").expect("no panic"));
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [true, false].repeat(4));
        assert_eq!(CREWS.state().idle.len(), 1, "there is one crew");

        // A body that waits for another one does so in vain for a while only.
        let (meet, met) = mpsc::channel();
        let waits = thread::spawn(move || CREWS.run(Box::new(move || met.recv().expect("the other comes"))));
        while CREWS.state().running.is_empty() {
            thread::yield_now();
        }
        CREWS.run(Box::new(move || meet.send(()).expect("it waits"))).expect("no panic");
        waits.join().expect("no panic").expect("no panic");
    }

    #[test]
    fn a_body_has_the_threads_of_its_crew_and_may_not_wait() {
        static CREWS: Crews = Crews::new("thalweg-test", 3, true);
        let (tell, told) = mpsc::channel();
        CREWS
            .run(Box::new(move || {
                let name = thread::current().name().map(str::to_owned);
                tell.send((rayon::current_num_threads(), is_inside(), name)).expect("it is received");
            }))
            .expect("no panic");
        let (threads, inside, name) = told.recv().expect("it was sent");
        assert!(name.is_some_and(|name| name.starts_with("thalweg-test-")));
        assert_eq!((threads, inside, is_inside()), (3, true, false));
        run_here(|| assert!(is_inside())).expect("no panic");
        assert!(run_here(|| panic!("no")).is_err() && !is_inside());
    }

    /// All threads of the first crew are occupied for good.
    #[test]
    fn endless_tasks_of_a_body_do_not_hold_up_the_next() {
        static CREWS: Crews = Crews::new("thalweg-test", 1, false);
        let (end, ends) = mpsc::channel::<()>();
        let ends = Mutex::new(ends);
        CREWS
            .run(Box::new(move || rayon::spawn(move || drop(ends.lock().map(|ends| ends.recv())))))
            .expect("no panic");
        CREWS.run(Box::new(|| {})).expect("no panic");
        drop(end);
    }
}
