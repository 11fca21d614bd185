"""train_torch.py NETWORK RULE ACTIVATION RATE GIVEN OUT: trains on GIVEN's batches of 32 from its weights; losses in both float types go to OUT.

Optimizers are torch.optim's. TensorFlow's V1 Adam adds epsilon to sqrt(v) before the
bias correction, torch to sqrt(v / (1 - beta2^t)): torch's eps = epsilon / sqrt(1 - beta2^t) makes
the definitions one, so eps is set anew for every step. Decoupled decay is torch's own.
"""
import sys

import numpy as np
import torch
import torch.nn.functional as F

import exchange

network, rule, given = sys.argv[1], sys.argv[2], exchange.load(sys.argv[5])
activation = {"relu": F.relu, "tanh": torch.tanh}[sys.argv[3]]
torch.set_num_threads(2)
RATE, EPSILON, BATCH = float(sys.argv[4]), 1e-8, 32


def optimizer(params):
    return {
        "sgd": lambda: torch.optim.SGD(params, lr=RATE),
        "momentum": lambda: torch.optim.SGD(params, lr=RATE, momentum=0.9),
        "adam": lambda: torch.optim.Adam(params, lr=RATE, betas=(0.9, 0.999)),
        "adamw": lambda: torch.optim.AdamW(params, lr=RATE, betas=(0.9, 0.999), weight_decay=0.01),
    }[rule]()


def mlp(w, x):
    x = activation(x.reshape(len(x), -1) @ w["dense/kernel"] + w["dense/bias"])
    x = activation(x @ w["dense_1/kernel"] + w["dense_1/bias"])
    return x @ w["dense_2/kernel"] + w["dense_2/bias"]


def cnn(w, x):
    x = x.permute(0, 3, 1, 2)  # NHWC to NCHW, kernels HWIO to OIHW
    for name in ["conv2d", "conv2d_1"]:
        x = activation(F.conv2d(x, w[name + "/kernel"].permute(3, 2, 0, 1), w[name + "/bias"], padding=1))
        x = F.max_pool2d(x, 2)
    x = x.permute(0, 2, 3, 1).reshape(len(x), -1)
    x = activation(x @ w["dense/kernel"] + w["dense/bias"])
    return x @ w["dense_1/kernel"] + w["dense_1/bias"]


def train(kind):
    w = {n: torch.tensor(v, dtype=kind, requires_grad=True) for n, v in given.items() if n not in ("images", "labels")}
    opt, losses = optimizer(list(w.values())), []
    forward = {"mlp": mlp, "cnn": cnn}[network]
    for step, i in enumerate(range(0, len(given["labels"]), BATCH), 1):
        for group in opt.param_groups:
            if "eps" in group:
                group["eps"] = EPSILON / (1 - 0.999 ** step) ** 0.5
        x = torch.tensor(given["images"][i:i + BATCH]).to(kind) * torch.tensor(1 / 255, dtype=kind)
        loss = F.cross_entropy(forward(w, x), torch.tensor(given["labels"][i:i + BATCH]))
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return np.array(losses, np.float64)


out = {"float32": train(torch.float32), "float64": train(torch.float64)}
exchange.save(sys.argv[6], out)
print(*sys.argv[1:5], "torch", torch.__version__, "losses", out["float64"][0], "...", out["float64"][-1])
