"""Writes internal/imported/eager/testdata/quantized_graphs.json.gz: ops on quantized tensors as TensorFlow computes them.

    python interop/eager_quantized_graphs.py internal/imported/eager/testdata/quantized_graphs.json.gz

Random values and the ends of types, in ranges that hold zero, that do not, of no width and very wide ones.
"""

import sys

import numpy as np

import eager_golden as base
import tensorflow as tf
from eager_golden import case, f32, i32, scalar

rng = np.random.default_rng(21)
Q = {tf.qint8: np.int8, tf.quint8: np.uint8, tf.qint16: np.int16, tf.quint16: np.uint16, tf.qint32: np.int32}
RANGES = [(-1, 1), (-6, 6), (0, 6), (-0.3, 2.7), (0.5, 2), (-2, -0.5), (0, 0), (1, 1), (-1, -1), (-1e-9, 1e-9), (-1e9, 1e9), (-1000.5, 0.25), (-128, 127)]
EDGES = np.array([0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, 5.999, 6, 6.01, -6, -7, 1e-7, -1e-7, 3e38, -3e38, 0.0235294, 0.0352941, 127.4, -128.6], np.float32)


def q(t, *shape, most=None):
    """Random values of a type, with its ends among them."""
    i = np.iinfo(Q[t])
    low, high = (i.min, i.max) if most is None else (max(i.min, -most), most)
    v = rng.integers(low, high, size=shape, endpoint=True).astype(Q[t])
    if v.size > 4 and most is None:
        v.reshape(-1)[:2] = [i.min, i.max]
    return v.astype(t.as_numpy_dtype)


def f(v):
    return np.array(v, np.float32)


def ends(r):
    return f(r[0]), f(r[1])


def quantize():
    x = np.concatenate([EDGES, (rng.standard_normal(9) * 3).astype(np.float32)])
    for t in Q:
        for r in RANGES:
            for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
                case("QuantizeV2", x, *ends(r), T=t, mode=mode, name="QuantizeV2 %s %s %s" % (t.name, r, mode))
            for narrow in (False, True):
                case("QuantizeV2", x, *ends(r), T=t, mode="SCALED", round_mode="HALF_TO_EVEN", narrow_range=narrow, name="QuantizeV2 even %s %s" % (t.name, r))
            case("QuantizeV2", x, *ends(r), T=t, ensure_minimum_range=0.5, name="QuantizeV2 wide %s %s" % (t.name, r))
            for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
                case("Dequantize", q(t, 16), *ends(r), mode=mode, name="Dequantize %s %s %s" % (t.name, r, mode))
            case("Dequantize", q(t, 16), *ends(r), mode="SCALED", narrow_range=True, name="Dequantize narrow %s %s" % (t.name, r))
            case("Dequantize", q(t, 16), *ends(r), dtype=tf.bfloat16, name="Dequantize bfloat16 %s %s" % (t.name, r))
        y = (rng.standard_normal((2, 3, 4)) * 4).astype(np.float32)
        for axis, n in ((0, 2), (1, 3), (2, 4)):
            low, high = -np.abs(rng.standard_normal(n)).astype(np.float32), np.abs(rng.standard_normal(n)).astype(np.float32) + 1
            for mode in ("MIN_COMBINED", "SCALED"):
                case("QuantizeV2", y, low, high, T=t, mode=mode, axis=axis, static=True, name="QuantizeV2 axis %s %s %d" % (t.name, mode, axis))
                case("Dequantize", q(t, 2, 3, 4), low, high, mode=mode, axis=axis, static=True, name="Dequantize axis %s %s %d" % (t.name, mode, axis))
            case("QuantizeV2", y, low, high, T=t, mode="MIN_FIRST", axis=axis, static=True)
            case("Dequantize", q(t, 2, 3, 4), low, high, mode="MIN_FIRST", axis=axis, static=True)
            case("QuantizeV2", y, low[1:], high, T=t, axis=axis)
            case("Dequantize", q(t, 2, 3, 4), low[1:], high, axis=axis)
        case("QuantizeV2", y, f(2), f(1), T=t)
        case("QuantizeV2", y, f([1, 2]), f([3, 4]), T=t)
        case("QuantizeV2", y[:0], f(-1), f(1), T=t)
        case("Dequantize", q(t, 0), f(-1), f(1))
        case("Dequantize", q(t, 2, 3), f(-1), f(1), axis=2)
        case("QuantizeV2", y, f(-1), f(1), T=t, mode="MIN_FIRST", round_mode="HALF_TO_EVEN")


