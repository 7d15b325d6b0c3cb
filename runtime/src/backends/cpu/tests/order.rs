use super::*;
use crate::driver::{Rows, RowsBetween};

/// ```text
/// [ up ] -> [ fill the middle ] -> [ copy on the device ] -> [ down ]
/// ```
#[test]
fn data_go_through_a_stream_in_order() {
    for bytes in [1, 100, (1 << 20) + 3, 5 << 20] {
        let rig = Rig::with(CpuOptions::default().threads(2).memory(64 << 20));
        let (stream, from, to) = (rig.stream(), rig.pinned(bytes), rig.pinned(bytes));
        let [x, y] = [(); 2].map(|()| rig.device(bytes));
        rig.put(from, 7);
        rig.up(stream, tag(0, 0), x, from).unwrap();
        let (third, middle) = (bytes / 3, bytes / 3 / 2 * 2);
        let start = x.offset(third.next_multiple_of(4));
        rig.enqueue(stream, tag(1, 0), Command::Fill { to: start, pattern: &[1, 2], count: middle / 2 })
            .unwrap();
        rig.enqueue(stream, tag(2, 0), Command::CopyOnDevice { to: y, from: x, bytes }).unwrap();
        rig.down(stream, tag(3, 0), to, y).unwrap();
        assert_eq!(rig.get(to), vec![0; bytes], "nothing happens before somebody waits");
        rig.sync(stream).unwrap();
        let mut expected = vec![7; bytes];
        let first = third.next_multiple_of(4);
        expected[first..first + middle].chunks_exact_mut(2).for_each(|pair| pair.copy_from_slice(&[1, 2]));
        assert!(rig.get(to) == expected, "{bytes}");
    }
}

#[test]
fn rows_are_copied_with_both_pitches() {
    for width in [3, 40_000] {
        let rig = Rig::new();
        let height = 50;
        let (wide, narrow) = (width + 5, width);
        let (stream, from, to) = (rig.stream(), rig.pinned(narrow * height), rig.pinned(narrow * height));
        let x = rig.device(wide * height);
        rig.put(from, 9);
        let fill = Command::Fill { to: x, pattern: &[1], count: wide * height };
        rig.enqueue(stream, tag(0, 0), fill).unwrap();
        let rows = |between, from_pitch, to_pitch| {
            Command::CopyRows(Rows { between, width, height, from_pitch, to_pitch })
        };
        let up = RowsBetween::HostAndDevice { to: x, from: from.ptr.as_ptr() };
        rig.enqueue(stream, tag(1, 0), rows(up, narrow, wide)).unwrap();
        // One byte further, so that each row ends with one of the fill's.
        let down = RowsBetween::DeviceAndHost { to: to.ptr.as_ptr(), from: x.offset(1) };
        rig.enqueue(stream, tag(2, 0), rows(down, wide, narrow)).unwrap();
        rig.sync(stream).unwrap();
        let mut row = vec![9; width];
        row[width - 1] = 1;
        assert!(rig.get(to) == row.repeat(height));
    }
}

#[test]
fn the_most_urgent_stream_comes_first_and_then_the_first_command() {
    let rig = Rig::new();
    let (least, greatest) = rig.cpu.info().priorities;
    let log = Log::default();
    let streams = [0, greatest, 0].map(|priority| rig.cpu.create_stream(priority).unwrap());
    for (number, stream) in [0, 2, 0, 2, 1, 1].into_iter().map(|index| streams[index]).enumerate() {
        rig.launch(stream, tag(number as u32, 0), &[], log.note(number as u32)).unwrap();
    }
    rig.cpu.synchronize_device().unwrap();
    assert_eq!(log.taken(), [4, 5, 0, 1, 2, 3]);
    assert!(least > greatest);
    // Only what is needed is carried out, and what comes before it.
    rig.launch(streams[0], tag(0, 0), &[], log.note(0)).unwrap();
    rig.launch(streams[2], tag(1, 0), &[], log.note(1)).unwrap();
    rig.sync(streams[0]).unwrap();
    assert_eq!(log.taken(), [0]);
}

