"""The programs of `cargo bench --bench scale` in Python, which starts them by itself.

Workers, for one process or several on 1 GiB each way for each GPU:

    python3 scale.py cupy-threads|torch-threads|torch-processes GPUS ITEMS CHUNK STEPS

prints `ready`, and then does its work once for each line that it reads, checks the result, and prints the seconds.

Ranks, each a process that torch.multiprocessing starts:

    python3 scale.py all-reduce|training GPUS QUICK

prints its figures as JSON in its last line.
"""

import json
import os
import pathlib
import socket
import sys
import threading
import time

DEPTH = 3
THREADS = 256


class Parts:
    """Work on each GPU, by a thread that stays."""

    def __init__(self, gpus, work):
        self.begin = threading.Barrier(gpus + 1)
        self.end = threading.Barrier(gpus + 1)
        self.error = None
        for gpu in range(gpus):
            threading.Thread(target=self.run, args=(gpu, work), daemon=True).start()

    def run(self, gpu, work):
        while True:
            self.begin.wait()
            try:
                work(gpu)
            except BaseException as error:
                self.error = error
            self.end.wait()

    def turn(self):
        start = time.perf_counter()
        self.begin.wait()
        self.end.wait()
        if self.error:
            raise self.error
        return time.perf_counter() - start


def serve(turn, check):
    """Takes turns until the end of the input."""
    turn()
    check()
    print("ready", flush=True)
    for _ in sys.stdin:
        seconds = turn()
        check()
        print(seconds, flush=True)


