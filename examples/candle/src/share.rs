//! Shares memory between candle and thalweg, in both directions.

use std::error::Error;
use std::mem::{ManuallyDrop, replace};

use candle_core::cuda::CudaStorageSlice;
use candle_core::cuda::cudarc::driver::DevicePtr;
use candle_core::op::BackpropOp;
use candle_core::{CpuStorage, CudaDevice, CudaStorage, InplaceOp1, Layout, Shape, Storage, Tensor, bail};
use thalweg::streams::Stream;
use thalweg::{Device, DeviceBuf};

/// The tensor's memory as a buffer, which keeps it.
///
/// # Errors
/// The tensor is not of `f32`, not contiguous, or not on a GPU; the device is simulated.
///
/// # Safety
/// The device is the tensor's. Every use of the buffer is ordered with every use of the tensor.
pub unsafe fn buffer_of(device: &Device, tensor: &Tensor) -> Result<DeviceBuf<f32>, Box<dyn Error>> {
    let (storage, layout) = tensor.storage_and_layout();
    let Storage::Cuda(storage) = &*storage else { return Err("the tensor is not on a GPU".into()) };
    let (start, end) = layout.contiguous_offsets().ok_or("the tensor is not contiguous")?;
    let part = storage.as_cuda_slice::<f32>()?.slice(start..end);
    let address = part.device_ptr(&storage.device.cuda_stream()).0;
    // SAFETY: that many elements are there as long as the tensor is; the rest is the caller's promise.
    Ok(unsafe { DeviceBuf::from_raw(device, address, end - start, tensor.clone()) }?)
}

/// Lets `work` enqueue operations on candle's stream with the buffer as a tensor, which it may read and
/// write. The buffer is not freed before they are complete.
///
/// # Errors
/// Those of `work` and of the driver. Earlier work that uses the buffer is not ordered with candle's stream.
///
/// # Safety
/// `candles` is the stream of `gpu`, on which the buffer is. The buffer has as many elements as the shape.
/// `work` keeps nothing that shares the tensor's memory, and does not panic.
pub unsafe fn as_tensor<T>(
    candles: &Stream,
    gpu: &CudaDevice,
    buffer: &mut DeviceBuf<f32>,
    shape: impl Into<Shape>,
    work: impl FnOnce(&Tensor) -> candle_core::Result<T>,
) -> Result<T, Box<dyn Error>> {
    // A missing order is an error before anything is enqueued.
    candles.note_write(&mut *buffer)?;
    // SAFETY: the memory is there, as long as that, and initialised.
    let slice = unsafe { gpu.cuda_stream().upgrade_device_ptr::<f32>(buffer.address(), buffer.len()) };
    let storage = Storage::Cuda(CudaStorage::wrap_cuda_slice(slice, gpu.clone()));
    // If it were dropped with the memory in it, it would free memory that is not candle's.
    let tensor = ManuallyDrop::new(Tensor::from_storage(storage, shape, BackpropOp::none(), false));
    let result = work(&tensor);
    let taken = tensor.inplace_op1(&TakeBack);
    if let Err(error) = candles.note_write(buffer) {
        candles.synchronize()?;
        return Err(error.into());
    }
    taken?;
    drop(ManuallyDrop::into_inner(tensor));
    Ok(result?)
}

/// Takes the memory out of a tensor: candle lets an operation in place have the storage, and nobody else.
struct TakeBack;

impl InplaceOp1 for TakeBack {
    fn name(&self) -> &'static str {
        "take-back"
    }

    fn cpu_fwd(&self, _: &mut CpuStorage, _: &Layout) -> candle_core::Result<()> {
        bail!("the tensor is not on a GPU")
    }

    fn cuda_fwd(&self, storage: &mut CudaStorage, _: &Layout) -> candle_core::Result<()> {
        let other = CudaStorageSlice::F32(storage.device.alloc_zeros(1)?);
        if let CudaStorageSlice::F32(slice) = replace(&mut storage.slice, other) {
            let _: u64 = slice.leak();
        }
        Ok(())
    }
}
