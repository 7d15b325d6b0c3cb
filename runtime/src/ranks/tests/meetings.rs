//! How ranks meet, and who may not come.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::*;
use crate::base::error::ErrorKind;
use crate::ranks::environment::Meeting;
use crate::ranks::wire::{Filled, Hello, Inbox, Key, Message, Nonce, Person};

#[test]
fn ranks_meet_and_know_each_other() {
    for n in [2, 4, 16, 64] {
        for (rank, members) in world(Kind::Sockets, n, limits()).iter().enumerate() {
            assert_eq!((members.rank(), members.size(), members.local()), (rank, n, (rank, n)));
            let host = crate::ranks::environment::host_name();
            assert!(members.people().iter().all(|who| who.host == host));
            assert!(members.people().iter().all(|who| who.process == std::process::id()));
            assert!(members.has_siblings());
        }
    }
}

#[test]
fn a_world_of_one_needs_nobody() {
    for members in [Members::alone(), Members::meet(&Seat::alone(), limits()).expect("alone")] {
        assert_eq!((members.rank(), members.size(), members.local()), (0, 1, (0, 1)));
        assert!(!members.has_siblings());
        let gathering = members.gather("a", b"mine");
        assert!(gathering.is_over());
        assert_eq!(gathering.wait().expect("its own"), [b"mine"]);
    }
}

#[test]
fn what_the_launcher_says_of_hosts_comes_first() {
    let port = port();
    let ranks = each(2, |rank| {
        let local = (Some(0), Some(1));
        let seat = Seat { local_rank: local.0, local_size: local.1, ..seat(rank, 2, port, "token") };
        Members::meet(&seat, limits()).expect("a rank").local()
    });
    assert_eq!(ranks, [(0, 1), (0, 1)]);
}

#[test]
fn a_rank_with_another_token_is_sent_away_and_the_others_meet() {
    let (port, is_refused) = (port(), AtomicBool::new(false));
    let texts = each(3, |rank| match rank {
        2 => {
            // Rank 0 listens.
            drop(knock(port));
            let brief = Limits { rendezvous: SHORT, ..limits() };
            let text = text(Members::meet(&seat(1, 2, port, "another"), brief));
            is_refused.store(true, Ordering::Release);
            text
        }
        _ => {
            while rank == 1 && !is_refused.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(5));
            }
            let members = Members::meet(&seat(rank, 2, port, "token"), limits()).expect("a rank");
            members.size().to_string()
        }
    });
    let refused = format!("rank 0 at 127.0.0.1:{port} is of another world, since its token differs");
    assert_eq!(texts, ["2", "2", &refused]);
}

#[test]
fn ranks_that_have_not_come_are_named_to_all_that_have() {
    let port = port();
    let results = each(2, |rank| {
        // Rank 0 decides, and rank 1 has time to come.
        let rendezvous = if rank == 0 { LONGER } else { LONG };
        Members::meet(&seat(rank, 4, port, "token"), Limits { rendezvous, ..limits() })
    });
    for result in results {
        let error = result.expect_err("two ranks are missing");
        let ErrorKind::Ranks(ranks) = error.kind() else { panic!("{error}") };
        assert_eq!(ranks.ranks(), [2, 3]);
        assert_eq!(error.to_string(), "ranks 2 and 3 of 4 have not come within 1.5 s");
    }
}

#[test]
fn a_rank_that_finds_nobody_says_where_it_has_looked() {
    let port = port();
    let brief = Limits { rendezvous: SHORT, ..limits() };
    let error = Members::meet(&seat(1, 2, port, "token"), brief).expect_err("nobody listens").to_string();
    assert!(
        error.starts_with(&format!("rank 0 was not found at 127.0.0.1:{port} within 0.4 s\n")),
        "{error}"
    );
    assert!(error.contains("refused"), "{error}");
}

#[test]
fn a_host_that_has_no_address_is_named_with_its_variable() {
    let host = "a".repeat(300);
    let given = format!("MASTER_ADDR={host}");
    let meeting = Some(Meeting { host, given: given.clone(), ports: vec![port()] });
    let seat = Seat { meeting, ..seat(1, 2, 1, "token") };
    let error = Members::meet(&seat, Limits { rendezvous: SHORT, ..limits() }).expect_err("no host");
    assert!(matches!(error.kind(), ErrorKind::Environment(_)));
    assert!(
        error.to_string().starts_with(&format!("`{given}` names no host that can be found: ")),
        "{error}"
    );
}

