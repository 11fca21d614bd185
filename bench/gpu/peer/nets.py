"""The networks of ../nets.go as torch modules, from weights that are functions of an index (../values.go)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

MASK = 0xFFFFFFFF


def mixed(seed, start, n, device):
    """mixed of ../values.go for n indices: 32-bit arithmetic in int64, whose products wrap."""
    x = torch.arange(start, start + n, device=device)
    x = (x * 0x9E3779B1 + (seed * 0x85EBCA77 & MASK)) & MASK
    x = x ^ (x >> 16)
    x = (x * 0x7FEB352D) & MASK
    x = x ^ (x >> 15)
    x = (x * 0x846CA68B) & MASK
    return x ^ (x >> 16)


def uniform(shape, seed, scale, device):
    n = 1
    for d in shape:
        n *= d
    out = torch.empty(n, device=device)
    part = 1 << 24
    for at in range(0, n, part):
        m = min(part, n - at)
        out[at:at + m] = ((mixed(seed, at, m, device) >> 8).float() * 2.0 ** -23 - 1) * scale
    return out.reshape(shape)


def below(shape, seed, limit, device):
    n = 1
    for d in shape:
        n *= d
    return (mixed(seed, 0, n, device) % limit).reshape(shape)


class Weights:
    """The variables in the order of their making."""

    def __init__(self, variables, device):
        self.left, self.device = list(variables), device

    def next(self, end):
        v = self.left.pop(0)
        if not v["name"].endswith("/" + end):
            raise ValueError(f"expected a {end}, got {v['name']}")
        if v["scale"]:
            return uniform(v["shape"], v["seed"], v["scale"], self.device)
        return torch.full(v["shape"], float(v["value"]), device=self.device)


def linear(w):
    kernel, bias = w.next("kernel"), w.next("bias")
    m = nn.Linear(*kernel.shape, device=w.device)
    m.weight, m.bias = nn.Parameter(kernel.T.contiguous()), nn.Parameter(bias)
    return m


def conv(w, stride=1, bias=False):
    kernel = w.next("kernel")
    h, _, cin, cout = kernel.shape
    m = nn.Conv2d(cin, cout, h, stride=stride, padding=h // 2, bias=bias, device=w.device)
    m.weight = nn.Parameter(kernel.permute(3, 2, 0, 1).contiguous())
    if bias:
        m.bias = nn.Parameter(w.next("bias"))
    return m


def normed(w, stride=1):
    c = conv(w, stride)
    n = nn.BatchNorm2d(c.out_channels, eps=1e-5, momentum=0.1, device=w.device)
    n.weight, n.bias = nn.Parameter(w.next("gamma")), nn.Parameter(w.next("beta"))
    n.running_mean, n.running_var = w.next("moving_mean"), w.next("moving_variance")
    return nn.Sequential(c, n)


class Block(nn.Module):
    """Convolutions with ReLUs between, and a shortcut."""

    def __init__(self, convs, shortcut):
        super().__init__()
        self.convs, self.shortcut = nn.ModuleList(convs), shortcut

    def forward(self, x):
        y = x
        for c in self.convs[:-1]:
            y = F.relu(c(y))
        y = self.convs[-1](y)
        return F.relu(y + (x if self.shortcut is None else self.shortcut(x)))


def block(w, strides, shortcut_stride):
    convs = [normed(w, s) for s in strides]
    return Block(convs, normed(w, shortcut_stride) if shortcut_stride else None)


def mlp(case, w):
    return nn.Sequential(linear(w), nn.ReLU(), linear(w), nn.ReLU(), linear(w))


def resnet20(case, w):
    layers = [normed(w), nn.ReLU()]
    for stage in range(3):
        for i in range(1 if case.get("tiny") else 3):
            stride = 2 if stage and not i else 1
            layers.append(block(w, [stride, 1], stride if stride > 1 else 0))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), linear(w))


def resnet50(case, w):
    # Windows beyond the border at the end alone: TensorFlow's SAME.
    layers = [normed(w, 2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True)]
    for stage, blocks in enumerate([3, 4] if case.get("tiny") else [3, 4, 6, 3]):
        for i in range(1 if case.get("tiny") else blocks):
            stride = 2 if stage and not i else 1
            layers.append(block(w, [1, stride, 1], stride if i == 0 else 0))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), linear(w))


class WideDeep(nn.Module):
    """Takes what was looked up: wide [batch, ids, 1], vectors [batch, ids, width], numbers."""

    def __init__(self, w):
        super().__init__()
        self.deep = nn.Sequential(linear(w), nn.ReLU(), linear(w), nn.ReLU(), linear(w), nn.ReLU(), linear(w))

    def forward(self, wide, vectors, x):
        return self.deep(torch.cat([vectors.flatten(1), x], 1)) + wide.sum(1)


def build(case, device):
    """The network; of wide and deep (module, table of weights, table of vectors)."""
    w = Weights(case["variables"], device)
    if case["net"] == "wide_deep":
        tables = [w.next("embeddings"), w.next("embeddings")]
        return WideDeep(w), tables
    return {"mlp": mlp, "resnet20": resnet20, "resnet50": resnet50}[case["net"]](case, w), []
