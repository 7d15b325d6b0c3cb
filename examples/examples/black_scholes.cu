// European options by the formula of Black and Scholes with Merton's dividend yield: the price and its
// derivatives in one pass, since they share the costly terms. Each thread values one option, with six
// numbers.

extern "C" __global__ void __launch_bounds__(256)
greeks(unsigned int n, const signed char* __restrict__ sign, const double* __restrict__ spot,
       const double* __restrict__ strike, const double* __restrict__ years, const double* __restrict__ rate,
       const double* __restrict__ dividend, const double* __restrict__ volatility, double* __restrict__ values)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    double phi = sign[i], t = years[i], r = rate[i], q = dividend[i], v = volatility[i];
    double deviation = v * sqrt(t);
    double d1 = (log(spot[i] / strike[i]) + (r - q + 0.5 * v * v) * t) / deviation;
    double d2 = d1 - deviation;
    // Both legs are discounted to today: the share that is received, and the price that is paid for it.
    double s = spot[i] * exp(-q * t), k = strike[i] * exp(-r * t);
    double in_shares = normcdf(phi * d1), in_money = normcdf(phi * d2);
    double density = 0.3989422804014327 * exp(-0.5 * d1 * d1);

    double* row = values + 6 * i;
    row[0] = phi * (s * in_shares - k * in_money); // price
    row[1] = phi * s * in_shares / spot[i]; // delta
    row[2] = s * density / (spot[i] * spot[i] * deviation); // gamma
    row[3] = s * density * sqrt(t); // vega
    row[4] = phi * (q * s * in_shares - r * k * in_money) - 0.5 * s * density * v / sqrt(t); // theta
    row[5] = phi * t * k * in_money; // rho
}
