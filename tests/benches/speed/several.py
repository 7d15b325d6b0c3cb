"""PyTorch's DataParallel on 1, 2, ... GPUs, beside one run on as many.

    cargo test --release --test gpu -- --ignored --nocapture several_links
    python3 tests/benches/speed/several.py

Both add 1 to 2^28 floats in page-locked host memory, and the results come back there. This is timed seven times after a
first one, the median counts, and results are checked each time.
"""

import statistics
import time

import torch

TIMES = 7
ITEMS = 1 << 28


class AddOne(torch.nn.Module):
    def forward(self, x):
        return x + 1.0


def rate(gpus, x, z):
    """GB/s each way, from the host and back."""
    model = torch.nn.DataParallel(AddOne(), device_ids=list(range(gpus)))
    seconds = []
    for turn in range(TIMES + 1):
        z.zero_()
        start = time.perf_counter()
        # It gathers the results on the first GPU.
        z.copy_(model(x), non_blocking=True)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
        assert torch.equal(z, x + 1.0)
    return 4 * ITEMS / statistics.median(seconds[1:]) / 1e9


if __name__ == "__main__":
    data = (torch.arange(ITEMS, dtype=torch.int32) % 1013).to(torch.float32).pin_memory()
    result = torch.empty(ITEMS, dtype=torch.float32).pin_memory()
    for count in range(1, torch.cuda.device_count() + 1):
        print(f"DataParallel on {count}: {rate(count, data, result):.1f} GB/s each way", flush=True)
