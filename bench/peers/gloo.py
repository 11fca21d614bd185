"""All-reduce of torch.distributed with gloo: gloo.py CASE..., or, started by that, gloo.py RANK STORE CASE..."""
import os
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist

import link

PROCESSES = 4


def parse(name):
    n, size = name.split("x")
    count = int(size[:-2]) * {"KB": 1000, "MB": 1000000}[size[-2:]] // 4 // int(n) * int(n)
    return int(n), count


def connect(rank, store, cases):
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=PROCESSES)
    groups = {n: dist.new_group(list(range(n))) for n in (2, 4)}
    tensors, values = {}, {}
    for name in cases:
        n, count = parse(name)
        if rank >= n:
            continue
        t = (torch.arange(count) % 1000 + 1).float() * (rank + 1)
        dist.all_reduce(t, group=groups[n])
        values[name] = [float(t[i]) for i in (0, count // 2 + 1, count - 1)]
        tensors[name] = t
    return groups, tensors, values


def run(groups, tensors, steps, name):
    t, group = tensors[name], groups[parse(name)[0]]
    for _ in range(steps):
        dist.all_reduce(t, group=group)


def follow(rank, store, cases):
    groups, tensors, _ = connect(rank, store, cases)
    for steps, name in link.commands():
        run(groups, tensors, steps, name)


def lead(cases):
    store = os.path.join(tempfile.mkdtemp(prefix="bench-gloo-"), "store")
    others = [subprocess.Popen([sys.executable, os.path.abspath(__file__), str(rank), store] + cases, stdin=subprocess.PIPE, text=True)
              for rank in range(1, PROCESSES)]
    groups, tensors, values = connect(0, store, cases)

    def block(steps, name):
        for o in others[:parse(name)[0] - 1]:
            o.stdin.write("run %d %s\n" % (steps + 1, name))
            o.stdin.flush()
        run(groups, tensors, 1, name)  # all are there
        begun = time.perf_counter()
        run(groups, tensors, steps, name)
        return time.perf_counter() - begun

    link.serve(torch.__version__, values, block)
    for o in others:
        o.stdin.close()
        o.wait()


if __name__ == "__main__":
    torch.set_num_threads(link.THREADS)
    if sys.argv[1].isdigit():
        follow(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
    else:
        lead(sys.argv[1:])
