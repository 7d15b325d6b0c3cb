//! The bindings of cuDNN 8 and 9, from `cudnn_ops.h` and `cudnn_cnn.h`.

use crate::bindings::bindings;

bindings! {
    from cudarc::cudnn::sys;
    handle cudnnHandle_t = cudnnContext;
    handle cudaStream_t = CUstream_st;
    handle cudnnTensorDescriptor_t = cudnnTensorStruct;
    handle cudnnFilterDescriptor_t = cudnnFilterStruct;
    handle cudnnConvolutionDescriptor_t = cudnnConvolutionStruct;
    handle cudnnActivationDescriptor_t = cudnnActivationStruct;
    enum cudnnActivationMode_t: u32 {
        CUDNN_ACTIVATION_SIGMOID = 0,
        CUDNN_ACTIVATION_RELU = 1,
        CUDNN_ACTIVATION_TANH = 2,
        CUDNN_ACTIVATION_CLIPPED_RELU = 3,
        CUDNN_ACTIVATION_ELU = 4,
    }
    enum cudnnConvolutionFwdAlgo_t: u32 {
        CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM = 0,
        CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM = 1,
    }
    enum cudnnConvolutionMode_t: u32 {
        CUDNN_CROSS_CORRELATION = 1,
    }
    enum cudnnDataType_t: u32 {
        CUDNN_DATA_FLOAT = 0,
    }
    enum cudnnMathType_t: u32 {
        CUDNN_DEFAULT_MATH = 0,
        CUDNN_FMA_MATH = 3,
    }
    enum cudnnNanPropagation_t: u32 {
        CUDNN_PROPAGATE_NAN = 1,
    }
    enum cudnnSoftmaxAlgorithm_t: u32 {
        CUDNN_SOFTMAX_ACCURATE = 1,
        CUDNN_SOFTMAX_LOG = 2,
    }
    enum cudnnSoftmaxMode_t: u32 {
        CUDNN_SOFTMAX_MODE_INSTANCE = 0,
        CUDNN_SOFTMAX_MODE_CHANNEL = 1,
    }
    enum cudnnTensorFormat_t: u32 {
        CUDNN_TENSOR_NCHW = 0,
    }
}
