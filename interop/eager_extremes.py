"""Writes internal/imported/eager/testdata/extremes.json.gz: functions of numbers on grids of all sizes, as TensorFlow computes them.

    python interop/eager_extremes.py internal/imported/eager/testdata/extremes.json.gz

The numbers: zeros of both signs, poles, the limits of what a function takes, numbers from the smallest normal one to the largest,
infinities and NaN; for integers the least and the largest, divisors of all signs, and shifts beyond their width.
"""

import sys

import numpy as np

import eager_golden as base
import eager_sequences as sequences
from eager_families import pure
from eager_golden import i32, i64, inf, nan

HALVES = (np.float16, base.tf.bfloat16.as_numpy_dtype)
FLOATS = (np.float32, np.float64)
COMPLEX = (np.complex64, np.complex128)
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
SPECIAL = [
    "Digamma", "Lgamma", "BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "BesselJ0", "BesselJ1", "BesselK0", "BesselK0e", "BesselK1", "BesselK1e", "BesselY0", "BesselY1", "Ndtri", "Erfinv", "Dawsn",
    "Expint", "FresnelCos", "FresnelSin", "Spence"
]
PAIRED = ["Igamma", "Igammac", "IgammaGradA", "RandomGammaGrad", "Polygamma", "Zeta"]
SMOOTH = [
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Exp", "Expm1", "Inv", "Log", "Log1p", "Reciprocal", "Rsqrt", "Sigmoid", "Sin", "Sinh", "Sqrt", "Square", "Tan", "Tanh", "Neg", "Sign"
]
REAL = ["Abs", "Ceil", "Elu", "Erf", "Erfc", "Floor", "IsFinite", "IsInf", "IsNan", "LeakyRelu", "Relu", "Relu6", "Rint", "Round", "Selu", "Softplus", "Softsign"]
NUMBERS = ["AddV2", "Sub", "Mul", "Div", "FloorDiv", "FloorMod", "Maximum", "Minimum", "Pow", "SquaredDifference", "TruncateDiv", "TruncateMod", "Mod"]
ORDERS = ["Less", "LessEqual", "Greater", "GreaterEqual"]
RATIOS = ["RealDiv", "DivNoNan", "MulNoNan", "Xdivy", "Xlogy", "Xlog1py", "Atan2", "NextAfter"]
SLOPES = ["EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad", "SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad", "InvGrad", "ReciprocalGrad", "ReluGrad", "Relu6Grad", "LeakyReluGrad"]
BITS = ["BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift"]


def both(values):
    return [s * v for v in values for s in (1.0, -1.0)]


def grid(t):
    """Numbers of a type, ascending in size."""
    least, most = (float(f(base.tf.as_dtype(t).as_numpy_dtype)) for f in (lambda t: 1.2e-38 if t == HALVES[1] else np.finfo(t).tiny, lambda t: 3.3895e38 if t == HALVES[1] else np.finfo(t).max))
    small = [0.0, least, 1e-200, 1e-30, 1e-20, 1e-10, 1e-7, 1e-5, 1e-3, 0.1, 0.25, 0.3, 0.5, 0.7, 0.75, 0.9, 0.99, 0.9999999, 1, 1.0000001, 1.25, 1.4616321, 1.5, 1.6449]
    large = [2, 2.25, 2.5, 3, 3.5, 4, 4.25, 5, 5.5, 6, 7, 7.5, 8, 8.1, 9, 10, 10.5, 12, 13, 15, 16, 20, 25.5, 30, 33, 34.5, 36, 36.5, 40, 50.5, 60, 80, 88, 89, 100, 104, 128.5, 150, 170, 171, 172.5]
    far = [200, 500, 700, 709, 710, 746, 1e3, 12345.678, 65504, 1e5, 1e6, 1e7, 2**24, 1e8, 1e9, 1e10, 1e15, 2.0**53, 1e19, 1e20, 1e30, 3e38, 1e39, 1e100, 1e300, most, inf]
    with np.errstate(over="ignore"):
        out = np.array(both(small + large + far) + [nan]).astype(t)
    keep = [k for k, v in enumerate(out) if (v == 0) == (k < 2)]  # no numbers that are too small for the type
    return out[keep]


def few(t):
    with np.errstate(over="ignore"):
        out = np.array(both([0.0, 1e-20, 1e-3, 0.5, 1, 1.5, 2, 3, 4.5, 10, 33, 100.5, 1e4, 1e8, 1e15, 1e30, inf]) + [nan]).astype(t)
    return np.array([v for k, v in enumerate(out) if (v == 0) == (k < 2)])


def ends(t):
    limits = np.iinfo(t)
    return np.array(sorted({v for v in (limits.min, limits.min + 1, -128, -9, -8, -7, -3, -2, -1, 0, 1, 2, 3, 7, 8, 9, 15, 16, 31, 32, 63, 64, 100, limits.max - 1, limits.max) if limits.min <= v <= limits.max}), t)


def name(t):
    return base.tf.as_dtype(t).name


