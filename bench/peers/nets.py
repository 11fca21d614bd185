"""The networks of models/networks as torch modules, with given weights."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def parameter(a):
    return nn.Parameter(torch.tensor(a))


def linear(kernel, bias):
    m = nn.Linear(*kernel.shape)
    m.weight, m.bias = parameter(kernel.T.copy()), parameter(bias)
    return m


def conv(kernel, bias=None, stride=1, groups=1):
    h, w, cin, cout = kernel.shape
    m = nn.Conv2d(cin * groups, cout, (h, w), stride=stride, padding=h // 2, groups=groups, bias=bias is not None)
    m.weight = parameter(kernel.transpose(3, 2, 0, 1).copy())
    if bias is not None:
        m.bias = parameter(bias)
    return m


def mlp(g):
    k, b = g.ending("/kernel"), g.ending("/bias")
    return nn.Sequential(linear(k[0], b[0]), nn.ReLU(), linear(k[1], b[1]), nn.ReLU(), linear(k[2], b[2]))


def cnn(g):
    k, b = g.ending("/kernel"), g.ending("/bias")
    # The dense layer takes pixels in the order NHWC; torch flattens NCHW.
    dense = k[2].reshape(7, 7, 64, 128).transpose(2, 0, 1, 3).reshape(3136, 128)
    return nn.Sequential(conv(k[0], b[0]), nn.ReLU(), nn.MaxPool2d(2), conv(k[1], b[1]), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), linear(dense, b[2]), nn.ReLU(), linear(k[3], b[3]))


class Normed(nn.Module):
    """A convolution and its batch norm. `same` pads as TensorFlow does with a
    stride of 2; torch's own padding costs no copy, so timing goes without."""

    def __init__(self, kernel, norm, stride, same):
        super().__init__()
        self.conv = conv(kernel, stride=stride)
        self.norm = nn.BatchNorm2d(kernel.shape[3], eps=1e-5, momentum=0.1)
        self.norm.weight, self.norm.bias = parameter(norm[0]), parameter(norm[1])
        self.norm.running_mean, self.norm.running_var = torch.tensor(norm[2]), torch.tensor(norm[3])
        size = kernel.shape[0]
        self.before = ((size - 2) // 2, (size - 1) // 2) * 2 if same and stride == 2 and size > 1 else None
        if self.before:
            self.conv.padding = (0, 0)

    def forward(self, x):
        return self.norm(self.conv(F.pad(x, self.before) if self.before else x))


class Block(nn.Module):
    def __init__(self, a, b, stride, more):
        super().__init__()
        self.a, self.b, self.stride, self.more = a, b, stride, more

    def forward(self, x):
        y = self.b(F.relu(self.a(x)))
        if self.stride > 1:
            x = x[:, :, ::self.stride, ::self.stride]
        if self.more:
            x = F.pad(x, (0, 0, 0, 0, self.more // 2, self.more - self.more // 2))
        return F.relu(y + x)


def resnet20(g, same):
    k = g.ending("/kernel")
    norms = list(zip(*(g.ending("/" + n) for n in ["gamma", "beta", "moving_mean", "moving_variance"])))
    layers, i = [Normed(k[0], norms[0], 1, same), nn.ReLU()], 1
    for stage in range(3):
        for block in range(3):
            stride = 2 if stage and not block else 1
            more = k[i].shape[3] - k[i].shape[2]
            layers.append(Block(Normed(k[i], norms[i], stride, same), Normed(k[i + 1], norms[i + 1], 1, same), stride, more))
            i += 2
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), linear(k[i], g.ending("/bias")[-1]))


class Bottleneck(nn.Module):
    def __init__(self, convs, shortcut):
        super().__init__()
        self.a, self.b, self.c = convs
        self.shortcut = shortcut or nn.Identity()

    def forward(self, x):
        return F.relu(self.c(F.relu(self.b(F.relu(self.a(x))))) + self.shortcut(x))


def resnet50(g, same):
    norms = zip(*(g.ending("/" + n) for n in ["gamma", "beta", "moving_mean", "moving_variance"]))
    parts = zip(g.ending("/kernel"), norms)

    def normed(stride):
        kernel, norm = next(parts)
        return Normed(kernel, norm, stride, same)

    pool = [nn.ConstantPad2d((0, 1, 0, 1), float("-inf")), nn.MaxPool2d(3, 2)] if same else [nn.MaxPool2d(3, 2, padding=1)]
    layers = [normed(2), nn.ReLU(), *pool]
    for stage, blocks in enumerate([3, 4, 6, 3]):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            convs = [normed(1), normed(stride), normed(1)]
            layers.append(Bottleneck(convs, None if block else normed(stride)))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), linear(g.ending("/kernel")[-1], g.ending("/bias")[-1]))