def requantize():
    for most in (None, 1000, 1 << 20):
        x = q(tf.qint32, 20, most=most)
        for r in RANGES + [(-1e6, 1e6), (-70000, 30000)]:
            case("RequantizationRange", x, *ends(r), name="RequantizationRange %s %s" % (most, r))
            case("QuantizeDownAndShrinkRange", x, *ends(r), out_type=tf.quint8, name="QuantizeDownAndShrinkRange %s %s" % (most, r))
            for to in ((-1, 1), (0, 6), (-2, 0), (0, 0), (-1000, 3)):
                case("Requantize", x, *ends(r), *ends(to), out_type=tf.quint8, name="Requantize %s %s %s" % (most, r, to))
    x = q(tf.qint32, 6)
    case("Requantize", x, f(-1), f(1), f(0.5), f(1), out_type=tf.quint8)
    case("Requantize", x, f(-1), f(1), f(-1), f(-0.5), out_type=tf.quint8)
    case("RequantizationRange", x[:0], f(-1), f(1))
    case("Requantize", x[:0], f(-1), f(1), f(-1), f(1), out_type=tf.quint8)
    case("QuantizeDownAndShrinkRange", x[:0], f(-1), f(1), out_type=tf.quint8)


def products():
    u = tf.quint8
    for r in RANGES[1:9] + RANGES[-2:]:
        for s in ((-1, 1), (0.5, 2), (-10, 0.5)):
            for ta in (False, True):
                for tb in (False, True):
                    a, b = (q(u, 5, 3) if ta else q(u, 3, 5)), (q(u, 4, 5) if tb else q(u, 5, 4))
                    case("QuantizedMatMul", a, b, *ends(r), *ends(s), Toutput=tf.qint32, transpose_a=ta, transpose_b=tb, name="QuantizedMatMul %s %s %s %s" % (r, s, ta, tb))
            for padding in ("SAME", "VALID"):
                for stride in (1, 2, 3):
                    for k in ((1, 1), (2, 3), (5, 5)):
                        if padding == "VALID" and k[0] == 5:
                            continue
                        case("QuantizedConv2D", q(u, 2, 5, 4, 1), q(u, *k, 1, 2), *ends(r), *ends(s), strides=[1, stride, stride, 1], padding=padding, name="QuantizedConv2D %s %s %s %d %s" % (r, s, padding, stride, k))
    a, b = q(u, 3, 5), q(u, 5, 4)
    case("QuantizedMatMul", a, b[1:], f(-1), f(1), f(-1), f(1), Toutput=tf.qint32)
    case("QuantizedMatMul", a[0], b, f(-1), f(1), f(-1), f(1), Toutput=tf.qint32)
    case("QuantizedMatMul", a, b, f([-1]), f(1), f(-1), f(1), Toutput=tf.qint32)
    case("QuantizedMatMul", q(u, 2, 300), q(u, 300, 2), f(-1), f(1), f(-1), f(1), Toutput=tf.qint32)
    c, w = q(u, 1, 4, 4, 2), q(u, 2, 2, 2, 3)
    case("QuantizedConv2D", c, w[:, :, :1].copy(), f(-1), f(1), f(-1), f(1), strides=[1, 1, 1, 1], padding="SAME")
    case("QuantizedConv2D", c[0], w, f(-1), f(1), f(-1), f(1), strides=[1, 1, 1, 1], padding="SAME")
    case("QuantizedConv2D", c, w, f(-1), f(1), f(-1), f(1), strides=[1, 1, 2, 1], padding="SAME")
    case("QuantizedConv2D", c, w, f(-1), f(1), f(-1), f(1), strides=[2, 1, 1, 1], padding="SAME")
    case("QuantizedConv2D", c, w, f(-1), f(1), f(-1), f(1), strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 2, 2, 1])


