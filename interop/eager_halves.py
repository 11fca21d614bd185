"""Writes internal/imported/eager/testdata/halves.json.gz: what TensorFlow computes for single ops in float16 and bfloat16.

    python interop/eager_halves.py internal/imported/eager/testdata/halves.json.gz

The recorded cases of float32 are run again in both types, some of each op. More cases follow where steps are rounded, in an order.
"""

import base64
import gzip
import json
import os
import sys

import numpy as np

import eager_golden as base  # before TensorFlow, which it configures
import ml_dtypes
import tensorflow as tf

rng = np.random.default_rng(11)
TYPES = {np.float16: tf.float16, ml_dtypes.bfloat16: tf.bfloat16}
FILES = ("golden", "edges", "windows", "families", "updates", "quantized", "signals")
MOST = 4  # recorded cases of an op and a type
LARGEST = 1500  # elements of an input
ANY_TYPE = "ConjugateTranspose EditDistance Einsum Equal ListDiff LowerBound NotEqual ScatterNd TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub UpperBound".split()


def decoded(a):
    """An attribute as AttrValue, of what eager_golden.py wrote."""
    out = tf.compat.v1.AttrValue()
    (kind, v), = a.items()
    if kind == "s":
        out.s = base64.b64decode(v)
    elif kind == "shape":
        fill(out.shape, v)
    elif kind == "list":
        out.list.SetInParent()
        for k, items in v.items():
            for x in items:
                if k == "shape":
                    fill(out.list.shape.add(), x)
                else:
                    getattr(out.list, k).append(base64.b64decode(x) if k == "s" else x)
    else:
        setattr(out, kind, v)
    return out


def fill(shape, sizes):
    if sizes is None:
        shape.unknown_rank = True
    for d in sizes or []:
        shape.dim.add().size = d


def values(t):
    if "strings" in t:
        return np.array([base64.b64decode(x) for x in t["strings"]] + [None], object)[:-1].reshape(t["shape"])
    return np.frombuffer(base64.b64decode(t["bytes"]), tf.as_dtype(t["dtype"]).as_numpy_dtype).reshape(t["shape"])


def type_attrs(op, count):
    """The attribute of each input that states its type."""
    from tensorflow.python.framework import op_def_registry
    args = list(op_def_registry.get(op).input_arg)
    out = []
    for d in args:
        out += [d.type_attr] * (count - len(args) + 1 if d.number_attr else 1)
    return out


def run(name, op, attrs, inputs):
    """Records a node, unless TensorFlow has none."""
    with tf.Graph().as_default() as g:
        fed = [tf.compat.v1.placeholder(tf.string if a.dtype == object else tf.as_dtype(a.dtype), a.shape) for a in inputs]
        try:
            made = g._create_op_internal(op, fed, None, name="n", attrs=dict(attrs), compute_device=False)
            with tf.compat.v1.Session() as s:
                out = s.run(list(made.outputs), dict(zip(fed, inputs)))
        except (tf.errors.OpError, ValueError, TypeError):
            return False
        base.CASES.append({"name": name, "op": op, "attrs": {k: base.attr(v) for k, v in made.node_def.attr.items() if not k.startswith("_")},
                           "inputs": [base.tensor(a) for a in inputs], "outputs": [base.tensor(v) for v in out]})
        return True


def recorded():
    """The cases of one step whose inputs are tensors, by op."""
    here = os.path.dirname(os.path.abspath(__file__))
    for name in FILES:
        with gzip.open(os.path.join(here, "../internal/imported/eager/testdata", name + ".json.gz")) as f:
            for c in json.load(f):
                if "error" in c or c.get("name") == "first only" or c.get("op") in ("CheckNumerics", "CheckNumericsV2") or "steps" in c and len(c["steps"]) > 1:
                    continue
                if "steps" in c:
                    step = c["steps"][0]
                    if any("tensor" not in x for x in step["inputs"]):
                        continue
                    c = {"name": c["name"], "op": step["op"], "attrs": step["attrs"], "inputs": [x["tensor"] for x in step["inputs"]]}
                yield c


