//! [`Handle`]: cuDNN's handle with its descriptors and workspace, one for each ring slot and stream.

use std::ffi::{c_int, c_void};
use std::ptr;

use thalweg::routine::{Enqueue, Workspace};
use thalweg::{Error, Result};

use super::api::Functions;
use super::sys::{
    cudnnActivationDescriptor_t, cudnnActivationMode_t, cudnnConvolutionDescriptor_t,
    cudnnConvolutionFwdAlgo_t, cudnnConvolutionMode_t, cudnnDataType_t, cudnnFilterDescriptor_t,
    cudnnHandle_t, cudnnMathType_t, cudnnNanPropagation_t, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t,
    cudnnTensorDescriptor_t, cudnnTensorFormat_t,
};
use super::{Activation, Convolution};
use crate::{Recent, pointer};

// Note 16: two stages on two streams must not share a workspace.
/// A handle, its descriptors, which each call sets, and its workspace.
pub(super) struct Handle {
    functions: &'static Functions,
    raw: cudnnHandle_t,
    x: cudnnTensorDescriptor_t,
    y: cudnnTensorDescriptor_t,
    w: cudnnFilterDescriptor_t,
    convolution: cudnnConvolutionDescriptor_t,
    activation: cudnnActivationDescriptor_t,
    workspace: Workspace,
    /// How recent convolutions are computed. Finding out may take cuDNN milliseconds.
    known: Recent<Convolution, Known, KNOWN>,
}

/// The number of convolutions that a handle remembers: a pipeline has a few, each with the usual number of
/// images and the last chunk's.
const KNOWN: usize = 64;

#[derive(Debug, Clone, Copy)]
struct Known {
    algorithm: cudnnConvolutionFwdAlgo_t,
    /// The bytes of workspace that the algorithm takes.
    workspace: usize,
}

// SAFETY: any thread may use a handle of cuDNN and its descriptors, one thread at a time. Using them takes
// the state, which one routine has to itself.
unsafe impl Send for Handle {}

impl Handle {
    pub(super) fn new(stream: *mut c_void) -> Result<Self> {
        let functions = Functions::get()?;
        let mut handle = Self {
            functions,
            raw: ptr::null_mut(),
            x: ptr::null_mut(),
            y: ptr::null_mut(),
            w: ptr::null_mut(),
            convolution: ptr::null_mut(),
            activation: ptr::null_mut(),
            workspace: Workspace::new("the workspace of cuDNN"),
            known: Recent::new(),
        };
        // SAFETY: each pointer is to a place for the result, and the stream is the one that this state
        // belongs to. The context is current: `Enqueue::state` makes it so before it calls this.
        unsafe {
            functions.cudnnCreate(&mut handle.raw)?;
            functions.cudnnSetStream(handle.raw, stream.cast())?;
            functions.cudnnCreateTensorDescriptor(&mut handle.x)?;
            functions.cudnnCreateTensorDescriptor(&mut handle.y)?;
            functions.cudnnCreateFilterDescriptor(&mut handle.w)?;
            functions.cudnnCreateConvolutionDescriptor(&mut handle.convolution)?;
            functions.cudnnCreateActivationDescriptor(&mut handle.activation)?;
        }
        Ok(handle)
    }

    fn set_tensor(&self, tensor: cudnnTensorDescriptor_t, sizes: [usize; 4]) -> Result<()> {
        let [n, c, h, w] = sizes.map(int);
        let (format, element) = (cudnnTensorFormat_t::CUDNN_TENSOR_NCHW, cudnnDataType_t::CUDNN_DATA_FLOAT);
        // SAFETY: the descriptor is live.
        unsafe { self.functions.cudnnSetTensor4dDescriptor(tensor, format, element, n, c, h, w) }
    }

