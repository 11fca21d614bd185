"""Writes internal/imported/eager/testdata/quantized.json.gz: quantization as TensorFlow computes it.

    python interop/eager_quantized.py internal/imported/eager/testdata/quantized.json.gz

Values at ties of rounding, at and beyond the ends of ranges, ranges without zero, of no width and turned around.
"""

import sys

import numpy as np

import eager_golden as base
import eager_sequences as sequences
from eager_families import pure, wrong
from eager_golden import f32, i32, scalar

rng = np.random.default_rng(8)
EDGES = np.array([0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, 5.999, 6, 6.01, -6, -7, 1e-7, -1e-7, 3e38, -3e38, np.inf, -np.inf, np.nan, 0.0235294, 0.0352941])
RANGES = [(-6, 6), (0, 6), (-1, 0), (-0.3, 2.7), (0.5, 2), (-2, -0.5), (0, 0), (1, 1), (2, 1), (-1e-30, 1e-30), (-3e36, 3e36), (-np.inf, 1), (0, np.nan)]


def f(v, t=np.float32):
    return np.array(v, t)


def fake():
    x, g = EDGES.astype(np.float32), f(rng.standard_normal(EDGES.size))
    for low, high in RANGES:
        for bits, narrow in ((8, False), (8, True), (2, True), (4, False), (16, False)):
            attrs = dict(num_bits=bits, narrow_range=narrow)
            name = " %s %s %s %s" % (low, high, bits, narrow)
            if np.isfinite([low, high]).all():  # JSON has no other numbers
                pure("FakeQuantWithMinMaxArgs" + name, "FakeQuantWithMinMaxArgs", x, min=low, max=high, **attrs)
                pure("FakeQuantWithMinMaxArgsGradient" + name, "FakeQuantWithMinMaxArgsGradient", g, x, min=low, max=high, **attrs)
            pure("FakeQuantWithMinMaxVars" + name, "FakeQuantWithMinMaxVars", x, f(low), f(high), **attrs)
            pure("FakeQuantWithMinMaxVarsGradient" + name, "FakeQuantWithMinMaxVarsGradient", g, x, f(low), f(high), **attrs)
    lows, highs = (f([r[k] for r in RANGES]) for k in (0, 1))
    for shape in ((), (2,), (2, 3), (0,), (3, 1, 2)):
        y = f(rng.standard_normal(shape + lows.shape) * 5)
        for narrow in (False, True):
            pure("FakeQuantWithMinMaxVarsPerChannel %s" % (shape,), "FakeQuantWithMinMaxVarsPerChannel", y, lows, highs, narrow_range=narrow)
            pure("FakeQuantWithMinMaxVarsPerChannelGradient %s" % (shape,), "FakeQuantWithMinMaxVarsPerChannelGradient", f(rng.standard_normal(y.shape)), y, lows, highs, narrow_range=narrow)
    y = f(rng.standard_normal((2, 3)))
    for bits in (0, 1, 17):
        pure("FakeQuantWithMinMaxArgs of bits", "FakeQuantWithMinMaxArgs", y, num_bits=bits)
        pure("FakeQuantWithMinMaxVars of bits", "FakeQuantWithMinMaxVars", y, f(-1), f(1), num_bits=bits)
    wrong("FakeQuantWithMinMaxVars", [y, f([-1]), f([1])])
    wrong("FakeQuantWithMinMaxVarsPerChannel", [y, f([-1, -2, 0]), f([1, 2, 1])])
    wrong("FakeQuantWithMinMaxVarsPerChannelGradient", [y, y, f([-1, -2, 0]), f([1, 2, 1])])
    wrong("FakeQuantWithMinMaxVarsGradient", [y, y, f(-1), f(1)])
    wrong("FakeQuantWithMinMaxArgsGradient", [y, y])
    for op in ("FakeQuantWithMinMaxArgs",):
        pure(op + " of nothing", op, y[:0])
        pure(op + " of a scalar", op, y[0, 0])
    pure("FakeQuantWithMinMaxVarsPerChannel of a scalar", "FakeQuantWithMinMaxVarsPerChannel", y[0, 0], f([1]), f([2]))
    pure("FakeQuantWithMinMaxVarsGradient of nothing", "FakeQuantWithMinMaxVarsGradient", y[:0], y[:0], f(-1), f(1))


