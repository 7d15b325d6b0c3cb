//! What a launch of a kernel in Rust is refused for.

use thalweg::kernel::Shaped;
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::on_each_device;

#[kernel]
fn count(i: Index, y: &mut Own<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y += 1;
}

#[kernel]
fn numbered(at: Index<2>, y: &mut Out<[u32]>) {
    let Some(y) = y.get_mut(at) else { return };
    let [r, c] = at.get();
    *y = (r * 100 + c) as u32;
}

#[kernel]
#[requires(x.len() == y.len())]
fn added(i: Index, x: &[u32], y: &mut Own<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y += x[i];
}

/// Leaves every third element as it was.
#[kernel]
fn two_of_three(i: Index, y: &mut Out<[u32]>) {
    if i.get() % 3 == 2 {
        return;
    }
    let Some(y) = y.get_mut(i) else { return };
    *y = 7;
}

on_each_device! {
    a_grid_that_is_not_one_thread_for_each_element_is_refused;
    a_shape_of_another_size_is_refused;
    what_a_kernel_requires_is_checked;
}

fn a_grid_that_is_not_one_thread_for_each_element_is_refused(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = count::load(device).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(device, 100).unwrap();
    let error = kernel.launch(stream.config(3, 32, 0), &mut y).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Contract(_)), "{error}");
    let said = error.to_string();
    assert!(said.contains("`y` has 100 elements, and the launch has 96 threads along x"), "{said}");
    assert!(said.contains("write `<<<blocks(100, 32), 32>>>`"), "{said}");
    let error = kernel.launch(stream.config((4, 2), 32, 0), &mut y).unwrap_err();
    assert!(
        error.to_string().contains("counts in one dimension, and the launch has 2 threads along y"),
        "{error}"
    );
    kernel.launch(stream.config(4, 32, 0), &mut y).unwrap();
    // More threads than elements, and no elements.
    kernel.launch(stream.config(9, 32, 0), y.slice_mut(..1).unwrap()).unwrap();
    kernel.launch(stream.config(1, 32, 0), y.slice_mut(..0).unwrap()).unwrap();
    let y = y.to_vec().unwrap();
    assert_eq!((y[0], &y[1..]), (2, &[1; 99][..]));
}

fn a_shape_of_another_size_is_refused(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = numbered::load(device).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(device, 12).unwrap();
    let config = || stream.config((1, 1), (8, 8), 0);
    for shape in [[3, 5], [4, 2], [usize::MAX, usize::MAX], [0, 12]] {
        let error = kernel.launch(config(), Shaped::new(&mut y, shape)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Shape(_)), "{error}");
        assert!(error.to_string().contains("`y` of kernel `numbered` has 12 elements"), "{error}");
    }
    kernel.launch(config(), Shaped::new(&mut y, [3, 4])).unwrap();
    assert_eq!(y.to_vec().unwrap(), [0, 1, 2, 3, 100, 101, 102, 103, 200, 201, 202, 203]);
}

fn what_a_kernel_requires_is_checked(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = added::load(device).unwrap();
    let x = DeviceBuf::from_slice(device, &[1_u32; 10]).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(device, 11).unwrap();
    let error = kernel.launch(stream.config(1, 32, 0), &x, &mut y).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Contract(_)), "{error}");
    assert!(
        error.to_string().contains("requires `x.len() == y.len()` (x.len() = 10, y.len() = 11)"),
        "{error}"
    );
    kernel.launch(stream.config(1, 32, 0), &x, y.slice_mut(1..).unwrap()).unwrap();
    assert_eq!(y.to_vec().unwrap(), [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn a_kernel_that_leaves_elements_out_is_told_what_to_take() {
    let device = Device::simulated(Simulation::default());
    let stream = Stream::new(&device).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(&device, 100).unwrap();
    two_of_three::load(&device).unwrap().launch(stream.config(4, 32, 0), &mut y).unwrap();
    let error = stream.synchronize().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Contract(_)), "{error}");
    let said = error.to_string();
    assert!(
        said.contains("leaves 33 of the 100 elements of `y` unwritten, the first of them element 2"),
        "{said}"
    );
    assert!(said.contains("look at where one returns, or branches, before it writes its element"), "{said}");
    assert!(said.contains("takes `&mut Own<[T]>` in place of `&mut Out<[T]>`"), "{said}");
    assert!(said.contains("its launch passes `&mut` in place of `out`"), "{said}");
}