def table(op, t, values, others=None, **attrs):
    """All pairs of values."""
    others = values if others is None else others
    pure("%s %s" % (op, name(t)), op, values[:, None].copy(), others[None].copy(), **attrs)


def special():
    for t in FLOATS + HALVES:
        for op in SPECIAL:
            pure("%s %s" % (op, name(t)), op, grid(t))
        for op in PAIRED:
            table(op, t, few(t))
        orders = np.array([0, 1, 2, 3, 4, 5, 10, 20, 33, 100, 169, 170, 171, 200, 1000, 1e8, 0.5, -1, -2, inf, nan], t)
        table("Polygamma", t, orders, grid(t))
    for t in FLOATS:
        pure("Polygamma near 0 %s" % name(t), "Polygamma", np.ones((1, 1), t), np.array([[1e-4, 1e-3, 0.01, -0.01, -0.5, -1.5, -20.5]], t))
        table("Zeta", t, np.array([1, 1.0001, 1.5, 2, 3, 4, 5, 10, 20, 50, 100, 130, 1000, 0.5, 0, -1, -2.5, inf, nan], t), grid(t))
        sizes = np.array([0.01, 0.5, 1, 1.5, 2, 5, 10, 33, 100, 171, 1e3, 1e4, 1e5, 1e6, 1e8], t)
        near = (sizes[:, None] * np.array([0.01, 0.5, 0.9, 0.99, 0.999, 1, 1.001, 1.01, 1.1, 2, 10], t)).astype(t)
        for op in ("Igamma", "Igammac", "IgammaGradA"):
            pure("%s near its parameter %s" % (op, name(t)), op, np.broadcast_to(sizes[:, None], near.shape).copy(), near)
        pure("RandomGammaGrad near its parameter %s" % name(t), "RandomGammaGrad", np.broadcast_to(sizes[:, None], near.shape).copy(), near)
        a = np.array([0, -1, 1e-30, 1e-3, 0.1, 0.5, 1, 1.5, 2, 5, 20, 100, 1e3, 1e4, 1e8, 1e30, inf, nan], t)
        x = np.array([-0.1, -0.0, 0, 1e-30, 1e-6, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999, 0.9999999, 1, 1.1, inf, nan], t)
        pure("Betainc %s" % name(t), "Betainc", *[np.ascontiguousarray(v) for v in np.broadcast_arrays(a[:, None, None], a[None, :, None], x[None, None])])


def elementwise():
    for t in FLOATS + HALVES:
        for op in SMOOTH + REAL:
            pure("%s %s" % (op, name(t)), op, grid(t))
        for op in NUMBERS + ORDERS + RATIOS + ["Equal", "NotEqual"]:
            table(op, t, few(t))
        slopes = np.array(both([0.0, 0.5, 1, 1.5, 2, 3, 4.5, 10, 33, inf]) + [nan], t)
        for op in SLOPES:
            pure("%s %s" % (op, name(t)), op, *[np.ascontiguousarray(v) for v in np.broadcast_arrays(slopes[:, None], slopes[None])])


def complexes():
    for t in COMPLEX:
        part = [0.0, -0.0, 1, -1, 0.5, -2, 1e-20, 1e10, inf, -inf, nan]
        z = np.array([complex(a, b) for a in part for b in part], t)
        for op in SMOOTH + ["Conj"]:
            pure("%s %s" % (op, name(t)), op, z)
        for op in ["Real", "Imag", "ComplexAbs", "Angle"]:
            pure("%s %s" % (op, name(t)), op, z, Tout=base.tf.as_dtype(t).real_dtype)
        z = z[::5].copy()
        for op in ["AddV2", "Sub", "Mul", "RealDiv", "Div", "DivNoNan", "MulNoNan", "Pow", "SquaredDifference", "Xdivy", "Xlogy", "Xlog1py", "Equal", "NotEqual"]:
            table(op, t, z[np.abs(z.imag) < 1e9] if op == "Pow" else z)


