"""Writes internal/imported/eager/testdata/random.json.gz: the numbers that TensorFlow's random ops draw on a processor.

    python interop/eager_random.py internal/imported/eager/testdata/random.json.gz

Each node is run three times in one session, so that its state goes on. Of large results the file has sums of eight bytes.
"""

import sys

import numpy as np

import eager_golden as base  # before TensorFlow, which it configures
import eager_sequences as sequences
import tensorflow as tf
from eager_golden import f32, i32, i64, scalar
from eager_sequences import Of

CASES = []
tf1 = tf.compat.v1
FLOATS = (tf.float16, tf.bfloat16, tf.float32, tf.float64)
INTS = (tf.int32, tf.int64, tf.uint32, tf.uint64)
SEED = i64(123456789012, -5)
KEY, COUNTER = np.array([81985529216486895], np.uint64), np.array([2**64 - 3, 7], np.uint64)


def digest(a):
    """The tensor and, where it is large, its ends and a hash of all."""
    out = base.tensor(a)
    if a.size > 2000:
        h = 14695981039346656037
        for b in np.frombuffer(a.tobytes() + b"\0" * (-a.nbytes % 8), np.uint64).tolist():
            h = (h ^ b) * 1099511628211 % 2**64
        out = dict(base.tensor(a.reshape(-1)[:64]), shape=list(a.shape), hash=str(h))
    return out


def draw(op, *inputs, tolerance=0.0, name="", **attrs):
    """Records three runs of one node."""
    from tensorflow.python.framework import op_def_registry
    with tf.Graph().as_default():
        args = op_def_registry.get(op).input_arg
        inputs = [np.asarray(a) for a in inputs]
        fed = [tf1.placeholder(tf.string if a.dtype == object else a.dtype) for a in inputs]
        out = getattr(base.RAW, op)(**{d.name: p for d, p in zip(args, fed)}, **attrs)
        node = (out[0] if isinstance(out, tuple) else out).op
        c = {"name": "%s %s" % (op, name or attrs.get("dtype", attrs.get("Tout", ""))), "op": op, "tolerance": tolerance,
             "attrs": {k: base.attr(v) for k, v in node.node_def.attr.items() if not k.startswith("_")}, "inputs": [base.tensor(a) for a in inputs], "runs": []}
        config = tf1.ConfigProto(intra_op_parallelism_threads=1)
        with tf1.Session(config=config) as s:
            try:
                c["runs"] = [[digest(v) for v in s.run(list(node.outputs), dict(zip(fed, inputs)))] for _ in range(3)]
            except tf.errors.OpError as e:
                c["error"] = base.reason(e)
    CASES.append(c)


def fills():
    shapes = [i32(3, 5), i64(7), i32(), i32(0, 4), i64(1), i32(2, 3, 1, 3)]
    for t in FLOATS:
        exact = 0.0 if t in (tf.float16, tf.bfloat16) else 1e-6 if t == tf.float32 else 1e-15
        for k, n in enumerate(shapes):
            for op, tol in (("RandomUniform", 0.0), ("RandomStandardNormal", exact), ("TruncatedNormal", exact)):
                draw(op, n, tolerance=tol, seed=k, seed2=77 - k, dtype=t)
        for op, tol in (("StatelessRandomUniform", 0.0), ("StatelessRandomNormal", exact), ("StatelessTruncatedNormal", exact)):
            draw(op, i32(3, 7), SEED, tolerance=tol, dtype=t)
            draw(op, i64(3), i32(-7, 11), tolerance=tol, dtype=t)
        for op, tol in (("StatelessRandomUniformV2", 0.0), ("StatelessRandomNormalV2", exact), ("StatelessTruncatedNormalV2", exact)):
            draw(op, i32(3, 7), KEY, COUNTER, scalar(1), tolerance=tol, dtype=t)
        draw("StatelessRandomUniformV2", i32(3, 7), KEY, COUNTER, scalar(3), name="chosen algorithm", dtype=t)
        draw("RandomUniform", i32(100003), seed=5, seed2=9, dtype=t, name="large %s" % t.name)
    draw("RandomUniform", i32(2, -1), seed=1, dtype=tf.float32)
    draw("StatelessRandomUniformV2", i32(2), KEY, COUNTER, scalar(9), dtype=tf.float32)


def integers():
    for t in (tf.int32, tf.int64):
        n = t.as_numpy_dtype
        for lo, hi in ((0, 10), (-5, 17), (np.iinfo(n).min, np.iinfo(n).max), (3, 4)):
            draw("RandomUniformInt", i32(3, 5), n(lo), n(hi), seed=3, seed2=lo % 91)
            draw("StatelessRandomUniformInt", i32(3, 5), SEED, n(lo), n(hi))
        draw("RandomUniformInt", i32(2), n(4), n(4), seed=3)
        draw("RandomUniformInt", i32(0), n(4), n(4), seed=3)
        draw("RandomUniformInt", i32(200001), n(-4), n(1000), seed=3, name="large")
    for t in INTS:
        n = t.as_numpy_dtype
        draw("StatelessRandomUniformFullInt", i32(3, 5), SEED, dtype=t)
        draw("StatelessRandomUniformFullIntV2", i32(3, 5), KEY, COUNTER, scalar(1), dtype=t)
        if t in (tf.int32, tf.int64):
            draw("StatelessRandomUniformIntV2", i32(3, 5), KEY, COUNTER, scalar(1), n(2), n(1000))


