// Prices of European options without dividends, by F. Black and M. Scholes, "The Pricing of Options and
// Corporate Liabilities" (1973). Each thread prices one option.

// The probability that a standard normal variable is more than d >= 0: Abramowitz and Stegun, "Handbook of
// Mathematical Functions", 26.2.17, where the error is said to be below 7.5e-8.
static __device__ __forceinline__ float upper_tail(float d)
{
    float t = 1.0f / (1.0f + 0.2316419f * d);
    float polynomial = t * (0.31938153f + t * (-0.356563782f + t * (1.781477937f + t * (-1.821255978f + t * 1.330274429f))));
    return 0.39894228f * expf(-0.5f * d * d) * polynomial;
}

static __device__ __forceinline__ float not_negative(float price) { return price < 0.0f ? 0.0f : price; }

extern "C" __global__ void __launch_bounds__(1024)
black_scholes(unsigned int n, float rate, const float* __restrict__ spot, const float* __restrict__ strike,
              const float* __restrict__ years, const float* __restrict__ volatility, float* __restrict__ call,
              float* __restrict__ put)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float s = spot[i], k = strike[i], t = years[i], v = volatility[i];
    if (!(s > 0.0f && k > 0.0f && t >= 0.0f && v >= 0.0f)) {
        call[i] = put[i] = __int_as_float(0x7fffffff); // NaN
        return;
    }
    float discounted = k * expf(-rate * t);
    float deviation = v * sqrtf(t);
    if (deviation == 0.0f) {
        // The outcome is certain.
        call[i] = not_negative(s - discounted);
        put[i] = not_negative(discounted - s);
        return;
    }
    float d1 = (logf(s / k) + (rate + 0.5f * v * v) * t) / deviation;
    float d2 = d1 - deviation;
    float tail1 = upper_tail(fabsf(d1)), tail2 = upper_tail(fabsf(d2));
    float above1 = d1 > 0.0f ? 1.0f - tail1 : tail1, below1 = d1 > 0.0f ? tail1 : 1.0f - tail1;
    float above2 = d2 > 0.0f ? 1.0f - tail2 : tail2, below2 = d2 > 0.0f ? tail2 : 1.0f - tail2;
    call[i] = not_negative(s * above1 - discounted * above2);
    put[i] = not_negative(discounted * below2 - s * below1);
}
