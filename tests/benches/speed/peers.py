"""Peers of other kinds on the workloads of `speed`: CuPy, PyTorch, Numba and CUDASTF, those that are there.

    python3 peers.py [--runs N] [--json FILE]

Page-locked memory, the same kernel of one step (v <- 0.999 v + 0.001); in Python a ring of three slots with a stream each. Each
takes turns with the bare copies of the same bytes, and its result is checked each time.

CUDASTF is C++, headers alone: `stf.cu` is compiled by nvcc (on the path, or in CUDA_HOME) and loaded. The headers come with
CCCL's sources and with no CUDA toolkit. CUDASTF_INCLUDE names their folders, CCCL's own before the toolkit's:

    CUDASTF_INCLUDE=cccl/cudax/include:cccl/libcudacxx/include:cccl/cub:cccl/thrust python3 peers.py

CPLUS_INCLUDE_PATH, and `include` and `include/cccl` of CUDA_HOME, are looked in, too. CUDASTF reads variables of its own:
CUDASTF_DEFAULT_ALLOCATOR=cached_fifo with CUDASTF_CACHED_FIFO=6 goes round three pairs of buffers, not one.
"""

import argparse
import ctypes
import functools
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import weakref

import numpy as np

DEPTH = 3
KERNEL = r"""
extern "C" __global__ void step(unsigned n, const float* x, float* z) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = fmaf(x[i], 0.999f, 0.001f);
}
"""


