// Writes far outside its buffer: what its declaration promises is not true.
extern "C" __global__ void wild(unsigned int n, float* x)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        x[(size_t)1 << 40] = 1.0f;
    }
}
