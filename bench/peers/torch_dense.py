"""The memory of training large matrices: torch_dense.py, or, started by that, torch_dense.py STEPS RANK WORLD STORE."""
import os
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

import link

WORLDS = {"alone": 1, "2-workers": 2}
UNITS, BATCH = [784, 8192, 8192, 4096, 10], 64


def train(steps, rank, world, store):
    """Trains for that many steps, of which the last is saved; returns the seconds."""
    torch.manual_seed(1)
    layers = []
    for n, m in zip(UNITS, UNITS[1:]):
        layers += [nn.Linear(n, m), nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    if world > 1:
        dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=world)
        model = DistributedDataParallel(model, gradient_as_bucket_view=True)
    opt = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    x, y = torch.rand(4 * BATCH, UNITS[0]), torch.randint(0, UNITS[-1], (4 * BATCH,))
    begun = time.perf_counter()
    for step in range(steps):
        at = step % 4 * BATCH
        opt.zero_grad()
        F.cross_entropy(model(x[at:at + BATCH]), y[at:at + BATCH]).backward()
        opt.step()
    if rank == 0:
        with tempfile.TemporaryDirectory(prefix="bench-dense-") as folder:
            torch.save({"model": model.state_dict(), "optimizer": opt.state_dict(), "step": steps}, os.path.join(folder, "checkpoint"))
    return time.perf_counter() - begun


def block(steps, name):
    """Trains in new processes and returns what the first tells, with the peak of the other."""
    with tempfile.TemporaryDirectory(prefix="bench-dense-") as folder:
        world = WORLDS[name]
        tasks = [subprocess.Popen([sys.executable, os.path.abspath(__file__), str(steps), str(rank), str(world), os.path.join(folder, "store")], stdout=subprocess.PIPE, text=True)
                 for rank in range(world)]
        told = [t.communicate()[0].split() for t in tasks]
    reply = {"seconds": float(told[0][0]), "peak_kb": int(told[0][1])}
    if world > 1:
        reply["more"] = {"other worker, MB": int(told[1][1]) / 1024}
    return reply


if __name__ == "__main__":
    torch.set_num_threads(link.THREADS)
    if len(sys.argv) > 1:
        seconds = train(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
        print(seconds, link.peak_kb())
    else:
        link.send(version=torch.__version__, values={})
        for steps, name in link.commands():
            link.send(**block(steps, name))