/// ```text
/// load  [ 0 ]--a  [ 3 ]--a  [ 6 ]
/// math        \--[ 1 ]--b \--[ 4 ]--b
/// store                  \--[ 2 ]   \--[ 5 ]
/// ```
#[test]
fn the_stages_of_a_chunk_follow_each_other() {
    let rig = Rig::new();
    let [load, math, store] = [(); 3].map(|()| rig.stream());
    let [a, b] = [(); 2].map(|()| rig.event());
    let log = Log::default();
    for chunk in 0..3 {
        rig.launch(load, tag(0, chunk), &[], log.note(chunk as u32 * 3)).unwrap();
        rig.record(a, load);
        rig.wait(math, a);
        rig.launch(math, tag(1, chunk), &[], log.note(chunk as u32 * 3 + 1)).unwrap();
        rig.record(b, math);
        rig.wait(store, b);
        rig.launch(store, tag(2, chunk), &[], log.note(chunk as u32 * 3 + 2)).unwrap();
    }
    rig.sync(load).unwrap();
    rig.cpu.synchronize_device().unwrap();
    assert_eq!(log.taken(), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn an_event_is_its_latest_record() {
    let rig = Rig::new();
    let (one, other, event, log) = (rig.stream(), rig.stream(), rig.event(), Log::default());
    assert!(rig.is_complete(event).unwrap());
    rig.sync_event(event).unwrap();
    rig.record(event, one);
    assert!(rig.is_complete(event).unwrap(), "nothing is before it");
    rig.launch(one, tag(0, 0), &[], log.note(0)).unwrap();
    rig.record(event, one);
    rig.launch(one, tag(1, 0), &[], log.note(1)).unwrap();
    rig.wait(other, event);
    // The wait is for the record before.
    rig.record(event, one);
    rig.launch(other, tag(2, 0), &[], log.note(2)).unwrap();
    assert!(!rig.is_complete(event).unwrap() && !rig.is_through(one).unwrap());
    rig.sync(other).unwrap();
    assert_eq!(log.taken()[..1], [0]);
    rig.sync_event(event).unwrap();
    assert!(rig.is_complete(event).unwrap() && rig.is_through(one).unwrap());
}

#[test]
fn a_poll_carries_out_one_command() {
    let rig = Rig::new();
    let (stream, log) = (rig.stream(), Log::default());
    for number in 0..3 {
        rig.launch(stream, tag(number, 0), &[], log.note(number)).unwrap();
    }
    rig.cpu.poll();
    assert_eq!((log.taken(), rig.is_through(stream)), (vec![0], Ok(false)));
    rig.cpu.poll();
    rig.cpu.poll();
    rig.cpu.poll();
    assert_eq!((log.taken(), rig.is_through(stream)), (vec![1, 2], Ok(true)));
}

#[test]
fn the_null_stream_and_blocking_streams_wait_for_each_other() {
    let rig = Rig::new();
    let (null, log) = (rig.cpu.null_stream().unwrap(), Log::default());
    assert_eq!(rig.cpu.null_stream().unwrap(), null);
    let blocking = rig.cpu.create_blocking_stream(0).unwrap();
    let own = rig.cpu.per_thread_stream().unwrap();
    assert_eq!(rig.cpu.per_thread_stream().unwrap(), own);
    let other =
        std::thread::scope(|scope| scope.spawn(|| rig.cpu.per_thread_stream().unwrap()).join().unwrap());
    assert_ne!(other, own);
    rig.launch(blocking, tag(0, 0), &[], log.note(0)).unwrap();
    rig.launch(null, tag(1, 0), &[], log.note(1)).unwrap();
    rig.launch(own, tag(2, 0), &[], log.note(2)).unwrap();
    rig.sync(own).unwrap();
    assert_eq!(log.taken(), [0, 1, 2]);
    // SAFETY: see `Rig`.
    assert_eq!(unsafe { rig.cpu.destroy_stream(null) }.unwrap_err().code, 400);
}

#[test]
fn a_destroyed_stream_goes_on_and_its_handle_is_no_more() {
    let rig = Rig::new();
    let (stream, other, event, log) = (rig.stream(), rig.stream(), rig.event(), Log::default());
    rig.launch(stream, tag(0, 0), &[], log.note(0)).unwrap();
    rig.record(event, stream);
    rig.wait(other, event);
    rig.destroy(stream);
    assert_eq!(rig.launch(stream, tag(1, 0), &[], log.note(1)).unwrap_err().code, 400);
    rig.sync(other).unwrap();
    assert_eq!(log.taken(), [0]);
    rig.destroy(other);
    // SAFETY: see `Rig`.
    unsafe { rig.cpu.destroy_event(event) }.unwrap();
    assert_eq!(rig.sync(other).unwrap_err().code, 400);
    assert_eq!(rig.is_complete(event).unwrap_err().code, 400);
}
