"""Writes internal/imported/eager/testdata/golden.json.gz: what TensorFlow computes for single ops.

    python interop/eager_golden.py internal/imported/eager/testdata/golden.json.gz
"""

import base64
import gzip
import inspect
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # Eigen's kernels, which are the same on every machine

import numpy as np
import tensorflow as tf
from tensorflow.core.example import example_pb2, feature_pb2

CASES = []
RAW = tf.raw_ops
nan, inf = float("nan"), float("inf")
rng = np.random.default_rng(7)


def tensor(a):
    a = np.asarray(a)
    out = {"dtype": int(tf.as_dtype(a.dtype).as_datatype_enum) if a.dtype != object else 7, "shape": list(a.shape)}
    if a.dtype == object or a.dtype.kind in "SU":
        out["dtype"] = 7
        out["strings"] = [base64.b64encode(s if isinstance(s, bytes) else s.encode()).decode() for s in a.reshape(-1)]
    else:
        out["bytes"] = base64.b64encode(np.ascontiguousarray(a).tobytes()).decode()
    return out


def shape(s):
    return None if s.unknown_rank else [d.size for d in s.dim]


def attr(v):
    kind = v.WhichOneof("value")
    if kind == "s":
        return {"s": base64.b64encode(v.s).decode()}
    if kind == "shape":
        return {"shape": shape(v.shape)}
    if kind == "list":
        out = {}
        for k in ("i", "f", "b", "type"):
            if len(getattr(v.list, k)):
                out[k] = [x for x in getattr(v.list, k)]
        if v.list.s:
            out["s"] = [base64.b64encode(x).decode() for x in v.list.s]
        if v.list.shape:
            out["shape"] = [shape(x) for x in v.list.shape]
        return {"list": out}
    return {kind: getattr(v, kind)}


def case(op, *args, tol=0.0, name=None, static=False, **attrs):
    """Runs op on inputs in the order of its definition; a list of arrays is a list input."""
    from tensorflow.python.framework import op_def_registry
    defs = op_def_registry.get(op)
    with tf.Graph().as_default():
        feed, kwargs = {}, dict(attrs)

        def place(a):
            if not isinstance(a, np.ndarray):
                a = np.asarray(a)
            if a.dtype.kind in "SU":
                a = a.astype(object)
            p = tf.compat.v1.placeholder(tf.string if a.dtype == object else tf.as_dtype(a.dtype), a.shape if static else None)
            feed[p] = a
            return p

        params = list(inspect.signature(getattr(RAW, op)).parameters)  # some inputs go by another name in Python
        for i, (d, a) in enumerate(zip(defs.input_arg, args)):
            kwargs[d.name if d.name in params else params[i]] = [place(x) for x in a] if isinstance(a, list) and (d.number_attr or d.type_list_attr) else place(a)
        try:
            CASES.append(run(op, kwargs, feed, tol, name or op))
        except (TypeError, ValueError) as e:
            print("no such node:", name or op, e)


def run(op, kwargs, feed, tol, name):
    out = getattr(RAW, op)(**kwargs)
    while isinstance(out, (list, tuple)) and not hasattr(out, "op"):
        out = [o for o in out if not isinstance(o, (list, tuple)) or o][0]
    node = out.op if hasattr(out, "op") else out
    c = {"name": name, "op": op, "def": node.node_def, "attrs": {k: attr(v) for k, v in node.node_def.attr.items() if not k.startswith("_")},
         "inputs": [tensor(feed[i]) for i in node.inputs], "tolerance": tol}
    try:
        with tf.compat.v1.Session() as s:
            c["outputs"] = [tensor(v) for v in s.run(list(node.outputs), feed)] if node.outputs else s.run(node, feed) or []
    except tf.errors.OpError as e:
        c["error"] = reason(e)
    return c


def reason(e):
    lines = e.message.split("\n")  # a message of the kernel, then a line that names the node
    where = [i for i, x in enumerate(lines) if x.startswith("\t [[")]
    return where and lines[where[0] - 1] or "?"


def f32(*a): return np.array(a, np.float32)
def i32(*a): return np.array(a, np.int32)
def i64(*a): return np.array(a, np.int64)
def s(*a): return np.array([x if isinstance(x, bytes) else x.encode() for x in a], object)
def rand(*shape): return rng.standard_normal(shape).astype(np.float32)
def scalar(v, t=np.int32): return np.array(v, t)
def text(v): return np.array(v if isinstance(v, bytes) else v.encode(), object)


X = f32([1.5, -2, 0, 3], [nan, inf, -inf, -0.0])
N = i32(7, -7, 5, 0, -1, 100)


