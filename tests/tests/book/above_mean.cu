// How far each item is above the mean of itself and `halo` items on either side.
// `x` begins `halo` items before the chunk's first one: x[i + halo] is the chunk's item i.
extern "C" __global__ void above_mean(
    unsigned int n, unsigned int halo, const float* x, float* y)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (unsigned int k = i; k <= i + 2 * halo; k++) sum += x[k];
    y[i] = x[i + halo] - sum / (2 * halo + 1);
}