#[test]
fn a_port_of_another_program_is_an_error_if_it_is_the_only_one() {
    let port = port();
    let _other = TcpListener::bind(("127.0.0.1", port)).expect("a port");
    let brief = Limits { rendezvous: SHORT, ..limits() };
    let text = text(Members::meet(&seat(0, 2, port, "token"), brief));
    assert_eq!(text, format!("rank 0 cannot listen at 127.0.0.1:{port}: another program has the port"));
}

#[test]
fn ranks_meet_at_the_next_port_if_others_have_the_first_ones() {
    let ports = [port(), port(), port()];
    let others: Vec<_> =
        ports[..2].iter().map(|port| TcpListener::bind(("127.0.0.1", *port)).expect("a port")).collect();
    // One of the others talks, the other hangs up.
    let threads: Vec<_> = others
        .into_iter()
        .zip([&b"220 welcome to this mail server"[..], &[]])
        .map(|(other, words)| {
            std::thread::spawn(move || {
                for mut stream in other.incoming().take(1).flatten() {
                    let _ = stream.write_all(words);
                }
            })
        })
        .collect();
    let ranks = each(2, |rank| {
        let meeting = Meeting { host: "127.0.0.1".to_owned(), given: String::new(), ports: ports.to_vec() };
        let seat = Seat { meeting: Some(meeting), ..seat(rank, 2, 1, "token") };
        Members::meet(&seat, limits()).map(|members| members.size())
    });
    assert_eq!(ranks.into_iter().map(|rank| rank.expect("a rank")).collect::<Vec<_>>(), [2, 2]);
    threads.into_iter().for_each(|thread| thread.join().expect("the other program"));
}

#[test]
fn ranks_meet_at_an_ipv6_address_and_at_a_name() {
    let has_ipv6 = TcpListener::bind("[::1]:0").is_ok();
    for host in ["[::1]", "localhost"].into_iter().filter(|host| has_ipv6 || *host != "[::1]") {
        let port = port();
        let ranks = each(2, |rank| {
            let seat = Seat::by_hand(rank, 2, &format!("{host}:{port}"), None).expect("a seat");
            let members = Members::meet(&seat, limits()).expect("a rank");
            let other = 1 - rank;
            let mut byte = [0];
            members.exchange(&[(other, &[7])], &mut [(other, &mut byte)]).expect("a byte each");
            byte
        });
        assert_eq!(ranks, [[7], [7]], "{host}");
    }
}

#[test]
fn ranks_meet_at_this_hosts_own_name() {
    let (host, port) = (crate::ranks::environment::host_name(), port());
    if std::net::ToSocketAddrs::to_socket_addrs(&(host.as_str(), port)).is_err() {
        return;
    }
    let ranks = each(2, |rank| {
        let seat = Seat::by_hand(rank, 2, &format!("{host}:{port}"), None).expect("a seat");
        Members::meet(&seat, limits()).map(|members| members.size())
    });
    assert!(ranks.into_iter().all(|rank| rank.is_ok_and(|size| size == 2)));
}