def again():
    """The recorded cases of float32 in 16 bits."""
    from tensorflow.python.framework import op_def_registry
    taken, failed = {}, {}
    for c in recorded():
        of = [k for k, v in c["attrs"].items() if v.get("type") == int(tf.float32.as_datatype_enum)]
        op = op_def_registry.get(c["op"])
        if op is None or not any(a.name in of and a.allowed_values.list.type or c["op"] in ANY_TYPE for a in op.attr):  # it moves elements
            continue
        if max([np.prod(x["shape"]) for x in c["inputs"]] + [0]) > LARGEST:
            continue
        for kind, t in TYPES.items():
            key = c["op"], t
            if taken.get(key, 0) >= MOST or failed.get(key, 0) >= 2 * MOST:
                continue
            for names in ([of] if len(of) == 1 else [of[:1], of]):
                attrs = {k: decoded({"type": int(t.as_datatype_enum)} if k in names else v) for k, v in c["attrs"].items()}
                inputs = [values(x).astype(kind) if a in names else values(x) for x, a in zip(c["inputs"], type_attrs(c["op"], len(c["inputs"])))]
                ok = run("%s %s" % (c["name"], t.name), c["op"], attrs, inputs)
                count = taken if ok else failed
                count[key] = count.get(key, 0) + 1


def some(kind, *shape):
    return (rng.standard_normal(shape) * 2).astype(kind)


def any_bits(kind, n):
    """Numbers of all sizes, infinities, NaN, both zeros, and numbers close to 1; of bfloat16 none that is subnormal, as TensorFlow takes these for 0."""
    x = rng.integers(0, 65536, n, dtype=np.uint16).view(kind)
    edges = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 65504, 65520, -65504, 6e-8, 6.1e-5, 2048, 2049, 0.1], np.float32).astype(kind)
    x = np.concatenate([edges, x, some(kind, n)])
    return np.where(np.abs(x.astype(np.float32)) < 2e-38, np.array(0, kind), x) if kind != np.float16 else x


def typed(t, **attrs):
    out = {"T": decoded({"type": int(t.as_datatype_enum)})}
    for k, v in attrs.items():
        out[k] = decoded({"b": v} if isinstance(v, bool) else {"type": int(v.as_datatype_enum)} if isinstance(v, tf.DType) else {"i": v} if isinstance(v, int) else {"f": v} if isinstance(v, float)
                         else {"s": base64.b64encode(v.encode())} if isinstance(v, str) else {"list": {"i": v}})
    return out


UNARY = """Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Digamma Elu Erf Erfc Exp Expm1 Floor Inv IsFinite IsInf IsNan Lgamma Log Log1p Neg Reciprocal Relu Relu6 Round
Rsqrt Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Square Tan Tanh LeakyRelu""".split()
BINARY = """Add AddV2 Sub Mul Div RealDiv Maximum Minimum SquaredDifference FloorDiv FloorMod TruncateDiv Pow Atan2 DivNoNan MulNoNan Xdivy Xlogy Xlog1py Equal NotEqual
Less LessEqual Greater GreaterEqual EluGrad ReluGrad Relu6Grad SeluGrad LeakyReluGrad SoftplusGrad SoftsignGrad SigmoidGrad TanhGrad SqrtGrad RsqrtGrad InvGrad ReciprocalGrad""".split()


def elements(kind, t):
    for op in UNARY:
        run("%s %s of any bits" % (op, t.name), op, typed(t), [any_bits(kind, 300)])
    for alpha in (0.01, 0.3, 1.5):
        run("LeakyRelu %s" % t.name, "LeakyRelu", typed(t, alpha=alpha), [any_bits(kind, 50)])
    for op in BINARY:
        x, y = any_bits(kind, 300), any_bits(kind, 300)
        run("%s %s of any bits" % (op, t.name), op, typed(t), [x, rng.permutation(y)])
    for n in (1, 2, 3, 5, 9):
        run("AddN %s" % t.name, "AddN", typed(t, N=n), [some(kind, 50) for _ in range(n)])


def axes(*of):
    return np.array(of, np.int32)