def elementwise():
    for op in ["AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "RealDiv", "FloorDiv", "FloorMod", "Pow", "DivNoNan", "MulNoNan", "Atan2", "Xdivy", "Xlogy"]:
        case(op, rand(2, 3), rand(2, 3), tol=1e-6)
        case(op, np.abs(rand(2, 1, 4)), rand(3, 1), tol=1e-6, name=op + " broadcast")
        case(op, rand(3).astype(np.float64), np.float64(2), tol=1e-6, name=op + " scalar")
    for op in ["AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "Less", "GreaterEqual", "Equal", "NotEqual"]:
        case(op, N, N[::-1].copy(), name=op + " int32")
        case(op, X, f32(0, 1, -2, nan), name=op + " specials")
    for op in ["FloorDiv", "FloorMod", "Div", "TruncateDiv", "Mod"]:
        case(op, N, i32(2, 2, -3, 4, 4, -7), name=op + " int32")
        case(op, N, i32(0), name=op + " by zero")
    case("Pow", i64(2, -3, 0), i64(10, 3, 0))
    case("Pow", i64(2), i64(-1))
    case("AddV2", i32([1], [2]), i32(1, 2, 3, 4))
    case("AddV2", rand(2, 3), rand(2))
    case("AddV2", rand(0, 3), rand(1, 3))
    case("Add", s("a", "b"), text("!"))
    case("Equal", s("a", b"\xff"), s("b", b"\xff"))
    case("Equal", i32(1, 2), i32(1, 2, 3), incompatible_shape_error=False)
    case("LogicalAnd", np.array([True, False]), np.array([[True], [False]]))
    case("LogicalOr", np.array([True, False]), np.array([[True], [False]]))
    case("LogicalNot", np.array([True, False]))
    for op in ["Neg", "Abs", "Sign", "Square", "Sqrt", "Rsqrt", "Exp", "Log", "Log1p", "Expm1", "Floor", "Ceil", "Round", "Rint", "Reciprocal", "Sigmoid", "Tanh", "Relu",
               "Relu6", "Elu", "Selu", "Softplus", "Softsign", "Erf", "Erfc", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Lgamma", "LeakyRelu", "IsNan", "IsInf", "IsFinite"]:
        case(op, f32(0.3, -0.7, 0.5, 1.5, 2.5, -2.5, 0, 20, -20), tol=2e-6)
        if op not in ("Lgamma", "Relu", "Relu6", "Softplus", "Selu", "Elu", "Erfc", "LeakyRelu"):
            case(op, X, tol=2e-6, name=op + " specials")
    for op in ["Neg", "Abs", "Sign", "Square"]:
        case(op, i64(-3, 0, 5), name=op + " int64")
    case("CheckNumerics", f32(1, 2), message="m")
    case("CheckNumerics", f32(1, nan), message="m")
    case("CheckNumerics", f32(inf, 1), message="m")
    case("ClipByValue", rand(3, 4), np.float32(-0.5), np.float32(0.5))
    for d in [tf.int32, tf.int64, tf.uint8, tf.int8, tf.bool, tf.float64, tf.float16, tf.bfloat16]:
        if d == tf.bfloat16:
            continue
        case("Cast", f32(0, 1.7, -1.7, 100.5), DstT=d, name="Cast float32 to " + d.name)
        case("Cast", i64(0, 1, 257, -1), DstT=d, name="Cast int64 to " + d.name)
    case("Cast", np.array([True, False]), DstT=tf.float32)
    case("Cast", np.array([1.0, 65504, 1e-7, 6e-8, 0.1, nan, inf], np.float16), DstT=tf.float32)
    case("Cast", f32(65519, 65520, 1e-8, 6e-8, 5.9e-8, -0.1, 2049, 2051), DstT=tf.float16)
    case("Bitcast", f32(1, -2), type=tf.int32)
    case("Bitcast", i64(1, -2), type=tf.uint8)


def shapes():
    x = rand(2, 3, 4)
    for t in (tf.int32, tf.int64):
        case("Shape", x, out_type=t)
        case("Size", x, out_type=t)
    case("ShapeN", [x, x[0]])
    case("Rank", x)
    for to in [i32(6, 4), i32(-1, 2), i32(24), i32(5, 5), i32(-1, 5), i32(-1, -1), i32(4, -1, 0), i64(-1)]:
        case("Reshape", x, to)
    case("Reshape", rand(0, 3), i32(-1, 3))
    case("Reshape", rand(0, 3), i32(0, -1))
    case("Squeeze", rand(1, 3, 1))
    case("Squeeze", rand(1, 3, 1), axis=[-1])
    case("Squeeze", rand(1, 3, 1), axis=[1])
    for k in (0, 1, -1, -4, 4):
        case("ExpandDims", x, scalar(k))
    case("Pack", [x, x + 1], axis=0)
    case("Pack", [x, x + 1], axis=-1)
    case("Pack", [s("a"), s("b")], axis=1)
    case("Pack", [x, x[0]], axis=0)
    case("Unpack", x, num=3, axis=1)
    case("Unpack", x, num=2, axis=0)
    case("Unpack", x, num=3, axis=0)
    case("ConcatV2", [x, x[:, :1]], scalar(1))
    case("ConcatV2", [x, x], scalar(-1))
    case("ConcatV2", [x, x[:1]], scalar(1))
    case("ConcatV2", [s("a"), s("b", "c")], scalar(0))
    case("Split", scalar(1), x, num_split=3)
    case("Split", scalar(0), x, num_split=3)
    case("SplitV", x, i32(1, -1), scalar(2), num_split=2)
    case("SplitV", x, i32(1, 1), scalar(2), num_split=2)
    case("Slice", x, i32(0, 1, 2), i32(-1, 2, 1))
    case("Slice", x, i32(0, 1, 2), i32(3, 2, 1))
    case("Transpose", x, i32(2, 0, 1))
    case("Transpose", x, i32(0, 0, 1))
    case("Tile", x[0], i32(2, 3))
    case("Tile", x[0], i32(0, 3))
    case("BroadcastTo", f32([1], [2]), i32(3, 2, 4))
    case("BroadcastTo", f32([1], [2]), i32(3, 3, 4))
    case("ReverseV2", x, i32(0, -1))
    case("Pad", x, i32([1, 0], [0, 2], [1, 1]))
    case("PadV2", x[0], i32([1, 0], [0, 2]), np.float32(9))
    case("Pad", x[0], i32([-1, 0], [0, 2]))
    case("MirrorPad", x, i32([1, 1], [2, 0], [0, 3]), mode="REFLECT")
    case("MirrorPad", x, i32([2, 1], [3, 0], [0, 4]), mode="SYMMETRIC")
    case("MirrorPad", x, i32([2, 1], [3, 0], [0, 4]), mode="REFLECT")
    case("SpaceToDepth", rand(1, 4, 6, 3), block_size=2)
    case("DepthToSpace", rand(1, 2, 3, 8), block_size=2)
    case("InvertPermutation", i32(2, 0, 1))
    case("Fill", i32(2, 3), np.float32(1.5))
    case("Fill", i32(2, -3), np.float32(1.5))
    case("ZerosLike", i64(1, 2))
    case("OnesLike", x)
    case("Range", i32(2)[0], i32(11)[0], i32(3)[0])
    case("Range", f32(1)[0], f32(0)[0], f32(-0.25)[0])
    case("Range", i32(2)[0], i32(11)[0], i32(0)[0])
    case("LinSpace", f32(1)[0], f32(2)[0], scalar(5), tol=1e-6)
    case("OneHot", i64(0, 2, -1, 5), scalar(3), np.float32(2), np.float32(-1), axis=-1)
    case("OneHot", i32([0, 2], [1, 1]), scalar(3), np.float32(1), np.float32(0), axis=0)
    case("OneHot", i32([0, 2], [1, 1]), scalar(3), np.float32(1), np.float32(0), axis=1)
    case("Where", np.array([[True, False], [True, True]]))
    case("Where", f32([0, nan], [-1, 0]))
    case("Select", np.array([True, False]), f32([1, 2], [3, 4]), f32([5, 6], [7, 8]))
    case("Select", np.array([[True, False], [False, True]]), f32([1, 2], [3, 4]), f32([5, 6], [7, 8]))
    case("SelectV2", np.array([True, False]), f32([1], [3]), np.float32(0))
    case("SelectV2", np.array([[True], [False]]), s("a", "b"), text("c"))
    case("MatrixDiag", f32([1, 2], [3, 4]))
    case("EnsureShape", x, shape=[None, 3, 4])
    case("Roll", x, i32(1, -5), i32(0, 2))
    case("Roll", x, scalar(1), scalar(1))
    for lo, hi in [(0, -1), (-1, 0), (1, 1), (0, 0), (-1, -1), (9, 1)]:
        case("MatrixBandPart", x, scalar(lo), scalar(hi))
    case("SpaceToBatchND", rand(2, 3, 4, 2), i32(2, 2), i32([1, 0], [0, 2]), static=True)
    case("BatchToSpaceND", rand(8, 3, 4, 2), i32(2, 2), i32([1, 0], [0, 2]), static=True)
    case("Bincount", i32(1, 1, 5, 3), scalar(4), f32())
    case("Bincount", i32(1, 1, 5, 3), scalar(4), f32(0.5, 1, 2, 3))
    case("DenseBincount", i64([1, 1, 5], [3, 0, 0]), scalar(4, np.int64), f32())
    case("DenseBincount", i64([1, 1, 5], [3, 0, 0]), scalar(4, np.int64), f32(), binary_output=True)
    case("DenseBincount", i64([1, 1, 5], [3, 0, 0]), scalar(4, np.int64), f32([1, 2, 3], [4, 5, 6]))
    case("DenseBincount", i64(-1), scalar(4, np.int64), f32())
    case("RaggedBincount", i64(0, 2, 2, 3), i64(1, 1, 2), scalar(4, np.int64), f32())
    case("EnsureShape", x, shape=[None, 4, 4])
    case("ReverseSequence", x, i64(2, 3), seq_dim=1, batch_dim=0)


def strided():
    x = np.arange(4 * 5 * 6, dtype=np.int32).reshape(4, 5, 6)
    r = np.random.default_rng(3)
    for i in range(120):
        n = int(r.integers(0, 5))
        b, e = r.integers(-7, 8, n), r.integers(-7, 8, n)
        st = r.choice([-3, -2, -1, 1, 1, 1, 2, 4], n)
        if i % 4:
            st = np.abs(st)
        masks = {k: int(r.integers(0, 32) & r.integers(0, 32)) for k in ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask")}
        masks["ellipsis_mask"] = int(r.choice([0, 0, 1, 2, 4]))
        if i % 3 == 0:
            masks["shrink_axis_mask"] = 0
        case("StridedSlice", x, b.astype(np.int32), e.astype(np.int32), st.astype(np.int32), name="StridedSlice %d" % i, **masks)
    case("StridedSlice", x, i32(0), i32(2), i32(0))


def gathers():
    x = rand(4, 3, 2)
    case("GatherV2", x, i32([3, 0], [1, 1]), scalar(0))
    case("GatherV2", x, i64(1, 0, 1), scalar(-1))
    case("GatherV2", x, i64([1, 0], [0, 0], [2, 2], [1, 1]), scalar(1), batch_dims=1)
    case("GatherV2", x, i32(4), scalar(0))
    case("GatherV2", x, i32([0, 1], [-1, 0]), scalar(0))
    case("GatherV2", s("a", "b"), i32(1, 1, 0), scalar(0))
    case("GatherNd", x, i32([0, 1], [3, 2]))
    case("GatherNd", x, i32([0, 1, 1]))
    case("GatherNd", x, i32([0, 3]))
    case("ScatterNd", i32([0], [2], [0]), f32([1, 2], [3, 4], [5, 6]), i32(3, 2))
    case("ScatterNd", i32([0], [3], [0]), f32([1, 2], [3, 4], [5, 6]), i32(3, 2))
    case("TensorScatterUpdate", x, i32([0, 1]), f32([9, 9]))
    case("TensorScatterAdd", x, i32([0, 1], [0, 1]), f32([9, 9], [1, 1]))
    case("DynamicPartition", x, i32(1, 0, 1, 1), num_partitions=3)
    case("DynamicStitch", [i32(2, 0), i32(1)], [f32([1, 2], [3, 4]), f32([5, 6])])
    ids = i32(0, 0, 2, 3)
    for op in ["Sum", "Mean", "Max", "Min", "Prod"]:
        case("Segment" + op, x, ids, tol=1e-6)
        case("Segment" + op, x, i32(0, 1, 0, 3))
        if op != "Mean":
            case("UnsortedSegment" + op, x, i32(4, 0, -1, 4), scalar(6), tol=1e-6)
            case("UnsortedSegment" + op, np.arange(4, dtype=np.int64), i32(4, 0, -1, 4), scalar(6))
            case("UnsortedSegment" + op, x, i32(4, 0, -1, 7), scalar(6))
    for op in ["Sum", "Mean", "SqrtN"]:
        case("SparseSegment" + op, x, i64(3, 0, 0, 1), i32(0, 0, 2, 2), tol=1e-6)
        case("SparseSegment" + op, x, i32(3, 4), i32(0, 0))
        case("SparseSegment" + op, x, i32(3, 1), i32(1, 0))
        case("SparseSegment" + op + "WithNumSegments", x, i32(3, 1), i32(1, 1), scalar(4), tol=1e-6)
        case("SparseSegment" + op + "WithNumSegments", x, i32(3, 1), i32(1, 5), scalar(4))
    case("SparseSegmentSum", x, i32(), i32())
    for op in ["Unique", "UniqueWithCounts"]:
        case(op, i64(5, 3, 5, 9, 3))
        case(op, s("b", "a", "b"), out_idx=tf.int64)
        case(op, f32(1, -0.0, 0.0, 1))
    case("ListDiff", i32(1, 2, 3, 2), i32(2, 5))
    case("LowerBound", f32([1, 2, 2, 3]), f32([2, 0, 5, 2.5]))
    case("UpperBound", f32([1, 2, 2, 3]), f32([2, 0, 5, 2.5]), out_type=tf.int64)
    case("Bucketize", f32(-1, 0, 5, 10, 11, nan, inf), boundaries=[0.0, 5.0, 10.0])
    case("Bucketize", i64([-1, 5]), boundaries=[0.0, 5.0, 10.0])


def reductions():
    x = rand(2, 3, 4)
    for op in ["Sum", "Mean", "Max", "Min", "Prod", "EuclideanNorm"]:
        for ax in [i32(1), i32(0, 2), i32(-1), i32(), i32(0, 1, 2)]:
            case(op, x, ax, tol=2e-6)
        case(op, x, i32(1), keep_dims=True, tol=2e-6)
        case(op, i64([7, -3], [2, 4]), i32(0), name=op + " int64") if op != "EuclideanNorm" else None
        case(op, rand(0, 3), i32(0), name=op + " empty")
        case(op, f32([1, nan], [2, 3]), i32(1), name=op + " nan")
    case("Sum", x, i32(3))
    case("Sum", x, i32(1, 1))
    b = np.array([[True, False], [True, True]])
    for op in ["All", "Any"]:
        case(op, b, i32(1))
        case(op, b, i32(0, 1))
    for op in ["ArgMax", "ArgMin"]:
        case(op, x, scalar(1))
        case(op, f32([1, 3, 3], [nan, 1, 2]), scalar(-1), output_type=tf.int32)
        case(op, i32(4, 9, 9), scalar(0))
    for op in ["Cumsum", "Cumprod"]:
        for ex in (False, True):
            for rev in (False, True):
                case(op, x, scalar(1), exclusive=ex, reverse=rev, tol=2e-6)
    for op in ["Softmax", "LogSoftmax"]:
        case(op, x, tol=2e-6)
        case(op, f32([1000, 0], [-1000, -1000]), tol=2e-6)
    case("TopKV2", f32([1, 5, 5, 2], [0, -1, 7, 7]), scalar(3))
    case("TopKV2", i32([1, 5, 5, 2]), scalar(5))
    case("InTopKV2", f32([1, 5, 5, 2], [0, -1, 7, 7]), i32(0, 2), scalar(2))
    case("L2Loss", x, tol=2e-6)
    case("AddN", [x, x, x], tol=1e-6)


def linear():
    a, b = rand(3, 4), rand(4, 5)
    case("MatMul", a, b, tol=2e-6)
    case("MatMul", a.T.copy(), b, transpose_a=True, tol=2e-6)
    case("MatMul", a, b.T.copy(), transpose_b=True, tol=2e-6)
    case("MatMul", a.astype(np.float64), b.astype(np.float64), tol=1e-9)
    case("MatMul", i32([1, 2], [3, 4]), i32([5, 6], [7, 8]))
    case("MatMul", a, rand(5, 5))
    case("MatMul", rand(0, 4), b)
    case("MatMul", rand(3, 0), rand(0, 2))
    case("BatchMatMulV2", rand(2, 1, 3, 4), rand(5, 4, 2), tol=2e-6)
    case("BatchMatMulV2", rand(2, 4, 3), rand(2, 4, 2), adj_x=True, tol=2e-6)
    case("BatchMatMulV2", rand(2, 3, 4), rand(2, 2, 4), adj_y=True, tol=2e-6)
    case("BiasAdd", rand(2, 3, 4), rand(4), tol=1e-6)
    case("BiasAdd", rand(2, 3, 4, 5), rand(3), data_format="NCHW", tol=1e-6)
    case("Einsum", [rand(2, 3), rand(3, 4)], equation="ij,jk->ik", tol=2e-6)
    case("Einsum", [rand(2, 3, 4), rand(4, 5, 6)], equation="abc,cde->abde", tol=2e-6)
    case("Einsum", [rand(2, 5, 3, 4), rand(2, 6, 3, 4)], equation="aecd,abcd->acbe", tol=2e-6)
    case("Einsum", [rand(2, 3)], equation="ij->ji", tol=2e-6)
    case("Einsum", [rand(2, 3)], equation="ij->j", tol=2e-6)
    case("Einsum", [rand(7, 2, 3), rand(3, 4)], equation="...ij,jk->...ik", tol=2e-6)
    x = rand(2, 7, 8, 3)
    for pad in ("SAME", "VALID"):
        for st in (1, 2):
            case("Conv2D", x, rand(3, 2, 3, 4), strides=[1, st, st, 1], padding=pad, tol=5e-6)
            case("DepthwiseConv2dNative", x, rand(3, 2, 3, 2), strides=[1, st, st, 1], padding=pad, tol=5e-6)
            case("MaxPool", x, ksize=[1, 3, 2, 1], strides=[1, st, st, 1], padding=pad)
            case("AvgPool", x, ksize=[1, 3, 2, 1], strides=[1, st, st, 1], padding=pad, tol=2e-6)
    case("Conv2D", x, rand(3, 3, 3, 4), strides=[1, 1, 1, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0], tol=5e-6)
    case("Conv2D", x, rand(3, 3, 3, 4), strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 2, 2, 1], tol=5e-6)
    case("Conv2D", x, rand(3, 3, 2, 4), strides=[1, 1, 1, 1], padding="SAME")
    for pad, h in (("SAME", 14), ("VALID", 15)):
        case("Conv2DBackpropInput", i32(2, h, 16, 4), rand(3, 2, 4, 3), x, strides=[1, 2, 2, 1], padding=pad, tol=5e-6)
    c = [np.abs(rand(3)) + 0.1 for _ in range(4)]
    case("FusedBatchNormV3", x, c[0], c[1], c[2], c[3], is_training=False, epsilon=1e-3, tol=5e-6, name="first only")
    case("ResizeBilinear", x, i32(5, 11), tol=5e-6)
    case("ResizeBilinear", x, i32(5, 11), align_corners=True, tol=5e-6)
    case("ResizeBilinear", x, i32(5, 11), half_pixel_centers=True, tol=5e-6)
    case("ResizeNearestNeighbor", x, i32(5, 11))
    case("ResizeNearestNeighbor", x, i32(5, 11), half_pixel_centers=True)
    case("ResizeNearestNeighbor", x, i32(5, 11), align_corners=True)


def string_ops():
    words = s("", "a", "Hello", b"\xff\xfe\x00z", "naïve ÀB", "x" * 100, "12345678", "123456789abcdefgh", "  pad\t\n")
    case("StringToHashBucketFast", words, num_buckets=1000003)
    case("StringToHashBucket", words, num_buckets=1000003)
    case("StringToHashBucketStrong", words, num_buckets=1000003, key=[12345, -987])
    case("StringLower", words)
    case("StringUpper", words)
    case("StringLower", s("naïve ÀB"), encoding="utf-8")
    case("StringUpper", s("naïve ÀB"), encoding="utf-8")
    case("StringStrip", words)
    case("StringLength", words)
    case("StringLength", words, unit="UTF8_CHAR")
    case("StringJoin", [s("a", "b"), text("x"), s("c", "d")], separator="-")
    case("StringJoin", [s("a", "b"), s("c")], separator="-")
    case("Substr", s("hello", "world"), scalar(1), scalar(3))
    case("Substr", s("hello", "world"), i32(-3, 0), i32(2, 100))
    case("Substr", s("hello"), scalar(6), scalar(1))
    case("Substr", s("naïve"), scalar(2), scalar(2), unit="UTF8_CHAR")
    case("EncodeBase64", words)
    case("EncodeBase64", words, pad=True)
    case("DecodeBase64", s("", "YQ", "YQ==", "SGVsbG8", "_-8"))
    case("DecodeBase64", s("!!"))
    case("DecodeRaw", s(b"\1\0\2\0", b"\3\0\4\0"), out_type=tf.int16)
    case("DecodeRaw", s(b"\1\0\2\0"), out_type=tf.int16, little_endian=False)
    case("DecodeRaw", s(b"\1\0\2"), out_type=tf.int16)
    case("DecodeRaw", s(b"\1\0", b"\1"), out_type=tf.uint8)
    nums = f32(0, 1, -1.5, 3.14159265, 1e10, 1e-7, nan, inf, -inf, 123456.7, 100000, 1000000)
    case("AsString", nums)
    for kw in [dict(precision=2), dict(scientific=True), dict(shortest=True), dict(width=12), dict(width=12, fill="0"), dict(width=8, fill="-"), dict(fill="+"), dict(precision=3, shortest=True)]:
        case("AsString", nums, name="AsString %s" % kw, **kw)
    case("AsString", nums.astype(np.float64), shortest=True)
    case("AsString", i64(0, -5, 2**62))
    case("AsString", i32(7, -7), width=5, fill="0")
    case("AsString", np.array([True, False]))
    case("StringToNumber", s("1.5", " -2e3 ", "inf", "nan", "0", "1e400", "-Infinity"))
    case("StringToNumber", s("12", " -7"), out_type=tf.int64)
    case("StringToNumber", s("12", "2147483647"), out_type=tf.int32)
    case("StringToNumber", s("1.5", "-2e3"), out_type=tf.float64)
    for bad in ["", "abc", "1.5x"]:
        case("StringToNumber", s(bad))
    case("StringToNumber", s("1.5"), out_type=tf.int64)
    case("StringToNumber", s("2147483648"), out_type=tf.int32)
    lines = s("a b  c", "", " lead trail ", "one", "a,b,,c", ",")
    for sep in ["", ",", "b"]:
        for m in (-1, 0, 1, 2):
            case("StringSplitV2", lines, text(sep), maxsplit=m)
    case("StringSplit", lines, text(" ,"))
    case("StringSplit", lines, text(" ,"), skip_empty=False)
    case("StringSplit", s("abc", ""), text(""))
    case("RegexReplace", s("hello world", "", "aaa", b"\xffa"), text("a"), text("b"))
    case("RegexReplace", s("hello world"), text("(\\w+) (\\w+)"), text("\\2 \\1\\\\"))
    case("RegexReplace", s("aaa"), text("a"), text("b"), replace_global=False)
    case("RegexReplace", s("abc"), text("x*"), text("-"))
    case("RegexReplace", s("abc"), text("("), text("-"))
    case("StaticRegexReplace", s("Hello, World!"), pattern="[[:punct:]]", rewrite="")
    case("RegexFullMatch", s("abc", "abcd", ""), text("a.c"))
    case("StaticRegexFullMatch", s("abc", "abcd", "x"), pattern="a.c|x")
    case("ReduceJoin", np.array([[b"a", b"b"], [b"c", b"d"]], object), i32(0), separator=".")
    case("ReduceJoin", np.array([[b"a", b"b"], [b"c", b"d"]], object), i32(0, 1), keep_dims=True)


def sparse():
    idx, val, dense = i64([0, 0], [0, 2], [2, 1]), f32(1, 2, 3), i64(4, 3)
    case("SparseToDense", idx, dense, val, np.float32(-1))
    case("SparseToDense", i32(1, 3), i32(5), np.float32(2), np.float32(0))
    case("SparseToDense", idx[::-1].copy(), dense, val, np.float32(-1))
    case("SparseToDense", idx[::-1].copy(), dense, val, np.float32(-1), validate_indices=False)
    case("SparseToDense", i64([0, 3]), dense, f32(1), np.float32(-1))
    case("SparseToDense", i64([0, 1], [0, 1]), dense, f32(1, 2), np.float32(-1))
    case("SparseToDense", idx, dense, s("a", "b", "c"), text("z"))
    case("SparseReshape", idx, dense, i64(2, -1))
    case("SparseReshape", idx, dense, i64(-1))
    case("SparseReshape", idx, dense, i64(5, -1))
    case("SparseFillEmptyRows", idx, val, dense, np.float32(9))
    case("SparseFillEmptyRows", idx[::-1].copy(), val, dense, np.float32(9))
    case("SparseFillEmptyRows", np.zeros((0, 2), np.int64), f32(), i64(2, 0), np.float32(9))
    case("SparseFillEmptyRows", np.zeros((0, 2), np.int64), f32(), i64(0, 0), np.float32(9))
    case("SparseFillEmptyRows", i64([4, 0]), f32(1), dense, np.float32(9))
    case("SparseReorder", idx[::-1].copy(), val, dense)
    case("SparseSlice", idx, val, dense, i64(0, 1), i64(3, 5))
    case("SparseConcat", [idx, idx], [val, val], [dense, dense], concat_dim=1)
    case("SparseConcat", [idx, idx], [val, val], [dense, dense], concat_dim=0)
    case("SparseTensorDenseMatMul", idx, val, dense, rand(3, 2), tol=1e-6)
    case("SparseDenseCwiseMul", idx, val, dense, rand(4, 1), tol=1e-6)
    case("SparseDenseCwiseAdd", idx, val, dense, rand(3), tol=1e-6)
    a = (i64([0, 0], [0, 1], [2, 0]), s("a", "b", "c"), i64(3, 2))
    b = (i64([0, 0], [1, 0], [2, 0], [2, 1]), i64(5, 6, -7, 8), i64(3, 2))
    d = s("x", "y", "z").reshape(3, 1)
    di = i64([1, 2], [3, 4], [5, 6])
    for n in (0, 100):
        case("SparseCross", [a[0], b[0]], [a[1], b[1]], [a[2], b[2]], [d, di], hashed_output=True, num_buckets=n, hash_key=0xDECAFCAFFE, out_type=tf.int64, internal_type=tf.string)
        case("SparseCross", [a[0], b[0]], [a[1], b[1]], [a[2], b[2]], [d, di], hashed_output=True, num_buckets=n, hash_key=0xDECAFCAFFE, out_type=tf.int64, internal_type=tf.int64)
        case("SparseCross", [a[0]], [a[1]], [a[2]], [d], hashed_output=True, num_buckets=n, hash_key=0xDECAFCAFFE, out_type=tf.int64, internal_type=tf.string)
        case("SparseCross", [b[0]], [b[1]], [b[2]], [di], hashed_output=True, num_buckets=n, hash_key=0xDECAFCAFFE, out_type=tf.int64, internal_type=tf.int64)
        for strong in (False, True):
            case("SparseCrossHashed", [a[0]], [a[1]], [a[2]], [d], scalar(n, np.int64), np.array(strong), i64(137, 9))
    case("SparseCross", [a[0], b[0]], [a[1], b[1]], [a[2], b[2]], [d], hashed_output=False, num_buckets=0, hash_key=1, out_type=tf.string, internal_type=tf.string)
    case("SparseCross", [a[0]], [a[1]], [a[2]], [d], hashed_output=False, num_buckets=0, hash_key=1, out_type=tf.string, internal_type=tf.string)
    case("SparseCrossV2", [a[0], b[0]], [a[1], b[1]], [a[2], b[2]], [d], text("&"))
    v = f32(1, 2, 3, 4, 5)
    case("RaggedTensorToTensor", i64(-1, -1), v, np.float32(0), [i64(0, 2, 2, 5)], row_partition_types=["ROW_SPLITS"])
    case("RaggedTensorToTensor", i64(4, 2), v, np.float32(-1), [i64(0, 2, 2, 5)], row_partition_types=["ROW_SPLITS"])
    case("RaggedTensorToTensor", scalar(-1, np.int64), v, np.float32(-1), [i64(0, 2, 2, 5)], row_partition_types=["ROW_SPLITS"])
    case("RaggedTensorToTensor", i64(-1, -1), v, np.float32(0), [scalar(4, np.int64), i64(0, 0, 2, 2, 2)], row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"])
    case("RaggedTensorToTensor", i64(-1, -1, -1), v, np.float32(0), [i64(0, 2, 3), i64(0, 1, 3, 5)], row_partition_types=["ROW_SPLITS", "ROW_SPLITS"])
    case("RaggedTensorToTensor", i64(-1, -1, 2), rand(5, 2), np.float32(0), [i64(0, 2, 2, 5)], row_partition_types=["ROW_SPLITS"])
    case("RaggedTensorToSparse", [i64(0, 2, 2, 5)], v)
    case("RaggedRange", i32(0, 5, 8), i32(3, 5, 2), i32(1, 1, -2))
    case("RaggedRange", scalar(0), i32(3, 1), scalar(1), Tsplits=tf.int32)
    case("RaggedGather", [i64(0, 2, 2, 5)], v, i32(2, 0, 1), OUTPUT_RAGGED_RANK=1)


def feature(v):
    f = feature_pb2.Feature()
    if v is None:
        return f
    if isinstance(v[0], float) if v else False:
        f.float_list.value.extend(v)
    elif v and isinstance(v[0], bytes):
        f.bytes_list.value.extend(v)
    else:
        f.int64_list.value.extend(v)
    return f


def example(**kw):
    e = example_pb2.Example()
    for k, v in kw.items():
        e.features.feature[k].CopyFrom(feature(v))
    return e.SerializeToString()


def parsing():
    full = example(i=[1, -2, 2**62], f=[1.5, 2.5], b=[b"x", b"\xff"], d=[3.0, 4.0], v=[7], o=[9])
    less = example(f=[0.5], d=[5.0, 6.0], v=[1, 2, 3], u=[1.0])
    none = example(d=[7.0, 8.0])
    unpacked = b"\x0a\x13\x0a\x11\x0a\x01d\x12\x0c\x12\x0a\x0d\x00\x00\x80\x3f\x0d\x00\x00\x00\x40"
    good = [full, less, none, full + less, less + example(f=[9.0, 8.0])]
    empty_kind = example_pb2.Example()
    empty_kind.features.feature["d"].float_list.value.extend([1.0, 2.0])
    empty_kind.features.feature["i"].int64_list.SetInParent()
    empty_kind.features.feature["f"].SetInParent()

    def v2(name, examples, sparse=("i", "f", "b"), dense=("d", "v", "o"), ragged=("i",), single=False, defaults=None):
        types = {"i": tf.int64, "f": tf.float32, "b": tf.string, "d": tf.float32, "v": tf.int64, "o": tf.int64, "w": tf.float32}
        shapes = {"d": [2], "v": [None], "o": [], "w": [None, 2], "i": [], "f": [1], "b": []}
        default = {"d": f32(), "v": scalar(-1, np.int64), "o": scalar(77, np.int64), "w": np.float32(0), "i": i64(), "f": f32(0.25), "b": np.array(b"dflt", object)}
        default.update(defaults or {})
        ragged = [k for k in ragged if k not in sparse and k not in dense]
        case("ParseExampleV2", text(examples[0]) if single else s(*examples), s() if single else s(), s(*sparse), s(*dense), s(*ragged), [np.asarray(default[k]) for k in dense],
             num_sparse=len(sparse), sparse_types=[types[k] for k in sparse], ragged_value_types=[types[k] for k in ragged], ragged_split_types=[tf.int64 if n % 2 else tf.int32 for n, _ in enumerate(ragged)],
             dense_shapes=[shapes[k] for k in dense], name="ParseExampleV2 " + name)

    v2("all", good)
    v2("empty kinds", [empty_kind.SerializeToString()])
    v2("ragged", good, sparse=("b",), ragged=("i", "f"))
    v2("no examples", [], sparse=("b",), ragged=("i", "f"))
    v2("single", good, sparse=("b", "i"), ragged=("f",), single=True)
    v2("dense strings", [example(b=[b"q"], i=[3], f=[2.0]), example(i=[4])], sparse=(), dense=("b", "i", "f"))
    v2("variable", [example(w=[1.0, 2.0, 3.0, 4.0]), example(), example(w=[5.0, 6.0])], sparse=(), dense=("w",))
    v2("variable odd", [example(w=[1.0, 2.0, 3.0])], sparse=(), dense=("w",))
    v2("required", [full, example()])
    v2("wrong type", [example(d=[1, 2])])
    v2("wrong sparse type", [example(d=[1.0, 2.0], i=[1.0])])
    v2("wrong count", [example(d=[1.0])])
    v2("truncated", [less[:-3]])
    v2("garbage", [b"garbage"])
    v2("unpacked", [unpacked], sparse=(), dense=("d",), defaults={"d": f32(5, 6)})
    v2("empty string", [b""], sparse=("i",), dense=("o",))
    case("ParseExample", s(*good), s(), [np.array(b"i", object), np.array(b"b", object)], [np.array(b"d", object), np.array(b"o", object)], [f32(1, 2), scalar(5, np.int64)],
         sparse_types=[tf.int64, tf.string], dense_shapes=[[2], []])
    case("ParseExample", s(*[example(o=[1, 2])]), s("named"), [], [np.array(b"o", object)], [scalar(5, np.int64)], sparse_types=[], dense_shapes=[[]])
    case("ParseSingleExample", text(full), [i64(5)[0], f32()], num_sparse=2, sparse_keys=["i", "b"], dense_keys=["o", "d"], sparse_types=[tf.int64, tf.string], dense_shapes=[[], [2]])
    case("ParseSingleExample", text(b""), [i64(5)[0]], num_sparse=2, sparse_keys=["i", "b"], dense_keys=["o"], sparse_types=[tf.int64, tf.string], dense_shapes=[[]])


def odd():
    """Shapes and indices at the edges of what ops refuse: see internal/imported/session's TestAgreedCases."""
    def zeros(*shape): return np.zeros(shape, np.float32)

    def conv(x, k, stride=1, padding="VALID", op="Conv2D", **attrs):
        case(op, rand(*x), rand(*k), strides=[1, stride, 1 if op == "Conv2D" else stride, 1], padding=padding, tol=1e-5, **attrs)

    for x, k, stride in [((1, 2, 3, 1), (3, 3, 1, 2), 1), ((1, 1, 3, 1), (3, 3, 1, 2), 1), ((1, 1, 3, 1), (3, 3, 1, 2), 2), ((1, 0, 3, 1), (4, 3, 1, 2), 2), ((0, 1, 3, 1), (3, 3, 1, 2), 1),
                         ((2, 4, 4, 0), (2, 2, 1, 4), 1), ((2, 4, 4, 4), (1, 2, 3, 1), 1), ((2, 5, 4, 4), (2, 2, 2, 6), 1), ((2, 5, 4, 6), (2, 3, 2, 6), 2), ((2, 4, 4, 4), (1, 2, 2, 3), 1), ((1, 4, 4, 0), (2, 2, 0, 1), 1),
                         ((2, 4, 4, 1), (2, 2, 1, 0), 1)]:
        conv(x, k, stride)
    conv((2, 4, 4, 1), (0, 2, 1, 1), padding="SAME")
    conv((0, 4, 4, 1), (0, 2, 1, 1), padding="SAME")
    conv((1, 4, 4, 1), (2, 2, 1, 1), 1 << 21, "EXPLICIT", explicit_paddings=[0, 0, 1 << 21, 1, 0, 0, 0, 0])
    conv((1, 1, 4, 1), (5, 2, 1, 1), padding="EXPLICIT", explicit_paddings=[0, 0, 0, 1, 0, 0, 0, 0])
    for x, k, padding in [((1, 2, 2, 1), (0, 2, 1, 1), "SAME"), ((1, 2, 2, 1), (0, 1, 1, 1), "VALID"), ((1, 2, 2, 0), (1, 1, 0, 2), "SAME"), ((1, 1, 2, 1), (3, 1, 1, 1), "VALID"), ((1, 2, 2, 2), (1, 1, 1, 1), "SAME")]:
        conv(x, k, padding=padding, op="DepthwiseConv2dNative")
    for op in ["MaxPool", "AvgPool"]:
        for size, stride in [(2, 1), (3, 1), (3, 2)]:
            case(op, rand(1, 1, 2, 3), ksize=[1, size, 1, 1], strides=[1, stride, stride, 1], padding="VALID")
    for to in [(0, -1), (0, -1, 3), (5, 0), (5, 1), (-1, 3)]:
        for x in [(0, 3), (3, 0), (2, 3), (0, 4)]:
            case("Reshape", zeros(*x), i32(*to))
    for x, ids in [((3, 0), [7]), ((0, 2), [0]), ((0, 2), []), ((3, 2), [3])]:
        case("GatherV2", zeros(*x), i32(*ids), scalar(0))
        case("ReverseV2", zeros(*x), i32(*ids))
        case("UnsortedSegmentSum", zeros(len(ids), x[1]), i32(*ids), scalar(2))
    for x, ids in [((), (3, 0)), ((4, 0), (1, 0)), ((4, 0), (1, 1)), ((4, 0), (0, 1)), ((4, 3), (1, 3))]:
        case("GatherNd", zeros(*x), np.zeros(ids, np.int32))
    for n, width in [(1, 2), (1, 0), (0, 0)]:
        case("ScatterNd", np.ones((n, 1), np.int32), rand(n, width), i32(3, width))
    case("ReverseV2", np.float32(1), i32(7))
    case("Roll", np.float32(1), i32(), i32())
    case("PadV2", zeros(2), i32([1, 2]), zeros(1))
    case("OneHot", i32(1, 0), scalar(3), zeros(1), np.float32(0))
    case("Fill", i32(2, 3), rand(1))
    case("Fill", i32(2, 3), rand(2))
    case("SplitV", rand(3, 2), i32(-1), scalar(0), num_split=1)
    case("SpaceToBatchND", rand(1, 4), i32([2]), i32([0, 0]))
    for op in ["ResizeBilinear", "ResizeNearestNeighbor"]:
        case(op, rand(1, 2, 2, 0), i32(3, 4))
    for x in [(2, 3), (2, 1, 2, 2, 3)]:
        case("FusedBatchNormV3", rand(*x), f32(1, 2, 3), f32(1, 2, 3), f32(1, 2, 3), f32(1, 2, 3), is_training=False, tol=1e-5, name="first only")


def write(path, cases):
    with gzip.GzipFile(path, "wb", mtime=0) as out:
        out.write(json.dumps([{k: v for k, v in c.items() if k != "def"} for c in cases], separators=(",", ":")).encode())


def main():
    for group in [elementwise, shapes, strided, gathers, reductions, linear, string_ops, sparse, parsing, odd]:
        group()
    write(sys.argv[1], CASES)
    print(len(CASES), "cases,", sum("error" in c for c in CASES), "errors")
    if len(sys.argv) > 2:
        for c in CASES:
            if "error" in c:
                print(c["name"], "|", c["error"][:300])


if __name__ == "__main__":
    main()
