// Kernels on elements of several types. One thread an element.

struct Point {
    float x, y;
    unsigned int tag, unused;
};

struct Offset {
    float x, y;
};

extern "C" __global__ void axpy_each(unsigned int n, float a, const float* x, float* y)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

extern "C" __global__ void add_to(unsigned int n, float a, float* y)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a;
}

extern "C" __global__ void double_all(unsigned int n, float* y)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= 2.0f;
}

extern "C" __global__ void invert(unsigned int n, const unsigned char* x, unsigned char* y)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (unsigned char)~x[i];
}

extern "C" __global__ void widen(unsigned int n, long long scale, const unsigned short* x, long long* y)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = scale * x[i];
}

extern "C" __global__ void halve(unsigned int n, double* y)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] /= 2.0;
}

extern "C" __global__ void shift(unsigned int n, Offset by, Point* points)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        points[i].x += by.x;
        points[i].y += by.y;
        points[i].tag += 1;
    }
}
