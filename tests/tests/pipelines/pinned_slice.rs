//! Parts of page-locked memory as arguments: the device copies them, and nothing beyond them is read or
//! written.

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg_tests::kernels::plus_one;
use thalweg_tests::{built, numbers, on_every_device};

stream_pipeline! {
    pipeline Copied {
        input x: pinned [f32];
        inout y: pinned [f32];
        output z: pinned [f32];
        chunk c = 10;
        stage load { copy x -> dx; copy y -> dy; }
        stage store { copy dx -> y; copy dy -> z; }
    }
}

stream_pipeline! {
    pipeline Mapped {
        input x: mapped [f32];
        output y: mapped [f32];
        chunk c = 10;
        stage add { plus_one<<<blocks(c.len, 32), 32>>>(c.len as u32, &x, out y); }
    }
}

stream_pipeline! {
    /// The mean of three elements; one of them may lie before or after the part.
    pipeline Around {
        input x: [f32] halo 1 = clamp;
        output first: [f32; 3] per chunk;
        resident table: [f32];
        carry last: [f32; 2];
        chunk c = 10;
        stage load { copy x -> dx; }
        stage look { call look(&dx, &table, out out_of, &mut last); }
        stage store { copy out_of -> first; }
        device out_of: [f32; 3] per chunk;
    }
}

/// The halo before, the halo after, and the table's sum; the sum again in `last`.
fn look(
    queue: &Enqueue<'_>,
    x: DeviceSlice<'_, f32>,
    table: DeviceSlice<'_, f32>,
    first: DeviceSliceOut<'_, f32>,
    last: DeviceSliceMut<'_, f32>,
) -> thalweg::Result<()> {
    queue.simulate((x, table, first, last), |(x, table, first, last)| {
        let sum = table.iter().sum();
        first.copy_from_slice(&[x[0], x[x.len() - 1], sum]);
        last[1] += sum;
    })
}

/// Elements around a part.
const MARGIN: usize = 5;

/// `part` in the middle of a buffer of NaN.
fn within(device: &Device, part: &[f32]) -> thalweg::Result<PinnedBuf<f32>> {
    let mut buffer = PinnedBuf::zeroed(device, part.len() + 2 * MARGIN)?;
    buffer.fill(f32::NAN);
    buffer[MARGIN..MARGIN + part.len()].copy_from_slice(part);
    Ok(buffer)
}

/// The part, if everything around it is as it was.
fn part(buffer: &PinnedBuf<f32>) -> Vec<f32> {
    let end = buffer.len() - MARGIN;
    assert!(buffer[..MARGIN].iter().chain(&buffer[end..]).all(|x| x.is_nan()), "beyond the part");
    buffer[MARGIN..end].to_vec()
}

on_every_device! {
    fn parts_are_copied(device, case) {
        let (x, y) = (numbers(case.len), numbers(2 * case.len)[case.len..].to_vec());
        let range = MARGIN..MARGIN + case.len;
        let from = within(device, &x)?;
        let (mut both, mut to) = (within(device, &y)?, within(device, &x)?);
        let report = built!(Copied, device, case).run(
            from.slice(range.clone())?,
            both.slice_mut(range.clone())?,
            to.slice_mut(range)?,
        )?;
        assert_eq!((report.items, report.bytes_staged), (case.len, 0));
        assert_eq!((part(&from), part(&both), part(&to)), (x.clone(), x, y), "{case:?}");
    }

    fn parts_are_used_in_place(device, case) {
        let x = numbers(case.len);
        let range = MARGIN..MARGIN + case.len;
        let (from, mut to) = (within(device, &x)?, within(device, &x)?);
        built!(Mapped, device, case).run(from.slice(range.clone())?, to.slice_mut(range)?)?;
        let expected: Vec<f32> = x.iter().map(|x| x + 1.0).collect();
        assert_eq!(part(&to), expected, "{case:?}");
    }
}

#[test]
fn halos_and_shared_data_end_with_the_part() {
    for seed in 0..20 {
        let device = Device::simulated(Simulation::default().adversarial(seed));
        let x = within(&device, &numbers(25)).unwrap();
        let table = within(&device, &[1.0, 2.0, 4.0]).unwrap();
        let mut last = within(&device, &[3.0, 1.0]).unwrap();
        let mut first = vec![0.0; 9];
        let mut around = Around::new(&device).unwrap();
        let (x, table) = (x.slice(MARGIN..MARGIN + 25).unwrap(), table.slice(MARGIN..MARGIN + 3).unwrap());
        around.run(x, &mut first, table, last.slice_mut(MARGIN..MARGIN + 2).unwrap()).unwrap();
        let n = numbers(25);
        assert_eq!(first, [n[0], n[10], 7.0, n[9], n[20], 7.0, n[19], n[24], 7.0]);
        assert_eq!(part(&last), [3.0, 22.0]);
    }
}

#[test]
fn a_part_must_be_within_the_buffer() {
    let device = Device::simulated(Simulation::default());
    let mut buffer = PinnedBuf::<u8>::zeroed(&device, 10).unwrap();
    assert_eq!((buffer.slice(..).unwrap().len(), buffer.slice(3..=9).unwrap().len()), (10, 7));
    assert!(buffer.slice(10..).unwrap().is_empty() && buffer.slice_mut(10..10).unwrap().is_empty());
    #[allow(clippy::reversed_empty_ranges, reason = "that is what is tested")]
    let backwards = buffer.slice(4..3).map(drop);
    let wrong = [
        buffer.slice(0..11).map(drop),
        backwards,
        buffer.slice(11..).map(drop),
        buffer.slice(..=usize::MAX).map(drop),
        buffer.slice_mut(usize::MAX..).map(drop),
    ];
    for error in wrong.map(|result| result.unwrap_err()) {
        assert!(matches!(error.detail(), Detail::Range { len: 10, .. }), "{error}");
    }
    let said = buffer.slice(8..12).unwrap_err().detail().to_string();
    assert_eq!(said, "8..12 is no range of a buffer of 10 elements");
}