    /// # Safety
    /// The memory has the elements that the sizes say, and stays until the stream has got past this. The
    /// sizes fit together and are not zero.
    pub(super) unsafe fn convolution(
        &mut self,
        queue: &Enqueue<'_>,
        convolution: &Convolution,
        x: u64,
        w: u64,
        y: u64,
    ) -> Result<()> {
        self.describe(convolution)?;
        let Known { algorithm, workspace: bytes } = self.plan(convolution)?;
        let workspace = self.workspace.get(queue, bytes)?;
        // SAFETY: handle and descriptors are live, and the caller promises the memory. The workspace is kept
        // with the handle, and no other stream uses it.
        unsafe {
            self.functions.cudnnConvolutionForward(
                self.raw,
                number(&1.0),
                self.x,
                pointer(x),
                self.w,
                pointer(w),
                self.convolution,
                algorithm,
                pointer(workspace),
                bytes,
                number(&0.0),
                self.y,
                pointer(y),
            )
        }
    }

    /// Sets the descriptors.
    fn describe(&self, convolution: &Convolution) -> Result<()> {
        let Convolution { input, filter, padding, stride, dilation, groups, tf32 } = *convolution;
        self.set_tensor(self.x, input)?;
        self.set_tensor(self.y, convolution.output())?;
        let (format, element) = (cudnnTensorFormat_t::CUDNN_TENSOR_NCHW, cudnnDataType_t::CUDNN_DATA_FLOAT);
        let [k, c, h, w] = filter.map(int);
        let ([pad_h, pad_w], [stride_h, stride_w]) = (padding.map(int), stride.map(int));
        let [dilation_h, dilation_w] = dilation.map(int);
        let mode = cudnnConvolutionMode_t::CUDNN_CROSS_CORRELATION;
        // The default lets Ampere and later round to TF32.
        let math = if tf32 { cudnnMathType_t::CUDNN_DEFAULT_MATH } else { cudnnMathType_t::CUDNN_FMA_MATH };
        let of = self.convolution;
        // SAFETY: the descriptors are live.
        unsafe {
            self.functions.cudnnSetFilter4dDescriptor(self.w, element, format, k, c, h, w)?;
            self.functions.cudnnSetConvolution2dDescriptor(
                of, pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, mode, element,
            )?;
            self.functions.cudnnSetConvolutionGroupCount(of, int(groups))?;
            self.functions.cudnnSetConvolutionMathType(of, math)
        }
    }

    /// The algorithm for what the descriptors say, and the workspace that it takes.
    fn plan(&mut self, convolution: &Convolution) -> Result<Known> {
        let Self { functions, raw, x, w, y, convolution: of, known, .. } = self;
        let with = |algorithm| {
            let mut workspace = 0;
            // SAFETY: handle and descriptors are live, and `workspace` is a place for the result.
            unsafe {
                functions.cudnnGetConvolutionForwardWorkspaceSize(
                    *raw,
                    *x,
                    *w,
                    *of,
                    *y,
                    algorithm,
                    &mut workspace,
                )
            }?;
            Ok(Known { algorithm, workspace })
        };
        let nothing_of_the_device = || Ok(());
        let known = known.get_or_make(*convolution, nothing_of_the_device, || {
            match with(cudnnConvolutionFwdAlgo_t::CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM) {
                Err(error) if is_unsupported(&error) => {
                    with(cudnnConvolutionFwdAlgo_t::CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM)
                }
                known => known,
            }
        })?;
        Ok(*known)
    }

    /// # Safety
    /// `y` is memory of `len` elements, at least one, and stays until the stream has got past this.
    pub(super) unsafe fn activation(&mut self, activation: Activation, y: u64, len: usize) -> Result<()> {
        let (mode, coefficient) = match activation {
            Activation::Relu => (cudnnActivationMode_t::CUDNN_ACTIVATION_RELU, 0.0),
            Activation::ClippedRelu { ceiling } => {
                (cudnnActivationMode_t::CUDNN_ACTIVATION_CLIPPED_RELU, ceiling)
            }
            Activation::Sigmoid => (cudnnActivationMode_t::CUDNN_ACTIVATION_SIGMOID, 0.0),
            Activation::Tanh => (cudnnActivationMode_t::CUDNN_ACTIVATION_TANH, 0.0),
            Activation::Elu { alpha } => (cudnnActivationMode_t::CUDNN_ACTIVATION_ELU, alpha),
        };
        self.set_tensor(self.y, [1, 1, 1, len])?;
        let nan = cudnnNanPropagation_t::CUDNN_PROPAGATE_NAN;
        let (of, tensor, y) = (self.activation, self.y, pointer(y));
        // SAFETY: handle and descriptors are live, and the caller promises the memory, which may be input and
        // output at once.
        unsafe {
            self.functions.cudnnSetActivationDescriptor(of, mode, nan, coefficient.into())?;
            self.functions.cudnnActivationForward(
                self.raw,
                of,
                number(&1.0),
                tensor,
                y,
                number(&0.0),
                tensor,
                y,
            )
        }
    }

