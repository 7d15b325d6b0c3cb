//! Launches a kernel on a tensor of candle, and hands a buffer to candle as a tensor, both without a copy.
//! The kernel runs between two operations of candle on candle's stream, so that nothing waits for it.

mod share;

use std::error::Error;
use std::process::ExitCode;

use candle_core::Tensor;
use thalweg::Device;
use thalweg::prelude::*;
use thalweg::streams::Stream;

const SIDE: usize = 1024;
const N: usize = SIDE * SIDE;
const BY: f32 = 0.25;

/// Moves `x[i]` towards zero by `by`, and no further.
#[kernel]
fn shrink(i: Index, by: f32, x: &mut Own<[f32]>) {
    let Some(x) = x.get_mut(i) else { return };
    *x = if *x > by {
        *x - by
    } else if *x < -by {
        *x + by
    } else {
        0.0
    };
}

/// `numbers[i] = bytes[i] / 256`
#[kernel]
fn widen(i: Index, bytes: &[u8], numbers: &mut Out<[f32]>) {
    let Some(number) = numbers.get_mut(i) else { return };
    *number = bytes[i] as f32 * (1.0 / 256.0);
}

stream_pipeline! {
    /// Bytes of the host's, chunk by chunk, as numbers on the GPU.
    pipeline Widen {
        input bytes: [u8];
        output numbers: device [f32];
        chunk c = auto;
        stage load { copy bytes -> d_bytes; }
        stage widen { widen<<<blocks(c.len, 256), 256>>>(&d_bytes, out numbers); }
    }
}

fn main() -> ExitCode {
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(error) => {
            eprintln!("this example needs a CUDA device: {error}");
            return ExitCode::FAILURE;
        }
    };
    match run(&device) {
        Ok([0, 0]) => {
            println!("a tensor's memory: {N} elements, all as candle alone has them");
            println!("a buffer's memory: {N} elements, all as candle alone has them");
            ExitCode::SUCCESS
        }
        Ok([tensors, buffers]) => {
            eprintln!("of {N} elements of each, {tensors} and {buffers} are not as candle alone has them");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// How many elements differ from candle's own.
fn run(device: &Device) -> thalweg::Result<[usize; 2], Box<dyn Error>> {
    // Not `new_cuda`, whose stream is each thread's own.
    let gpu = candle_core::Device::new_cuda_with_stream(0)?;
    let data: Vec<f32> = (0..N).map(|i| (i * 37 % 1009) as f32 / 1009.0).collect();
    let weights = Tensor::from_slice(&data, (SIDE, SIDE), &gpu)?;
    Ok([a_tensor(device, &gpu, &data, &weights)?, a_buffer(device, &gpu, &weights)?])
}

/// Runs candle, then a kernel of ours in the tensor's own memory, then candle.
fn a_tensor(
    device: &Device,
    gpu: &candle_core::Device,
    data: &[f32],
    weights: &Tensor,
) -> Result<usize, Box<dyn Error>> {
    let data = Tensor::from_slice(data, (SIDE, SIDE), gpu)?;
    // ANCHOR: tensor
    let stream = gpu.as_cuda_device()?.cuda_stream();
    // SAFETY: it is a stream of the primary context, and the `Arc` is kept.
    let candles = unsafe { Stream::from_raw(device, stream.cu_stream().cast(), stream) }?;
    let x = data.affine(2.0, -1.0)?;
    // SAFETY: the tensor is used on candle's stream alone, and so is the buffer.
    let mut ours = unsafe { share::buffer_of(device, &x) }?;
    let kernel = shrink::load(device)?;
    kernel.launch(candles.config(blocks(N, 256), 256, 0), BY, &mut ours)?;
    let product = x.matmul(weights)?;
    // ANCHOR_END: tensor
    let x = data.affine(2.0, -1.0)?;
    let above = (&x - f64::from(BY))?.relu()?;
    let below = (x.neg()? - f64::from(BY))?.relu()?;
    differing(&product, &(above - below)?.matmul(weights)?)
}

/// Runs a pipeline of ours, then candle in the buffer's own memory.
fn a_buffer(device: &Device, gpu: &candle_core::Device, weights: &Tensor) -> Result<usize, Box<dyn Error>> {
    let bytes: Vec<u8> = (0..N).map(|i| (i * 37 % 251) as u8).collect();
    let stream = gpu.as_cuda_device()?.cuda_stream();
    // SAFETY: it is a stream of the primary context, and the `Arc` is kept.
    let candles = unsafe { Stream::from_raw(device, stream.cu_stream().cast(), stream) }?;
    // ANCHOR: buffer
    let mut numbers = DeviceBuf::<f32>::zeroed(device, N)?;
    Widen::new(device)?.run(&bytes, &mut numbers)?;
    let size = (SIDE, SIDE);
    // SAFETY: the stream is candle's, the buffer has as many elements, and nothing is kept of the tensor but
    // the product.
    let product = unsafe {
        share::as_tensor(&candles, gpu.as_cuda_device()?, &mut numbers, size, |tensor| tensor.matmul(weights))
    }?;
    // ANCHOR_END: buffer
    // It waits for candle's stream.
    drop(numbers);
    let alone = Tensor::from_vec(bytes, (SIDE, SIDE), gpu)?.to_dtype(candle_core::DType::F32)?;
    differing(&product, &(alone / 256.0)?.matmul(weights)?)
}

fn differing(ours: &Tensor, theirs: &Tensor) -> Result<usize, Box<dyn Error>> {
    let [ours, theirs] =
        [ours, theirs].map(|tensor| tensor.flatten_all().and_then(|all| all.to_vec1::<f32>()));
    Ok(ours?.iter().zip(&theirs?).filter(|(ours, theirs)| ours != theirs).count())
}
