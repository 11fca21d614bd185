"""Writes internal/imported/eager/testdata/windows.json.gz: ops that move windows over images and volumes, as TensorFlow computes them.

    python interop/eager_windows.py internal/imported/eager/testdata/windows.json.gz

Convolutions, pools, patches and grayscale dilations: groups, dilations, windows as large as the image and larger, strides beyond windows, nothing at all, and sizes that do not fit.
"""

import sys

import numpy as np

import eager_golden as base
import eager_sequences as sequences
from eager_golden import i32
from eager_families import pure

rng = np.random.default_rng(11)
KINDS = (np.float32, np.float64)


def draw(t, *shape):
    return rng.standard_normal(shape).astype(t)


def convolutions():
    """Conv2D and its gradients, in groups and dilated."""
    for t in KINDS:
        for groups, cin, cout in ((1, 3, 4), (2, 4, 6), (4, 4, 4), (3, 6, 3), (8, 8, 8)):
            for stride, dilation, padding in (([1, 1], [1, 1], "SAME"), ([2, 1], [1, 1], "VALID"), ([1, 1], [2, 3], "SAME"), ([2, 2], [2, 1], "VALID"), ([3, 3], [1, 1], "VALID")):
                x, w = draw(t, 1, 6, 7, cin), draw(t, 2, 3, cin // groups, cout)
                attrs = dict(strides=[1, *stride, 1], dilations=[1, *dilation, 1], padding=padding)
                name = " %s groups %d stride %s dilation %s %s" % (t.__name__, groups, stride, dilation, padding)
                pure("Conv2D" + name, "Conv2D", x, w, **attrs)
                y = base.RAW.Conv2D(input=x, filter=w, **attrs).numpy()
                dy = draw(t, *y.shape)
                if groups == 1 and dilation == [1, 1]:  # TensorFlow's processors have no others
                    pure("Conv2DBackpropInput" + name, "Conv2DBackpropInput", i32(*x.shape), w, dy, **attrs)
                    pure("Conv2DBackpropFilter" + name, "Conv2DBackpropFilter", x, i32(*w.shape), dy, **attrs)
        explicit = dict(strides=[1, 1, 1, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 3, 0, 0, 0])
        pure("Conv2D explicit groups", "Conv2D", draw(t, 1, 4, 4, 4), draw(t, 2, 2, 2, 4), dilations=[1, 2, 2, 1], **explicit)
        for m in (1, 2):
            x, w = draw(t, 2, 6, 7, 3), draw(t, 2, 2, 3, m)
            attrs = dict(strides=[1, 1, 1, 1], padding="SAME")
            pure("Depthwise", "DepthwiseConv2dNative", x, w, **attrs)
            dy = draw(t, 2, 6, 7, 3 * m)
            pure("DepthwiseInput", "DepthwiseConv2dNativeBackpropInput", i32(*x.shape), w, dy, **attrs)
            pure("DepthwiseFilter", "DepthwiseConv2dNativeBackpropFilter", x, i32(*w.shape), dy, **attrs)
        one = dict(strides=[1, 1, 1, 1], padding="VALID")
        for name, x, w in (("no images", (0, 4, 4, 4), (2, 2, 2, 4)), ("too large", (1, 3, 3, 4), (4, 2, 4, 4)), ("larger", (1, 3, 3, 4), (5, 2, 4, 4)),
                           ("channels", (1, 3, 3, 5), (2, 2, 2, 4)), ("results", (1, 3, 3, 4), (2, 2, 2, 3)), ("no results", (1, 3, 3, 4), (2, 2, 4, 0)),
                           ("no taps", (1, 3, 3, 4), (0, 2, 4, 4)), ("no filter channels", (1, 3, 3, 4), (2, 2, 0, 4))):
            pure("Conv2D " + name, "Conv2D", draw(t, *x), draw(t, *w), **one)


def volumes():
    """Conv3D, its gradients, and pools."""
    for t in KINDS:
        for stride, padding in (([1, 1, 1], "SAME"), ([2, 1, 2], "VALID"), ([3, 3, 3], "VALID"), ([2, 2, 2], "SAME")):
            x, w = draw(t, 1, 4, 5, 5, 2), draw(t, 2, 3, 2, 2, 3)
            attrs = dict(strides=[1, *stride, 1], padding=padding)
            pure("Conv3D", "Conv3D", x, w, **attrs)
            y = base.RAW.Conv3D(input=x, filter=w, **attrs).numpy()
            dy = draw(t, *y.shape)
            for kind in (np.int32, np.int64):
                pure("Conv3DBackpropInputV2", "Conv3DBackpropInputV2", np.array(x.shape, kind), w, dy, **attrs)
            pure("Conv3DBackpropFilterV2", "Conv3DBackpropFilterV2", x, i32(*w.shape), dy, **attrs)
        one = dict(strides=[1, 1, 1, 1, 1], padding="VALID")
        for name, x, w in (("no volumes", (0, 4, 4, 4, 2), (2, 2, 2, 2, 3)), ("larger", (1, 2, 2, 2, 2), (5, 2, 2, 2, 3)), ("groups", (1, 4, 4, 4, 4), (2, 2, 2, 2, 4)),
                           ("channels", (1, 4, 4, 4, 3), (2, 2, 2, 2, 4)), ("no results", (1, 4, 4, 4, 2), (2, 2, 2, 2, 0))):
            pure("Conv3D " + name, "Conv3D", draw(t, *x), draw(t, *w), **one)
        pure("Conv3D that steps over the batch", "Conv3D", draw(t, 2, 4, 4, 4, 2), draw(t, 2, 2, 2, 2, 3), strides=[2, 1, 1, 1, 1], padding="VALID")
    for size, stride, padding in (([2, 2, 2], [2, 2, 2], "VALID"), ([3, 2, 3], [1, 2, 1], "SAME"), ([1, 3, 2], [2, 3, 3], "VALID"), ([2, 2, 2], [3, 3, 3], "SAME")):
        x = draw(np.float32, 2, 4, 5, 4, 2)
        attrs = dict(ksize=[1, *size, 1], strides=[1, *stride, 1], padding=padding)
        pure("MaxPool3D", "MaxPool3D", x, **attrs)
        y = base.RAW.MaxPool3D(input=x, **attrs).numpy()
        pure("MaxPool3DGrad", "MaxPool3DGrad", x, y, draw(np.float32, *y.shape), **attrs)
        pure("AvgPool3D", "AvgPool3D", x, **attrs)
        pure("AvgPool3DGrad", "AvgPool3DGrad", i32(*x.shape), draw(np.float32, *y.shape), **attrs)
        pure("MaxPool3DGrad that does not fit", "MaxPool3DGrad", x, y[:, :1].copy(), y[:, :1].copy(), **attrs)
    for op in ("MaxPool3D", "AvgPool3D"):
        pure(op + " over channels", op, x, ksize=[1, 2, 2, 2, 2], strides=[1, 1, 1, 1, 1], padding="VALID")
        pure(op + " larger", op, x, ksize=[1, 9, 2, 2, 1], strides=[1, 1, 1, 1, 1], padding="VALID")
        pure(op + " of nothing", op, x[:0], ksize=[1, 2, 2, 2, 1], strides=[1, 1, 1, 1, 1], padding="VALID")


REALS = (np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)


def ints(t, *shape):
    return (rng.integers(0, 7, shape) if np.dtype(t).kind == "u" else rng.integers(-5, 7, shape)).astype(t)


def odd(x):
    """NaN, infinities and ties in place of some numbers."""
    y = np.round(x * 2) / 2
    y.reshape(-1)[::7], y.reshape(-1)[3::11], y.reshape(-1)[5::13] = base.nan, base.inf, -base.inf
    return y.astype(x.dtype)


WINDOWS = (([2, 3], [1, 1], [1, 1]), ([3, 2], [2, 3], [1, 1]), ([2, 2], [1, 2], [2, 3]), ([1, 1], [3, 3], [1, 1]), ([9, 4], [2, 1], [1, 1]), ([5, 5], [2, 2], [3, 1]), ([6, 7], [9, 9], [1, 1]))
WRONG = ([1, 2, 2, 2], [2, 2, 2, 1], [1, 0, 2, 1], [1, 2, -1, 1], [1, 2, 2], [1, 2, 2, 1, 1])


def patches():
    for size, stride, rate in WINDOWS:
        for padding in ("SAME", "VALID"):
            attrs = dict(ksizes=[1, *size, 1], strides=[1, *stride, 1], rates=[1, *rate, 1], padding=padding)
            for shape in ((2, 6, 7, 3), (1, 1, 1, 1), (0, 6, 7, 3), (2, 0, 7, 3), (2, 6, 7, 0)):
                pure("ExtractImagePatches %s" % (shape,), "ExtractImagePatches", draw(np.float32, *shape), **attrs)
    one = dict(ksizes=[1, 2, 2, 1], strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="SAME")
    for t in REALS:
        pure("ExtractImagePatches", "ExtractImagePatches", ints(t, 1, 3, 4, 2), **one)
        pure("ExtractVolumePatches", "ExtractVolumePatches", ints(t, 1, 2, 3, 4, 2), ksizes=[1, 2, 2, 2, 1], strides=[1, 1, 1, 1, 1], padding="SAME")
    for t in (np.float16, base.tf.bfloat16.as_numpy_dtype, np.complex64, np.complex128):
        pure("ExtractImagePatches", "ExtractImagePatches", draw(np.float32, 1, 3, 4, 2).astype(t), **one)
    pure("ExtractImagePatches of odd numbers", "ExtractImagePatches", odd(draw(np.float32, 1, 5, 4, 2)), **one)
    pure("ExtractImagePatches of a volume", "ExtractImagePatches", draw(np.float32, 1, 3, 4, 2, 2), **one)
    pure("ExtractImagePatches of a vector", "ExtractImagePatches", draw(np.float32, 4), **one)
    for wrong in WRONG:
        for attr in ("ksizes", "strides", "rates"):
            pure("ExtractImagePatches %s %s" % (attr, wrong), "ExtractImagePatches", draw(np.float32, 1, 4, 4, 2), **{**one, attr: wrong})
    for size, stride in (([2, 2, 2], [1, 1, 1]), ([1, 2, 3], [2, 1, 2]), ([4, 3, 2], [1, 2, 3]), ([6, 1, 1], [1, 1, 1]), ([2, 2, 2], [3, 4, 5]), ([3, 3, 3], [2, 2, 2])):
        for padding in ("SAME", "VALID"):
            attrs = dict(ksizes=[1, *size, 1], strides=[1, *stride, 1], padding=padding)
            for shape in ((2, 4, 5, 3, 2), (1, 1, 1, 1, 1), (0, 4, 4, 4, 2), (1, 4, 4, 4, 0)):
                pure("ExtractVolumePatches %s" % (shape,), "ExtractVolumePatches", draw(np.float32, *shape), **attrs)
    one = dict(ksizes=[1, 2, 2, 2, 1], strides=[1, 1, 1, 1, 1], padding="VALID")
    pure("ExtractVolumePatches of images", "ExtractVolumePatches", draw(np.float32, 1, 4, 4, 2), **one)
    for wrong in ([2, 2, 2, 2, 1], [1, 2, 2, 2, 2], [1, 0, 2, 2, 1], [1, 2, 2, 1]):
        for attr in ("ksizes", "strides"):
            pure("ExtractVolumePatches %s %s" % (attr, wrong), "ExtractVolumePatches", draw(np.float32, 1, 4, 4, 4, 2), **{**one, attr: wrong})


def places():
    """Max pools that say where the maxima were."""
    for size, stride, _ in WINDOWS:
        for padding in ("SAME", "VALID"):
            for batch in (False, True):
                attrs = dict(ksize=[1, *size, 1], strides=[1, *stride, 1], padding=padding, include_batch_in_index=batch)
                for x in (draw(np.float32, 2, 6, 7, 3), odd(draw(np.float32, 2, 6, 7, 2)), draw(np.float32, 0, 6, 7, 3)):
                    for kind in (np.int32, np.int64):
                        pure("MaxPoolWithArgmax", "MaxPoolWithArgmax", x, Targmax=base.tf.as_dtype(kind), **attrs)
                    try:
                        y, at = base.RAW.MaxPoolWithArgmax(input=x, Targmax=base.tf.as_dtype(kind), **attrs)
                    except (base.tf.errors.OpError, ValueError):
                        continue
                    if y.shape.num_elements():
                        pure("MaxPoolGradWithArgmax", "MaxPoolGradWithArgmax", x, draw(np.float32, *y.shape), at.numpy(), **attrs)
    one = dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    for t in REALS:
        x = ints(t, 2, 3, 4, 2)
        pure("MaxPoolWithArgmax", "MaxPoolWithArgmax", x, **one)
        y, at = base.RAW.MaxPoolWithArgmax(input=x, **one)
        pure("MaxPoolGradWithArgmax", "MaxPoolGradWithArgmax", x, ints(t, *y.shape), at.numpy(), **one)
    x = draw(np.float32, 2, 4, 4, 2)
    for wrong in ([2, 2, 2, 1], [1, 0, 2, 1], [1, 2, 2], [1, 2, -1, 1]):
        for attr in ("ksize", "strides"):
            pure("MaxPoolWithArgmax %s %s" % (attr, wrong), "MaxPoolWithArgmax", x, **{**one, attr: wrong})
    pure("MaxPoolWithArgmax of a matrix", "MaxPoolWithArgmax", x[0, 0], **one)
    y, at = base.RAW.MaxPoolWithArgmax(input=x, **one)
    pure("MaxPoolGradWithArgmax of few", "MaxPoolGradWithArgmax", x, y.numpy()[:, :1].copy(), at.numpy()[:, :1].copy(), **one)
    pure("MaxPoolGradWithArgmax of few places", "MaxPoolGradWithArgmax", x, y.numpy(), at.numpy()[:1].copy(), **one)


def dilations():
    for k, (size, stride, rate) in enumerate(WINDOWS):
        for padding in ("SAME", "VALID"):
            attrs = dict(strides=[1, *stride, 1], rates=[1, *rate, 1], padding=padding)
            for x in (draw(np.float32, 2, 6, 7, 3), odd(draw(np.float64, 2, 6, 7, 3)), draw(np.float32, 0, 6, 7, 3), ints(REALS[k], 2, 6, 7, 3)):
                w = (draw(np.float32, *size, 3) if x.dtype.kind == "f" else ints(np.uint8, *size, 3)).astype(x.dtype)
                pure("Dilation2D", "Dilation2D", x, w, **attrs)
                try:
                    y = base.RAW.Dilation2D(input=x, filter=w, **attrs).numpy()
                except (base.tf.errors.OpError, ValueError):
                    continue
                dy = ints(x.dtype, *y.shape)
                pure("Dilation2DBackpropInput", "Dilation2DBackpropInput", x, w, dy, **attrs)
                pure("Dilation2DBackpropFilter", "Dilation2DBackpropFilter", x, w, dy, **attrs)
    one = dict(strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="SAME")
    x, w = draw(np.float32, 1, 4, 4, 2), draw(np.float32, 2, 2, 2)
    for t in REALS:
        pure("Dilation2D", "Dilation2D", ints(t, 1, 3, 4, 2), ints(t, 2, 2, 2), **one)
    for wrong in ([1, 2, 2, 2], [2, 2, 2, 1], [1, 2, 2]):
        for attr in ("strides", "rates"):
            pure("Dilation2D %s %s" % (attr, wrong), "Dilation2D", x, w, **{**one, attr: wrong})
    for what, args in dict(matrix=(x[0, 0], w), filter=(x, w[0]), channels=(x, draw(np.float32, 2, 2, 3))).items():
        pure("Dilation2D " + what, "Dilation2D", *args, **one)
    for op in ("Dilation2DBackpropInput", "Dilation2DBackpropFilter"):
        pure(op + " of few", op, x, w, draw(np.float32, 1, 3, 4, 2), **one)
        pure(op + " of a matrix", op, x, w, draw(np.float32, 4, 2), **one)


GROUPS = [convolutions, volumes, patches, places, dilations]


def main():
    for group in GROUPS:
        group()
    base.write(sys.argv[1], sequences.SEQUENCES)
    print(len(sequences.SEQUENCES), "sequences,", sum("error" in c for c in sequences.SEQUENCES), "errors")


if __name__ == "__main__":
    main()
