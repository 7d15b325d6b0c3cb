// Each item's total so far, from where the chunk before has left it.
// One thread does it all, since each sum needs the one before.
extern "C" __global__ void running_total(
    unsigned int n, const float* x, float* total, float* y)
{
    if (blockIdx.x > 0 || threadIdx.x > 0) return;
    for (unsigned int i = 0; i < n; i++) {
        total[0] += x[i];
        y[i] = total[0];
    }
}