class Mean(nn.Module):
    """The mean over all positions of [batch, channels, ...]."""

    def forward(self, x):
        return x.flatten(2).mean(2)


def conv1d(g):
    k, b = g.ending("/kernel"), g.ending("/bias")

    def layer(kernel, bias):
        size, cin, cout = kernel.shape
        m = nn.Conv1d(cin, cout, size, padding=size // 2)
        m.weight, m.bias = parameter(kernel.transpose(2, 1, 0).copy()), parameter(bias)
        return m
    return nn.Sequential(layer(k[0], b[0]), nn.ReLU(), layer(k[1], b[1]), nn.ReLU(), Mean(), linear(k[2], b[2]))


def grouped(g):
    k, b = g.ending("/kernel"), g.ending("/bias")
    return nn.Sequential(conv(k[0], b[0], groups=32), nn.ReLU(), conv(k[1], b[1], groups=32), nn.ReLU(), Mean(), linear(k[2], b[2]))


def depthwise(g):
    d, k, b = g.ending("/depthwise_kernel"), g.ending("/kernel"), g.ending("/bias")

    def pair(i):
        channels = d[i].shape[2]
        return [conv(d[i].transpose(0, 1, 3, 2), b[2 * i], groups=channels), nn.ReLU(), conv(k[i], b[2 * i + 1]), nn.ReLU()]
    return nn.Sequential(*pair(0), *pair(1), Mean(), linear(k[2], b[4]))


class Transformer(nn.Module):
    """transformer_classifier of models/networks with one block: ids to logits, by the mean over positions."""

    def __init__(self, g, heads=8):
        super().__init__()
        w, block = g.weights, "block_0/"
        self.heads, self.table = heads, parameter(w["embedding/embeddings"])
        width = self.table.shape[1]

        def dense(name):
            kernel, bias = w[name + "/kernel"], w[name + "/bias"]
            return linear(kernel.reshape(-1, bias.size), bias.reshape(-1))

        def norm(name):
            m = nn.LayerNorm(width, eps=1e-5)
            m.weight, m.bias = parameter(w[name + "/gamma"]), parameter(w[name + "/beta"])
            return m

        attention = block + "multi_head_attention/"
        self.norm1, self.norm2, self.norm = norm(block + "layer_normalization"), norm(block + "layer_normalization_1"), norm("final_normalization")
        self.query, self.key, self.value, self.out = (dense(attention + n) for n in ["query", "key", "value", "attention_output"])
        self.up, self.down, self.head = dense(block + "dense"), dense(block + "dense_1"), dense(head_of(w))
        self.register_buffer("positions", sinusoids(512, width))

    def forward(self, ids):
        x = F.embedding(ids, self.table) + self.positions
        h = self.norm1(x)
        q, k, v = (f(h).unflatten(2, (self.heads, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        x = x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))
        return self.head(self.norm(x).mean(1))


class Attention(nn.Module):
    """Attention of positions [batch, length, width] to each other, and a layer of the mean of what it makes."""

    def __init__(self, g, heads=8):
        super().__init__()
        self.heads, self.head = heads, linear(g.ending("/kernel")[0], g.ending("/bias")[0])

    def forward(self, x):
        h = x.unflatten(2, (self.heads, -1)).transpose(1, 2)
        return self.head(F.scaled_dot_product_attention(h, h, h).transpose(1, 2).flatten(2).mean(1))


def head_of(w):
    """The name of the last dense layer."""
    return next(n for n in reversed(list(w)) if n.endswith("/kernel"))[:-len("/kernel")]


def sinusoids(length, width):
    angle = torch.arange(length, dtype=torch.float64)[:, None] / 1e4 ** (torch.arange(0, width, 2) / width)
    return torch.cat([angle.sin(), angle.cos()], 1).float()


def build(name, g, same=False):
    if name == "loop":
        return linear(g.ending("/kernel")[0], g.ending("/bias")[0])
    if name in ["resnet20", "resnet50"]:
        return {"resnet20": resnet20, "resnet50": resnet50}[name](g, same)
    return {"mlp": mlp, "cnn": cnn, "conv1d": conv1d, "grouped": grouped, "depthwise": depthwise, "transformer": Transformer, "attention": Attention}[name](g)


def images(name, x):
    """NHWC to NCHW, and steps with channels last to channels first, as torch likes them."""
    t = torch.tensor(x)
    return t.movedim(-1, 1).contiguous() if t.dim() > 2 and name != "attention" else t