def sums(kind, t):
    for op in ("Sum", "Mean", "Prod", "EuclideanNorm", "Max", "Min"):
        put = (lambda x: (1 + x.astype(np.float32) / 50).astype(kind)) if op == "Prod" else lambda x: x
        for n in (0, 1, 3, 8, 15, 17, 33, 40, 100, 300) + ((1700, 3500) if op in ("Sum", "Mean") else ()):
            run("%s %s of rows of %d" % (op, t.name, n), op, typed(t, Tidx=tf.int32), [put(some(kind, 2, n)), axes(1)])
            run("%s %s of %d" % (op, t.name, n), op, typed(t, Tidx=tf.int32), [put(some(kind, n)), axes(0)])
        for n in (0, 1, 15, 16, 33, 70):
            for width in (1, 3, 8, 19):
                run("%s %s of columns of %d" % (op, t.name, n), op, typed(t, Tidx=tf.int32), [put(some(kind, n, width)), axes(0)])
            run("%s %s in the middle of %d" % (op, t.name, n), op, typed(t, Tidx=tf.int32, keep_dims=True), [put(some(kind, 3, n, 11)), axes(1)])
        for of in ((), (0, 2), (1, 3), (0, 3), (1, 2), (0, 1, 3), (0, 1, 2, 3)):
            run("%s %s over %s" % (op, t.name, of), op, typed(t, Tidx=tf.int32), [put(some(kind, 3, 5, 4, 9)), axes(*of)])
        run("%s %s of a scalar" % (op, t.name), op, typed(t, Tidx=tf.int32), [put(some(kind)), axes()])
    for op in ("Softmax", "LogSoftmax"):
        for shape in ((2, 1), (3, 5), (2, 16), (2, 33), (1, 100), (2, 3, 300), (0, 3), (1, 2000)):
            run("%s %s of %s" % (op, t.name, shape), op, typed(t), [some(kind, *shape)])
        run("%s %s of edges" % (op, t.name), op, typed(t), [np.array([[1, np.inf, 2], [1, -np.inf, 2], [1, np.nan, 2], [30000, -30000, 0]], kind)])
    for op in ("Cumsum", "Cumprod", "CumulativeLogsumexp"):
        for exclusive in (False, True):
            run("%s %s" % (op, t.name), op, typed(t, exclusive=exclusive, reverse=exclusive), [some(kind, 3, 40), np.array(1, np.int32)])
    run("L2Loss %s" % t.name, "L2Loss", typed(t), [some(kind, 7, 11)])
    for shape in ((5, 3), (40, 19), (2, 9, 7), (2, 3, 4, 8)):
        run("BiasAddGrad %s %s" % (t.name, shape), "BiasAddGrad", typed(t, data_format="NHWC"), [some(kind, *shape)])


def products(kind, t):
    for m, k, n in ((1, 1, 1), (2, 4, 3), (1, 4, 16), (1, 64, 9), (1, 127, 5), (1, 128, 5), (1, 300, 16), (3, 33, 20), (16, 300, 19), (5, 700, 8), (7, 4, 1), (7, 33, 1), (3, 200, 1), (1, 40, 1),
                    (0, 3, 2), (2, 0, 3), (2, 3, 0), (40, 16, 40)):
        for flip in (False, True):
            a, b = some(kind, m, k), some(kind, k, n)
            run("MatMul %s of %d %d %d" % (t.name, m, k, n), "MatMul", typed(t, transpose_a=flip, transpose_b=flip), [a.T.copy() if flip else a, b.T.copy() if flip else b])
            run("BatchMatMulV2 %s of %d %d %d" % (t.name, m, k, n), "BatchMatMulV2", typed(t, adj_x=flip, adj_y=flip), [(a.T.copy() if flip else a)[None], (b.T.copy() if flip else b)[None]])
    for shape, other in (((3, 4, 5), (3, 5, 6)), ((2, 1, 4, 30), (3, 30, 9)), ((2, 3, 1, 200), (2, 3, 200, 5))):
        run("BatchMatMulV2 %s" % t.name, "BatchMatMulV2", typed(t), [some(kind, *shape), some(kind, *other)])
        run("BatchMatMulV3 %s" % t.name, "BatchMatMulV3", {"Ta": typed(t)["T"], "Tb": typed(t)["T"], "Tout": typed(t)["T"]}, [some(kind, *shape), some(kind, *other)])
    run("MatMul %s of edges" % t.name, "MatMul", typed(t), [np.array([[60000, 1], [np.inf, 0], [np.nan, 1], [6e-5, 6e-5]], kind), np.array([[2, 0.5], [1, 1e-4]], kind)])
    for equation, shapes in (("ij,jk->ik", ((5, 20), (20, 7))), ("bij,bjk->bik", ((3, 5, 20), (3, 20, 7))), ("abc,cde->abde", ((2, 3, 16), (16, 2, 4))), ("acbe,aecd->abcd", ((2, 3, 4, 5), (2, 5, 3, 6))),
                             ("i,i->", ((40,), (40,))), ("ij->j", ((20, 5),)), ("ij->i", ((5, 40),)), ("ij->ji", ((5, 4),)), ("BTNH,BFNH->BNFT", ((2, 5, 2, 8), (2, 6, 2, 8)))):
        run("Einsum %s %s" % (equation, t.name), "Einsum", typed(t, N=len(shapes), equation=equation), [some(kind, *x) for x in shapes])


