"""Writes files of weights as other programs save them: weights_files.py DIR KIND...

KIND is safetensors (its package), npz (NumPy), hdf5 (h5py), keras (TensorFlow) or torch (PyTorch).
The element i of a tensor is (i % 23) * 0.5 - 3 in row-major order, of integers i % 23,
of truths whether i is odd; tests know that.
"""

import os
import sys

import numpy as np


def values(shape, dtype):
    n = int(np.prod(shape, dtype=np.int64))
    i = np.arange(n)
    dtype = np.dtype(dtype)  # that of bfloat16 is of kind V
    if dtype.kind == "b":
        return (i % 2 == 1).reshape(shape)
    if dtype.kind in "iu":
        return (i % 23).astype(dtype).reshape(shape)
    return ((i % 23) * 0.5 - 3).astype(dtype).reshape(shape)


NUMBERS = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool"]


def safetensors(path):
    from safetensors.numpy import save_file

    tensors = {"of/" + d: values((2, 3, 5), d) for d in NUMBERS}
    tensors["scalar"] = values((), "float32")
    tensors["empty"] = values((0, 4), "float32")
    tensors["dense/kernel"] = values((2, 1), "float32")
    tensors["dense/bias"] = values((1,), "float32")
    save_file(tensors, os.path.join(path, "kinds.safetensors"), metadata={"made by": "NumPy"})
    import ml_dtypes

    save_file({"brain": values((7,), ml_dtypes.bfloat16)}, os.path.join(path, "brain.safetensors"))


def npz(path):
    arrays = {"of/" + d: values((2, 3, 5), d) for d in NUMBERS}
    arrays["big"] = values((2, 3, 5), ">f4")
    arrays["bigger"] = values((4,), ">i8")
    arrays["fortran"] = np.asfortranarray(values((2, 3, 5), "float32"))
    arrays["both"] = np.asfortranarray(values((4, 3), ">f8"))
    arrays["scalar"] = values((), "float32")
    arrays["empty"] = values((0, 4), "float32")
    arrays["dense/kernel"] = values((2, 1), "float32")
    arrays["dense/bias"] = values((1,), "float32")
    np.savez(os.path.join(path, "stored.npz"), **arrays)
    np.savez_compressed(os.path.join(path, "deflated.npz"), **arrays)
    np.savez(os.path.join(path, "objects.npz"), a=np.array([{"x": 1}], dtype=object))


def hdf5(path):
    import h5py

    with h5py.File(os.path.join(path, "kinds.h5"), "w") as f:
        for d in NUMBERS:
            f.create_dataset("of/" + d, data=values((2, 3, 5), d))
        f.create_dataset("big", data=values((2, 3, 5), ">f4"))
        f.create_dataset("scalar", data=values((), "float32"))
        f.create_dataset("empty", data=values((0, 4), "float32"))
        f.create_dataset("chunks/deflated", data=values((7, 5), "float32"), chunks=(3, 2), compression="gzip", shuffle=True)
        f.create_dataset("chunks/checked", data=values((4, 3), "int16"), chunks=(4, 2), fletcher32=True)
        f.create_dataset("chunks/all", data=values((50, 40), "float64"), chunks=(3, 3), compression="gzip", shuffle=True, fletcher32=True)
        f.create_dataset("chunks/plain", data=values((9,), "uint8"), chunks=(4,))
        f.create_dataset("text", data=["a", "b"])
        for i in range(300):
            f["many/n%d" % i] = values((1,), "float32")
        f["soft"] = h5py.SoftLink("/big")
    with h5py.File(os.path.join(path, "late.h5"), "w", libver="latest") as f:
        f.create_dataset("group/a", data=values((2, 3), "float32"))
        f.create_dataset("filled", shape=(3,), dtype="float32", fillvalue=-3.0, chunks=None)


def keras(path):
    import tensorflow as tf

    layers = tf.keras.layers
    inner = tf.keras.Sequential([layers.Input((4,)), layers.Reshape((2, 2)), layers.Bidirectional(layers.GRU(2, name="rows"), name="both")], name="inner")
    model = tf.keras.Sequential([
        layers.Input((6, 6, 3)), layers.Rescaling(2.0), layers.Conv2D(4, 3, name="Conv1", use_bias=False), layers.BatchNormalization(name="norm", scale=False),
        layers.ReLU(), layers.DepthwiseConv2D(3, name="deep"), layers.Reshape((-1, 4)), layers.LSTM(4, name="steps"), inner, layers.Dense(2), layers.Dense(1, name="head")])
    model.set_weights([values(w.shape, w.dtype) for w in model.get_weights()])
    model.compile("adam", "mse")
    model.save(os.path.join(path, "model.h5"))
    model.save(os.path.join(path, "model.keras"))
    model.save_weights(os.path.join(path, "weights.h5"))


