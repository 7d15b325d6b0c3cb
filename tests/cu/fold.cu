// total[0] = 31 * total[0] + x[i] for each x[i] in order, which shows the order; total[1] += n. One thread.
extern "C" __global__ void fold(unsigned int n, const long long* x, long long* total)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        unsigned long long folded = total[0];
        for (unsigned int i = 0; i < n; i++) {
            folded = folded * 31 + x[i];
        }
        total[0] = folded;
        total[1] += n;
    }
}
