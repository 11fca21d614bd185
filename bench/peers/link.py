"""A worker's end of the protocol in ../link.go, and what workers start from."""
import faulthandler
import json
import os
import signal
import sys

import numpy as np

faulthandler.register(signal.SIGQUIT, chain=True)  # says where the process is, and ends it

THREADS = int(os.environ.get("BENCH_THREADS", "1"))


def peak_kb():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))


def send(**reply):
    # Libraries write to stdout as well: a line of its own, and at once.
    sys.stdout.write("\n" + json.dumps(reply) + "\n")
    sys.stdout.flush()


def commands():
    """Yields (steps, case) until the parent wants no more."""
    for line in sys.stdin:
        fields = line.split()
        if not fields or fields[0] != "run":
            return
        yield int(fields[1]), fields[2] if len(fields) > 2 else ""


def serve(version, values, run):
    """run(steps, case) returns the seconds that they took."""
    send(version=version, values=values)
    for steps, case in commands():
        send(seconds=run(steps, case), peak_kb=peak_kb())


class Fixtures:
    """weights: names to arrays, in the order of their making; x, y: the data."""

    def __init__(self, folder):
        with open(os.path.join(folder, "fixtures.json")) as f:
            tensors = json.load(f)["tensors"]
        with open(os.path.join(folder, "fixtures.bin"), "rb") as f:
            raw = f.read()
        self.weights = {}
        for t in tensors:
            n = int(np.prod(t["shape"], dtype=np.int64))
            a = np.frombuffer(raw, t["dtype"], n, t["offset"]).reshape(t["shape"]).copy()
            if t["data"]:
                setattr(self, t["name"], a)
            else:
                self.weights[t["name"]] = a

    def ending(self, end):
        return [v for k, v in self.weights.items() if k.endswith(end)]


BATCH = {"mlp": 128, "cnn": 64, "resnet20": 128, "resnet50": 32, "conv1d": 32, "grouped": 32, "depthwise": 16, "transformer": 8, "sparse_linear": 512, "loop": 1}
