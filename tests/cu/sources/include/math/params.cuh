#pragma once

typedef unsigned int index_t;

struct Range {
    index_t first;
    index_t count;
};

// What a step does, in C++'s layout: four bytes are left between `mode` and `offset`.
enum Mode { ADD, MULTIPLY };

struct Step {
    Range range;
    Mode mode;
    double offset;
    float factors[3];
};
