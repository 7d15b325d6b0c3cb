// Does not compile: `undeclared` is not declared.
extern "C" __global__ void broken(unsigned int n, float* x)
{
    x[0] = undeclared;
}
