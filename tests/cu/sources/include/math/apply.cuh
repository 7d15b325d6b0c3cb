#pragma once

#include "params.cuh"

__device__ inline float apply(const Step& step, float x) {
    return step.mode == ADD ? x + (float)step.offset : x * step.factors[0] * step.factors[1] * step.factors[2];
}
