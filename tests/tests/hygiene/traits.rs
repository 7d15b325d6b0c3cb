//! A trait of the user's whose methods have the names of the runtime's, and take any value as it is: of a value they
//! would come before what the runtime has for references to it.

use renamed::kernel::Shaped;
use renamed::sim::Simulation;
use renamed::streams::Stream;
use renamed::{Device, DeviceBuf};

/// Pipelines and kernels in whose scope that trait is.
mod declared {
    // Atomics are the program's own, like numbers: their methods are not in the trait.
    use std::sync::atomic::AtomicU32;
    use std::sync::atomic::Ordering::Relaxed;

    use renamed::prelude::*;

    /// What nothing passes.
    pub enum Nobody {}

    macro_rules! taken {
        ($($name:ident)*) => {
            /// The methods fit no call, so that a call which reached one would not compile.
            #[allow(dead_code, reason = "nothing is to call them")]
            #[allow(clippy::wrong_self_convention, reason = "`is_due` takes anything, too")]
            pub trait Taken: Sized {
                $(fn $name(self, _: Nobody) {})*
            }
        };
    }

    taken! {
        on streams events chunks of launch call calls is_due enqueue host then state
        wait wait_reuse wait_previous record config read read_write write
        upload download copy fill host_read host_read_write host_write
        all_reduce broadcast all_gather exchange barrier whole part
        argument argument_size length_argument shape_argument access slice slice_mut own out promise uneven along_x within
        requires covers counts in_blocks has_threads asks follows
        each reduce scan any count shared shared_slice shared_bytes private index blocks threads tiles rows shape
        each_in_rounds reduce_in_rounds get_mut put tile row
    }

    impl<T> Taken for T {}

    #[renamed::kernels("../../ui/names.cu", crate = ::renamed)]
    unsafe extern "CUDA" {
        #[host(scaled)]
        #[requires(n as usize <= y.len())]
        pub(super) safe fn scale(n: u32, a: f32, y: &mut [f32]);
    }

    fn scaled(t: Thread, n: u32, a: f32, y: &mut [f32]) {
        if t.global_x() < n as usize {
            y[t.global_x()] *= a;
        }
    }

    #[kernel(crate = ::renamed)]
    #[requires(x.len() <= y.len())]
    fn add(i: Index, x: &[f32], hits: &[AtomicU32], y: &mut Own<[f32]>) {
        let Some(y) = y.get_mut(i) else { return };
        *y += x[i];
        hits[0].fetch_add(1, Relaxed);
    }

    #[kernel(crate = ::renamed)]
    fn sums(block: Block, x: &[f32], sums: &mut Out<[f32]>) {
        let mut doubled = block.shared::<[f32; 32]>();
        block.fill(&mut doubled, |_| 1.0);
        let mut most = block.private(0.0_f32);
        block.each(|t| most[t] = doubled[t.rank()]);
        let sum = block.reduce(
            |t| {
                let mut sum = 0.0;
                for i in t.of_grid(x.len()) {
                    sum += x[i];
                }
                sum * most[t]
            },
            |a, b| a + b,
        );
        sums.put(block.index(), sum);
    }

    /// Its block has no name.
    #[kernel(crate = ::renamed)]
    #[allow(dead_code, reason = "it has to compile")]
    fn idle(_: Block, _: &mut Own<[f32]>) {}

    #[kernel(crate = ::renamed)]
    pub(super) fn ones(block: Block<2>, y: &mut Own<[f32]>) {
        for row in block.rows(y) {
            block.fill(&mut y.row(row), |_| 1.0);
        }
    }

    fn doubled(h: &[f32], g: &mut [f32]) {
        for (g, h) in g.iter_mut().zip(h) {
            *g = 2.0 * h;
        }
    }

    renamed::stream_pipeline! {
        #![crate = ::renamed]
        pub(super) pipeline Taking {
            param a: f32;
            input x: [f32];
            output y: [f32];
            output found: [f32; 1] per chunk;
            output hits: [u32; 1] per chunk;
            device dh: [u32; 1] per chunk;
            device ds: [f32; 1] per chunk;
            device dz: [f32];
            host h: [f32];
            host g: [f32];
            chunk c = 7;
            stream up;
            stream math;
            stream down;
            stage load on up { copy x -> dx; }
            stage work on math {
                copy dx -> dy;
                fill dh = 0;
                scale<<<blocks(c.len, 32), 32>>>(c.len as u32, a, &mut dy);
                add<<<blocks(c.len, 32), 32>>>(&dx, &mut dh, &mut dy);
                sums<<<1, 32>>>(&dy, out ds);
            }
            stage store on down {
                copy dy -> h;
                host doubled(&h, out g);
                copy g -> dz;
                copy dz -> y;
                copy ds -> found;
                copy dh -> hits;
            }
        }
    }

    renamed::stream_pipeline! {
        #![crate = ::renamed]
        pub(super) pipeline Rows {
            param rows: usize;
            param columns: usize;
            inout y: [f32];
            chunk c = 1 << 20;
            stage all {
                copy y -> dy;
                ones<<<(1, 4), 32>>>(&mut dy as [rows, columns]);
                copy dy -> y;
            }
        }
    }
}

#[test]
fn methods_are_the_runtimes() {
    let x: Vec<f32> = (0..50_u8).map(f32::from).collect();
    for device in [Device::simulated(Simulation::default()), Device::cpu().unwrap()] {
        let mut pipeline = declared::Taking::new(&device).unwrap();
        let (mut y, mut found, mut hits) = (vec![0.0; 50], vec![0.0; 8], vec![0; 8]);
        pipeline.run(3.0, &x, &mut y, &mut found, &mut hits).unwrap();
        assert_eq!(y, x.iter().map(|x| 8.0 * x).collect::<Vec<_>>());
        assert_eq!(found, x.chunks(7).map(|x| 4.0 * x.iter().sum::<f32>()).collect::<Vec<_>>());
        assert_eq!(hits, x.chunks(7).map(|x| x.len() as u32).collect::<Vec<_>>());
    }
}

/// Rows without elements may be more than can be counted.
#[test]
fn rows_have_elements() {
    for device in [Device::simulated(Simulation::default()), Device::cpu().unwrap()] {
        let mut pipeline = declared::Rows::new(&device).unwrap();
        let mut y = vec![0.0; 12];
        pipeline.run(3, 4, &mut y).unwrap();
        assert_eq!(y, [1.0; 12]);
        let (stream, ones) = (Stream::new(&device).unwrap(), declared::ones::load(&device).unwrap());
        let mut none = DeviceBuf::<f32>::zeroed(&device, 0).unwrap();
        let shaped = Shaped::new(&mut none, [usize::MAX, 0]);
        ones.launch(stream.config((1, 4), 32, 0), shaped).unwrap();
        stream.synchronize().unwrap();
    }
}