def images(kind, t):
    x = some(kind, 2, 9, 8, 5)
    for padding in ("SAME", "VALID"):
        for step in (1, 2):
            p = dict(strides=[1, step, step, 1], padding=padding, data_format="NHWC")
            for size, out in ((3, 6), (1, 6), (2, 1), (1, 16), (8, 4)):
                run("Conv2D %s %d %d %s" % (t.name, size, step, padding), "Conv2D", typed(t, **p), [x, some(kind, size, size, 5, out)])
            run("DepthwiseConv2dNative %s %d %s" % (t.name, step, padding), "DepthwiseConv2dNative", typed(t, **p), [x, some(kind, 3, 3, 5, 2)])
            run("DepthwiseConv2dNative of 1 %s %d %s" % (t.name, step, padding), "DepthwiseConv2dNative", typed(t, **p), [x, some(kind, 3, 3, 5, 1)])
            for op in ("AvgPool", "MaxPool"):
                run("%s %s %d %s" % (op, t.name, step, padding), op, typed(t, ksize=[1, 3, 2, 1], **p), [x])
            rows = lambda n: -(-n // step) if padding == "SAME" else (n - 3) // step + 1
            for out in (1, 6):
                run("Conv2DBackpropInput %s %d %s" % (t.name, step, padding), "Conv2DBackpropInput", typed(t, **p), [axes(2, 9, 8, 5), some(kind, 3, 3, 5, out), some(kind, 2, rows(9), rows(8), out)])
                run("Conv2DBackpropFilter %s %d %s" % (t.name, step, padding), "Conv2DBackpropFilter", typed(t, **p), [x, axes(3, 3, 5, out), some(kind, 2, rows(9), rows(8), out)])
    v = some(kind, 2, 5, 6, 4, 3)
    for padding in ("SAME", "VALID"):
        run("Conv3D %s %s" % (t.name, padding), "Conv3D", typed(t, strides=[1] * 5, padding=padding, data_format="NDHWC"), [v, some(kind, 2, 3, 2, 3, 4)])
    for training in (False, True):
        for op in ("FusedBatchNormV2", "FusedBatchNormV3"):
            scale, offset, mean, variance = [np.abs(rng.standard_normal(5)).astype(np.float32) for _ in range(4)]
            none = np.zeros(0, np.float32)
            run("%s %s" % (op, t.name), op, typed(t, U=tf.float32, epsilon=1e-3, is_training=training, data_format="NHWC"), [x, scale, offset, none if training else mean, none if training else variance])
    colours = rng.random((2, 5, 5, 3)).astype(kind)
    for op in ("RGBToHSV", "HSVToRGB"):
        run("%s %s" % (op, t.name), op, typed(t), [colours])
    run("LRN %s" % t.name, "LRN", typed(t, depth_radius=2, bias=1.0, alpha=0.5, beta=0.5), [x])


def rows(kind, t):
    x, ids = some(kind, 30, 11), np.sort(rng.integers(0, 6, 30)).astype(np.int32)
    six = np.array(7, np.int32)
    for op in ("Sum", "Mean", "Prod", "Max", "Min"):
        run("Segment%s %s" % (op, t.name), "Segment" + op, typed(t, Tindices=tf.int32), [x, ids])
        op == "Mean" or run("UnsortedSegment%s %s" % (op, t.name), "UnsortedSegment" + op, typed(t, Tindices=tf.int32, Tnumsegments=tf.int32), [x, rng.permutation(ids), six])
    places = rng.integers(0, 30, (20, 1)).astype(np.int32)
    run("ScatterNd %s" % t.name, "ScatterNd", typed(t, Tindices=tf.int32), [places, x[:20], axes(30, 11)])
    for op in ("Add", "Sub", "Max", "Min"):
        run("TensorScatter%s %s" % (op, t.name), "TensorScatter" + op, typed(t, Tindices=tf.int32), [x, places, x[:20]])
    for k in (1, 5):
        run("TopKV2 %s" % t.name, "TopKV2", typed(t, sorted=True), [x, np.array(k, np.int32)])
    labels = rng.random((30, 11)).astype(kind)
    run("SoftmaxCrossEntropyWithLogits %s" % t.name, "SoftmaxCrossEntropyWithLogits", typed(t), [x, labels])
    run("SparseSoftmaxCrossEntropyWithLogits %s" % t.name, "SparseSoftmaxCrossEntropyWithLogits", typed(t, Tlabels=tf.int32), [x, rng.integers(0, 11, 30).astype(np.int32)])
    run("Cross %s" % t.name, "Cross", typed(t), [x[:, :3].copy(), x[:, 3:6].copy()])


def main():
    again()
    for kind, t in TYPES.items():
        for group in (elements, sums, products, images, rows):
            group(kind, t)
    base.write(sys.argv[1], base.CASES)
    print(len(base.CASES), "cases of", len({c["op"] for c in base.CASES}), "ops")


if __name__ == "__main__":
    main()
