"""Writes internal/imported/eager/testdata/windows.json.gz: ops that move windows over images and volumes, as TensorFlow computes them.

    python interop/eager_windows.py internal/imported/eager/testdata/windows.json.gz

Groups, dilations, windows as large as the image and larger, strides beyond windows, nothing at all, and sizes that do not fit.
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


GROUPS = [convolutions, volumes]


def main():
    for group in GROUPS:
        group()
    base.write(sys.argv[1], sequences.SEQUENCES)
    print(len(sequences.SEQUENCES), "sequences,", sum("error" in c for c in sequences.SEQUENCES), "errors")


if __name__ == "__main__":
    main()
