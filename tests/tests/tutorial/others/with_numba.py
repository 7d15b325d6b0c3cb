"""What the tutorial shows in Numba. Run: `python with_numba.py`, without a GPU with `NUMBA_ENABLE_CUDASIM=1`."""

# ANCHOR: adjusted
import numpy as np
from numba import cuda

@cuda.jit
def adjust(n, gain, offset, v):
    i = cuda.grid(1)
    if i < n:
        v[i] = gain * v[i] + offset

def adjusted(x, z, chunk, gain, offset, depth=3):  # x, z: cuda.pinned_array(len, np.float32)
    streams = [cuda.stream() for _ in range(depth)]
    slots = [cuda.device_array(chunk, np.float32) for _ in range(depth)]
    for c, start in enumerate(range(0, len(x), chunk)):
        n = min(chunk, len(x) - start)
        stream, v = streams[c % depth], slots[c % depth][:n]
        v.copy_to_device(x[start : start + n], stream=stream)
        adjust[(n + 255) // 256, 256, stream](n, np.float32(gain), np.float32(offset), v)
        v.copy_to_host(z[start : start + n], stream=stream)
    for stream in streams:
        stream.synchronize()
# ANCHOR_END: adjusted

if __name__ == "__main__":
    length = 3003
    x, z = (cuda.pinned_array(length, np.float32) for _ in range(2))
    x[:] = np.arange(length) % 1000
    adjusted(x, z, 256, 0.5, 1.0)
    assert (z == 0.5 * x + 1).all()
    print(f"Numba: {length} samples, each of them right")