def cupy_peer(total, chunk):
    import cupy

    kernel = cupy.RawKernel(KERNEL, "step")
    pinned = [cupy.cuda.alloc_pinned_memory(total * 4) for _ in range(2)]
    x, z = (np.frombuffer(memory, np.float32, total) for memory in pinned)
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(DEPTH)]
    slots = [(cupy.empty(chunk, cupy.float32), cupy.empty(chunk, cupy.float32)) for _ in range(DEPTH)]

    def run():
        for index, start in enumerate(range(0, total, chunk)):
            n = min(chunk, total - start)
            stream, (dx, dz) = streams[index % DEPTH], slots[index % DEPTH]
            dx.data.copy_from_host_async(x.ctypes.data + start * 4, n * 4, stream)
            with stream:
                kernel(((n + 255) // 256,), (256,), (np.uint32(n), dx, dz))
            dz.data.copy_to_host_async(z.ctypes.data + start * 4, n * 4, stream)
        for stream in streams:
            stream.synchronize()

    whole = [cupy.empty(total, cupy.float32) for _ in range(2)]

    def limit():
        whole[0].data.copy_from_host_async(x.ctypes.data, total * 4, streams[0])
        whole[1].data.copy_to_host_async(z.ctypes.data, total * 4, streams[1])
        for stream in streams:
            stream.synchronize()

    return x, z, run, limit


def torch_peer(total, chunk):
    import torch

    tx, tz = (torch.empty(total, dtype=torch.float32, pin_memory=True) for _ in range(2))
    streams = [torch.cuda.Stream() for _ in range(DEPTH)]
    slots = [torch.empty(chunk, device="cuda") for _ in range(DEPTH)]

    def run():
        for index, start in enumerate(range(0, total, chunk)):
            n = min(chunk, total - start)
            with torch.cuda.stream(streams[index % DEPTH]):
                d = slots[index % DEPTH][:n]
                d.copy_(tx[start : start + n], non_blocking=True)
                # Two kernels, as people write it.
                d.mul_(0.999).add_(0.001)
                tz[start : start + n].copy_(d, non_blocking=True)
        torch.cuda.synchronize()

    whole = [torch.empty(total, device="cuda") for _ in range(2)]

    def limit():
        with torch.cuda.stream(streams[0]):
            whole[0].copy_(tx, non_blocking=True)
        with torch.cuda.stream(streams[1]):
            tz.copy_(whole[1], non_blocking=True)
        torch.cuda.synchronize()

    return tx.numpy(), tz.numpy(), run, limit


def numba_peer(total, chunk):
    from numba import cuda

    @cuda.jit
    def step(n, x, z):
        i = cuda.grid(1)
        if i < n:
            z[i] = x[i] * np.float32(0.999) + np.float32(0.001)

    x, z = (cuda.pinned_array(total, np.float32) for _ in range(2))
    streams = [cuda.stream() for _ in range(DEPTH)]
    slots = [(cuda.device_array(chunk, np.float32), cuda.device_array(chunk, np.float32)) for _ in range(DEPTH)]

    def run():
        for index, start in enumerate(range(0, total, chunk)):
            n = min(chunk, total - start)
            stream, (dx, dz) = streams[index % DEPTH], slots[index % DEPTH]
            dx[:n].copy_to_device(x[start : start + n], stream=stream)
            step[(n + 255) // 256, 256, stream](n, dx, dz)
            dz[:n].copy_to_host(z[start : start + n], stream=stream)
        for stream in streams:
            stream.synchronize()

    whole = [cuda.device_array(total, np.float32) for _ in range(2)]

    def limit():
        whole[0].copy_to_device(x, stream=streams[0])
        whole[1].copy_to_host(z, stream=streams[1])
        for stream in streams:
            stream.synchronize()

    return x, z, run, limit


# Removed when the process ends.
FOLDER = tempfile.TemporaryDirectory()


@functools.cache
def stf_built():
    """The path of `stf.cu`'s library, and why there is none."""
    toolkit = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    nvcc = shutil.which("nvcc") or (toolkit and shutil.which("nvcc", path=os.path.join(toolkit, "bin")))
    if not nvcc:
        return None, "no nvcc, neither on the path nor in CUDA_HOME"
    variables = [os.environ.get(name, "") for name in ("CUDASTF_INCLUDE", "CPLUS_INCLUDE_PATH")]
    folders = [folder for variable in variables for folder in variable.split(os.pathsep) if folder]
    if toolkit:
        folders += [os.path.join(toolkit, "include"), os.path.join(toolkit, "include", "cccl")]
    header = os.path.join("cuda", "experimental", "stf.cuh")
    if not any(os.path.exists(os.path.join(folder, header)) for folder in folders):
        return None, f"no {header}: CUDASTF_INCLUDE names its folder"
    library = os.path.join(FOLDER.name, "libstf.so")
    flags = ["-std=c++20", "-O3", "-DNDEBUG", "-arch=native", "--expt-relaxed-constexpr", "--extended-lambda"]
    output = ["-shared", "-Xcompiler", "-fPIC", "-cudart", "static", "-o", library]
    source = pathlib.Path(__file__).with_name("stf.cu")
    built = subprocess.run([nvcc, *flags, *(f"-I{folder}" for folder in folders), *output, source], stdout=sys.stderr)
    return (None, f"nvcc ended with {built.returncode}") if built.returncode else (library, None)


@functools.cache
def stf_library(path):
    # CUDASTF calls the driver's functions, which the library leaves to be found here.
    ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(path)
    address = ctypes.POINTER(ctypes.c_void_p)
    library.stf_new.argtypes = [ctypes.c_size_t, ctypes.c_size_t, address, address, address]
    library.stf_free.argtypes = [ctypes.c_void_p]
    library.stf_run.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.stf_limit.argtypes = [ctypes.c_void_p]
    library.stf_error.argtypes, library.stf_error.restype = [ctypes.c_int], ctypes.c_char_p
    return library


def stf_peer(total, chunk, graph):
    path, missing = stf_built()
    if missing:
        raise ImportError(missing)
    try:
        library = stf_library(path)
    except OSError as error:
        raise ImportError(error) from error

    def check(status):
        if status:
            raise RuntimeError(f"stf.cu: {library.stf_error(status).decode()}")

    x, z, peer = (ctypes.c_void_p() for _ in range(3))
    check(library.stf_new(total, chunk, ctypes.byref(x), ctypes.byref(z), ctypes.byref(peer)))

    def run():
        check(library.stf_run(peer, graph))

    def limit():
        check(library.stf_limit(peer))

    weakref.finalize(run, library.stf_free, peer)
    x, z = (np.ctypeslib.as_array((ctypes.c_float * total).from_address(memory.value)) for memory in (x, z))
    return x, z, run, limit


PEERS = {
    "CuPy": cupy_peer,
    "PyTorch": torch_peer,
    "Numba": numba_peer,
    "CUDASTF, streams": functools.partial(stf_peer, graph=False),
    "CUDASTF, a graph": functools.partial(stf_peer, graph=True),
}
WORKLOADS = {
    "1 GiB in, 1 GiB out, pinned, chunks of 16 MiB": (1 << 28, 4 << 20),
    "256 MiB as 4,096 chunks of 64 KiB": (1 << 26, 16 << 10),
}


def seconds(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(peer, total, chunk, runs):
    x, z, run, limit = peer(total, chunk)
    x[:] = np.random.default_rng(1).random(total, dtype=np.float32)
    expected = x.astype(np.float64) * 0.999 + 0.001
    walls, limits = [], []
    for turn in range(2 + runs):
        limits.append(seconds(limit))
        z[:] = np.nan
        walls.append(seconds(run))
        error = np.abs(z - expected).max()
        assert error < 1e-6, f"wrong by {error}"
    return [statistics.median(values[2:]) for values in (walls, limits)]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--runs", type=int, default=7)
    options.add_argument("--json")
    options = options.parse_args()
    rows = []
    for title, (total, chunk) in WORKLOADS.items():
        print(f"\n{title}\n{'':<40} {'median ms':>9} {'limit ms':>9} {'x limit':>8}")
        for name, peer in PEERS.items():
            try:
                wall, limit = measure(peer, total, chunk, options.runs)
            except (ImportError, AttributeError) as missing:
                # Not installed, of a version that does not go with the others', or not to be compiled.
                print(f"{name:<40} cannot be used here: {missing}")
                continue
            print(f"{name:<40} {wall * 1e3:>9.3f} {limit * 1e3:>9.3f} {wall / limit:>8.3f}", flush=True)
            rows.append({"title": title, "name": name, "median_seconds": wall, "limit_seconds": limit})
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=2)
            file.write("\n")


if __name__ == "__main__":
    main()