def through_integers():
    for t in (np.float32, np.float64, np.float16):
        for low, high in RANGES:
            x = EDGES.astype(t)
            for bits, signed, narrow in ((8, True, False), (8, True, True), (8, False, False), (3, True, False), (1, True, False), (61, True, False), (62, False, False)):
                for mode in ("HALF_TO_EVEN", "HALF_UP"):
                    attrs = dict(signed_input=signed, num_bits=bits, narrow_range=narrow, range_given=True, round_mode=mode)
                    pure("QuantizeAndDequantizeV2 %s %s %s %s %s %s" % (t.__name__, low, high, bits, signed, mode), "QuantizeAndDequantizeV2", x, f(low, t), f(high, t), **attrs)
            pure("QuantizeAndDequantizeV3 %s %s %s" % (t.__name__, low, high), "QuantizeAndDequantizeV3", x, f(low, t), f(high, t), scalar(5))
            pure("QuantizeAndDequantizeV4 %s %s %s" % (t.__name__, low, high), "QuantizeAndDequantizeV4", x, f(low, t), f(high, t), range_given=True)
            pure("QuantizeAndDequantizeV4Grad %s %s %s" % (t.__name__, low, high), "QuantizeAndDequantizeV4Grad", f(rng.standard_normal(x.shape), t), x, f(low, t), f(high, t))
        y = f(rng.standard_normal((2, 3, 4)) * 4, t)
        for axis in (-1, 0, 1, 2, 3, -2):
            n = 1 if axis not in (0, 1, 2) else y.shape[axis]
            ends = (f(-np.abs(rng.standard_normal(n)), t), f(np.abs(rng.standard_normal(n)), t)) if axis >= 0 else (f(-1, t), f(1.5, t))
            for given in (False, True):
                for signed in (False, True):
                    name = " %s of axis %d %s %s" % (t.__name__, axis, given, signed)
                    for op in ("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"):
                        pure(op + name, op, y, *ends, axis=axis, range_given=given, signed_input=signed)
                    pure("QuantizeAndDequantizeV3" + name, "QuantizeAndDequantizeV3", y, *ends, scalar(4), axis=axis, range_given=given, signed_input=signed)
            pure("QuantizeAndDequantizeV4Grad of axis %d" % axis, "QuantizeAndDequantizeV4Grad", f(rng.standard_normal(y.shape), t), y, *ends, axis=axis)
        for v in (y[:0], f(0, t), f([0, 0], t), f([1, 2], t), f([-1, -2], t)):
            pure("QuantizeAndDequantizeV2 of %s" % v, "QuantizeAndDequantizeV2", v, f(0, t), f(0, t))
    y, ends = f(rng.standard_normal((2, 3))), (f([-1, -1, 0]), f([1, 2, 3]))
    for bits in (0, 61, 62, 63, -1):
        for signed in (False, True):
            pure("QuantizeAndDequantizeV2 of %d bits" % bits, "QuantizeAndDequantizeV2", y, f(-1), f(1), num_bits=bits, signed_input=signed)
            pure("QuantizeAndDequantizeV3 of %d bits" % bits, "QuantizeAndDequantizeV3", y, f(-1), f(1), scalar(bits), signed_input=signed)
    for op, more in (("QuantizeAndDequantizeV2", []), ("QuantizeAndDequantizeV4", []), ("QuantizeAndDequantizeV3", [scalar(8)])):
        wrong(op, [y, *ends, *more], axis=1, range_given=True)
    wrong("QuantizeAndDequantizeV4Grad", [y, y, *ends], axis=1)


def main():
    for group in (fake, through_integers):
        group()
    base.write(sys.argv[1], sequences.SEQUENCES)
    print(len(sequences.SEQUENCES), "sequences,", sum("error" in c for c in sequences.SEQUENCES), "errors")


if __name__ == "__main__":
    main()
