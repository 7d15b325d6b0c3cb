//! A process that is forked from a rank.

use std::time::{Duration, Instant};

use super::*;

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

const WNOHANG: i32 = 1;

#[test]
fn a_forked_process_is_none_of_the_ranks() {
    for kind in KINDS {
        let mut world = world(kind, 2, limits());
        let gathering = world[1].gather("before", b"");
        // SAFETY: the child only asks these questions, which take no lock that another thread of the parent
        // could have, and ends without returning.
        let child = unsafe { fork() };
        assert!(child >= 0, "no process");
        if child == 0 {
            let forked = "this process was forked from a rank of a world and is none of its ranks";
            let is_refused = |text: String| text.starts_with(forked);
            let is_right = is_refused(
                world[0].gather("a", b"").wait().map_or_else(|error| error.to_string(), |_| String::new()),
            ) && world[0]
                .exchange(&[], &mut [])
                .is_err_and(|error| is_refused(error.to_string()))
                && gathering.is_over()
                && gathering.wait().is_err_and(|error| is_refused(error.to_string()))
                && world[1].failure().is_some_and(|error| is_refused(error.to_string()));
            // Nothing of this is to reach the other ranks.
            world[0].fail("a child");
            drop(world);
            // SAFETY: it may be called at any time.
            unsafe { _exit(i32::from(!is_right)) }
        }
        let (start, mut status) = (Instant::now(), 0);
        // SAFETY: `status` is a place for the result, and the child is this process's own.
        while unsafe { waitpid(child, &mut status, WNOHANG) } == 0 {
            assert!(start.elapsed() < LONG, "the child waits for ever");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(status, 0, "{kind:?}");
        // The world goes on.
        let other = world[0].gather("before", b"");
        assert_eq!(gathering.wait().expect("both have come").len(), 2);
        assert_eq!(other.wait().expect("both have come").len(), 2);
        world.clear();
    }
}
