"""torch_train.py WORKLOAD GIVEN eager|channels_last|compile|float64 [startup]"""
import sys
import time

import torch
import torch.nn.functional as F

import link
import nets

name, kind = sys.argv[1], sys.argv[3]
checked = 1 if "startup" in sys.argv else 4
fixtures, batch = link.Fixtures(sys.argv[2]), link.BATCH[name]
torch.set_num_threads(link.THREADS)
RESNET = name.startswith("resnet")
DECAY = 1e-4 if RESNET else 0  # of kernels: loss + DECAY * sum(w^2)


class Training:
    def __init__(self, same):
        self.model = nets.build(name, fixtures, same).train()
        self.x, self.y = nets.images(name, fixtures.x), torch.tensor(fixtures.y)
        if kind == "channels_last":
            self.model, self.x = self.model.to(memory_format=torch.channels_last), self.x.contiguous(memory_format=torch.channels_last)
        if kind == "float64":
            self.model = self.model.double()
            self.x = self.x.double() if self.x.is_floating_point() else self.x
            self.y = self.y.double() if self.y.is_floating_point() else self.y
        self.kernels = [p for p in self.model.parameters() if p.dim() > 1]
        rest = [p for p in self.model.parameters() if p.dim() <= 1]
        self.forward = torch.compile(self.loss) if kind == "compile" else self.loss
        if RESNET:
            groups = [{"params": self.kernels, "weight_decay": 2 * DECAY}, {"params": rest}]
            self.opt = torch.optim.SGD(groups, lr=0.001 if name == "resnet50" else 0.01, momentum=0.9)
        elif name == "loop":
            self.opt = torch.optim.SGD(self.model.parameters(), lr=0.01)
        else:
            self.opt = torch.optim.Adam(self.model.parameters(), lr=0.001, fused=True if kind == "compile" else None)
        self.at, self.checked = 0, 0

    def loss(self, x, y):
        if name == "loop":
            return F.mse_loss(self.model(x), y)
        return F.cross_entropy(self.model(x), y)

    def step(self):
        i = self.at
        self.at = (i + batch) % len(self.y)
        self.opt.zero_grad()
        loss = self.forward(self.x[i:i + batch], self.y[i:i + batch])
        loss.backward()
        self.opt.step()
        return loss

    def checked_step(self):
        # TensorFlow's V1 Adam adds epsilon before the bias correction: with this eps torch's is the same.
        self.checked += 1
        for group in self.opt.param_groups:
            if "eps" in group:
                group["eps"] = 1e-8 / (1 - 0.999 ** self.checked) ** 0.5
        penalty = DECAY * sum((p ** 2).sum().item() for p in self.kernels) if DECAY else 0
        return self.step().item() + penalty


losses = []
if RESNET:
    check = Training(same=True)
    losses = [check.checked_step() for _ in range(checked)]
    del check
training = Training(same=False)
losses = losses or [training.checked_step() for _ in range(checked)]


def run(steps, _):
    begun = time.perf_counter()
    for _ in range(steps):
        training.step()
    return time.perf_counter() - begun


link.serve(torch.__version__, {"": losses}, run)
