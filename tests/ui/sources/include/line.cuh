#pragma once

struct Line {
    float a;
    float b;
};