def rejections():
    alphas = f32(0.2, 1, 3.5)
    for t in (np.float16, np.float32, np.float64):
        draw("RandomGamma", i32(4, 2), alphas.astype(t), tolerance=1e-6 if t == np.float32 else 1e-12, seed=4, seed2=2, name=t.__name__)
    draw("RandomGamma", i32(300), np.array([[0.7], [20]]), tolerance=1e-12, seed=4, seed2=2, name="many")
    draw("RandomGamma", i32(0), alphas, seed=4)
    draw("StatelessRandomGammaV3", i32(2, 3), KEY, COUNTER, scalar(1), alphas, tolerance=1e-6)
    draw("StatelessRandomGammaV2", i32(2, 3), SEED, alphas, tolerance=1e-6)
    for r in (tf.float16, tf.float32, tf.float64, tf.int32, tf.int64):
        draw("RandomPoissonV2", i32(5, 2), np.asarray([0.5, 2, 30, 0], r.as_numpy_dtype), seed=4, seed2=2, dtype=tf.int64, name=r.name)
    for t in (tf.float16, tf.float32, tf.float64, tf.int32):
        draw("RandomPoissonV2", i32(50), np.array([7.5, 12.25]), seed=8, dtype=t, name="to " + t.name)
        draw("StatelessRandomPoisson", i32(5, 2), SEED, f32(3, 40), dtype=t)
    for t in (tf.float16, tf.float32, tf.float64, tf.int32, tf.int64):
        for r in (np.float32, np.float64):
            counts, probs = np.array([[0], [1], [9], [40], [1000], [-2]], r), np.array([0, 0.05, 0.3, 0.5, 0.7, 0.99, 1, 1.5, -1], r)
            draw("StatelessRandomBinomial", i32(4, 6, 9), SEED, counts, probs, dtype=t, name="%s of %s" % (t.name, r.__name__))
    draw("StatelessRandomBinomial", i32(700), SEED, np.float64(30), np.float64(0.4), dtype=tf.float64, name="many")
    draw("StatelessRandomBinomial", i64(3), SEED, np.float64(30), np.float64("nan"), dtype=tf.float64, name="no number")
    draw("StatelessRandomBinomial", i32(3, 4), SEED, np.ones(3), np.ones(3), dtype=tf.float64, name="another end")
    draw("StatelessRandomBinomial", i32(0, 3), SEED, np.ones(3), np.ones(3), dtype=tf.float64, name="none")


def choices():
    logits = f32([0.1, 2, -1, 0.5], [5, 5, 5, 5], [-np.inf, 1, np.nan, 1])
    for t in FLOATS:
        draw("Multinomial", np.asarray(logits, t.as_numpy_dtype), scalar(7), seed=4, seed2=2, name=t.name)
    draw("Multinomial", logits, scalar(5), seed=4, output_dtype=tf.int32, name="int32")
    draw("Multinomial", logits, scalar(0), seed=4, name="none")
    draw("Multinomial", logits, scalar(-1), seed=4, name="negative")
    draw("StatelessMultinomial", logits, scalar(7), SEED, output_dtype=tf.int64)
    for v in (np.arange(11), np.arange(24).reshape(6, 2, 2), np.array([b"a", b"b", b"c"], object), np.array(5), np.zeros([0, 3]), np.array([True, False, True]), np.arange(7).astype(np.float16)):
        draw("RandomShuffle", v, seed=3, seed2=1, name=str(v.shape))
    draw("StatelessShuffle", np.arange(11), KEY, COUNTER, scalar(1))
    for t in INTS:
        n = t.as_numpy_dtype
        seed = np.array([7, 2**31 - 1, 5], n)
        for most in (0, 1, 9, 700, 65535, 65536, 70000, 2**31 - 1):
            draw("RandomIndexShuffle", np.minimum(np.arange(12), most).astype(n), seed, n(most), name="%s %s" % (t.name, most))
        draw("RandomIndexShuffle", n(3), seed, n(9), name="one " + t.name)
        draw("RandomIndexShuffle", n(3), np.arange(12).astype(n).reshape(4, 3), np.array([9, 5, 3, 70000], n), rounds=8, name="rows " + t.name)
    draw("RandomIndexShuffle", i64(5, 2**40, 0), i64(-1, 2**33 + 3, 4), np.int64(2**62 - 5), name="large")
    draw("RandomIndexShuffle", np.zeros([0], np.int64), i64(1, 2, 3), np.int64(9), name="none")
    for index, seed, most in ((i64([1], [2]), i64(1, 2, 3), scalar(9, np.int64)), (i64(1), i64(1, 2), scalar(9, np.int64)), (i64(1, 2, 3), i64(1, 2, 3), i64(9, 9))):
        draw("RandomIndexShuffle", index, seed, most, name="shapes")


