"""torch_gpu.py CASE.json: a case of ../cases.go in PyTorch. Commands on stdin, an answer of one line of JSON to each:

    reference          {"losses": [...]}              eager, in the case's reference type
    prepare KIND       {"losses": [...], "seconds"}   of the first steps, as they are timed later
    run STEPS KIND     {"seconds", "wall", "losses": [last]}   seconds by the GPU's events

KIND: eager; reduce-overhead and max-autotune (torch.compile's modes, both with CUDA graphs); graph: a compiled step,
update included, as one CUDA graph. For wide and deep: sparse (gradients of the tables are sparse tensors), graph (dense
gradients) and rows (looked-up rows are summed by sorting and updated by hand, all of it one CUDA graph).
"""
import contextlib
import json
import sys
import time

import torch
import torch.nn.functional as F

import nets

with open(sys.argv[1]) as f:
    case = json.load(f)
CHECKED = 3
CUDA = torch.cuda.is_available() and not case.get("tiny")
DEVICE = torch.device("cuda" if CUDA else "cpu")
WIDE = case["net"] == "wide_deep"
if CUDA:
    torch.backends.cudnn.benchmark = True


def allow_tf32(on):
    torch.backends.cuda.matmul.allow_tf32 = on
    torch.backends.cudnn.allow_tf32 = on