class Hostile:
    """Its pickle runs a program where it is read."""

    def __reduce__(self):
        return os.system, ("echo hostile > hostile.txt",)


def torch(path):
    import collections

    import torch

    def tensor(shape, dtype="float32"):
        return torch.from_numpy(np.ascontiguousarray(values(shape, dtype))).reshape(shape)

    def transposed(*order):
        """A tensor of [2, 3, 5] whose storage has the dimensions in that order."""
        x = tensor((2, 3, 5))
        return x.permute(order).contiguous().permute(list(np.argsort(order)))

    save = {name: os.path.join(path, name + ".pt") for name in ["kinds", "legacy", "nested", "net", "module"]}
    kinds = collections.OrderedDict(("of/" + d, tensor((2, 3, 5), d)) for d in NUMBERS if not d.startswith("uint") or d == "uint8")
    kinds["of/bfloat16"] = tensor((2, 3, 5)).bfloat16()
    kinds["complex"] = torch.complex(tensor((4,)), -tensor((4,)))
    kinds["scalar"], kinds["empty"] = tensor(()), tensor((0, 4))
    kinds["transposed"], kinds["last"] = transposed(2, 0, 1), transposed(1, 2, 0)
    shared = torch.cat([torch.full((7,), 99.0), tensor((2, 3, 5)).flatten(), torch.full((3,), 99.0)])
    kinds["part"] = shared[7:37].view(2, 3, 5)
    kinds["part again"] = shared[7:37].view(5, 6)
    every = torch.full((12, 2), 99.0)
    every[:, 1] = tensor((12,))
    kinds["every second"] = every[:, 1]
    kinds["parameter"] = torch.nn.Parameter(tensor((4, 2)))
    kinds["number"], kinds["none"], kinds["text"], kinds["large"], kinds["size"] = 1.5, None, "x", -(1 << 90), torch.Size([2, -1])
    torch.save(kinds, save["kinds"])
    torch.save(kinds, save["legacy"], _use_new_zipfile_serialization=False)
    if hasattr(torch, "uint16"):  # since PyTorch 2.3; these have no storages of their own
        torch.save({"of/" + d: tensor((2, 3, 5), d) for d in ["uint16", "uint32", "uint64"]}, os.path.join(path, "unsigned.pt"))
    torch.save([tensor((2, 3)), {"a": tensor((4,))}], os.path.join(path, "protocol4.pt"), pickle_protocol=4)
    torch.save({"a": tensor((1,)).expand(5000)}, os.path.join(path, "expanded.pt"))
    for name, zipped in [("hostile", True), ("hostile_legacy", False)]:
        torch.save({"a": tensor((2,)), "b": Hostile()}, os.path.join(path, name + ".pt"), _use_new_zipfile_serialization=zipped)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(2, 3)
            self.norm = torch.nn.BatchNorm1d(3)

        def forward(self, x):
            return self.norm(self.fc(x))

    net = Net()
    with torch.no_grad():
        for x in net.state_dict().values():
            x.copy_(tensor(tuple(x.shape), {torch.int64: "int64"}.get(x.dtype, "float32")))
    torch.save(net.state_dict(), save["net"])
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    for state in optimizer.state_dict()["state"].values():
        for key, x in state.items():
            if hasattr(x, "copy_"):
                x.copy_(tensor(tuple(x.shape)))
    with torch.no_grad():
        for x in net.state_dict().values():
            x.copy_(tensor(tuple(x.shape), {torch.int64: "int64"}.get(x.dtype, "float32")))
    torch.save({"epoch": 3, "state_dict": net.state_dict(), "optimizer": optimizer.state_dict(), "history": [0.5, 0.25]}, save["nested"])
    global Other
    Other = Net
    Net.__qualname__ = Net.__name__ = "Other"
    torch.save(net, save["module"])


if __name__ == "__main__":
    for kind in sys.argv[2:]:
        globals()[kind](sys.argv[1])
