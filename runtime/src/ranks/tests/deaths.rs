//! Ranks whose connections end without a goodbye.

use std::time::{Duration, Instant};

use super::*;

/// What the last rank gets when this one dies while all wait.
fn death(n: usize, dying: usize) -> Vec<String> {
    run(Kind::Sockets, n, limits(), |members| {
        members.gather("run 1", b"").wait().expect("all come");
        if members.rank() == dying {
            members.link().die();
            return String::new();
        }
        text(members.gather("run 2", b"").wait())
    })
}

#[test]
fn the_death_of_a_rank_is_noticed_by_all() {
    for dying in [0, 1, 3] {
        for (rank, text) in death(4, dying).into_iter().enumerate().filter(|(rank, _)| *rank != dying) {
            assert_eq!(text, format!("{} has died", named(dying)), "{rank}");
        }
    }
}

#[test]
fn a_death_is_noticed_by_ranks_that_wait_for_nothing() {
    for dying in [0, 2] {
        let world = world(Kind::Sockets, 3, limits());
        world[dying].link().die();
        for members in world.iter().filter(|members| members.rank() != dying) {
            let start = Instant::now();
            while members.failure().is_none() {
                assert!(start.elapsed() < LONG);
                std::thread::sleep(Duration::from_millis(1));
            }
            let text = members.failure().map(|failure| failure.to_string());
            assert_eq!(text, Some(format!("{} has died", named(dying))));
        }
    }
}

#[test]
fn a_death_at_any_moment_ends_everybody_within_seconds() {
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    for moment in 0..50_usize {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let (dying, after) = (moment % 4, Duration::from_micros(random % 3000));
        let start = Instant::now();
        let texts = run(Kind::Sockets, 4, limits(), |members| {
            let (rank, n) = (members.rank(), members.size());
            std::thread::scope(|scope| {
                if rank == dying {
                    let members = &members;
                    scope.spawn(move || {
                        std::thread::sleep(after);
                        members.link().die();
                    });
                }
                let sent = vec![7; 50_000];
                let mut received = vec![0; 50_000];
                loop {
                    if let Err(error) = members.gather("run", &sent[..100]).wait() {
                        return error.to_string();
                    }
                    let (sends, mut receives) =
                        ([((rank + 1) % n, &sent[..])], [((rank + n - 1) % n, &mut received[..])]);
                    if let Err(error) = members.exchange(&sends, &mut receives) {
                        return error.to_string();
                    }
                }
            })
        });
        assert!(start.elapsed() < Duration::from_secs(20), "{moment}: {:?}", start.elapsed());
        for (rank, text) in texts.iter().enumerate().filter(|(rank, _)| *rank != dying) {
            assert_eq!(*text, format!("{} has died", named(dying)), "moment {moment}, rank {rank}");
        }
    }
}
