"""Writes files of weights as other programs save them: weights_files.py DIR KIND...

KIND is safetensors (its package), npz (NumPy), keras (TensorFlow) or torch (PyTorch).
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


if __name__ == "__main__":
    for kind in sys.argv[2:]:
        globals()[kind](sys.argv[1])