class Training:
    """One way to train the case: step() returns the loss."""

    def __init__(self, kind, dtype=None):
        self.kind, self.dtype, self.steps = kind, dtype, 0
        self.mixed = dtype is None and case["precision"] == "bf16_mixed"
        self.model, self.tables = nets.build(case, DEVICE)
        batch = case["batch"]
        self.x = nets.uniform([batch] + case["dims"], 1, 1.0, DEVICE)
        self.y = nets.below([batch], 3, max(case["classes"], 2), DEVICE)
        self.ids = nets.below([batch, case["ids"]], 2, case["rows"], DEVICE) if WIDE else None
        if self.x.dim() == 4:  # NHWC as it is: channels last
            self.x = self.x.permute(0, 3, 1, 2)
            self.model = self.model.to(memory_format=torch.channels_last)
        if dtype is not None:
            self.model, self.x = self.model.to(dtype), self.x.to(dtype)
            self.tables = [t.to(dtype) for t in self.tables]
        self.model.train()
        if CUDA:  # not copied into CUDA graphs at each step
            for t in [self.x, self.y] + ([self.ids] if WIDE else []):
                torch._dynamo.mark_static_address(t)
        if kind == "rows":  # the last row takes what is no row's
            self.tables = [torch.cat([t, t.new_zeros(1, t.shape[1])]) for t in self.tables]
            self.sums = [torch.full_like(t, 0.1) for t in self.tables]
            self.update_rows = compiled(update_rows, "default")
        else:
            self.tables = [torch.nn.Parameter(t) for t in self.tables]
        self.optimizers = self.make_optimizers()
        self.forward = self.make_forward()
        self.graph = None

    def make_forward(self):
        if self.kind in ("eager", "reference"):
            return self.loss
        if self.kind in ("reduce-overhead", "max-autotune"):
            return compiled(self.loss, self.kind)
        if self.kind == "sparse":
            return compiled(self.loss, "reduce-overhead")
        return compiled(self.loss, "max-autotune-no-cudagraphs" if case["net"] == "mlp" else "default")

    def make_optimizers(self):
        rate, weights = case["rate"], list(self.model.parameters())
        fused = CUDA and self.kind != "reference"
        if case["rule"] == "adam":
            return [torch.optim.Adam(weights, lr=rate, fused=fused, capturable=fused)]
        if case["rule"] == "momentum":
            return [torch.optim.SGD(weights, lr=rate, momentum=0.9, fused=fused)]
        all = [weights]
        if self.kind == "sparse":
            all.append(self.tables)
        elif self.kind != "rows":
            all[0] = weights + self.tables
        return [torch.optim.Adagrad(w, lr=rate, initial_accumulator_value=0.1) for w in all]

    def loss(self, *inputs):
        cast = torch.autocast(DEVICE.type, torch.bfloat16) if self.mixed else contextlib.nullcontext()
        with cast:
            logits = self.model(*inputs)
            if case["classes"] > 1:
                return F.cross_entropy(logits.float() if self.mixed else logits, self.y)
            return F.binary_cross_entropy_with_logits(logits.squeeze(1), self.y.to(logits.dtype))

    def one(self):
        """Forward, backward, update."""
        for o in self.optimizers:
            o.zero_grad(set_to_none=True)
        if not WIDE:
            loss = self.forward(self.x)
        elif self.kind == "rows":
            found = [t[self.ids].requires_grad_() for t in self.tables]
            loss = self.forward(*found, self.x)
        else:
            loss = self.forward(*(F.embedding(self.ids, t, sparse=self.kind == "sparse") for t in self.tables), self.x)
        loss.backward()
        for o in self.optimizers:
            o.step()
        if self.kind == "rows":
            with torch.no_grad():
                for table, sums, f in zip(self.tables, self.sums, found):
                    self.update_rows(table, sums, self.ids.flatten(), f.grad.flatten(0, 1), case["rate"])
        return loss.detach()

    def step(self):
        self.steps += 1
        if self.graph is not None:
            self.graph.replay()
            return self.result
        if self.kind == "reference" and case["rule"] == "adam":
            # TensorFlow's V1 Adam adds epsilon before the bias correction: with this eps torch's is the same.
            self.optimizers[0].param_groups[0]["eps"] = 1e-8 / (1 - 0.999 ** self.steps) ** 0.5
        if CUDA and self.kind in ("reduce-overhead", "max-autotune", "sparse"):
            torch.compiler.cudagraph_mark_step_begin()
        return self.one()

    def capture(self):
        """Makes the whole step one CUDA graph; what warms it up are steps of the training."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        losses = []
        with torch.cuda.stream(side):
            for _ in range(CHECKED):
                losses.append(self.one().item())
        torch.cuda.current_stream().wait_stream(side)
        self.steps = CHECKED
        g = torch.cuda.CUDAGraph()
        for o in self.optimizers:
            o.zero_grad(set_to_none=True)
        with torch.cuda.graph(g):
            self.result = self.one()
        self.graph = g
        return losses


def compiled(f, mode):
    if not CUDA:
        return f
    return torch.compile(f, mode=mode, dynamic=False)


def update_rows(table, sums, ids, grad, rate):
    """Adagrad of the rows of ids: gradients of equal ids are added up first. All sizes are fixed."""
    ids, order = ids.sort()
    first = torch.cat([ids.new_ones(1, dtype=torch.bool), ids[1:] != ids[:-1]])
    at = first.cumsum(0) - 1
    total = torch.zeros_like(grad).index_add_(0, at, grad[order])
    rows = torch.full_like(ids, table.shape[0] - 1).scatter_(0, at, ids)
    new = sums[rows] + total * total
    sums[rows] = new
    table.index_add_(0, rows, total * new.rsqrt(), alpha=-rate)


trainings = {}


def reference():
    allow_tf32(False)
    t = Training("reference", getattr(torch, case["reference"]))
    losses = [t.step().item() for _ in range(CHECKED)]
    del t
    if CUDA:
        torch.cuda.empty_cache()
    return {"losses": losses}


def prepare(kind):
    allow_tf32(case["precision"] != "float32")
    begun = time.perf_counter()
    t = Training(kind)
    if CUDA and kind in ("graph", "rows"):
        losses = t.capture()
    else:
        losses = [t.step().item() for _ in range(CHECKED)]
    for _ in range(5):  # CUDA graphs are recorded after some calls
        t.step()
    if CUDA:
        torch.cuda.synchronize()
    trainings[kind] = t
    return {"losses": losses, "seconds": time.perf_counter() - begun}


def run(steps, kind):
    allow_tf32(case["precision"] != "float32")
    t = trainings[kind]
    if not CUDA:
        begun = time.perf_counter()
        for _ in range(steps):
            loss = t.step()
        took = time.perf_counter() - begun
        return {"seconds": took, "wall": took, "losses": [loss.item()]}
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    begun = time.perf_counter()
    start.record()
    for _ in range(steps):
        loss = t.step()
    end.record()
    torch.cuda.synchronize()
    return {"seconds": start.elapsed_time(end) / 1e3, "wall": time.perf_counter() - begun, "losses": [loss.item()]}


def answer(line):
    words = line.split()
    if words[0] == "reference":
        return reference()
    if words[0] == "prepare":
        return prepare(words[1])
    return run(int(words[1]), words[2])


def send(**reply):
    sys.stdout.write("\n" + json.dumps(reply) + "\n")
    sys.stdout.flush()


send(version=torch.__version__, gpu=torch.cuda.get_device_name() if CUDA else "")
for line in sys.stdin:
    if not line.strip() or line.split()[0] == "quit":
        break
    try:
        send(**answer(line))
    except Exception as e:  # told to the parent, which leaves the kind out
        if CUDA:
            torch.cuda.empty_cache()
        send(error=f"{type(e).__name__}: {str(e)[:500]}")
