"""Writes internal/imported/eager/testdata/edges.json.gz: what TensorFlow computes, or refuses, at the edges of single ops.

    python interop/eager_edges.py internal/imported/eager/testdata/edges.json.gz

The cases are those of eager_golden.py and of more(), with one input changed: zeros of both signs, NaN and infinities, the
limits of integers, ties, strings that are empty or no UTF-8, rank 0, a dimension of 0, one rank more. TensorFlow aborts the
process on some of them: each op runs in a process of its own, and a case that ends it is written down as a crash.
"""

import copy
import hashlib
import json
import pickle
import resource
import subprocess
import sys
import tempfile

import numpy as np

import eager_golden as base  # before TensorFlow, which it configures
import tensorflow as tf
from eager_golden import case, f32, i32, i64, rand, s, scalar

STATIC = ("SpaceToBatchND", "BatchToSpaceND")  # ops that are refused in graphs where shapes are unknown
LARGEST = 400  # elements of the inputs of a case that is changed
PAIRS = np.array([0.0, -0.0, 1, -1, 2.5, np.inf, -np.inf, np.nan, 3e38, -3e38])


def more():
    """Ops that eager_golden.py leaves out."""
    x = rand(2, 3)
    for op in ["Greater", "LessEqual", "Xlog1py", "TruncateMod", "LeftShift", "RightShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor"]:
        args = (f32(1, -2, 0.5), f32(2, -3, 0.5)) if op in ("Greater", "LessEqual", "Xlog1py") else (i32(7, -7, 5), i32(2, 3, 1))
        case(op, *args, tol=2e-6)
    for op in ["Erfinv", "Inv"]:
        case(op, f32(0.3, -0.7, 0.5), tol=2e-6)
    case("Invert", i32(0, 5, -1))
    for op in ["Identity", "Snapshot", "StopGradient", "PreventGradient"]:
        case(op, x)
    case("IdentityN", [x, i32(1)])
    case("PlaceholderWithDefault", x, shape=[2, 3])
    for op in ["BatchMatMul", "BatchMatMulV3"]:
        case(op, rand(2, 3, 4), rand(2, 4, 2), tol=2e-6, **({"Tout": tf.float32} if op.endswith("V3") else {}))
    case("BiasAddV1", x, rand(3), tol=1e-6)
    case("BroadcastArgs", i32(2, 1), i32(3))
    case("BroadcastArgs", i32(2, 2), i32(3))
    case("CheckNumericsV2", f32(1, 2), message="m")
    case("Concat", scalar(0), [x, x])
    case("Concat", scalar(2), [x, x])
    case("Empty", i32(0, 3), dtype=tf.float32)
    for op in ["FusedBatchNorm", "FusedBatchNormV2"]:
        case(op, rand(1, 2, 2, 3), *[np.abs(rand(3)) + 0.1 for _ in range(4)], is_training=False, tol=5e-6, name="first only")
    case("Gather", x, i32(1, 0))
    case("Gather", x, i32(2))
    case("ParallelDynamicStitch", [i32(2, 0), i32(1)], [f32([1, 2], [3, 4]), f32([5, 6])])
    idx, val, dense = i64([0, 0], [0, 2], [2, 1]), f32(1, 2, 3), i64(4, 3)
    case("SparseDenseCwiseDiv", idx, val, dense, np.abs(rand(4, 1)) + 0.5, tol=1e-6)
    case("SparseSoftmaxCrossEntropyWithLogits", x, i64(0, 2), tol=2e-6)
    case("SparseSoftmaxCrossEntropyWithLogits", x, i64(0, 3), tol=2e-6)
    case("Conv2D", rand(1, 3, 3, 1), rand(2, 2, 1, 2), strides=[1, 1, 1, 1], padding="SAME", tol=5e-6)
    case("Conv2DBackpropInput", i32(1, 3, 3, 1), rand(2, 2, 1, 2), rand(1, 3, 3, 2), strides=[1, 1, 1, 1], padding="SAME", tol=5e-6)
    case("DepthwiseConv2dNative", rand(1, 3, 3, 1), rand(2, 2, 1, 2), strides=[1, 1, 1, 1], padding="SAME", tol=5e-6)
    case("StridedSlice", np.arange(12, dtype=np.int32).reshape(3, 4), i32(0, 1), i32(3, 3), i32(2, 1))
    case("BroadcastTo", f32(1, 2, 3), i32(2, 3))
    case("Fill", i32(2, 3), np.float32(1.5))
    case("UniqueV2", i64(5, 3, 5), i64(0))
    case("UniqueV2", i64([5, 3], [5, 3]), i64(0))
    case("UniqueWithCountsV2", i64(5, 3, 5), i64(0))
    cells = np.arange(16, dtype=np.float32).reshape(4, 2, 2, 1)
    case("BatchToSpace", cells, i32([0, 1], [0, 0]), block_size=2)
    case("SpaceToBatch", cells, i32([1, 1], [0, 2]), block_size=2)
    case("GuaranteeConst", f32(1, -2, 0.5))
    case("IsotonicRegression", f32([1, 3, 2, 2.5, 0], [2, 2, 1, 1, 4]), tol=1e-6)
    case("IsotonicRegression", i32(1, 5, 2), output_dtype=tf.float64, tol=1e-6)


