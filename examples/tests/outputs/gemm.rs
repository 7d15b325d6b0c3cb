//! The matrix product on several devices, where B does not fit.

use thalweg::prelude::*;
use thalweg::sim::MachineModel;

#[path = "../../examples/out_of_core_gemm/matrices.rs"]
mod matrices;
#[path = "../../examples/out_of_core_gemm/product.rs"]
#[allow(dead_code, reason = "the sizes are used, and the pipelines are those of one device")]
mod product;
#[path = "../../examples/out_of_core_gemm/several.rs"]
mod several;
use matrices::{Shape, check, random};
use several::OnSeveral;

const SHAPE: Shape = Shape { m: 190, n: 150, k: 100 };

/// The product within a budget, and in how many parts it was computed.
fn product_on(devices: usize, budget: usize) -> (Vec<f32>, usize) {
    let devices = Device::simulated_machine(MachineModel::h200(devices));
    let Shape { m, n, k } = SHAPE;
    let (a, b) = (random(&devices[0], m * k, 1).expect("A"), random(&devices[0], k * n, 2).expect("B"));
    let mut c = PinnedBuf::zeroed(&devices[0], m * n).expect("memory");
    let mut product = OnSeveral::new(&devices, budget).expect("the pipeline");
    let parts = product.multiply(SHAPE, &a, &b, &mut c).expect("a product");
    assert_eq!(check(SHAPE, &a, &b, &c, 300), "all right");
    (c.to_vec(), parts)
}

/// Each entry is one sum, on whichever device it is.
#[test]
fn devices_share_the_rows_of_a_product() {
    for (budget, parts) in [(GIB, 1), (64 * KIB, 2), (24 * KIB, 5)] {
        let two = product_on(2, budget);
        assert_eq!(two.1, parts, "{budget}");
        assert_eq!(two, product_on(3, budget), "{budget}");
    }
}
