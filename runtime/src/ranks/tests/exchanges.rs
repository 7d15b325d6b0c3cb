//! Data between ranks, over loopback and in one process.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::*;

/// Bytes that tell who has sent them to whom.
fn data(from: usize, to: usize, round: usize, length: usize) -> Vec<u8> {
    (0..length).map(|i| u8::try_from((i * 7 + from * 31 + to * 17 + round) % 251).expect("a byte")).collect()
}

/// Every rank sends to every rank, itself included, and receives from all of them.
fn all_to_all(members: &Members, round: usize, length: usize) {
    let (rank, n) = (members.rank(), members.size());
    let sent: Vec<_> = (0..n).map(|to| data(rank, to, round, length + to)).collect();
    let mut received: Vec<_> = (0..n).map(|_| vec![0; length + rank]).collect();
    let sends: Vec<_> = sent.iter().enumerate().map(|(to, bytes)| (to, &bytes[..])).collect();
    let mut receives: Vec<_> =
        received.iter_mut().enumerate().map(|(from, bytes)| (from, &mut bytes[..])).collect();
    members.exchange(&sends, &mut receives).expect("all take part");
    for (from, bytes) in received.iter().enumerate() {
        assert!(*bytes == data(from, rank, round, length + rank), "rank {rank} from {from} in round {round}");
    }
}

#[test]
fn all_to_all_stands_still_at_no_size() {
    for kind in KINDS {
        for (n, lengths) in
            [(1, vec![0, 5]), (2, vec![0, 1, 3 << 20]), (4, vec![0, 1, 1000, 1 << 20]), (9, vec![100])]
        {
            run(kind, n, limits(), |members| {
                for (round, &length) in lengths.iter().enumerate() {
                    all_to_all(&members, round, length);
                }
            });
        }
    }
}

#[test]
fn messages_between_two_ranks_keep_their_order() {
    for kind in KINDS {
        run(kind, 2, limits(), |members| {
            let other = 1 - members.rank();
            let sent: Vec<_> = (0..20).map(|i| data(members.rank(), other, i, i * 3000)).collect();
            let mut received: Vec<_> = (0..20).map(|i| vec![0; i * 3000]).collect();
            let sends: Vec<_> = sent.iter().map(|bytes| (other, &bytes[..])).collect();
            let mut receives: Vec<_> = received.iter_mut().map(|bytes| (other, &mut bytes[..])).collect();
            members.exchange(&sends, &mut receives).expect("both take part");
            for (i, bytes) in received.iter().enumerate() {
                assert!(*bytes == data(other, members.rank(), i, i * 3000), "{kind:?} {i}");
            }
        });
    }
}

#[test]
fn a_ring_goes_round_many_times() {
    for kind in KINDS {
        run(kind, 5, limits(), |members| {
            let (rank, n) = (members.rank(), members.size());
            let mut token = vec![rank];
            for _ in 0..50 {
                let sent: Vec<u8> = token.iter().map(|&rank| u8::try_from(rank).expect("small")).collect();
                let mut received = [0];
                members
                    .exchange(&[((rank + 1) % n, &sent)], &mut [((rank + n - 1) % n, &mut received)])
                    .expect("a ring");
                token = received.iter().map(|&rank| usize::from(rank)).collect();
            }
            assert_eq!(token, [rank], "{kind:?}: 50 steps of 5 ranks end where they began");
        });
    }
}

#[test]
fn messages_that_are_not_expected_are_told_to_both() {
    for kind in KINDS {
        let texts = run(kind, 2, limits(), |members| {
            let mut room = [0; 400];
            match members.rank() {
                0 => {
                    members.exchange(&[(1, &[1, 2])], &mut []).expect("rank 1 has room for it");
                    let sent =
                        members.exchange(&[(1, &[0; 800])], &mut []).err().map(|error| error.to_string());
                    sent.unwrap_or_else(|| {
                        members.gather("the end", b"").wait().expect_err("rank 1 fails").to_string()
                    })
                }
                _ => {
                    members.exchange(&[], &mut [(0, &mut room[..2])]).expect("rank 0 sends it");
                    members.exchange(&[], &mut [(0, &mut room)]).expect_err("rank 0 sends more").to_string()
                }
            }
        });
        let text = "rank 0 has sent 800 bytes as message 1 to rank 1, which expects 400 bytes as message 1\n  \
                    note: both ranks have to exchange the same, in the same order";
        assert_eq!(texts, [text; 2], "{kind:?}");
    }
}

