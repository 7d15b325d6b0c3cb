struct Point {
    float at[3];
    float speed;
};

extern "C" __global__ void advance(unsigned int n, Point* points) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) points[i].at[0] += points[i].speed;
}