def cupy_threads(gpus, items, chunk, steps):
    import cupy
    import numpy

    total = gpus * items

    def pinned():
        memory = cupy.cuda.alloc_pinned_memory(4 * total)
        return numpy.frombuffer(memory, dtype=numpy.float32, count=total)

    x, z = pinned(), pinned()

    def fill(gpu):
        generator = numpy.random.default_rng(gpu)
        generator.random(out=x[gpu * items : (gpu + 1) * items], dtype=numpy.float32)

    Parts(gpus, fill).turn()
    source = pathlib.Path(__file__).resolve().parents[2] / "cu" / "step.cu"
    kernel = cupy.RawModule(code=source.read_text()).get_function("step")
    rings = []
    for gpu in range(gpus):
        with cupy.cuda.Device(gpu):
            streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(DEPTH)]
            slots = [[cupy.empty(chunk, dtype=cupy.float32) for _ in range(2)] for _ in range(DEPTH)]
            rings.append((streams, slots))
            cupy.cuda.Device(gpu).synchronize()

    def work(gpu):
        streams, slots = rings[gpu]
        with cupy.cuda.Device(gpu):
            for number, begin in enumerate(range(gpu * items, (gpu + 1) * items, chunk)):
                end = min(begin + chunk, (gpu + 1) * items)
                stream, (dx, dz) = streams[number % DEPTH], slots[number % DEPTH]
                n = end - begin
                with stream:
                    dx[:n].set(x[begin:end], stream=stream)
                    arguments = (numpy.uint32(n), numpy.uint32(steps), dx, dz)
                    kernel((-(-n // THREADS),), (THREADS,), arguments)
                    dz[:n].get(stream=stream, out=z[begin:end], blocking=False)
            for stream in streams:
                stream.synchronize()

    def check():
        # Some elements of each GPU, in the same arithmetic but for the rounding of products.
        at = numpy.linspace(0, total - 1, 10_000).astype(numpy.int64)
        expected = x[at].astype(numpy.float64)
        for _ in range(steps):
            expected = expected * 0.999 + 0.001
        assert numpy.allclose(z[at], expected, atol=1e-3), "CuPy: wrong elements"
        assert not numpy.isnan(z[:: max(1, total // 1_000_003)]).any(), "CuPy: elements that were not written"
        z[::4099] = numpy.nan
        z[at] = numpy.nan

    serve(Parts(gpus, work).turn, check)


def torch_ring(gpu, chunk):
    import torch

    streams = [torch.cuda.Stream(gpu) for _ in range(DEPTH)]
    slots = [torch.empty(chunk, dtype=torch.float32, device=f"cuda:{gpu}") for _ in range(DEPTH)]
    torch.cuda.synchronize(gpu)
    return streams, slots


def torch_work(gpu, ring, x, z, chunk):
    """The part of one GPU: x * 0.999 + 0.001, in place on the GPU."""
    import torch

    streams, slots = ring
    with torch.cuda.device(gpu):
        for number, begin in enumerate(range(0, x.numel(), chunk)):
            end = min(begin + chunk, x.numel())
            slot = slots[number % DEPTH][: end - begin]
            with torch.cuda.stream(streams[number % DEPTH]):
                slot.copy_(x[begin:end], non_blocking=True)
                slot.mul_(0.999).add_(0.001)
                z[begin:end].copy_(slot, non_blocking=True)
        for stream in streams:
            stream.synchronize()


def torch_check(x, z):
    import torch

    step = max(1, x.numel() // 1_000_003)
    assert torch.allclose(z[::step], x[::step] * 0.999 + 0.001, atol=1e-6), "PyTorch: wrong elements"
    z[::step] = float("nan")


def torch_data(gpus, items):
    """Random numbers and room for results, in page-locked memory."""
    import torch

    x, z = (torch.empty(len(gpus) * items, pin_memory=True) for _ in range(2))
    for part, gpu in zip(x.split(items), gpus):
        part.copy_(torch.rand(items, device=f"cuda:{gpu}"))
    return x, z


def torch_threads(gpus, items, chunk, _steps):
    x, z = torch_data(range(gpus), items)
    rings = [torch_ring(gpu, chunk) for gpu in range(gpus)]

    def work(gpu):
        part = slice(gpu * items, (gpu + 1) * items)
        torch_work(gpu, rings[gpu], x[part], z[part], chunk)

    serve(Parts(gpus, work).turn, lambda: torch_check(x, z))


def torch_process(gpu, items, chunk, begin, end):
    import torch

    torch.cuda.set_device(gpu)
    x, z = torch_data([gpu], items)
    ring = torch_ring(gpu, chunk)
    while True:
        begin.wait()
        torch_work(gpu, ring, x, z, chunk)
        end.wait()
        torch_check(x, z)
        end.wait()


def torch_processes(gpus, items, chunk, _steps):
    import torch.multiprocessing as processes

    context = processes.get_context("spawn")
    # Processes that fail leave the others waiting no longer than this.
    begin, end = (context.Barrier(gpus + 1, timeout=300) for _ in range(2))
    for gpu in range(gpus):
        context.Process(target=torch_process, args=(gpu, items, chunk, begin, end), daemon=True).start()

    def turn():
        begin.wait()
        start = time.perf_counter()
        end.wait()
        return time.perf_counter() - start

    # All have checked their results before anyone else takes a turn.
    serve(turn, end.wait)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ranks(gpus, program, quick):
    """What rank 0 of so many returns."""
    import torch.multiprocessing as processes

    results = processes.get_context("spawn").SimpleQueue()
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
    processes.spawn(rank, args=(gpus, program, quick, results), nprocs=gpus, join=True)
    return results.get()


def rank(number, size, program, quick, results):
    import torch
    import torch.distributed as together

    torch.cuda.set_device(number)
    together.init_process_group("nccl", rank=number, world_size=size, device_id=torch.device("cuda", number))
    found = {"all-reduce": all_reduce, "training": training}[program](number, size, quick)
    if number == 0:
        results.put(found)
    together.barrier()
    together.destroy_process_group()


def all_reduce(number, size, quick):
    """Seconds of one mean in place, by bytes."""
    import torch
    import torch.distributed as together

    found = {}
    for exponent in range(10, 18 if quick else 32, 2):
        count = 1 << (exponent - 2)
        times = max(40, min(2000, (4 << 30) // ((1 << exponent) + (1 << 20))))
        y = torch.rand(count, device="cuda")
        expected = y.clone()
        together.all_reduce(expected, op=together.ReduceOp.AVG)
        seconds = []
        for turn in range(4):
            torch.cuda.synchronize()
            together.barrier()
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(times):
                together.all_reduce(y, op=together.ReduceOp.AVG)
            torch.cuda.synchronize()
            seconds.append((time.perf_counter() - start) / times)
            assert torch.allclose(y, expected, atol=1e-3), "PyTorch: wrong means"
        # The first one warms up.
        found[str(1 << exponent)] = sorted(seconds[1:])[1]
    return found


def timed(model, optimizer, batches, repeats, shares):
    """Seconds of a step in each repeat, and the mean loss of each."""
    import contextlib

    import torch

    seconds, losses = [], []
    for _ in range(2 + repeats):
        of_repeat = []
        torch.cuda.synchronize()
        torch.distributed.barrier()
        torch.cuda.synchronize()
        start = time.perf_counter()
        with contextlib.nullcontext() if shares else model.no_sync():
            for x, labels in batches:
                x = x.to("cuda", non_blocking=True)
                labels = labels.to("cuda", non_blocking=True)
                if x.dtype == torch.uint8:
                    x = x.float() / 128.0 - 0.5
                loss = torch.nn.functional.cross_entropy(model(x), labels.long())
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
                of_repeat.append(loss.detach())
        torch.cuda.synchronize()
        seconds.append((time.perf_counter() - start) / len(batches))
        losses.append(torch.stack(of_repeat).mean().item())
    return seconds[2:], losses


def training(number, size, quick):
    """Seconds of a step of both networks, with and without the other ranks."""
    import torch
    from torch.nn import Linear, Sequential, Tanh
    from torch.nn.parallel import DistributedDataParallel

    found = {}
    wide, batch, steps, repeats = (64, 32, 4, 3) if quick else (2048, 512, 60, 7)
    digit_steps = 16 if quick else 480

    def digits():
        # As many bytes as the example's images, which are to be told apart by their brightest part.
        x = torch.randint(0, 256, (128 // size, 144), dtype=torch.uint8)
        return x.pin_memory(), x[:, :10].argmax(1).to(torch.uint8).pin_memory()

    def rows():
        x = torch.rand(batch, wide) - 0.5
        return x.pin_memory(), x[:, :10].argmax(1).to(torch.uint8).pin_memory()

    def layer(inputs, units):
        return Linear(inputs, units, bias=False)

    torch.manual_seed(number)
    networks = {
        "digits": (Sequential(Linear(144, 48), Tanh(), Linear(48, 10)), digits, digit_steps, 0.3),
        "wide": (
            Sequential(
                layer(wide, wide), Tanh(), layer(wide, wide), Tanh(), layer(wide, wide), Tanh(), layer(wide, 10)
            ),
            rows,
            steps,
            0.1,
        ),
    }
    for name, (network, make, count, rate) in networks.items():
        model = DistributedDataParallel(network.cuda(), device_ids=[number])
        optimizer = torch.optim.SGD(model.parameters(), lr=rate)
        batches = [make() for _ in range(count)]
        seconds, losses = timed(model, optimizer, batches, repeats, True)
        assert losses[-1] < losses[0], f"PyTorch learns nothing: {losses}"
        alone, _ = timed(model, optimizer, batches, repeats, False)
        found[name] = {"seconds": seconds, "alone": alone, "losses": losses}
    return found


WORKERS = {"cupy-threads": cupy_threads, "torch-threads": torch_threads, "torch-processes": torch_processes}


def main():
    program, numbers = sys.argv[1], [int(number) for number in sys.argv[2:]]
    if program in WORKERS:
        WORKERS[program](*numbers)
    else:
        gpus, quick = numbers
        print(json.dumps(ranks(gpus, program, bool(quick))), flush=True)


if __name__ == "__main__":
    main()
