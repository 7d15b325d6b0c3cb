"""What the tutorial shows in PyTorch. Run on a machine with a GPU: `python with_torch.py`."""

# ANCHOR: adjusted
import torch

def adjusted(x, z, chunk, gain, offset, depth=3):  # x, z: torch.empty(len, pin_memory=True)
    streams = [torch.cuda.Stream() for _ in range(depth)]
    slots = [torch.empty(chunk, device="cuda") for _ in range(depth)]
    for stream in streams:
        stream.wait_stream(torch.cuda.current_stream())  # the slots' memory is that stream's
    for c, start in enumerate(range(0, len(x), chunk)):
        end = min(start + chunk, len(x))
        with torch.cuda.stream(streams[c % depth]):
            v = slots[c % depth][: end - start]
            v.copy_(x[start:end], non_blocking=True)
            v.mul_(gain).add_(offset)
            z[start:end].copy_(v, non_blocking=True)
    for stream in streams:
        stream.synchronize()
# ANCHOR_END: adjusted


def summed():
    # ANCHOR: summed
    s = torch.cuda.Stream()
    a = torch.empty((100, 100), device="cuda").normal_()
    s.wait_stream(torch.cuda.current_stream())  # without it, `sum` may begin before `normal_` is done
    with torch.cuda.stream(s):
        b = torch.sum(a)
    a.record_stream(s)  # the memory is not given away while `s` may read it
    torch.cuda.current_stream().wait_stream(s)
    print(b.item())
    # ANCHOR_END: summed
    return a, b


if __name__ == "__main__":
    length = 1_000_003
    x, z = (torch.empty(length, pin_memory=True) for _ in range(2))
    x[:] = torch.arange(length) % 1000
    adjusted(x, z, 1 << 16, 0.5, 1.0)
    assert bool((z == 0.5 * x + 1).all())
    a, b = summed()
    assert torch.allclose(a.sum(), b)
    print(f"PyTorch: {length} samples, each of them right")