    /// # Safety
    /// `y` is memory of these images, channels and places, and `bias` of these channels; none of the sizes is
    /// zero. Both stay until the stream has got past this.
    pub(super) unsafe fn bias(&mut self, sizes: [usize; 3], bias: u64, y: u64) -> Result<()> {
        let [images, channels, places] = sizes;
        self.set_tensor(self.x, [1, channels, 1, 1])?;
        self.set_tensor(self.y, [images, channels, places, 1])?;
        let one = number(&1.0);
        // SAFETY: handle and descriptors are live, and the caller promises the memory.
        unsafe {
            self.functions.cudnnAddTensor(self.raw, one, self.x, pointer(bias), one, self.y, pointer(y))
        }
    }

    /// # Safety
    /// `y` is memory of these groups, classes and places, none of which is zero, and stays until the stream
    /// has got past this.
    pub(super) unsafe fn softmax(&mut self, sizes: [usize; 3], log: bool, y: u64) -> Result<()> {
        let [groups, classes, places] = sizes;
        self.set_tensor(self.y, [groups, classes, places, 1])?;
        let algorithm = match log {
            true => cudnnSoftmaxAlgorithm_t::CUDNN_SOFTMAX_LOG,
            false => cudnnSoftmaxAlgorithm_t::CUDNN_SOFTMAX_ACCURATE,
        };
        let mode = match places {
            1 => cudnnSoftmaxMode_t::CUDNN_SOFTMAX_MODE_INSTANCE,
            _ => cudnnSoftmaxMode_t::CUDNN_SOFTMAX_MODE_CHANNEL,
        };
        let (tensor, y) = (self.y, pointer(y));
        // SAFETY: handle and descriptors are live, and the caller promises the memory, which may be input and
        // output at once.
        unsafe {
            self.functions.cudnnSoftmaxForward(
                self.raw,
                algorithm,
                mode,
                number(&1.0),
                tensor,
                y,
                number(&0.0),
                tensor,
                y,
            )
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let functions = self.functions;
        // SAFETY: each object that was made is destroyed here and nowhere else. The pipeline drops the handle
        // when its work has completed, with its context current. An object that cannot be destroyed is
        // leaked.
        unsafe {
            if !self.activation.is_null() {
                let _ = functions.cudnnDestroyActivationDescriptor(self.activation);
            }
            if !self.convolution.is_null() {
                let _ = functions.cudnnDestroyConvolutionDescriptor(self.convolution);
            }
            if !self.w.is_null() {
                let _ = functions.cudnnDestroyFilterDescriptor(self.w);
            }
            for tensor in [self.y, self.x] {
                if !tensor.is_null() {
                    let _ = functions.cudnnDestroyTensorDescriptor(tensor);
                }
            }
            if !self.raw.is_null() {
                let _ = functions.cudnnDestroy(self.raw);
            }
        }
    }
}

/// Whether cuDNN lacks this algorithm for these sizes: code 9 in version 8, codes from 3000 to 3999 in
/// version 9.
fn is_unsupported(error: &Error) -> bool {
    matches!(crate::Error::of(error), Some(crate::Error::Library { code: 9 | 3000..4000, .. }))
}

/// A size, which was checked to fit.
fn int(size: usize) -> c_int {
    size as c_int
}

/// A factor as cuDNN takes it for `f32`.
fn number(factor: &'static f32) -> *const c_void {
    ptr::from_ref(factor).cast()
}
