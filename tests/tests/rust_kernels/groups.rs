//! Kernels that take several elements of a buffer as one: a tile of a constant size for each thread.

use thalweg::ErrorKind;
use thalweg::kernel::Shaped;
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::on_each_device;

// ANCHOR: gray
/// The brightness of each pixel of red, green and blue.
#[kernel]
fn gray(i: Index, pixels: &[[u8; 3]], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let [r, g, b] = pixels[i];
    *y = 0.299 * r as f32 + 0.587 * g as f32 + 0.114 * b as f32;
}

stream_pipeline! {
    pipeline Gray {
        input image: [u8; 3];
        output y: [f32];
        device dy: [f32];
        chunk c = 100;
        stage all {
            copy image -> pixels;
            gray<<<blocks(c.len, 32), 32>>>(&pixels, out dy);
            copy dy -> y;
        }
    }
}
// ANCHOR_END: gray

/// Turns each group of four around.
#[kernel]
fn turned(i: Index, y: &mut Own<[[u32; 4]]>) {
    let Some(y) = y.get_mut(i) else { return };
    let [a, b, c, d] = *y;
    *y = [d, c, b, a];
    y[0] += 1;
}

/// The sum and the difference of each cell's two values.
#[kernel]
fn cells(at: Index<2>, columns: usize, x: &[[i64; 2]], y: &mut Out<[[i64; 2]]>) {
    let [r, c] = at.get();
    let Some(y) = y.get_mut(at) else { return };
    let cell = &x[r * columns + c];
    *y = [cell[0] + cell[1], cell[0] - cell[1]];
}

on_each_device! {
    a_pipeline_passes_its_items_as_groups;
}

fn a_pipeline_passes_its_items_as_groups(device: &Device) {
    for len in [0, 1, 99, 100, 101, 1000] {
        let image: Vec<u8> = (0..3 * len).map(|i| (i * 7) as u8).collect();
        let mut y = vec![0.0; len];
        Gray::new(device).unwrap().run(&image, &mut y).unwrap();
        let pixel = |rgb: &[u8]| 0.299 * rgb[0] as f32 + 0.587 * rgb[1] as f32 + 0.114 * rgb[2] as f32;
        let expected: Vec<f32> = image.chunks(3).map(pixel).collect();
        assert_eq!(y, expected, "{len}");
    }
}

#[test]
fn buffers_are_passed_as_groups_by_hand() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::default());
    let (stream, turned) = (Stream::new(&device)?, turned::load(&device)?);
    let mut y = DeviceBuf::from_slice(&device, &[1_u32, 2, 3, 4, 5, 6, 7, 8])?;
    turned.launch(stream.config(1, 2, 0), &mut y)?;
    assert_eq!(y.to_vec()?, [5, 3, 2, 1, 9, 7, 6, 5]);
    // A buffer whose elements are arrays is what it was.
    let mut y = DeviceBuf::from_slice(&device, &[[1_u32, 2, 3, 4]])?;
    turned.launch(stream.config(1, 1, 0), &mut y)?;
    assert_eq!(y.to_vec()?, [[5, 3, 2, 1]]);

    let cells = cells::load(&device)?;
    let x = DeviceBuf::from_slice(&device, &(0..12).collect::<Vec<i64>>())?;
    let mut y = DeviceBuf::<i64>::zeroed(&device, 12)?;
    cells.launch(stream.config((1, 2), (3, 1), 0), 3, &x, Shaped::new(&mut y, [2, 3]))?;
    assert_eq!(y.to_vec()?, [1, -1, 5, -1, 9, -1, 13, -1, 17, -1, 21, -1]);
    Ok(())
}

#[test]
fn elements_that_are_left_over_are_an_error() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::default());
    let (stream, turned) = (Stream::new(&device)?, turned::load(&device)?);
    let mut y = DeviceBuf::from_slice(&device, &[1_u32, 2, 3, 4, 5, 6])?;
    let refused = turned.launch(stream.config(1, 2, 0), &mut y).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Shape(_)), "{refused}");
    let said = refused.to_string();
    let expected = "`y` of kernel `turned` has 6 elements, of which the kernel takes 4 at a time\n  \
                    note: 2 would be left over\n  \
                    help: make the length a multiple of 4; in a pipeline with 4 values an item: `[T; 4]`";
    assert!(said.contains(expected), "{said}");
    assert_eq!(y.to_vec()?, [1, 2, 3, 4, 5, 6]);
    Ok(())
}