#[test]
fn a_rank_that_does_not_exchange_is_named_after_the_limit() {
    for kind in KINDS {
        for waiting in [0, 1] {
            let brief = Limits { gather: SHORT, ..limits() };
            let texts = run(kind, 2, brief, |members| {
                if members.rank() == waiting {
                    return text(members.exchange(&[], &mut [(1 - waiting, &mut [0; 3])]));
                }
                let start = Instant::now();
                while members.failure().is_none() && start.elapsed() < LONG {
                    std::thread::sleep(Duration::from_millis(1));
                }
                members.failure().expect("the other one has failed").to_string()
            });
            let other = named(1 - waiting);
            let text =
                format!("rank {waiting} waits for {other}, which has exchanged nothing with it for 0.4 s");
            assert_eq!(texts, vec![text; 2], "{kind:?}");
        }
    }
}

#[test]
fn an_exchange_ends_at_once_when_the_world_fails() {
    for kind in KINDS {
        for failing in [0, 1, 2] {
            let texts = run(kind, 3, limits(), |members| {
                let rank = members.rank();
                if rank == failing {
                    std::thread::sleep(Duration::from_millis(20));
                    members.fail("no memory");
                    return String::new();
                }
                text(members.exchange(&[], &mut [(failing, &mut [0; 3])]))
            });
            for (rank, text) in texts.iter().enumerate().filter(|(rank, _)| *rank != failing) {
                assert_eq!(*text, format!("{} has failed: no memory", named(failing)), "{kind:?} {rank}");
            }
        }
    }
}

#[test]
fn a_rank_that_has_left_sends_nothing() {
    for kind in KINDS {
        for leaving in [0, 1] {
            let texts = run(kind, 2, limits(), |members| {
                if members.rank() == leaving {
                    return String::new();
                }
                text(members.exchange(&[], &mut [(leaving, &mut [0; 3])]))
            });
            assert_eq!(texts[1 - leaving], format!("{} has left the world", named(leaving)), "{kind:?}");
        }
    }
}

#[test]
fn what_a_rank_has_sent_arrives_after_it_has_left() {
    for kind in KINDS {
        for leaving in [0, 1] {
            run(kind, 2, limits(), |members| {
                let other = 1 - members.rank();
                let mut byte = [0];
                // The connection is made.
                members.exchange(&[(other, &[1])], &mut [(other, &mut byte)]).expect("both take part");
                if members.rank() == leaving {
                    members.exchange(&[(other, &[7; 1000])], &mut []).expect("a few bytes");
                    return;
                }
                std::thread::sleep(Duration::from_millis(50));
                let mut room = [0; 1000];
                members.exchange(&[], &mut [(leaving, &mut room)]).expect("they were sent");
                assert_eq!(room, [7; 1000], "{kind:?}");
            });
        }
    }
}

#[test]
fn a_rank_that_does_not_exist_is_an_error_of_this_rank_alone() {
    for kind in KINDS {
        run(kind, 2, limits(), |members| {
            let error = text(members.exchange(&[(2, &[])], &mut []));
            assert_eq!(
                error,
                "there is no rank 2 to exchange data with: the world has 2, which count from 0"
            );
            members.gather("afterwards", b"").wait().expect("the world goes on");
        });
    }
}

#[test]
fn messages_of_a_rank_to_itself_have_to_match_too() {
    for kind in KINDS {
        let start_of = |sent: &[u8], room: usize| {
            let mut room = vec![0; room];
            let world = world(kind, 2, limits());
            let mut receives = if room.is_empty() { Vec::new() } else { vec![(0, &mut room[..])] };
            text(world[0].exchange(&[(0, sent)], &mut receives))
        };
        let text = start_of(&[1, 2], 3);
        assert!(
            text.starts_with("rank 0 has sent 2 bytes as message 0 to rank 0, which expects 3"),
            "{text}"
        );
        let text = start_of(&[1, 2], 0);
        assert!(
            text.starts_with("rank 0 has sent 2 bytes as message 0 to rank 0, which expects 0"),
            "{text}"
        );
    }
}

#[test]
fn strangers_at_the_port_for_data_disturb_nobody() {
    let world = world(Kind::Sockets, 2, limits());
    let ports: Vec<_> = world.iter().map(|members| members.link().data_port()).collect();
    let strangers: Vec<_> = ports
        .iter()
        .flat_map(|&port| (0..10).map(move |i| (port, i)))
        .map(|(port, i)| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a rank listens");
            if i % 2 == 0 {
                stream.write_all(&[i; 500]).expect("it is taken");
            }
            stream
        })
        .collect();
    each(2, |rank| all_to_all(&world[rank], 0, 10_000));
    assert_eq!(strangers.len(), 20);
}
