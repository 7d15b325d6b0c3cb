//! The program that relies on the order of chunks, mended.

use thalweg::explore::explore;
use thalweg::prelude::*;

// ANCHOR: mended
fn number(first: u32, rows: &mut [u32]) {
    rows.iter_mut().zip(first..).for_each(|(row, number)| *row = number);
}

stream_pipeline! {
    pipeline Numbered {
        output rows: [u32];
        host h: [u32];
        chunk c = 4;
        depth = 3;
        stream each per slot;
        stage number on each { host number(c.start as u32, out h); copy h -> d; copy d -> rows; }
    }
}

#[test]
fn rows_are_numbered_in_every_order() -> thalweg::Result<()> {
    let explored = explore(1, 100, |device| {
        let mut rows = [0; 12];
        Numbered::new(device)?.run(&mut rows)?;
        assert_eq!(rows.to_vec(), (0..12).collect::<Vec<_>>());
        Ok(())
    })?;
    assert_eq!(explored.to_string(), "schedules explored: 100 (95 different orders)");
    Ok(())
}
// ANCHOR_END: mended