def bounded():
    for t in (np.float32, np.float64):
        tol = 2e-6 if t == np.float32 else 1e-14
        for k, (a, b) in enumerate(((-2, 2), (-0.1, 0.2), (3, 9), (4, np.inf), (-np.inf, -3), (0, np.inf), (-9, 1))):
            draw("ParameterizedTruncatedNormal", i32(7, 3), t(0), t(1.5), t(a), t(b), tolerance=tol, seed=4, seed2=k, name="%s %s %s" % (t.__name__, a, b))
        draw("ParameterizedTruncatedNormal", i32(3, 5), np.array([0, 1, 2], t), t(1), np.array([-1, 0, 5], t), np.array([1, 9, np.inf], t), tolerance=tol, seed=4, name="rows")
        draw("StatelessParameterizedTruncatedNormal", i32(4, 3), SEED, t(0), t(1), t(-1), t(2), tolerance=tol)
        draw("ParameterizedTruncatedNormal", i32(3), t(0), t(1), t(1), t(1), seed=4, name="no room")
        draw("ParameterizedTruncatedNormal", i32(3), t(0), t(-1), t(0), t(1), seed=4, name="negative deviation")


def keys():
    for seed in (SEED, i32(-7, 11), i64(0, 0)):
        draw("StatelessRandomGetKeyCounter", seed)
        draw("StatelessRandomGetKeyCounterAlg", seed)
    draw("StatelessRandomGetAlg")


def samplers():
    true = i64([1, 3], [0, 9])
    for unique in (False, True):
        for op in ("UniformCandidateSampler", "LogUniformCandidateSampler"):
            draw(op, true, num_true=2, num_sampled=6, unique=unique, range_max=10, seed=4, seed2=2, tolerance=1e-6, name=str(unique))
            draw(op, true, num_true=2, num_sampled=50, unique=unique, range_max=100000, seed=4, seed2=2, tolerance=1e-6, name="many %s" % unique)
    draw("UniformCandidateSampler", true, num_true=2, num_sampled=3, unique=False, range_max=9, seed=4, name="beyond the end")
    draw("ComputeAccidentalHits", true, i64(9, 4, 1, 9), num_true=2)


def variables():
    """Ops on the state in a variable."""
    state = i64(2**63 - 1, 5, 99)
    for t in FLOATS + INTS:
        steps = [("VarHandleOp", [], dict(shape=[3], dtype=tf.int64)), ("AssignVariableOp", [Of(0), state], {})]
        one, n = scalar(1, np.int64), i64(2, 3)
        if t in FLOATS:
            for op in ("StatefulUniform", "StatefulStandardNormalV2", "StatefulTruncatedNormal"):
                steps.append((op, [Of(0), one, n], dict(dtype=t)))
        else:
            steps.append(("StatefulUniformFullInt", [Of(0), one, n], dict(dtype=t)))
            if t in (tf.int32, tf.int64):
                steps.append(("StatefulUniformInt", [Of(0), one, n, t.as_numpy_dtype(3), t.as_numpy_dtype(30)], {}))
        steps += [("RngSkip", [Of(0), one, scalar(5, np.int64)], {}), ("RngReadAndSkip", [Of(0), scalar(1), scalar(7, np.uint64)], {}), ("ReadVariableOp", [Of(0)], dict(dtype=tf.int64))]
        sequences.record("state %s" % t.name, *steps)
    for t in (tf.float32, tf.float64, tf.int32, tf.int64):  # a state of their own, as TensorFlow writes to the memory of what is fed
        steps = [("VarHandleOp", [], dict(shape=[3], dtype=tf.int64)), ("AssignVariableOp", [Of(0), state.copy()], {}), ("AssignAddVariableOp", [Of(0), i64(0, 0, 1)], {})]
        for p in (0.7, 0.2):
            steps.append(("StatefulRandomBinomial", [Of(0), scalar(1, np.int64), i32(3, 2), f32(30, 7), f32(p, 0.2)], dict(dtype=t)))
        sequences.record("binomials %s" % t.name, *steps, ("ReadVariableOp", [Of(0)], dict(dtype=tf.int64)))
    for bad in (i64(1, 2), i64([1, 2, 3]), f32(1, 2, 3)):
        sequences.record("bad state", ("VarHandleOp", [], dict(shape=bad.shape, dtype=bad.dtype)), ("AssignVariableOp", [Of(0), bad], {}), ("RngSkip", [Of(0), scalar(1, np.int64), scalar(5, np.int64)], {}))
    sequences.record("another algorithm", ("VarHandleOp", [], dict(shape=[3], dtype=tf.int64)), ("AssignVariableOp", [Of(0), state], {}), ("RngSkip", [Of(0), scalar(2, np.int64), scalar(5, np.int64)], {}))


def main():
    for part in (fills, integers, rejections, choices, bounded, keys, samplers, variables):
        part()
    base.write(sys.argv[1], CASES + sequences.SEQUENCES)
    print(len(CASES), "draws,", len(sequences.SEQUENCES), "sequences,", sum("error" in c for c in CASES + sequences.SEQUENCES), "errors")


if __name__ == "__main__":
    main()