/// A connection to rank 0 that is made by hand, and the number that it was greeted with.
fn knock(port: u16) -> (TcpStream, Inbox, Nonce) {
    let start = Instant::now();
    let stream = loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => break stream,
            Err(error) => assert!(start.elapsed() < LONG, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut inbox = Inbox::new(1 << 16);
    match next(&stream, &mut inbox) {
        Some(Message::Greeting { nonce, .. }) => (stream, inbox, nonce),
        other => panic!("{other:?}"),
    }
}

/// The next message; `None` if the connection has ended.
fn next(stream: &TcpStream, inbox: &mut Inbox) -> Option<Message> {
    loop {
        if let Some((kind, body)) = inbox.next().expect("a frame") {
            return Message::decode(kind, body);
        }
        if let Filled::Ended = inbox.fill(stream) {
            return None;
        }
    }
}

/// Says hello to rank 0, as rank 1 or 2 of 3 on another host, with what `change` makes of it. Returns rank 0's
/// answer too.
fn hello(port: u16, rank: usize, change: impl Fn(&mut Hello)) -> (TcpStream, Inbox, Option<Message>) {
    let (mut stream, mut inbox, nonce) = knock(port);
    let process = 10 + u32::try_from(rank).expect("a small world");
    let person = Person { host: "far".to_owned(), process, address: String::new(), port: 1 };
    let mut hello = Hello::new([7; 32], rank, 3, person);
    change(&mut hello);
    let hello = hello.signed(&Key::of_token(Some("token")), &nonce).encode();
    stream.write_all(&hello).expect("rank 0 listens");
    let answer = next(&stream, &mut inbox);
    (stream, inbox, answer)
}

/// What comes of a rank that is not as it should be: the errors of rank 0, of a rank that is there, and of itself.
fn with_a_wrong_rank(change: impl Fn(&mut Hello) + Sync) -> Vec<String> {
    let port = port();
    let texts = each(2, |rank| {
        if rank == 0 {
            return vec![text(Members::meet(&seat(0, 3, port, "token"), limits()))];
        }
        let (stream, mut inbox, answer) = hello(port, 1, |_| {});
        assert!(matches!(answer, Some(Message::Accepted { .. })), "{answer:?}");
        let (_, _, answer) = hello(port, 2, &change);
        let answers = [next(&stream, &mut inbox), answer];
        answers
            .map(|answer| match answer {
                Some(Message::Failure { text, .. }) => text,
                other => panic!("{other:?}"),
            })
            .to_vec()
    });
    texts.concat()
}

#[test]
fn a_rank_of_another_version_fails_the_world() {
    let own = format!("{} (protocol 1)", env!("CARGO_PKG_VERSION"));
    let text = format!(
        "rank 2 (host far, process 12) has thalweg 0.0.7 (protocol 9), and rank 0 has {own}: \
         all ranks need the same version"
    );
    assert_eq!(with_a_wrong_rank(|hello| hello.version = "0.0.7 (protocol 9)".to_owned()), vec![text; 3]);
}

#[test]
fn a_rank_of_a_larger_world_fails_the_world() {
    let text = "rank 2 (host far, process 12) is one of 4 ranks, and rank 0 is one of 3: \
                all ranks need the same number";
    assert_eq!(with_a_wrong_rank(|hello| hello.size = 4), [text; 3]);
}

#[test]
fn a_rank_outside_of_the_world_fails_the_world() {
    let text = "rank 3 (host far, process 12) is none of the 3 ranks, which count from 0";
    assert_eq!(with_a_wrong_rank(|hello| hello.rank = 3), [text; 3]);
}

#[test]
fn a_rank_that_comes_twice_fails_the_world() {
    let twice = "rank 1 came twice: from host far, process 11, and host far, process 12";
    assert_eq!(with_a_wrong_rank(|hello| hello.rank = 1), [twice; 3]);
}

#[test]
fn a_rank_that_dies_while_others_are_awaited_is_noticed_at_once() {
    let port = port();
    let texts = each(2, |rank| {
        if rank == 0 {
            return text(Members::meet(&seat(0, 3, port, "token"), limits()));
        }
        let (_, _, answer) = hello(port, 2, |_| {});
        assert!(matches!(answer, Some(Message::Accepted { .. })), "{answer:?}");
        String::new()
    });
    assert_eq!(texts[0], "rank 2 (host far, process 12) has died");
}

#[test]
fn strangers_keep_no_rank_from_coming() {
    let port = port();
    let results = each(4, |rank| match rank {
        0 | 1 => {
            if rank == 1 {
                std::thread::sleep(Duration::from_millis(200));
            }
            Members::meet(&seat(rank, 2, port, "token"), limits())
                .map(|members| members.size())
                .expect("a rank")
        }
        2 => {
            // Those who say nothing, and hold the line.
            let silent: Vec<_> = (0..50).map(|_| knock(port)).collect();
            std::thread::sleep(Duration::from_millis(300));
            silent.len()
        }
        _ => {
            let huge = [&u32::MAX.to_le_bytes()[..], &[2]].concat();
            let request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec();
            let replayed = Message::Hello { proof: [1; 32], signed: vec![0; 100] }.encode();
            for words in [huge, request, replayed, vec![0; 4000]] {
                let (mut stream, _, _) = knock(port);
                let _ = stream.write_all(&words);
                // Rank 0 hangs up, and is not waited for.
                let mut rest = Vec::new();
                let _ = stream.read_to_end(&mut rest);
            }
            2
        }
    });
    assert_eq!(results, [2, 2, 50, 2]);
}

#[test]
fn what_was_seen_on_one_connection_is_of_no_use_on_another() {
    let port = port();
    let results = each(2, |rank| {
        if rank == 0 {
            let brief = Limits { rendezvous: LONGER, ..limits() };
            return text(Members::meet(&seat(0, 2, port, "token"), brief));
        }
        let (_seen, _, nonce) = knock(port);
        let person = Person { host: "far".to_owned(), process: 12, address: String::new(), port: 1 };
        let hello = Hello::new([7; 32], 1, 2, person).signed(&Key::of_token(Some("token")), &nonce);
        // The proof is right, and for another connection.
        let (mut stream, mut inbox, _) = knock(port);
        stream.write_all(&hello.encode()).expect("rank 0 listens");
        assert_eq!(next(&stream, &mut inbox), Some(Message::Refused));
        String::new()
    });
    assert_eq!(results[0], "rank 1 of 2 has not come within 1.5 s");
}
