// Kernels with a parameter of each sort that sources in the field have.

#include <cuComplex.h>
#ifndef __CUDACC_RTC__
#include <cufft.h>
#endif
#include <curand_kernel.h>

typedef unsigned int index_t;
using byte_t = unsigned char;
#define REAL_OF_OPTIONS float

#ifdef SINGLE
typedef float real;
#else
typedef double real;
#endif

#if defined(ENABLE_FP32)
typedef float floatX;
#elif defined(ENABLE_FP16)
typedef half floatX;
#else
typedef __nv_bfloat16 floatX;
#endif

#if WIDE
#define COUNT long long
#else
#define COUNT int
#endif

enum Mode { FIRST, SECOND = 3 };

struct Particle {
    float3 at;
    float mass;
    int kind;
};

struct Flags {
    bool a, b, c, d;
};

struct One {
    float value;
};

struct __align__(16) Aligned {
    double a;
    int b;
};

union Either {
    float a;
    int b;
    double c;
};

struct Bits {
    unsigned a : 3;
    unsigned b : 29;
};

extern "C" __global__ void numbers(int a, unsigned b, float c, double d, size_t e, bool f, short g, unsigned char h) {}
extern "C" __global__ void slices(const float* a, float* b, const double* c, int* d, const unsigned* e, uint8_t* f) {}
extern "C" __global__ void longs(long long* a, const unsigned long long* b, long long c, int64_t d, uint64_t e) {}
extern "C" __global__ void halves(const half* a, __half* b, __nv_bfloat16* c, half d, const half2* e) {}
extern "C" __global__ void aliases(index_t a, const index_t* b, byte_t* c, REAL_OF_OPTIONS d, const REAL_OF_OPTIONS* e) {}
extern "C" __global__ void reals(const real* a, real* b, real c, int n) {}
extern "C" __global__ void precisions(floatX* out, const floatX* in, const float* scale, int n) {}
extern "C" __global__ void counts(COUNT* a, COUNT b, const real* c) {}
extern "C" __global__ void vectors(float4* a, const float3* b, int2 c, const uchar4* d, double2* e, dim3 f, uint4 g) {}
extern "C" __global__ void complexes(cuComplex* a, const cufftComplex* b, cuDoubleComplex* c, cufftReal d) {}
extern "C" __global__ void handles(cudaTextureObject_t a, cudaSurfaceObject_t b, clock_t* c, cudaTextureObject_t* d) {}
extern "C" __global__ void random(curandState* a, curandStatePhilox4_32_10_t* b, curandStateSobol32* c, float* d, int n) {}
extern "C" __global__ void structs(const Particle* a, Particle* b, Particle c, Flags d, One e, const Aligned* f, int n) {}
extern "C" __global__ void either(Either a, const Either* b, int n) {}
extern "C" __global__ void letters(const char* a, char* b, char c, signed char d) {}
extern "C" __global__ void modes(Mode a, const Mode* b, int n) {}
extern "C" __global__ void untyped(const void* a, void* b, size_t n) {}
extern "C" __global__ void bits(const Bits* a, Bits b, float* c) {}
extern "C" __global__ void sized(float a[16], const int b[3][4], volatile float* c, float* __restrict__ const d) {}

template <typename T, int N>
__global__ void of_template(const T* a, T* b, T c, int n) {}
__global__ void mangled(const float* a, float* b, unsigned n) {}