def integers():
    for t in INTEGERS:
        v = ends(t)
        for op in ["Abs", "Neg", "Sign", "Square", "Relu", "Relu6", "Invert", "Round", "Inv", "Reciprocal", "PopulationCount", "Sqrt"]:
            pure("%s %s" % (op, name(t)), op, v)
        divisors = v[v != 0]
        for op in NUMBERS + ORDERS + BITS + ["Equal", "NotEqual", "ReluGrad", "Relu6Grad"]:
            others = divisors if op in ("Div", "FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "Mod") else v[(v >= 0) & (v <= 64)] if op == "Pow" else v
            if np.iinfo(t).min < 0 and op in ("Div", "FloorDiv", "TruncateDiv", "FloorMod", "TruncateMod", "Mod"):
                table(op, t, v[v > np.iinfo(t).min] if t in (np.int32, np.int64) else v, others)  # the least by -1 ends the process
            else:
                table(op, t, v, others)
        for op in ("Div", "FloorDiv", "FloorMod", "Mod", "Pow"):
            pure("%s %s of what is refused" % (op, name(t)), op, v[-3:], v[:3] * 0 - (1 if op == "Pow" and np.iinfo(t).min < 0 else 0))


def rows(t):
    """Tensors with ties, NaN, infinities, zeros of both signs, and with dimensions of 0."""
    odd = [[3, 1, 3, 2, 1, 3], [nan, 1, 5, 2, nan, 0], [1, nan, 7, 7, 0, 2], [nan] * 6, [inf, -inf, 1, inf, 2, -inf], [-inf] * 6, [-0.0, 0.0, -0.0, 0.0, -1, -2], [1e38, 1e38, 1, -1e38, 2, 3]]
    yield "odd", np.array(odd, t) if np.dtype(t).kind != "i" and np.dtype(t).kind != "u" else np.array([[3, 1, 3, 2, 1, 3], [np.iinfo(t).max, np.iinfo(t).min, np.iinfo(t).max, 0, 1, 2]], t)
    for shape in ((0, 3), (3, 0), (0, 0), (1, 1), (1, 9), (9, 1), (2, 17)):
        yield shape, (np.arange(shape[0] * shape[1]).reshape(shape) * 7 % 5).astype(t)


def reductions():
    for t in FLOATS + (np.int32, np.int64):
        for kind, x in rows(t):
            label = "%s %s" % (kind, name(t))
            for axes in ([0], [1], [0, 1], [-1], []):
                for op in ("Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm"):
                    if kind == "odd" and t in INTEGERS and op in ("Mean", "EuclideanNorm"):
                        continue  # an overflow, which C++ leaves open
                    pure("%s %s %s" % (op, axes, label), op, x, np.array(axes, np.int32), keep_dims=axes == [1])
                for op in ("All", "Any"):
                    pure("%s %s %s" % (op, axes, kind), op, x > 1, np.array(axes, np.int32))
            for axis in (0, 1, -1):
                for op in ("ArgMax", "ArgMin"):
                    if x.shape[axis]:
                        pure("%s %d %s" % (op, axis, label), op, x, np.int32(axis))
                    else:
                        pure("%s %d %s of what is refused" % (op, axis, label), op, x, np.int32(axis))
                for op in ("Cumsum", "Cumprod", "CumulativeLogsumexp"):
                    for exclusive, reverse in ((False, False), (True, False), (False, True), (True, True)):
                        if t in FLOATS or op != "CumulativeLogsumexp":
                            pure("%s %d %s %s %s" % (op, axis, exclusive, reverse, label), op, x, np.int32(axis), exclusive=exclusive, reverse=reverse)
            if t in FLOATS:
                for op in ("Softmax", "LogSoftmax", "L2Loss"):
                    pure("%s %s" % (op, label), op, x)
            ids = np.array([0, 0, 2, 2, 3, 3, 5, 5, 5][: len(x)], np.int32)
            for op in ("SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"):
                if kind != "odd" or op not in ("SegmentMax", "SegmentMin"):  # whose NaN depend on the place
                    pure("%s %s" % (op, label), op, x, ids)
            mixed = np.array([4, 0, -1, 2, 0, 4, 1, 2, 2][: len(x)], np.int32)
            for op in ("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"):
                pure("%s %s" % (op, label), op, x, mixed, np.int32(6))
            for k in (0, 1, 3, 6):
                if k <= x.shape[-1] and not (kind == "odd" and t in FLOATS):  # NaN has no place in an order
                    pure("TopKV2 %d %s" % (k, label), "TopKV2", x, np.int32(k))
                else:
                    pure("TopKV2 %d %s of rows without NaN" % (k, label), "TopKV2", x[np.isfinite(x.sum(-1))], np.int32(min(k, x.shape[-1])))
            pure("Unique %s" % label, "Unique", x.reshape(-1))
            pure("UniqueWithCounts %s" % label, "UniqueWithCounts", x.reshape(-1))
            pure("Where %s" % label, "Where", x)
            pure("Bucketize %s" % label, "Bucketize", x, boundaries=[-1.0, 0.0, 1.0, 3.0])
            pure("ClipByValue %s" % label, "ClipByValue", x, t(0), t(2))
            pure("Reverse %s" % label, "ReverseV2", x, i32(1))
            pure("OneHot %s" % label, "OneHot", np.nan_to_num(x, nan=-1, posinf=9, neginf=-9).astype(np.int32), np.int32(4), t(3), t(1))
            pure("Cast %s" % label, "Cast", np.nan_to_num(x, nan=-1, posinf=9, neginf=-9), DstT=base.tf.int32) if kind != "odd" else None


def main():
    for group in (special, elementwise, complexes, integers, reductions):
        group()
    cases = [c for c in sequences.SEQUENCES if "error" not in c or "refused" in c["name"]]  # there is no kernel for each type
    base.write(sys.argv[1], cases)
    print(len(cases), "sequences,", sum("error" in c for c in cases), "errors")


if __name__ == "__main__":
    main()
