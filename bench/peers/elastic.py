"""A node's worker under torch.distributed.run: elastic.py DIR. It trains until it is ended, and goes on from the last snapshot in DIR."""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SNAPSHOT_STEPS = 200


def load(path, model, optimizer):
    if not os.path.exists(path):
        return 0
    saved = torch.load(path, weights_only=True)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    return saved["step"]


def save(path, model, optimizer, step):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, path + ".tmp")
    os.replace(path + ".tmp", path)


def main(folder):
    path = os.path.join(folder, "snapshot.pt")
    print("begins pid=%d" % os.getpid(), flush=True)
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    step = load(path, model, optimizer)
    rows = 128 // dist.get_world_size()
    x, y = torch.randn(rows, 784), torch.randint(10, (rows,))
    parallel, loss, first = DistributedDataParallel(model), nn.CrossEntropyLoss(), True
    while True:
        optimizer.zero_grad()
        loss(parallel(x), y).backward()
        optimizer.step()
        step += 1
        if first:
            print("the ring of workers trains workers=%d global_step=%d" % (dist.get_world_size(), step), flush=True)
            first = False
        if step % SNAPSHOT_STEPS == 0 and dist.get_rank() == 0:
            save(path, model, optimizer, step)


if __name__ == "__main__":
    main(sys.argv[1])