def elementwise():
    for t in (tf.quint8, tf.qint8):
        for r in RANGES:
            for s in RANGES[::2]:
                case("QuantizedBiasAdd", q(t, 4, 3), q(t, 3), *ends(r), *ends(s), out_type=tf.qint32, name="QuantizedBiasAdd %s %s %s" % (t.name, r, s))
    u = tf.quint8
    case("QuantizedBiasAdd", q(u, 2, 3, 2, 5), q(u, 5), f(-1), f(2), f(-3), f(0.5), out_type=tf.qint32)
    case("QuantizedBiasAdd", q(u, 3, 4), q(u, 3), f(-1), f(2), f(-3), f(0.5), out_type=tf.qint32)
    case("QuantizedBiasAdd", q(u, 3), q(u, 3), f(-1), f(2), f(-3), f(0.5), out_type=tf.qint32)
    case("QuantizedBiasAdd", q(u, 3, 3), q(u, 3, 1), f(-1), f(2), f(-3), f(0.5), out_type=tf.qint32)
    for t in (tf.quint8, tf.qint32):
        for r in RANGES + [(-3, 100), (7, 9)]:
            case("QuantizedRelu", q(t, 16), *ends(r), out_type=t, name="QuantizedRelu %s %s" % (t.name, r))
            case("QuantizedRelu6", q(t, 16), *ends(r), out_type=t, name="QuantizedRelu6 %s %s" % (t.name, r))


def structure():
    u = tf.quint8
    for padding in ("SAME", "VALID"):
        for k, s in (((2, 2), (1, 1)), ((2, 2), (2, 2)), ((3, 2), (2, 1)), ((1, 3), (1, 2))):
            for op in ("QuantizedMaxPool", "QuantizedAvgPool"):
                case(op, q(u, 2, 5, 6, 3), f(-1), f(2.5), ksize=[1, *k, 1], strides=[1, *s, 1], padding=padding, name="%s %s %s %s" % (op, padding, k, s))
    for op in ("QuantizedMaxPool", "QuantizedAvgPool"):
        case(op, q(u, 5, 6, 3), f(-1), f(2.5), ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="SAME")
    for t in (tf.quint8, tf.qint32, tf.qint8):
        case("QuantizedReshape", q(t, 2, 6), i32(3, -1), f(-1), f(2))
        case("QuantizedReshape", q(t, 2, 6), i32(5, -1), f(-1), f(2))
    for t in (tf.quint8, tf.qint32):
        for rs in ([(-1, 1), (-1, 1)], [(-1, 1), (0, 6)], [(0.5, 2), (-3, -1)], [(0, 0), (-1, 2)], [(0, 5), (0, 5), (1, 4)]):
            for axis in (0, 1, 2):
                xs = [q(t, *[(2 + i) if d == axis else 3 for d in range(3)]) for i in range(len(rs))]
                case("QuantizedConcat", scalar(axis), xs, [f(r[0]) for r in rs], [f(r[1]) for r in rs], name="QuantizedConcat %s %s %d" % (t.name, rs, axis))
        case("QuantizedConcat", scalar(3), [q(t, 2, 2), q(t, 2, 2)], [f(-1), f(-1)], [f(1), f(1)])
        case("QuantizedConcat", scalar(0), [q(t, 2, 2), q(t, 2, 3)], [f(-1), f(-1)], [f(1), f(1)])
        case("QuantizedConcat", scalar(0), [q(t, 2, 2), q(t, 2)], [f(-1), f(-1)], [f(1), f(1)])


def main():
    for group in (quantize, requantize, products, elementwise, structure):
        group()
    base.write(sys.argv[1], base.CASES)
    print(len(base.CASES), "cases,", sum("error" in c for c in base.CASES), "errors")


if __name__ == "__main__":
    main()