def decode(t):
    shape, d = t["shape"], tf.as_dtype(t["dtype"])
    if d == tf.string:
        a = np.empty(len(t["strings"]), object)
        a[:] = [base.base64.b64decode(v) for v in t["strings"]]
        return a.reshape(shape)
    return np.frombuffer(base.base64.b64decode(t["bytes"]), d.as_numpy_dtype).reshape(shape).copy()


def cycle(a, values):
    out = np.empty(a.size, a.dtype)
    out[:] = [values[i % len(values)] for i in range(a.size)]
    return out.reshape(a.shape)


def values(a):
    """Inputs of a's shape, or of a shape at the edge, by the name of the edge."""
    kind = a.dtype.kind
    if kind == "f":
        wide = a if a.size >= 6 or a.ndim == 0 else np.resize(a, (6,) + a.shape[1:]) if a.ndim == 1 else a
        yield "specials", cycle(a, PAIRS[[0, 1, 7, 5, 6, 2]].astype(a.dtype))
        if wide is not a:
            yield "specials", cycle(wide, PAIRS[[0, 1, 7, 5, 6, 2]].astype(a.dtype))
        for first in (np.nan, np.inf) if a.size < 6 else ():
            yield "specials", cycle(a, [first])
        yield "zeros", cycle(a, [-0.0, 0.0])
        yield "infinities", cycle(a, [np.inf, -np.inf, 1])
    if kind in "iu":
        limits = np.iinfo(a.dtype)
        yield "limits", cycle(a, [limits.min, limits.max])
        yield "limits", cycle(a, [limits.max, limits.min])
        yield "negative", cycle(a, [-1 if kind == "i" else limits.max])
        yield "zeros", np.zeros_like(a)
    if kind in "fiu":
        yield "ties", cycle(a, [2])
    if kind == "O":
        yield "strings", cycle(a, [b"", b"\xff\xfe"])
        yield "strings", cycle(a, [b"\xff\xfe", b""])
        yield "strings", cycle(np.empty((), object) if not a.size else a, [b""])


def shapes(a):
    if a.size and a.ndim:
        yield "rank 0", a.reshape(-1)[0:1].reshape(())
    for k in {0, a.ndim - 1} if a.ndim else ():
        to = list(a.shape)
        to[k] = 0
        yield "empty", np.empty(to, a.dtype)
        if a.shape[k] > 1:
            yield "shorter", np.take(a, range(a.shape[k] - 1), k)
    yield "rank more", a[None]


def variants(c):
    """Cases of the op of c with one input changed, then with all of them emptied together, and for two equal inputs all pairs of values."""
    arrays = [decode(t) for t in c["inputs"]]
    seen = set()

    def unseen(name, changed):
        key = hashlib.sha1(repr([(a.dtype, a.shape, a.tolist()) for a in changed]).encode()).hexdigest()
        if key not in seen:
            seen.add(key)
            yield name, changed

    for k, a in enumerate(arrays):
        for name, v in [*values(a), *shapes(a)]:
            yield from unseen(name, arrays[:k] + [v] + arrays[k + 1:])
    for k in (0, -1):
        yield from unseen("all empty", [np.empty([0 if i == k % a.ndim else d for i, d in enumerate(a.shape)], a.dtype) if a.ndim else a for a in arrays])
    yield from unseen("all rank 0", [a.reshape(-1)[0:1].reshape(()) if a.size else a for a in arrays])
    if len(arrays) == 2 and arrays[0].dtype == arrays[1].dtype and arrays[0].shape == arrays[1].shape and arrays[0].ndim == 1:
        kind = arrays[0].dtype.kind
        grid = PAIRS if kind == "f" else np.array([np.iinfo(arrays[0].dtype).min, np.iinfo(arrays[0].dtype).max, -1, 0, 1, 3, 40]) if kind == "i" else None
        if grid is not None:
            v = grid.astype(arrays[0].dtype)
            yield from unseen("pairs", [v[:, None], v[None]])


