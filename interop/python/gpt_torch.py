"""gpt_torch.py start|train CONFIG OUT: the gpt of models/networks in PyTorch.

CONFIG is JSON. start writes a state dict with random weights to OUT. train goes on from such a file with the rows of
text in the folder config["rows"] ("train" and "held", a character more than the context each), batch after batch,
and writes the losses of all steps, that of the held rows, and the seconds of CPU time of a step to OUT.
TensorFlow's V1 Adam, as train_torch.py explains it; clipping is tf.clip_by_global_norm's.
"""
import json
import math
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

import exchange


def attention(q, k, v):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    n = q.shape[-2]  # before PyTorch 2.0
    future = torch.ones(n, n, dtype=torch.bool).triu(1)
    return (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(future, -math.inf).softmax(-1) @ v


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, length, width = x.shape
        h = self.norm1(x)
        q, k, v = (f(h).view(n, length, self.heads, -1).transpose(1, 2) for f in (self.query, self.key, self.value))
        h = attention(q, k, v)
        x = x + self.out(h.transpose(1, 2).reshape(n, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(c["vocabulary"], c["width"]), nn.Embedding(c["context"], c["width"])
        self.blocks = nn.ModuleList(Block(c["width"], c["heads"]) for _ in range(c["layers"]))
        self.norm = nn.LayerNorm(c["width"])

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight[:ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.tokens.weight.T


def start(c, out):
    torch.manual_seed(1)
    model = GPT(c)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() > 1:
                p.normal_(0, 0.02)
            elif name.endswith("bias"):
                p.uniform_(-c["spread"], c["spread"])  # not 0, so that a bias in a wrong place is seen
    torch.save(model.state_dict(), out)


def rate_at(c, step):
    """The rate of a step that counts from 0: warmup, then half a cosine to a tenth."""
    if step < c["warmup"]:
        return c["rate"] * step / c["warmup"]
    part = min(1, (step - c["warmup"]) / c["decay"])
    return c["rate"] * (0.9 * 0.5 * (1 + math.cos(math.pi * part)) + 0.1)


def loss_of(model, rows):
    ids = rows.long()
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), ids[:, 1:].reshape(-1))


def train(c, out):
    torch.set_num_threads(c["threads"])
    torch.set_default_dtype({"float32": torch.float32, "float64": torch.float64}[c["precision"]])
    model = GPT(c)
    model.load_state_dict(torch.load(c["start"]))
    rows = {k: torch.tensor(v) for k, v in exchange.load(c["rows"]).items()}
    decayed = [p for n, p in model.named_parameters() if p.dim() > 1 and n not in ("tokens.weight", "positions.weight")]
    kept = {id(p) for p in decayed}
    others = [p for p in model.parameters() if id(p) not in kept]
    opt = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}], betas=(0.9, 0.99))
    loss_fn = torch.compile(loss_of) if c["compile"] else loss_of
    parameters, losses, seconds, at = list(model.parameters()), [], [], 0
    for step in range(c["steps"]):
        begun = time.process_time()
        for group in opt.param_groups:
            group["lr"], group["eps"] = rate_at(c, step), 1e-8 / (1 - 0.99 ** (step + 1)) ** 0.5
        if at + c["batch"] > len(rows["train"]):
            at = 0
        loss = loss_fn(model, rows["train"][at:at + c["batch"]])
        at += c["batch"]
        opt.zero_grad()
        loss.backward()
        norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(p.grad) for p in parameters]))
        scale = 1 / torch.clamp(norm, min=1)
        for p in parameters:
            p.grad.mul_(scale)
        opt.step()
        losses.append(loss.item())
        seconds.append(time.process_time() - begun)
    with torch.no_grad():
        held = [loss_of(model, part).item() * len(part) for part in rows["held"].split(c["batch"])] if len(rows["held"]) else [0]
    result = {"losses": losses, "held": sum(held) / max(1, len(rows["held"])), "seconds": sorted(seconds)[len(seconds) // 2], "total": sum(seconds[2:]),
              "version": torch.__version__}
    with open(out, "w") as f:
        json.dump(result, f)


with open(sys.argv[2]) as f:
    {"start": start, "train": train}[sys.argv[1]](json.load(f), sys.argv[3])