def title(c, name):
    return "%s%s, %s" % ("first only " if c["name"] == "first only" else "", c["op"] if c["name"] == "first only" else c["name"], name)


def run(c, name, arrays):
    graph = tf.compat.v1.GraphDef(versions=tf.compat.v1.get_default_graph().as_graph_def().versions)
    node = copy.deepcopy(c["def"])
    del node.input[:]
    feed = {}
    for i, a in enumerate(arrays):
        p = graph.node.add(name="in%d" % i, op="Placeholder")
        p.attr["dtype"].type = c["inputs"][i]["dtype"]
        node.input.append(p.name)
        feed[p.name + ":0"] = a
    node.name = "node"
    graph.node.append(node)
    out = {"name": title(c, name), "op": c["op"], "attrs": c["attrs"], "inputs": [base.tensor(a) for a in arrays], "tolerance": c["tolerance"] and max(c["tolerance"], 2e-6)}
    if c["op"] in STATIC:
        for p, a in zip(graph.node, arrays):
            p.attr["shape"].shape.CopyFrom(tf.TensorShape(a.shape).as_proto())
    with tf.Graph().as_default() as g:
        try:
            tf.import_graph_def(graph, name="")
            with tf.compat.v1.Session() as session:
                values = session.run(list(g.get_operation_by_name("node").outputs), feed)
            if sum(np.size(v) for v in values) > LARGEST * 4:
                return None
            out["outputs"] = [base.tensor(v) for v in values]
        except (tf.errors.ResourceExhaustedError, MemoryError):
            return None
        except tf.errors.OpError as e:
            out["error"] = base.reason(e)[:200]
        except (ValueError, TypeError) as e:
            out["error"] = str(e).split("\n")[0][:200]
    return out


def bases():
    """An accepted case of each op for each kind of its inputs."""
    for group in [base.elementwise, base.shapes, base.gathers, base.reductions, base.linear, base.string_ops, base.sparse, base.parsing, more]:
        group()
    chosen = {}
    for c in base.CASES:
        size = sum(int(np.prod(t["shape"])) for t in c["inputs"])
        if "outputs" in c and c["inputs"] and size <= LARGEST and all(t["dtype"] != 14 for t in c["inputs"]):
            kinds = tuple(decode(t).dtype.kind for t in c["inputs"])
            chosen.setdefault((c["op"], kinds), []).append(c)
    out = {}
    for (op, _), all_of in chosen.items():
        out.setdefault(op, []).append(next((c for c in all_of if all(int(np.prod(t["shape"])) for t in c["inputs"])), all_of[0]))
    return out


def worker(file, op, first):
    """Prints each case of op after the first ones as a crash, and then as it ended."""
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    with open(file, "rb") as f:
        _, all_of = pickle.load(f)
    for op in list(all_of)[list(all_of).index(op):]:
        i = 0
        for c in all_of[op]:
            for name, arrays in variants(c):
                i += 1
                if i > first:
                    began = {"name": title(c, name), "op": op, "attrs": c["attrs"], "inputs": [base.tensor(a) for a in arrays], "tolerance": 0, "crash": True}
                    print("CASE" + json.dumps([op, i, began]), flush=True)
                    print("CASE" + json.dumps([op, i, run(c, name, arrays)]), flush=True)
        first = 0


def child(*args):
    return subprocess.Popen([sys.executable, __file__, *args], stdout=subprocess.PIPE, text=True)


def main():
    with tempfile.NamedTemporaryFile() as file:
        child("bases", file.name).wait()
        out, all_of = pickle.load(file)
        op, first = next(iter(all_of)), 0
        while True:
            p, begun = child("worker", file.name, op, str(first)), None
            for line in p.stdout:
                if line.startswith("CASE"):
                    op, first, c = json.loads(line[4:])
                    begun = c if c and "crash" in c else None
                    if c and begun is None:
                        out.append(c)
            if p.wait() == 0:
                break
            if begun is None:  # the last case, whatever it returned, has damaged the memory
                begun = {k: v for k, v in out.pop().items() if k not in ("outputs", "error")} | {"crash": True}
            print("TensorFlow ends the process of", begun["name"], flush=True)
            out.append(begun)
    base.write(sys.argv[1], out)
    print(len(out), "cases,", sum("error" in c for c in out), "errors,", sum("crash" in c for c in out), "crashes")


if __name__ == "__main__":
    if sys.argv[1] == "bases":
        all_of = bases()
        base.CASES.clear()
        more()
        with open(sys.argv[2], "wb") as f:
            pickle.dump(([{k: v for k, v in c.items() if k != "def"} for c in base.CASES], all_of), f)
    elif sys.argv[1] == "worker":
        worker(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main()
